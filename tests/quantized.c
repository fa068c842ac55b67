/* quantized.c - what examples/quantize.c printed when tests/quantize.sh called it, compared with what
   mha_s8_prepare makes of the same numbers, and for MUL with what TensorFlow Lite Micro answered. */
#include <stdio.h>
#include <string.h>

#define MHA_IMPLEMENTATION
#include "native.h"
#include "plain.h"
#include "mapped.h"
#include "ram.h"

static int passed, failed;

static void check(const char *what, int good) {
  good ? passed++ : failed++;
  if (!good) printf("  FAILED  quantize: %s\n", what);
}

static mha_s8_affine affine(float scale, int zero) {
  mha_s8_affine a;
  a.scale = scale;
  a.zero = zero;
  return a;
}

/* All but the pointers */
static int same_numbers(mha_s8_consts a, mha_s8_consts b) {
  return a.mode == b.mode && a.q_zero == b.q_zero && a.k_zero == b.k_zero && a.v_zero == b.v_zero &&
         a.o_zero == b.o_zero && a.logit_zero == b.logit_zero && a.max_d_k == b.max_d_k &&
         a.max_kv_len == b.max_kv_len && a.exp_multiplier == b.exp_multiplier && a.exp_shift == b.exp_shift &&
         a.qk.multiplier == b.qk.multiplier && a.qk.left == b.qk.left && a.qk.right == b.qk.right &&
         a.pv.multiplier == b.pv.multiplier && a.pv.left == b.pv.left && a.pv.right == b.pv.right;
}

/* Both constants at work: same bytes, which are not all the same. */
static int same_results(const mha_s8_consts *a, const mha_s8_consts *b) {
  static signed char   x[3][20][32], o[2][20][32];
  static unsigned char scratch[MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, 20, 32)]; /* tflm needs less */
  mha_s8_desc          d;
  uint32_t             state = 1;
  unsigned             n;
  for (n = 0; n < sizeof x; n++) {
    state = state * 1664525u + 1013904223u;
    x[n / 640][n / 32 % 20][n % 32] = (signed char)((int)(state >> 24 & 255u) - 128);
  }
  for (n = 0; n < 2; n++) {
    memset(&d, 0, sizeof d);
    d.q_heads = 1, d.q_len = d.kv_len = 20, d.d_k = 32;
    d.o = o[n][0], d.q = x[0][0], d.k = x[1][0], d.v = x[2][0];
    d.consts = n ? b : a;
    if (a->mode == MHA_S8_TFLM ? mha_s8_tflm(&d, 0, MHA_ALL, scratch, sizeof scratch)
                               : mha_s8_native(&d, 0, MHA_ALL, scratch, sizeof scratch))
      return 0;
  }
  return memcmp(o[0], o[1], sizeof o[0]) == 0 && memcmp(o[0][0], o[0][1], 32) != 0;
}

/* FNV-1a */
static uint32_t hash(const signed char *map) {
  uint32_t h = 2166136261u;
  int      n;
  for (n = 0; n < 256; n++) h = ((h ^ (unsigned char)map[n]) * 16777619u) & 0xffffffffu;
  return h;
}

int main(void) {
  static int32_t table[256];
  mha_s8_quant   z;
  mha_s8_consts  c;
  memset(&z, 0, sizeof z);
  z.mode = MHA_S8_NATIVE, z.d_k = 32, z.kv_len = 81;
  z.q = affine(0.02f, 3), z.k = affine(0.03f, -7), z.v = affine(0.02f, 5), z.o = affine(0.01f, -2);
  check("native: prepare", mha_s8_prepare(&c, NULL, &z) == MHA_OK);
  check("native: numbers", same_numbers(native[0], c) && !native[0].exp_table && !native[0].logit_map);
  check("native: results", same_results(&native[0], &c));
  z.q = affine(0.04f, -128), z.scale = 0.5f;
  check("native, next head: prepare", mha_s8_prepare(&c, NULL, &z) == MHA_OK);
  check("native, next head: numbers", sizeof native == 2 * sizeof c && same_numbers(native[1], c));
  check("native: scratch", NATIVE_SCRATCH_BYTES == mha_s8_scratch_bytes(MHA_S8_NATIVE, 81, 32));

  z.mode = MHA_S8_TFLM, z.q = affine(0.02f, 3), z.scale = 0.125f, z.logits = affine(0.1f, 11);
  check("tflm: prepare", mha_s8_prepare(&c, table, &z) == MHA_OK);
  check("tflm: numbers", same_numbers(plain[0], c) && !plain[0].logit_map);
  check("tflm: table", memcmp(plain[0].exp_table, table, sizeof table) == 0);
  check("tflm: results", same_results(&plain[0], &c));
  check("tflm: scratch", PLAIN_SCRATCH_BYTES == mha_s8_scratch_bytes(MHA_S8_TFLM, 81, 32));
  check("tflm, next head: a table of its own", memcmp(plain[1].exp_table, table, sizeof table) != 0);
  check("tflm, third head: the first one's table", plain[2].exp_table == plain[0].exp_table);

  check("table in RAM: numbers", same_numbers(ram[0], c));
  check("table in RAM: empty at first", ram[0].exp_table && ram[0].exp_table[0] == 0);
  mha_s8_exp_table(ram_table_0, ram[0].exp_multiplier, (int)ram[0].exp_shift);
  check("table in RAM: filled", memcmp(ram[0].exp_table, table, sizeof table) == 0);

  z.scale = 0.0f, z.logit_map = mapped[0].logit_map, z.map_scale = 0.05f;
  check("mul: prepare", mha_s8_prepare(&c, table, &z) == MHA_OK);
  check("mul: numbers", same_numbers(mapped[0], c) && mapped[0].logit_map);
  check("mul: table", memcmp(mapped[0].exp_table, table, sizeof table) == 0);
  check("mul: results", same_results(&mapped[0], &c));
  /* hashes of TensorFlow Lite Micro's 256 answers: a factor below 1, many halves to round, saturation */
  check("mul: answers 1", hash(mapped[0].logit_map) == 0xdc21560eu);
  check("mul: answers 2", hash(mapped[1].logit_map) == 0x994eb973u);
  check("mul: answers 3", hash(mapped[2].logit_map) == 0x52ac3d7fu);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
