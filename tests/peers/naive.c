/* naive.c - attention as the formula reads, for bench_peers.py to compare with.

   cc -O3 -march=native -shared -fPIC -o build/naive.so tests/peers/naive.c -lm */
#include "naive.h"

#include <math.h>

static void one_row(float *o, float *p, const float *q, const float *k, const float *v, size_t keys,
                    size_t row, size_t d) {
  const float scale = 1 / sqrtf((float)d);
  float       most = -INFINITY, sum = 0;
  size_t      j, c;
  for (j = 0; j < keys; j++) {
    float s = 0;
    for (c = 0; c < d; c++) s += q[c] * k[j * row + c];
    p[j] = s * scale;
    most = fmaxf(most, p[j]);
  }
  for (j = 0; j < keys; j++) sum += p[j] = expf(p[j] - most);
  for (c = 0; c < d; c++) o[c] = 0;
  for (j = 0; j < keys; j++)
    for (c = 0; c < d; c++) o[c] += p[j] / sum * v[j * row + c];
}

int naive_share(void *job, size_t part, size_t parts) {
  const naive *n = (const naive *)job;
  const size_t all = n->batch * n->q_heads, end = all * (part + 1) / parts;
  const size_t q_row = n->q_heads * n->d, k_row = n->kv_heads * n->d, group = n->q_heads / n->kv_heads;
  float       *p = n->p + part * n->kv_len;
  size_t       at, i;
  for (at = all * part / parts; at < end; at++) {
    const size_t b = at / n->q_heads, h = at % n->q_heads;
    const size_t k_at = b * n->kv_len * k_row + h / group * n->d;
    const float *k = n->k + k_at, *v = n->v + k_at;
    for (i = 0; i < n->q_len; i++) {
      const size_t q_at = (b * n->q_len + i) * q_row + h * n->d;
      one_row(n->o + q_at, p, n->q + q_at, k, v, n->causal ? i + 1 : n->kv_len, k_row, n->d);
    }
  }
  return 0;
}
