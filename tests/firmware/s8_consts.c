/* s8_consts.c - runs on the desktop and prints C source: the constants for s8_hash.c and s8_count.c, which
   then are const in the flash of a board that computes no float. */
#include <stdio.h>
#include <string.h>

#include "../../mha.h"

static signed char map[256];

static mha_s8_affine affine(double scale, int zero) {
  mha_s8_affine a;
  a.scale = (float)scale;
  a.zero = zero;
  return a;
}

/* For noise in all of -128 .. 127, d_k channels: logits spread over most of their range. */
static mha_s8_quant quant(size_t d_k, double root) {
  static const mha_s8_quant zero;
  mha_s8_quant              z = zero;
  const double              code = 0.02, deviation = 74.0; /* of one code */
  z.d_k = d_k;
  z.kv_len = 128;
  z.q = affine(code, 3);
  z.k = affine(code, -7);
  z.v = affine(code, 5);
  z.o = affine(0.7 * code, -2);
  z.logits = affine(code * code * deviation * deviation * root * 6.0 / 256.0, 11);
  return z;
}

static int print(const char *name, const mha_s8_quant *z) {
  static int32_t table[256];
  const int      tflm = z->mode == MHA_S8_TFLM;
  mha_s8_consts  c;
  int            n;
  mha_status     status = mha_s8_prepare(&c, tflm ? table : NULL, z);
  if (status != MHA_OK) {
    fprintf(stderr, "%s: %s\n", name, mha_strerror(status));
    return 1;
  }
  if (tflm) {
    printf("static const int32_t %s_table[256] = {", name);
    for (n = 0; n < 256; n++) printf("%s%ld,", n % 8 ? " " : "\n  ", (long)table[n]);
    printf("\n};\n");
  }
  if (c.logit_map) {
    printf("static const signed char %s_map[256] = {", name);
    for (n = 0; n < 256; n++) printf("%s%d,", n % 16 ? " " : "\n  ", c.logit_map[n]);
    printf("\n};\n");
  }
  printf("const mha_s8_consts %s = {\n  %d, %d, %d, %d, %d, %d, %luu, %luu,\n", name, c.mode, c.q_zero,
         c.k_zero, c.v_zero, c.o_zero, c.logit_zero, (unsigned long)c.max_d_k, (unsigned long)c.max_kv_len);
  printf("  { %ld, %d, %d }, { %ld, %d, %d }, %ld, %ld,\n", (long)c.qk.multiplier, c.qk.left, c.qk.right,
         (long)c.pv.multiplier, c.pv.left, c.pv.right, (long)c.exp_multiplier, (long)c.exp_shift);
  printf("  %s%s, %s%s\n};\n", tflm ? name : "NULL", tflm ? "_table" : "", c.logit_map ? name : "NULL",
         c.logit_map ? "_map" : "");
  return 0;
}

int main(void) {
  static const struct {
    size_t      d_k;
    double      root;
    const char *tflm, *native;
  } sizes[] = { { 2, 1.41, "tflm_2", "native_2" }, { 8, 2.83, "tflm_8", "native_8" },
                { 32, 5.66, "tflm_32", "native_32" } };
  mha_s8_quant z;
  size_t       k;
  int          n, wrong = 0;
  printf("#include \"s8.h\"\n");
  for (k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
    z = quant(sizes[k].d_k, sizes[k].root);
    z.mode = MHA_S8_TFLM;
    wrong |= print(sizes[k].tflm, &z);
    memset(&z.logits, 0, sizeof z.logits);
    z.mode = MHA_S8_NATIVE;
    wrong |= print(sizes[k].native, &z);
  }
  /* what converters put between logits and softmax; other signs of shifts; zero points at the ends */
  z = quant(8, 2.83);
  z.mode = MHA_S8_TFLM;
  for (n = 0; n < 256; n++) map[n] = (signed char)((n - 128) / 2 - 20);
  z.logit_map = map;
  z.map_scale = 0.11f;
  z.q.zero = -128;
  z.v.zero = 127;
  z.o = affine(0.002, 100);
  wrong |= print("tflm_map", &z);
  z.mode = MHA_S8_NATIVE;
  z.logit_map = NULL;
  z.map_scale = 0.0f;
  memset(&z.logits, 0, sizeof z.logits);
  z.scale = 3.0f;
  wrong |= print("native_steep", &z);
  return wrong;
}
