/* curves.c - how the error of the output grows with the number of keys and with the range of the logits,
   beside that of the loop that the formula suggests.  Prints lines "curve x ours naive bound": the worst
   errors of ROWS rows, in units of 2^-24 of the largest value, and the largest bound of the manual for them.

   Values lie in [1, 2), so that errors add up instead of cancelling.  One head of D channels, normal keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MHA_IMPLEMENTATION
#include "../../mha.h"
#include "../oracle.h"
#include "../peers/naive.h"

enum { ROWS = 32, D = 64, MOST_KEYS = 65536 };

static const double U = 1.0 / 8388608.0; /* 2^-24 of values up to 2 */

static float q[ROWS * D], k[MOST_KEYS * D], v[MOST_KEYS * D], scores[MOST_KEYS];
static float ours[ROWS * D], plain[ROWS * D];

static double uniform(void) { /* 0 .. 1 */
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (double)(state >> 8) / 16777216.0;
}

static double normal(void) { return sqrt(-2.0 * log(1.0 - uniform())) * cos(6.283185307179586 * uniform()); }

static double worst(const float *got, const double *exact) {
  double most = 0.0;
  size_t n;
  for (n = 0; n < ROWS * D; n++) most = fmax(most, fabs((double)got[n] - exact[n]));
  return most;
}

/* One point: so many keys, and queries of that size, which at the default scale is that of the logits. */
static int point(const char *curve, size_t keys, double size, double x) {
  static double exact[ROWS * D], bound[ROWS * D];
  double        most = 0.0;
  mha_desc      d = { 0 };
  naive         loop = { q, k, v, plain, scores, 1, 1, 1, ROWS, 0, D, 0 };
  size_t        n;
  mha_status    status;
  for (n = 0; n < ROWS * D; n++) q[n] = (float)(size * normal());
  d.batch = d.q_heads = 1, d.q_len = ROWS, d.kv_len = keys, d.d_k = D;
  d.q = q, d.k = k, d.v = v, d.o = ours;
  status = mha_attend(&d, NULL, 0);
  if (status != MHA_OK) {
    fprintf(stderr, "%s\n", mha_strerror(status));
    return 1;
  }
  oracle_run(&d, mha_numerics()[0] != 'm', exact, NULL, NULL, bound, NULL, NULL);
  loop.kv_len = keys;
  naive_share(&loop, 0, 1);
  for (n = 0; n < ROWS * D; n++) most = fmax(most, bound[n]);
  printf("%s %g %.4g %.4g %.4g\n", curve, x, worst(ours, exact) / U, worst(plain, exact) / U, most / U);
  return worst(ours, exact) > most;
}

int main(void) {
  size_t n, keys;
  int    beyond = 0, e;
  for (n = 0; n < (size_t)MOST_KEYS * D; n++) {
    k[n] = (float)normal();
    v[n] = (float)(1.0 + uniform());
  }
  printf("numerics %s\n", mha_numerics());
  for (keys = 16; keys <= MOST_KEYS; keys *= 2) beyond |= point("kv_len", keys, 1.0, (double)keys);
  for (e = -4; e <= 14; e++) beyond |= point("logits", 512, pow(2.0, e / 2.0), pow(2.0, e / 2.0));
  return beyond;
}
