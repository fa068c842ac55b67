/* float_count.c - what level 1 costs: instructions, or cycles, and stack. */
#include "../../mha.h"
#include "firmware.h"

#ifdef SMALL /* for boards with 16 KB */
enum { LEN = 16, WIDTH = 32, HEADS = 4 };
#  define SHAPE "16x32x4"
#else
enum { LEN = 64, WIDTH = 64, HEADS = 4 };
#  define SHAPE "64x64x4"
#endif

static float q[LEN * WIDTH], k[LEN * WIDTH], v[LEN * WIDTH], o[LEN * WIDTH];
static int   status;

static void nothing(void) {}
static void level1(void) { status = mha_multi_head_attention(o, q, k, v, LEN, WIDTH, HEADS); }

int main(void);
int main(void) {
  noise_floats(q, LEN * WIDTH);
  noise_floats(k, LEN * WIDTH);
  noise_floats(v, LEN * WIDTH);
  stack("float", level1);
  count("nothing", nothing);
  count("float-" SHAPE, level1);
  say_hash("counted", "float-" SHAPE, hash_floats(HASH_START, o, LEN * WIDTH));
  return status != MHA_OK;
}
