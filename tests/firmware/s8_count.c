/* s8_count.c - what integer attention costs: instructions, or cycles, and stack.  Shapes: tokens, heads,
   channels of a head. */
#include "firmware.h"
#include "s8.h"

#ifdef SMALL /* for boards with 16 KB */
enum { MOST = 66 * 8 * 2 };
#  define KEYS     66
#  define CHANNELS 2
#else
enum { MOST = 81 * 8 * 32 };
#  define KEYS     128
#  define CHANNELS 32
#endif

static signed char q[MOST], k[MOST], v[MOST], o[MOST];
static uint8_t     scratch[MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, KEYS, CHANNELS)];
static mha_s8_desc d;
static mha_status  status;

static void tflm(void) { status = mha_s8_tflm(&d, 0, MHA_ALL, scratch, sizeof scratch); }
static void native(void) { status = mha_s8_native(&d, 0, MHA_ALL, scratch, sizeof scratch); }
static void tflm_lean(void) { status = mha_s8_tflm_lean(&d, 0, MHA_ALL); }
static void native_lean(void) { status = mha_s8_native_lean(&d, 0, MHA_ALL); }
static void nothing(void) {}

static void measure(const char *what, const char *name, const mha_s8_consts *consts, void (*call)(void)) {
  d.consts = consts;
  stack(what, call);
  count(name, call);
  if (status < 0) {
    say_text("error:", mha_strerror(status));
    board_exit(1);
  }
  say_hash("counted", name, hash_bytes(HASH_START, o, d.q_len * d.q_heads * d.d_k));
}

static void shape(size_t tokens, size_t heads, size_t channels) {
  d.q_heads = heads;
  d.q_len = d.kv_len = tokens;
  d.d_k = channels;
}

int main(void);
int main(void) {
  noise_codes(q, MOST, -128, 127);
  noise_codes(k, MOST, -128, 127);
  noise_codes(v, MOST, -128, 127);
  d.q = q;
  d.k = k;
  d.v = v;
  d.o = o;
  count("nothing", nothing);
  shape(66, 8, 2);
  measure("tflm", "tflm-66x8x2", &tflm_2, tflm);
  measure("native", "native-66x8x2", &native_2, native);
#ifndef SMALL
  shape(32, 8, 8);
  measure("tflm", "tflm-32x8x8", &tflm_8, tflm);
  measure("native", "native-32x8x8", &native_8, native);
  measure("tflm_lean", "tflm_lean-32x8x8", &tflm_8, tflm_lean);
  measure("native_lean", "native_lean-32x8x8", &native_8, native_lean);
  shape(128, 8, 8);
  measure("tflm", "tflm-128x8x8", &tflm_8, tflm);
  measure("native", "native-128x8x8", &native_8, native);
  shape(81, 8, 32);
  measure("tflm", "tflm-81x8x32", &tflm_32, tflm);
  measure("native", "native-81x8x32", &native_32, native);
#else
  measure("tflm_lean", "tflm_lean-66x8x2", &tflm_2, tflm_lean);
  measure("native_lean", "native_lean-66x8x2", &native_2, native_lean);
#endif
  return 0;
}
