/* calibrate.c - from float attention to int8: finds the scales, prints them as quantize.c wants them on its
   command line, and shows how far the int8 outputs are from the float ones.

   cc -O2 examples/calibrate.c && ./a.out

   A calibration set would be recorded from a model; here noise stands in for it.  With head = h in place of
   MHA_ALL each query head gets scales of its own.

   Expect: both modes within 3 steps of the output. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>

enum { SAMPLES = 8, TOKENS = 20, HEADS = 4, CHANNELS = 16, WIDTH = HEADS * CHANNELS };
enum { ALL = SAMPLES * TOKENS * WIDTH };

static float         q[ALL], k[ALL], v[ALL], o[ALL];
static signed char   q_code[ALL], k_code[ALL], v_code[ALL], o_code[ALL];
static unsigned char scratch[MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, TOKENS, CHANNELS)]; /* the larger one */
static int32_t       table[256];

static float noise(void) { /* about normal, within 6 */
  static unsigned long state = 1;
  float                sum = -6.0f;
  int                  n;
  for (n = 0; n < 12; n++) {
    state = (state * 1664525UL + 1013904223UL) & 0xffffffffUL;
    sum += (float)(state >> 8) / 16777216.0f;
  }
  return sum;
}

static void print_affine(const char *name, mha_s8_affine a) {
  printf(" %s=%.9g,%d", name, (double)a.scale, a.zero);
}

static void print_command(const mha_s8_quant *z) { /* %.9g: every float comes back as it was */
  const int tflm = z->mode == MHA_S8_TFLM;
  printf("./quantize %s d_k=%d kv_len=%d", tflm ? "tflm" : "native", (int)z->d_k, (int)z->kv_len);
  print_affine("q", z->q), print_affine("k", z->k), print_affine("v", z->v), print_affine("o", z->o);
  if (tflm) print_affine("logits", z->logits);
  printf(" %s=%.9g > attention.h\n", tflm ? "beta" : "scale", (double)z->scale);
}

/* Attends in int8 and compares with o.  Returns the largest distance in steps of the output. */
static mha_status compare(const mha_s8_quant *z, double *most) {
  const int     tflm = z->mode == MHA_S8_TFLM;
  mha_s8_consts consts;
  mha_s8_desc   d = { 0 };
  double        sum = 0;
  int           n, sample;
  mha_status    status = mha_s8_prepare(&consts, tflm ? table : NULL, z);
  if (status == MHA_OK) status = mha_s8_quantize(q_code, q, ALL, z->q);
  if (status == MHA_OK) status = mha_s8_quantize(k_code, k, ALL, z->k);
  if (status == MHA_OK) status = mha_s8_quantize(v_code, v, ALL, z->v);
  d.q_heads = HEADS, d.q_len = d.kv_len = TOKENS, d.d_k = CHANNELS;
  d.consts = &consts;
  d.flags = MHA_CAUSAL;
  for (sample = 0; sample < SAMPLES && status == MHA_OK; sample++) {
    const int at = sample * TOKENS * WIDTH;
    d.q = q_code + at, d.k = k_code + at, d.v = v_code + at, d.o = o_code + at;
    status = tflm ? mha_s8_tflm(&d, 0, MHA_ALL, scratch, sizeof scratch)
                  : mha_s8_native(&d, 0, MHA_ALL, scratch, sizeof scratch);
  }
  for (n = 0; n < ALL; n++) {
    double steps = (double)(o_code[n] - z->o.zero) - (double)o[n] / (double)z->o.scale;
    if (steps < 0) steps = -steps;
    if (steps > *most) *most = steps;
    sum += steps;
  }
  printf("  output steps of %.4f: on average %.2f, at most %.1f from float\n", (double)z->o.scale, sum / ALL,
         *most);
  return status;
}

int main(void) {
  static const int modes[2] = { MHA_S8_TFLM, MHA_S8_NATIVE };
  mha_desc         d = { 0 };
  double           most = 0;
  int              n, m;
  for (n = 0; n < ALL; n++) q[n] = noise(), k[n] = noise(), v[n] = noise();
  d.batch = SAMPLES, d.q_heads = HEADS, d.q_len = d.kv_len = TOKENS, d.d_k = CHANNELS;
  d.q = q, d.k = k, d.v = v, d.o = o;
  d.flags = MHA_CAUSAL;
  for (m = 0; m < 2; m++) {
    mha_s8_quant z = { 0 };
    mha_status   status;
    z.mode = modes[m];
    status = mha_s8_calibrate(&z, &d, MHA_ALL); /* writes o, too */
    if (status == MHA_OK) {
      print_command(&z);
      status = compare(&z, &most);
    }
    if (status != MHA_OK) {
      printf("%s\n", mha_strerror(status));
      return 1;
    }
  }
  if (most <= 3) printf("both modes within 3 steps of the output\n");
  return most > 3;
}
