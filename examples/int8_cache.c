/* int8_cache.c - decodes from a cache of int8 codes, less than a third of the memory, with a sliding window.

   cc -O2 examples/int8_cache.c && ./a.out

   Each key and each value, one per token and head, is stored as int8 codes and a float: element = code *
   scale.  The newest 64 tokens are visible and the first 4, without which many models lose the thread.
   Every token is also attended with the float32 numbers before rounding, and with code * scale as floats.

   Expect: 0 of 38400 outputs are beyond a bound. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>

enum { TOKENS = 300, SLOTS = 512, Q_HEADS = 4, KV_HEADS = 2, CHANNELS = 32 };

/* The bounds.  Numbers here are within 2, so code * scale is off by at most 1/127 = 0.008: averaged in the
   values, plus what the same in the keys does to the weights.  0.02 is what is fair to expect of that, not a
   theorem.  Between attention over codes and over code * scale only float32 roundings differ. */
static const double ROUNDED = 0.02, SAME = 1e-5;

static signed char k_code[SLOTS][KV_HEADS][CHANNELS], v_code[SLOTS][KV_HEADS][CHANNELS]; /* the cache */
static float       k_scale[SLOTS][KV_HEADS], v_scale[SLOTS][KV_HEADS];
static float       k[SLOTS][KV_HEADS][CHANNELS], v[SLOTS][KV_HEADS][CHANNELS];           /* in float32 */
static float       k_back[SLOTS][KV_HEADS][CHANNELS], v_back[SLOTS][KV_HEADS][CHANNELS]; /* code * scale */

static float noise(void) { /* -2 .. 2 */
  static unsigned long state = 1;
  state = (state * 1664525UL + 1013904223UL) & 0xffffffffUL;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

static double distance(float a, float b) { return a < b ? (double)b - (double)a : (double)a - (double)b; }

int main(void) {
  float      q[Q_HEADS * CHANNELS], o[3][Q_HEADS * CHANNELS];
  double     from_float = 0, from_back = 0;
  mha_desc   d = { 0 }, coded;
  mha_status status = MHA_OK;
  size_t     used;
  int        i, h, c, beyond = 0;
  d.batch = 1;
  d.q_heads = Q_HEADS, d.kv_heads = KV_HEADS;
  d.q_len = 1, d.kv_len = SLOTS, d.kv_lens = &used;
  d.d_k = CHANNELS;
  d.q = q;
  d.flags = MHA_CAUSAL | MHA_Q_LAST | MHA_USE_WINDOW;
  d.window_left = 63, d.keep_first = 4;

  coded = d;
  coded.k = k_code, coded.k_type = MHA_S8, coded.k_scale = &k_scale[0][0];
  coded.v = v_code, coded.v_type = MHA_S8, coded.v_scale = &v_scale[0][0];
  /* Scales lie as (batch, token, head), which must be said: without strides the first counts for all. */
  coded.k_scale_stride.batch = SLOTS * KV_HEADS;
  coded.k_scale_stride.head = 1;
  coded.k_scale_stride.row = KV_HEADS;
  coded.v_scale_stride = coded.k_scale_stride;

  for (i = 0; i < TOKENS && status == MHA_OK; i++) {
    for (c = 0; c < Q_HEADS * CHANNELS; c++) q[c] = noise();
    for (h = 0; h < KV_HEADS; h++)
      for (c = 0; c < CHANNELS; c++) k[i][h][c] = noise(), v[i][h][c] = noise();

    status = mha_s8_from_f32(k_code[i][0], k_scale[i], k[i][0], KV_HEADS, CHANNELS); /* one row per head */
    if (status == MHA_OK) status = mha_s8_from_f32(v_code[i][0], v_scale[i], v[i][0], KV_HEADS, CHANNELS);
    for (h = 0; h < KV_HEADS; h++)
      for (c = 0; c < CHANNELS; c++) {
        k_back[i][h][c] = (float)k_code[i][h][c] * k_scale[i][h];
        v_back[i][h][c] = (float)v_code[i][h][c] * v_scale[i][h];
      }

    used = (size_t)i + 1;
    coded.o = o[0];
    if (status == MHA_OK) status = mha_attend(&coded, NULL, 0);
    d.o = o[1], d.k = k, d.v = v;
    if (status == MHA_OK) status = mha_attend(&d, NULL, 0);
    d.o = o[2], d.k = k_back, d.v = v_back;
    if (status == MHA_OK) status = mha_attend(&d, NULL, 0);

    for (c = 0; c < Q_HEADS * CHANNELS && status == MHA_OK; c++) {
      double rounded = distance(o[0][c], o[1][c]), same = distance(o[0][c], o[2][c]);
      if (rounded > from_float) from_float = rounded;
      if (same > from_back) from_back = same;
      beyond += !(rounded <= ROUNDED && same <= SAME); /* counts NaN, too */
    }
  }
  if (status != MHA_OK) {
    printf("%s\n", mha_strerror(status));
    return 1;
  }
  printf("cache: %lu bytes in float32, %lu in int8 with scales\n", (unsigned long)(sizeof k + sizeof v),
         (unsigned long)(sizeof k_code + sizeof v_code + sizeof k_scale + sizeof v_scale));
  printf("largest difference from float32: %.2g (bound %g)\n", from_float, ROUNDED);
  printf("largest difference from code * scale as floats: %.2g (bound %g)\n", from_back, SAME);
  printf("%d of %d outputs are beyond a bound\n", beyond, TOKENS * Q_HEADS * CHANNELS);
  return beyond != 0;
}
