/* s8.c - calls of integer attention whose data may be anything, for Frama-C's EVA to prove free of run-time
   errors.  MODE: MHA_S8_TFLM or MHA_S8_NATIVE; LEAN: without scratch. */
#include "__fc_builtin.h"

#define MHA_NO_FLOAT
#define MHA_IMPLEMENTATION
#include "mha.h"

enum { HEADS = 2, ROWS = 3, KEYS = 5, D_K = 3, D_V = 2 };

/* What mha_s8_prepare makes of scales 0.03, 0.03, 0.02, 0.015, logits 0.1; d_k 8, at most 40 keys */
static int32_t             table[256];
static const mha_s8_consts tflm = {
  MHA_S8_TFLM, 3, -7, 5, -2, 4, 8, 40, { 1236950508, 0, 5 }, { 1431655765, 0, 6 }, 1717986944, 23, table, NULL
};
static const mha_s8_consts native = {
  MHA_S8_NATIVE, 3, -7, 5, -2, 0, 8, 40, { 2018979205, 0, 2 }, { 1431655765, 0, 45 }, 0, 0, NULL, NULL
};
static signed char   q[ROWS * HEADS * D_K], k[KEYS * D_K], v[KEYS * D_V], o[ROWS * HEADS * D_V];
static const unsigned char mask[KEYS] = { 1, 0, 1, 1, 0 };

static void anything(void *p, unsigned long bytes) { Frama_C_make_unknown((char *)p, bytes); }

int main(void) {
  static mha_s8_desc d;
  anything(q, sizeof q), anything(k, sizeof k), anything(v, sizeof v);
  d.q_heads = HEADS, d.kv_heads = 1, d.q_len = ROWS, d.kv_len = KEYS, d.d_k = D_K, d.d_v = D_V;
  d.q = q, d.k = k, d.v = v, d.o = o, d.consts = MODE == MHA_S8_TFLM ? &tflm : &native;
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  d.mask = mask;
  if (mha_s8_exp_table(table, tflm.exp_multiplier, tflm.exp_shift) != MHA_OK) return 1;
#if LEAN
  return MODE == MHA_S8_TFLM ? mha_s8_tflm_lean(&d, 0, MHA_ALL) : mha_s8_native_lean(&d, 0, MHA_ALL);
#else
  return MODE == MHA_S8_TFLM ? mha_s8_tflm(&d, 0, MHA_ALL, (void *)WORK, WORK_BYTES)
                             : mha_s8_native(&d, 0, MHA_ALL, (void *)WORK, WORK_BYTES);
#endif
}
