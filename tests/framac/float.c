/* float.c - calls of the float core whose data may be any floats, NaN and infinities included, for Frama-C's
   EVA to prove free of run-time errors.  PART 1: level 1; 2: mha_attend, causal; 3: with a mask, slopes,
   sinks, soft cap, weights and LSE too.  (Where the data decides what is visible ranges are too coarse, so no
   bias, and one mask.) */
#include "__fc_builtin.h"

#define MHA_IMPLEMENTATION
#include "mha.h"

enum { HEADS = 2, ROWS = 3, KEYS = 5, D_K = 3, D_V = 2 };

static float         q[ROWS * HEADS * D_K], k[KEYS * D_K], v[KEYS * D_V], o[ROWS * HEADS * D_V];
static float         weights[HEADS * ROWS * KEYS], lse[HEADS * ROWS], slopes[HEADS], sinks[HEADS];
static const unsigned char mask[KEYS] = { 1, 0, 1, 1, 0 };

static void anything(void *p, unsigned long bytes) { Frama_C_make_unknown((char *)p, bytes); }

int main(void) {
#if PART == 1
  anything(q, sizeof q);
  return mha_multi_head_attention(o, q, q, q, ROWS, HEADS * D_V, HEADS);
#else
  static mha_desc d;
  anything(q, sizeof q), anything(k, sizeof k), anything(v, sizeof v);
  anything(slopes, sizeof slopes), anything(sinks, sizeof sinks);
  d.batch = 1, d.q_heads = HEADS, d.kv_heads = 1, d.q_len = ROWS, d.kv_len = KEYS, d.d_k = D_K, d.d_v = D_V;
  d.q = q, d.k = k, d.v = v, d.o = o;
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
#if PART == 3
  d.weights = weights, d.lse = lse, d.alibi_slopes = slopes, d.sinks = sinks, d.softcap = 2.0f, d.mask = mask;
#endif
  return mha_attend(&d, (void *)WORK, WORK_BYTES);
#endif
}
