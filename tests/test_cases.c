/* test_cases.c - worked examples, small inputs that have broken other attention implementations, and
   properties that hold whatever the numbers are.  A case runs at its smallest size and at sizes around 16 and
   128, every way a caller can ask for it (RUN). */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#define _DARWIN_C_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#  include <sys/mman.h>
#endif
#include "../mha.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define INF          ((float)INFINITY)
#define NOT_A_NUMBER ((float)NAN)
#define TINY         5.9604644775390625e-8 /* 2^-24, half the distance from 1 to the next float */

/* Lengths below, at and above the places where a loop over lanes, tiles or blocks ends. */
static const size_t edges[] = {
  1, 2, 3, 5, 8, 9, 15, 16, 17, 32, 33, 65, 127, 128, 129, 130, 256, 257, 300, 0
};
#define FOR_EDGES(n, least) for (size_t at_ = 0, n; (n = edges[at_]) != 0; at_++) if (n >= (least))

/* ---- Comparing ---- */

/* Equal bits where the build promises bits, else nearly equal. */
static int alike(float got, float want) {
  if (same_float(got, want)) return 1;
  return numerics_fused() < 0 && fabs((double)got - (double)want) <= 1e-5 * (1.0 + fabs((double)want));
}

static void same_at(int line, const float *got, const float *want, size_t count, const char *what,
                    size_t size) {
  size_t k;
  for (k = 0; k < count && alike(got[k], want[k]); k++) {}
  check_that(k == count, __FILE__, line, "%s, size %lu: element %lu of %lu is %.9g, want %.9g", what,
             (unsigned long)size, (unsigned long)k, (unsigned long)count, k < count ? (double)got[k] : 0.0,
             k < count ? (double)want[k] : 0.0);
}
#define SAME(got, want, count, what, size) same_at(__LINE__, got, want, count, what, size)

static void near_at(int line, float got, double want, double tolerance, const char *what, size_t size) {
  check_that(fabs((double)got - want) <= tolerance, __FILE__, line,
             "%s, size %lu: %.9g, want %.9g within %.2g", what, (unsigned long)size, (double)got, want,
             tolerance);
}
#define NEAR(got, want, tolerance, what, size) near_at(__LINE__, got, want, tolerance, what, size)

/* These bits and no others: +0 is not -0. */
static void all_are_at(int line, const float *got, float want, size_t count, const char *what, size_t size) {
  size_t k;
  for (k = 0; k < count && same_float(got[k], want); k++) {}
  check_that(k == count, __FILE__, line, "%s, size %lu: element %lu is %.9g, want %.9g", what,
             (unsigned long)size, (unsigned long)k, k < count ? (double)got[k] : 0.0, (double)want);
}
#define ALL_ARE(got, want, count, what, size) all_are_at(__LINE__, got, want, count, what, size)

/* ---- Exact answers, in double ---- */

/* Softmax over the visible logits, and over the sink if there is one, and the mean of v (n, d_v) it makes. */
static void exact_mean(double *out, double *weights, double *lse, const double *logit,
                       const unsigned char *visible, size_t n, const float *sink, const float *v,
                       size_t d_v) {
  double max = sink ? (double)*sink : -(double)INFINITY, sum = 0.0;
  size_t j, c;
  for (j = 0; j < n; j++)
    if (visible[j] && logit[j] > max) max = logit[j];
  if (sink) sum = exp((double)*sink - max);
  for (j = 0; j < n; j++)
    if (visible[j]) sum += exp(logit[j] - max);
  for (c = 0; c < d_v; c++) out[c] = 0.0;
  for (j = 0; j < n; j++) {
    double p = visible[j] ? exp(logit[j] - max) / sum : 0.0;
    if (weights) weights[j] = p;
    if (visible[j])
      for (c = 0; c < d_v; c++) out[c] += p * (double)v[j * d_v + c];
  }
  if (lse) *lse = max + log(sum);
}

static double exact_dot(const float *a, const float *b, size_t d) {
  double sum = 0.0;
  size_t c;
  for (c = 0; c < d; c++) sum += (double)a[c] * (double)b[c];
  return sum;
}

static double largest(const float *x, size_t n) {
  double most = 0.0;
  size_t k;
  for (k = 0; k < n; k++)
    if (fabs((double)x[k]) > most) most = fabs((double)x[k]);
  return most;
}

/* How far an output may be from the exact one: what follows from one rounding per step.  n keys, |v| <=
   v_max, and for every key |scale| sum |q k| + |bias| + |slope| distance <= t_max. */
static double bound(size_t n, size_t d_k, double t_max, double v_max) {
  double keys = (double)n + 1.0, block = keys < 128.0 ? keys : 128.0;
  double D = TINY * ((double)d_k + 16.0) * t_max, sums = block + keys / 20.0;
  if (numerics_fused() != 1) D = TINY * (2.0 * (double)d_k + 20.0) * t_max, sums = 2.0 * block + keys / 12.0;
  return v_max * (exp(2.0 * D) - 1.0 + TINY * (sums + 2.0 * log(keys) + 30.0)) + 1e-35 * v_max * keys;
}
static double bound_lse(size_t n, size_t d_k, double t_max, double lse) {
  double keys = (double)n + 1.0, D = TINY * (2.0 * (double)d_k + 20.0) * t_max;
  return D + TINY * (4.0 * fabs(lse) + keys / 12.0 + 4.0 * log(keys) + 20.0);
}

/* ---- Tensors and descriptors ---- */

enum { MOST = 1 << 16, MOST_ROWS = 4096 };
static struct {
  float         q[MOST], k[MOST], v[MOST], o[MOST], o2[MOST], w[2 * MOST], w2[2 * MOST], bias[2 * MOST];
  float         lse[MOST_ROWS], lse2[MOST_ROWS];
  unsigned char keep[2 * MOST];
} t;

static void randomise(float *x, size_t n) {
  size_t k;
  for (k = 0; k < n; k++) x[k] = rng_normal();
}

/* Random packed q, k, v; d_v = d_k. */
static mha_desc random_call(size_t q_heads, size_t kv_heads, size_t q_len, size_t kv_len, size_t d_k) {
  mha_desc d = { 0 };
  d.batch = 1, d.q_heads = q_heads, d.kv_heads = kv_heads, d.q_len = q_len, d.kv_len = kv_len, d.d_k = d_k;
  d.o = t.o, d.q = t.q, d.k = t.k, d.v = t.v, d.lse = t.lse;
  randomise(t.q, q_len * q_heads * d_k);
  randomise(t.k, kv_len * kv_heads * d_k);
  randomise(t.v, kv_len * kv_heads * d_k);
  return d;
}

/* One head, one channel, q = 1 and scale 1, so that k holds the logits: all 0 to begin with.  v[j] = j. */
static mha_desc logits_call(size_t q_len, size_t kv_len) {
  mha_desc d = { 0 };
  size_t   k;
  d.batch = d.q_heads = d.d_k = 1, d.q_len = q_len, d.kv_len = kv_len, d.scale = 1.0f;
  d.o = t.o, d.q = t.q, d.k = t.k, d.v = t.v, d.lse = t.lse, d.weights = t.w;
  for (k = 0; k < q_len; k++) t.q[k] = 1.0f;
  for (k = 0; k < kv_len; k++) t.k[k] = 0.0f, t.v[k] = (float)k;
  return d;
}

static mha_strides by_row(size_t row) {
  mha_strides s = { 0, 0, 0 };
  s.row = (ptrdiff_t)row;
  return s;
}

static size_t rows_of(const mha_desc *d) { return d->batch * d->q_heads * d->q_len; }

/* Floats from o to the end of its last row. */
static size_t span_of_o(const mha_desc *d) {
  size_t d_v = d->d_v ? d->d_v : d->d_k;
  if (!rows_of(d)) return 0;
  if (!d->o_stride.batch && !d->o_stride.head && !d->o_stride.row) return rows_of(d) * d_v;
  return (d->batch - 1) * (size_t)d->o_stride.batch + (d->q_heads - 1) * (size_t)d->o_stride.head +
         (d->q_len - 1) * (size_t)d->o_stride.row + d_v;
}

/* mha_attend, and then again with and without a workspace, weights and lse, in shares of rows and in shares
   of keys: all must leave the same bits, and memory between rows of o alone.  Returns 1 if the first call was
   OK. */
static int run_at(int line, const mha_desc *d, const char *what, size_t size) {
  static const char *const ways[] = { "with a workspace",  "without weights and lse",
                                      "in three shares",   "in more shares than rows",
                                      "keys in one share", "keys in three shares" };
  size_t     way, part, parts, rows = rows_of(d), on = span_of_o(d);
  size_t     work_bytes = mha_work_bytes(d), keys_bytes;
  mha_status status;
  if (on) memset(d->o, 0xA5, on * 4);
  status = mha_attend(d, NULL, 0);
  if (!check_that(status == MHA_OK, __FILE__, line, "%s, size %lu: %s", what, (unsigned long)size,
                  mha_strerror(status)))
    return 0;
  for (way = 0; way < COUNT(ways); way++) {
    mha_desc e = *d;
    size_t   bytes = way == 1 ? rng_below(work_bytes + 1) : work_bytes, wn, ln, k;
    void    *work = guard_new(bytes, way == 0 ? 1 : 0), *shared = NULL;
    if (way == 1) e.weights = NULL, e.lse = NULL;
    if (way >= 4) e.weights = NULL;
    wn = e.weights ? rows * d->kv_len : 0;
    ln = e.lse ? rows : 0;
    e.o = (float *)guard_new(on * 4, 0);
    if (e.weights) e.weights = (float *)guard_new(wn * 4, 0);
    if (e.lse) e.lse = (float *)guard_new(ln * 4, 0);
    status = MHA_OK;
    if (way < 2) status = mha_attend(&e, work, bytes);
    if (way == 2 || way == 3)
      for (parts = way == 2 ? 3 : rows + 2, part = 0; part < parts && status == MHA_OK; part++)
        status = mha_attend_part(&e, (part + 2) % parts, parts, part % 2 ? work : NULL, part % 2 ? bytes : 0);
    if (way >= 4) {
      parts = way == 4 ? 1 : 3;
      keys_bytes = mha_keys_bytes(&e);
      shared = guard_new(keys_bytes, 1);
      for (part = 0; part < parts && status == MHA_OK; part++)
        status = mha_attend_keys(&e, parts - 1 - part, parts, shared, keys_bytes);
      if (status == MHA_OK) status = mha_attend_join(&e, shared, keys_bytes);
      guard_free(shared, "shared");
    }
    check_that(status == MHA_OK, __FILE__, line, "%s, size %lu, %s: %s", what, (unsigned long)size, ways[way],
               mha_strerror(status));
    for (k = 0; k < on && alike(e.o[k], d->o[k]); k++) {}
    check_that(k == on, __FILE__, line, "%s, size %lu, %s: o differs at %lu", what, (unsigned long)size,
               ways[way], (unsigned long)k);
    for (k = 0; k < wn && alike(e.weights[k], d->weights[k]); k++) {}
    check_that(k == wn, __FILE__, line, "%s, size %lu, %s: weights differ at %lu", what, (unsigned long)size,
               ways[way], (unsigned long)k);
    for (k = 0; k < ln && alike(e.lse[k], d->lse[k]); k++) {}
    check_that(k == ln, __FILE__, line, "%s, size %lu, %s: lse differs at %lu", what, (unsigned long)size,
               ways[way], (unsigned long)k);
    guard_free(work, "work");
    guard_free(e.o, "o");
    if (e.weights) guard_free(e.weights, "weights");
    if (e.lse) guard_free(e.lse, "lse");
  }
  return 1;
}
#define RUN(d, what, size) run_at(__LINE__, d, what, size)

/* A row without keys. */
static void empty_at(int line, const mha_desc *d, size_t row, float lse, const char *what, size_t size) {
  size_t d_v = d->d_v ? d->d_v : d->d_k;
  all_are_at(line, d->o + row * d_v, 0.0f, d_v, what, size);
  all_are_at(line, d->lse + row, lse, 1, what, size);
  if (d->weights) all_are_at(line, d->weights + row * d->kv_len, 0.0f, d->kv_len, what, size);
}
#define EMPTY(d, row, lse, what, size) empty_at(__LINE__, d, row, lse, what, size)

/* ---- Worked examples ---- */

static void two_tokens_two_heads(void) {
  static const float qk[8] = { 1, 0, 0, 1, 0, 1, 1, 0 }, v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  static const float want[8] = { 2.321f, 3.321f, 4.321f, 5.321f, 3.679f, 4.679f, 5.679f, 6.679f };
  static const float weight[4] = { 0.6698f, 0.3302f, 0.3302f, 0.6698f };
  float              out[8], heads[3][8], attended[8], steps[8], weights[8];
  mha_desc           d = { 0 };
  size_t             k;
  CHECK(mha_multi_head_attention(out, qk, qk, v, 2, 4, 2) == MHA_OK, "not OK");
  for (k = 0; k < 8; k++) NEAR(out[k], (double)want[k], 0.0005, "whole", k);

  CHECK(mha_split_heads(heads[0], qk, 2, 2, 2) == MHA_OK, "not OK");
  CHECK(mha_split_heads(heads[1], qk, 2, 2, 2) == MHA_OK, "not OK");
  CHECK(mha_split_heads(heads[2], v, 2, 2, 2) == MHA_OK, "not OK");
  CHECK(mha_sdpa(attended, heads[0], heads[1], heads[2], 2, 2, 2) == MHA_OK, "not OK");
  CHECK(mha_merge_heads(steps, attended, 2, 2, 2) == MHA_OK, "not OK");
  SAME(steps, out, 8, "in steps", 8);

  d.batch = 1, d.q_heads = 2, d.q_len = d.kv_len = 2, d.d_k = 2;
  d.o = t.o, d.q = qk, d.k = qk, d.v = v, d.weights = weights;
  CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
  SAME(t.o, out, 8, "described", 8);
  for (k = 0; k < 8; k++) NEAR(weights[k], (double)weight[k % 4], 0.00005, "weights", k);
}

/* Out of (seq_len, heads * d_k), each head on its own, plain double, with any scale. */
static void attend_plainly(double *out, size_t seq_len, size_t heads, size_t d_k, double scale) {
  static const unsigned char all[4] = { 1, 1, 1, 1 };
  size_t                     h, i, j, c, width = heads * d_k;
  double                     logit[4], row[64];
  float                      v[4 * 64];
  for (h = 0; h < heads; h++)
    for (i = 0; i < seq_len; i++) {
      for (j = 0; j < seq_len; j++) {
        logit[j] = scale * exact_dot(t.q + i * width + h * d_k, t.k + j * width + h * d_k, d_k);
        for (c = 0; c < d_k; c++) v[j * d_k + c] = t.v[j * width + h * d_k + c];
      }
      exact_mean(row, NULL, NULL, logit, all, seq_len, NULL, v, d_k);
      for (c = 0; c < d_k; c++) out[i * width + h * d_k + c] = row[c];
    }
}

static void four_tokens_eight_heads(void) {
  enum { S = 4, MODEL = 64, HEADS = 8, D_K = MODEL / HEADS };
  float *out = (float *)guard_new(S * MODEL * 4, 0);
  double want[S * MODEL], by_model[S * MODEL], apart = 0.0, tolerance;
  size_t k;
  for (k = 0; k < S * MODEL; k++)
    t.q[k] = rng_float(-2, 2), t.k[k] = rng_float(-2, 2), t.v[k] = rng_float(-2, 2);
  CHECK(mha_multi_head_attention(out, t.q, t.k, t.v, S, MODEL, HEADS) == MHA_OK, "not OK");
  attend_plainly(want, S, HEADS, D_K, 1.0 / sqrt((double)D_K));
  attend_plainly(by_model, S, HEADS, D_K, 1.0 / sqrt((double)MODEL));
  tolerance = bound(S, D_K, 4.0 * D_K / sqrt((double)D_K), 2.0);
  for (k = 0; k < S * MODEL; k++) {
    NEAR(out[k], want[k], tolerance, "scaled by sqrt(d_k)", k);
    if (fabs((double)out[k] - by_model[k]) > apart) apart = fabs((double)out[k] - by_model[k]);
  }
  CHECK(apart > 0.01, "scaling by sqrt(d_model) would be only %g away", apart);
  guard_free(out, "(4, 64) output");
}

/* ---- Splitting and merging ---- */

static void split_and_merge(void) {
  static const size_t lens[] = { 1, 2, 3, 7, 16, 17, 33 }, heads[] = { 1, 2, 3, 8, 12 },
                      widths[] = { 1, 2, 5, 8, 16, 17 };
  size_t              a, b, c, i, h, k, S, H, D, n;
  for (a = 0; a < COUNT(lens); a++)
    for (b = 0; b < COUNT(heads); b++)
      for (c = 0; c < COUNT(widths); c++) {
        float *x, *split, *back;
        int    placed = 1;
        S = lens[a], H = heads[b], D = widths[c], n = S * H * D;
        x = (float *)guard_new(n * 4, 4), split = (float *)guard_new(n * 4, 8),
        back = (float *)guard_new(n * 4, 12);
        for (k = 0; k < n; k++) x[k] = from_bits((uint32_t)rng()); /* copies keep every bit, NaNs too */
        CHECK(mha_split_heads(split, x, S, H, D) == MHA_OK, "split (%lu, %lu)", (unsigned long)S,
              (unsigned long)(H * D));
        for (i = 0; i < S; i++)
          for (h = 0; h < H; h++) placed &= !memcmp(split + (h * S + i) * D, x + i * H * D + h * D, D * 4);
        CHECK(placed, "split of (%lu, %lu * %lu)", (unsigned long)S, (unsigned long)H, (unsigned long)D);
        CHECK(mha_merge_heads(back, split, S, H, D) == MHA_OK, "not OK");
        CHECK(!memcmp(back, x, n * 4), "merge does not undo the split of (%lu, %lu * %lu)", (unsigned long)S,
              (unsigned long)H, (unsigned long)D);
        CHECK(mha_merge_heads(split, x, S, H, D) == MHA_OK && mha_split_heads(back, split, S, H, D) == MHA_OK,
              "not OK");
        CHECK(!memcmp(back, x, n * 4), "split does not undo the merge of (%lu, %lu * %lu)", (unsigned long)S,
              (unsigned long)H, (unsigned long)D);
        guard_free(x, "x"), guard_free(split, "split"), guard_free(back, "back");
      }
}

/* Reading (heads, len, d_k) memory as (len, heads * d_k) is not a merge. */
static void reshaping_is_not_merging(void) {
  enum { S = 3, H = 4, D = 2, N = S * H * D };
  float  x[N], heads[3][N], attended[N], merged[N];
  size_t k, moved = 0, wrong = 0;
  for (k = 0; k < N; k++) x[k] = (float)k;
  CHECK(mha_split_heads(heads[0], x, S, H, D) == MHA_OK, "not OK");
  CHECK(mha_merge_heads(merged, heads[0], S, H, D) == MHA_OK, "not OK");
  for (k = 0; k < N; k++) moved += heads[0][k] != merged[k];
  CHECK(moved == N - 2 * D, "%lu of %d elements move, want all but the first and the last row's",
        (unsigned long)moved, N);

  randomise(t.q, N), randomise(t.k, N), randomise(t.v, N);
  CHECK(mha_split_heads(heads[0], t.q, S, H, D) == MHA_OK &&
            mha_split_heads(heads[1], t.k, S, H, D) == MHA_OK &&
            mha_split_heads(heads[2], t.v, S, H, D) == MHA_OK,
        "not OK");
  CHECK(mha_sdpa(attended, heads[0], heads[1], heads[2], S, H, D) == MHA_OK, "not OK");
  CHECK(mha_multi_head_attention(merged, t.q, t.k, t.v, S, H * D, H) == MHA_OK, "not OK");
  for (k = 0; k < N; k++) wrong += !same_float(attended[k], merged[k]);
  CHECK(wrong == N - 2 * D, "%lu of %d elements of a mere reshape are wrong, want all but two rows",
        (unsigned long)wrong, N);
}

static void steps_equal_the_whole(void) {
  static const size_t heads[] = { 1, 2, 3, 8 }, widths[] = { 1, 3, 8, 16, 20 };
  size_t              a, b;
  FOR_EDGES(S, 1)
    for (a = 0; a < COUNT(heads); a++)
      for (b = 0; b < COUNT(widths); b++) {
        size_t H = heads[a], D = widths[b], n = S * H * D;
        if (n > MOST || S * S * H * D > 400000) continue;
        randomise(t.q, n), randomise(t.k, n), randomise(t.v, n);
        CHECK(mha_multi_head_attention(t.o, t.q, t.k, t.v, S, H * D, H) == MHA_OK, "not OK");
        CHECK(mha_split_heads(t.w, t.q, S, H, D) == MHA_OK, "not OK");
        CHECK(mha_split_heads(t.w2, t.k, S, H, D) == MHA_OK, "not OK");
        CHECK(mha_split_heads(t.bias, t.v, S, H, D) == MHA_OK, "not OK");
        CHECK(mha_sdpa(t.w + MOST, t.w, t.w2, t.bias, S, H, D) == MHA_OK, "not OK");
        CHECK(mha_merge_heads(t.o2, t.w + MOST, S, H, D) == MHA_OK, "not OK");
        SAME(t.o2, t.o, n, "split, attend, merge", S);
        if (H == 1) {
          CHECK(mha_sdpa(t.o2, t.q, t.k, t.v, S, 1, D) == MHA_OK, "not OK");
          SAME(t.o2, t.o, n, "one head is plain attention", S);
        }
      }
}

/* ---- Faults others had: rows without keys ---- */

static void empty_row_beside_a_full_one(void) {
  FOR_EDGES(n, 3) {
    mha_desc d = logits_call(2, n), e;
    memset(t.keep, 0, 2 * n);
    t.keep[0] = t.keep[1] = 1;
    d.mask = t.keep, d.mask_stride = by_row(n);
    if (!RUN(&d, "an empty row", n)) return;
    EMPTY(&d, 1, -INF, "an empty row", n);
    NEAR(t.o[0], 0.5, 1e-6, "the row before it", n);
    e = d;
    e.q_len = 1, e.o = t.o2, e.lse = t.lse2, e.weights = t.w2;
    CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
    SAME(t.o, t.o2, 1, "the row before it, alone", n);
    SAME(t.lse, t.lse2, 1, "its lse", n);
    SAME(t.w, t.w2, n, "its weights", n);
  }
}

static void only_the_last_keys(void) {
  int    rule;
  size_t n, j;
  for (n = 640; n >= 20; n /= 2)
    for (rule = 0; rule < 3; rule++) {
      mha_desc d = logits_call(1, n);
      for (j = 0; j < n; j++) t.keep[j] = j + 10 >= n, t.bias[j] = j + 10 >= n ? 0.0f : -INF;
      if (rule == 0) d.mask = t.keep;
      if (rule == 1) d.bias = t.bias;
      if (rule == 2) d.flags = MHA_USE_WINDOW, d.window_left = 9, d.q_start = (ptrdiff_t)n - 1;
      RUN(&d, "the last ten keys", n);
      NEAR(t.o[0], (double)n - 5.5, 1e-6 * (double)n, "the last ten keys", n);
      NEAR(t.lse[0], 2.302585093, 1e-6, "lse of ten keys", n);
    }
}

static void empty_row_with_a_sink(void) {
  static const float sinks[] = { 0.5f, 0.0f, -3.25f, 1e30f, -1e30f, (float)INFINITY, (float)-INFINITY };
  size_t             s, first;
  FOR_EDGES(n, 1)
    for (s = 0; s < COUNT(sinks); s++)
      for (first = 0; first < 2; first++) { /* the empty row comes first or last */
        mha_desc d = logits_call(2, n);
        memset(t.keep, 1, 2 * n);
        memset(t.keep + (1 - first) * n, 0, n);
        d.mask = t.keep, d.mask_stride = by_row(n), d.sinks = sinks + s;
        RUN(&d, "a row with a sink only", n);
        EMPTY(&d, 1 - first, sinks[s], "a row with a sink only", n);
        if (s == 0) {
          double sum = (double)n + exp(0.5);
          NEAR(t.lse[first], log(sum), 1e-6 * (1 + log(sum)), "lse with a sink", n);
          NEAR(t.o[first], (double)n * ((double)n - 1) / 2 / sum, 1e-6 * (double)n, "mean with a sink", n);
        }
        if (s == COUNT(sinks) - 1) { /* a sink of -inf takes no part */
          t.o2[0] = t.o[first], t.lse2[0] = t.lse[first];
          d.sinks = NULL;
          RUN(&d, "no sink", n);
          SAME(t.o2, t.o + first, 1, "a sink of -inf", n);
          SAME(t.lse2, t.lse + first, 1, "a sink of -inf, lse", n);
        }
      }
}

static void empty_rows_of_grouped_heads(void) {
  FOR_EDGES(n, 5) {
    mha_desc d = random_call(4, 2, 2, n, 3), e;
    size_t   h;
    memset(t.keep, 0, n);
    memset(t.keep + n, 1, n);
    d.mask = t.keep, d.mask_stride = by_row(n);
    if (!RUN(&d, "row 0 hidden in all heads", n)) return;
    ALL_ARE(t.o, 0.0f, 4 * 3, "row 0 of every head", n);
    for (h = 0; h < 4; h++) ALL_ARE(t.lse + 2 * h, -INF, 1, "lse of row 0", n);
    e = d;
    e.q_len = 1, e.q = t.q + 12, e.o = t.o2, e.lse = t.lse2, e.mask = NULL;
    CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
    SAME(t.o + 12, t.o2, 12, "row 1 beside a hidden one", n);
  }
}

static void no_keys_at_all(void) {
  size_t no_keys[2] = { 0, 0 }, lens[2], empty;
  mha_desc d = random_call(2, 1, 3, 0, 4);
  d.k = d.v = NULL;
  RUN(&d, "kv_len 0", 0);
  ALL_ARE(t.o, 0.0f, 3 * 2 * 4, "kv_len 0", 0);
  ALL_ARE(t.lse, -INF, 6, "kv_len 0", 0);
  FOR_EDGES(n, 2)
    for (empty = 0; empty < 2; empty++) {
      mha_desc e;
      d = random_call(2, 1, 6, 2 * n, 4); /* two batches of q_len 3 and kv_len n */
      d.batch = 2, d.q_len = 3, d.kv_len = n, d.kv_lens = lens;
      lens[empty] = 0, lens[1 - empty] = n;
      RUN(&d, "one batch without keys", n);
      ALL_ARE(t.o + empty * 24, 0.0f, 24, "one batch without keys", n);
      ALL_ARE(t.lse + empty * 6, -INF, 6, "one batch without keys", n);
      e = d;
      e.batch = 1, e.kv_lens = NULL, e.o = t.o2, e.lse = t.lse2;
      e.q = t.q + (1 - empty) * 24, e.k = t.k + (1 - empty) * n * 4, e.v = t.v + (1 - empty) * n * 4;
      CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
      SAME(t.o + (1 - empty) * 24, t.o2, 24, "beside a batch without keys", n);
      SAME(t.lse + (1 - empty) * 6, t.lse2, 6, "beside a batch without keys, lse", n);
      d.kv_lens = no_keys;
      RUN(&d, "no batch has keys", n);
      ALL_ARE(t.o, 0.0f, 48, "no batch has keys", n);
    }
}

static void rows_without_keys(void) {
  empty_row_beside_a_full_one();
  only_the_last_keys();
  empty_row_with_a_sink();
  empty_rows_of_grouped_heads();
  no_keys_at_all();
}

/* ---- Faults others had: large, capped and hidden logits ---- */

static void very_low_logits(void) {
  FOR_EDGES(n, 1) {
    mha_desc d = logits_call(1, n);
    size_t   j;
    for (j = 0; j < n; j++) t.k[j] = -1e5f, t.bias[j] = -1e5f;
    RUN(&d, "logits of -1e5", n);
    NEAR(t.o[0], ((double)n - 1) / 2, 1e-6 * (double)n, "logits of -1e5", n);
    NEAR(t.lse[0], -1e5 + log((double)n), 0.1, "lse of logits of -1e5", n);
    for (j = 0; j < n; j++) t.k[j] = 0.0f;
    d.bias = t.bias;
    RUN(&d, "biases of -1e5", n);
    NEAR(t.o[0], ((double)n - 1) / 2, 1e-6 * (double)n, "biases of -1e5", n);
    NEAR(t.lse[0], -1e5 + log((double)n), 0.1, "lse of biases of -1e5", n);
  }
  {
    mha_desc d = logits_call(1, 4);
    static const float v[4] = { 1, 2, 3, 6 };
    d.v = v;
    t.k[0] = t.k[1] = t.k[2] = t.k[3] = -1e5f;
    RUN(&d, "four logits of -1e5", 4);
    NEAR(t.o[0], 3.0, 3e-6, "four logits of -1e5", 4);
    NEAR(t.lse[0], -99998.6137, 0.1, "four logits of -1e5", 4);
    d.kv_len = 1, t.k[0] = -2e4f;
    RUN(&d, "one key at -2e4", 1);
    ALL_ARE(t.o, 1.0f, 1, "one key at -2e4", 1);
    NEAR(t.lse[0], -2e4, 0.02, "one key at -2e4", 1);
  }
}

static void natural_log(void) {
  FOR_EDGES(n, 2) {
    mha_desc d = logits_call(1, n);
    RUN(&d, "lse is a natural log", n);
    NEAR(t.lse[0], log((double)n), 3e-7 * log((double)n), "lse is a natural log", n);
  }
}

static void bias_is_not_scaled(void) {
  static const float bias[2] = { 0, -1 };
  mha_desc           d = logits_call(1, 2);
  d.scale = 0.5f, d.bias = bias;
  t.q[0] = 0.0f;
  RUN(&d, "bias after the scale", 2);
  NEAR(t.o[0], 0.268941421, 3e-7, "bias after the scale", 2);
}

/* The first key at -90000 is seen, a higher one behind it is hidden in each way there is. */
static void hiding_is_absolute(void) {
  static const char *const rules[] = { "hidden by a mask", "hidden by a bias", "hidden by causality",
                                       "hidden by a length", "hidden by a window" };
  size_t rule, one = 1;
  FOR_EDGES(n, 2)
    for (rule = 0; rule < COUNT(rules); rule++) {
      mha_desc d = logits_call(1, n);
      size_t   j;
      for (j = 0; j < n; j++)
        t.k[j] = j ? 9e4f : -9e4f, t.v[j] = j ? 5.0f : 1.0f, t.keep[j] = !j, t.bias[j] = j ? -INF : 0.0f;
      if (rule == 0) d.mask = t.keep;
      if (rule == 1) d.bias = t.bias;
      if (rule == 2) d.flags = MHA_CAUSAL;
      if (rule == 3) d.kv_lens = &one;
      if (rule == 4) d.flags = MHA_USE_WINDOW;
      RUN(&d, rules[rule], n);
      ALL_ARE(t.o, 1.0f, 1, rules[rule], n);
      NEAR(t.lse[0], -9e4, 0.09, rules[rule], n);
    }
}

static void soft_cap(void) {
  static const float hide[2] = { 0, (float)-INFINITY };
  mha_desc           d = logits_call(1, 2);
  double             cap, c0, c1;
  d.softcap = 1.0f, d.bias = hide;
  t.v[0] = 1.0f, t.v[1] = 0.0f;
  RUN(&d, "a capped score cannot undo hiding", 2);
  ALL_ARE(t.o, 1.0f, 1, "a capped score cannot undo hiding", 2);
  d.softcap = 3.0f, d.bias = NULL, t.k[0] = 100.0f;
  RUN(&d, "cap 3", 2);
  NEAR(t.o[0], 0.952574127, 1e-6, "cap 3", 2);
  NEAR(t.lse[0], 3.048587352, 3e-6, "cap 3", 2);
  t.k[0] = -INF; /* -cap, not -inf */
  RUN(&d, "a capped -inf", 2);
  NEAR(t.o[0], 0.0474258732, 1e-6, "a capped -inf", 2);
  NEAR(t.lse[0], 0.048587352, 1e-6, "a capped -inf", 2);
  for (cap = 0.01; cap < 1e4; cap *= 7.0) {
    d.softcap = (float)cap;
    t.k[0] = 1.5f, t.k[1] = -0.75f;
    c0 = (double)d.softcap * tanh(1.5 / (double)d.softcap),
    c1 = (double)d.softcap * tanh(-0.75 / (double)d.softcap);
    RUN(&d, "cap * tanh(s / cap)", (size_t)cap);
    NEAR(t.o[0], 1.0 / (1.0 + exp(c1 - c0)), 2e-6, "cap * tanh(s / cap)", (size_t)cap);
  }
}

static void dot_does_not_overflow(void) {
  mha_desc d = logits_call(1, 2);
  d.scale = 1.5e-38f, t.q[0] = 1e20f, t.k[0] = 1e20f, t.k[1] = 1.0046e20f;
  RUN(&d, "a dot product of 1e40, scaled down", 2);
  NEAR(t.o[0], 0.66597, 1e-4, "a dot product of 1e40, scaled down", 2);
}

/* Keys are seen, but every logit overflowed to -inf: NaN.  Rows that see no key stay 0. */
static void overflow_is_not_absence(void) {
  FOR_EDGES(n, 1) {
    mha_desc d = logits_call(3, n);
    size_t   j;
    t.q[1] = -1e30f;
    for (j = 0; j < n; j++) t.k[j] = 1e30f;
    memset(t.keep, 1, 3 * n);
    memset(t.keep, 0, n);
    d.mask = t.keep, d.mask_stride = by_row(n);
    t.q[2] = 1e-30f;
    RUN(&d, "logits that overflow to -inf", n);
    EMPTY(&d, 0, -INF, "row without keys", n);
    ALL_ARE(t.o + 1, NOT_A_NUMBER, 1, "row of logits -inf", n);
    ALL_ARE(t.w + n, NOT_A_NUMBER, n, "weights of logits -inf", n);
    NEAR(t.o[2], ((double)n - 1) / 2, 1e-6 * (double)n, "row beside it", n);
    if (n > 1) { /* one finite logit is enough */
      t.k[n / 2] = 0.0f;
      RUN(&d, "all but one logit -inf", n);
      ALL_ARE(t.o + 1, (float)(n / 2), 1, "all but one logit -inf", n);
    }
  }
}

/* Also where a key among them is hidden, which then must be lower still. */
static void lowest_biases_are_a_mean(void) {
  int hole;
  FOR_EDGES(n, 1)
    for (hole = 0; hole <= (n > 2); hole++) {
      mha_desc d = random_call(1, 1, 2, n, 4);
      size_t   seen = n - (size_t)hole, i, j, c;
      for (j = 0; j < n; j++) t.bias[j] = -3.402823466e+38f, t.keep[j] = 1;
      if (hole) t.keep[n / 2] = 0;
      d.bias = t.bias, d.mask = t.keep, d.weights = t.w;
      RUN(&d, "biases of -FLT_MAX", n);
      for (i = 0; i < 2; i++)
        for (c = 0; c < 4; c++) {
          double sum = 0.0;
          for (j = 0; j < n; j++) sum += t.keep[j] ? (double)t.v[j * 4 + c] : 0.0;
          NEAR(t.o[i * 4 + c], sum / (double)seen, bound(n, 4, 0.0, 6.0), "biases of -FLT_MAX", n);
        }
      for (i = 0; i < 2; i++)
        for (j = 0; j < n; j++)
          ALL_ARE(t.w + i * n + j, t.keep[j] ? t.w[0] : 0.0f, 1, "weights under biases of -FLT_MAX", n);
    }
}

static void infinite_keys(void) {
  FOR_EDGES(n, 2) {
    mha_desc d = random_call(1, 1, 2, n, 4), e;
    size_t   j = n / 2;
    memset(t.bias, 0, n * sizeof *t.bias);
    t.q[0] = t.q[4] = 1.0f;
    t.k[j * 4] = -INF;
    d.weights = t.w;
    RUN(&d, "a key of -inf", n);
    ALL_ARE(t.w + j, 0.0f, 1, "weight of a key of -inf", n);
    memset(t.keep, 1, n);
    t.keep[j] = 0;
    e = d, e.mask = t.keep, e.o = t.o2, e.lse = t.lse2, e.weights = t.w2;
    RUN(&e, "the same key hidden", n);
    SAME(t.o, t.o2, 8, "a key of -inf is as good as hidden", n);
    SAME(t.lse, t.lse2, 2, "a key of -inf is as good as hidden, lse", n);
    SAME(t.w, t.w2, 2 * n, "a key of -inf is as good as hidden, weights", n);
    t.q[0] = -1.0f, t.q[4] = 0.0f; /* +inf - inf, and 0 * inf */
    RUN(&d, "a logit of +inf, and one of 0 * inf", n);
    ALL_ARE(t.o, NOT_A_NUMBER, 8, "a logit of +inf, and one of 0 * inf", n);
    t.k[j * 4] = 0.0f, t.bias[j] = INF, d.bias = t.bias; /* which is no way to hide */
    RUN(&d, "a bias of +inf", n);
    ALL_ARE(t.o, NOT_A_NUMBER, 8, "a bias of +inf", n);
  }
}

static void large_and_hidden_logits(void) {
  very_low_logits();
  natural_log();
  bias_is_not_scaled();
  hiding_is_absolute();
  soft_cap();
  dot_does_not_overflow();
  overflow_is_not_absence();
  lowest_biases_are_a_mean();
  infinite_keys();
}

/* ---- Faults others had: positions and windows ---- */

static void causal_alignment(void) {
  FOR_EDGES(n, 2) {
    mha_desc d = logits_call(1, n);
    d.flags = MHA_CAUSAL;
    RUN(&d, "one query at 0", n);
    ALL_ARE(t.o, 0.0f, 1, "one query at 0", n);
    NEAR(t.lse[0], 0.0, 0.0, "one query at 0", n);
    d.q_start = (ptrdiff_t)n - 1;
    RUN(&d, "one query at the last key", n);
    NEAR(t.o[0], ((double)n - 1) / 2, 1e-6 * (double)n, "one query at the last key", n);
    NEAR(t.lse[0], log((double)n), 1e-6 * (double)n, "one query at the last key", n);
    t.o2[0] = t.o[0];
    d.q_start = 0, d.flags = MHA_CAUSAL | MHA_Q_LAST;
    RUN(&d, "the last query on the last key", n);
    SAME(t.o, t.o2, 1, "the last query on the last key", n);
  }
}

/* n queries more than keys: those before the first key see nothing. */
static void more_queries_than_keys(void) {
  int last;
  FOR_EDGES(n, 2)
    for (last = 0; last < 2; last++) {
      size_t   i, extra = 3;
      mha_desc d = logits_call(n + extra, n);
      d.weights = NULL;
      d.flags = last ? MHA_CAUSAL | MHA_Q_LAST : MHA_CAUSAL;
      d.q_start = last ? 0 : -(ptrdiff_t)extra;
      RUN(&d, "more queries than keys", n);
      for (i = 0; i < extra; i++) EMPTY(&d, i, -INF, "a query before the first key", n);
      for (i = extra; i < n + extra; i++)
        NEAR(t.o[i], (double)(i - extra) / 2, 1e-6 * (double)n, "a query at or after the first key", n);
    }
}

/* A few rows at the end of a cache whose causal frontier runs through a tile. */
static void frontier_inside_a_tile(void) {
  static const size_t tiles[] = { 8, 16, 32, 64, 128, 256 };
  enum { D = 8, R = 3 };
  double        logit[300], out[D], lse, t_max;
  unsigned char visible[300];
  size_t        tile, more, n, i, j, c;
  for (tile = 0; tile < COUNT(tiles); tile++)
    for (more = 0; more < 5; more++) {
      mha_desc d = random_call(1, 1, R, n = tiles[tile] - 1 + more, D);
      d.flags = MHA_CAUSAL, d.q_start = (ptrdiff_t)n - R;
      RUN(&d, "a frontier inside a tile", n);
      t_max = D * largest(t.q, R * D) * largest(t.k, n * D) / sqrt((double)D);
      for (i = 0; i < R; i++) {
        for (j = 0; j < n; j++) {
          logit[j] = exact_dot(t.q + i * D, t.k + j * D, D) / sqrt((double)D);
          visible[j] = j <= n - R + i;
        }
        exact_mean(out, NULL, &lse, logit, visible, n, NULL, t.v, D);
        for (c = 0; c < D; c++)
          NEAR(t.o[i * D + c], out[c], bound(n, D, t_max, 6.0), "a frontier inside a tile", n);
        NEAR(t.lse[i], lse, bound_lse(n, D, t_max, lse), "a frontier inside a tile, lse", n);
      }
    }
}

static void windows(void) {
  int causal;
  FOR_EDGES(n, 4)
    for (causal = 0; causal < 2; causal++) {
      mha_desc d = logits_call(n, n);
      size_t   i;
      d.weights = NULL;
      d.flags = causal ? MHA_USE_WINDOW | MHA_CAUSAL : MHA_USE_WINDOW;
      d.window_left = 1;
      RUN(&d, "window (1, 0)", n);
      for (i = 0; i < n; i++) NEAR(t.o[i], i ? (double)i - 0.5 : 0.0, 1e-6 * (double)n, "window (1, 0)", n);
      d.window_left = 0;
      RUN(&d, "window (0, 0)", n);
      for (i = 0; i < n; i++) ALL_ARE(t.o + i, (float)i, 1, "window (0, 0)", n);
      d.window_right = 1; /* causality cuts the right side */
      RUN(&d, "window (0, 1)", n);
      for (i = 0; i < n; i++)
        NEAR(t.o[i], causal || i + 1 == n ? (double)i : (double)i + 0.5, 1e-6 * (double)n, "window (0, 1)",
             n);
      d.window_left = 2, d.window_right = 0, d.keep_first = 1; /* key 0 stays */
      RUN(&d, "window (2, 0) and key 0", n);
      for (i = 3; i < n; i++)
        NEAR(t.o[i], (double)(3 * i - 3) / 4, 1e-6 * (double)n, "window (2, 0) and key 0", n);
      d.keep_first = n + 5; /* every key stays, as far as causality lets it */
      RUN(&d, "window that keeps all", n);
      for (i = 0; i < n; i++)
        NEAR(t.o[i], (double)(causal ? i : n - 1) / 2, 2e-6 * (double)n, "window that keeps all", n);
      d.keep_first = 0, d.window_left = d.window_right = MHA_OPEN;
      RUN(&d, "an open window", n);
      for (i = 0; i < n; i++)
        NEAR(t.o[i], (double)(causal ? i : n - 1) / 2, 2e-6 * (double)n, "an open window", n);
      d.window_left = d.window_right = MHA_OPEN - 1; /* as good as open, and p - left must not wrap */
      RUN(&d, "a huge window", n);
      for (i = 0; i < n; i++)
        NEAR(t.o[i], (double)(causal ? i : n - 1) / 2, 2e-6 * (double)n, "a huge window", n);
      d = logits_call(1, n);
      d.flags = MHA_USE_WINDOW | (causal ? MHA_CAUSAL : 0u), d.q_start = (ptrdiff_t)n - 1;
      RUN(&d, "window of the current key only", n);
      ALL_ARE(t.o, (float)(n - 1), 1, "window of the current key only", n);
    }
}

/* keep_first counts positions, not slots: with kv_start 5 and keep_first 7 the slots 0 and 1 stay, and
   positions below 0 never do. */
static void kept_positions(void) {
  mha_desc d = logits_call(1, 20);
  d.flags = MHA_USE_WINDOW, d.keep_first = 7, d.kv_start = 5, d.q_start = 24;
  RUN(&d, "keep_first counts positions", 20);
  NEAR(t.o[0], (0 + 1 + 19) / 3.0, 1e-5, "keep_first counts positions", 20);
  d.kv_start = -5, d.q_start = 14, d.keep_first = 2;
  RUN(&d, "keep_first starts at position 0", 20);
  NEAR(t.o[0], (5 + 6 + 19) / 3.0, 1e-5, "keep_first starts at position 0", 20);
  d.kv_start = 100, d.q_start = 119;
  RUN(&d, "keep_first below the cache", 20);
  ALL_ARE(t.o, 19.0f, 1, "keep_first below the cache", 20);
}

/* Whether the rules of d other than its mask let query i see key j. */
static int rules_admit(const mha_desc *d, size_t b, size_t i, size_t j) {
  size_t    len = d->kv_lens ? d->kv_lens[b] : d->kv_len;
  ptrdiff_t key0 = d->kv_starts ? d->kv_starts[b] : d->kv_start;
  ptrdiff_t query0 = d->q_starts ? d->q_starts[b] : d->q_start, p, at = key0 + (ptrdiff_t)j;
  if (d->flags & MHA_Q_LAST) query0 = key0 + (ptrdiff_t)len - (ptrdiff_t)d->q_len;
  p = query0 + (ptrdiff_t)i;
  if (j >= len || ((d->flags & MHA_CAUSAL) && at > p)) return 0;
  if (!(d->flags & MHA_USE_WINDOW) || (at >= 0 && (size_t)at < d->keep_first)) return 1;
  if (at < p && (size_t)(p - at) > d->window_left) return 0;
  return !(at > p && (size_t)(at - p) > d->window_right);
}

/* Random rules together are one mask that says it key by key, bit for bit: none is dropped, and where a batch
   says its own positions and lengths, they count. */
static void rules_compose(void) {
  size_t round;
  for (round = 0; round < 150; round++) {
    ptrdiff_t q_starts[3], kv_starts[3];
    size_t    lens[3], batch = rng_between(1, 3), heads = rng_chance(50) ? 1 : 2, b, h, i, j, q_len, n;
    mha_desc  d, e;
    n = rng_chance(50) ? rng_between(1, 40) : rng_between(110, 290);
    q_len = rng_chance(30) ? 1 : rng_between(1, 20);
    d = random_call(heads, 1, q_len * batch, n * batch, 3);
    d.batch = batch, d.q_len = q_len, d.kv_len = n;
    for (b = 0; b < batch; b++) {
      kv_starts[b] = (ptrdiff_t)rng_below(300) - 150;
      q_starts[b] = kv_starts[b] + (ptrdiff_t)rng_below(n + 20) - 10;
      lens[b] = rng_below(n + 1);
    }
    if (rng_chance(60)) d.flags |= MHA_CAUSAL;
    if (rng_chance(40)) d.kv_lens = lens;
    if (rng_chance(40)) d.kv_starts = kv_starts; else d.kv_start = kv_starts[0];
    if (rng_chance(40)) d.flags |= MHA_Q_LAST;
    else if (rng_chance(50)) d.q_starts = q_starts;
    else d.q_start = q_starts[0];
    if (rng_chance(50)) {
      d.flags |= MHA_USE_WINDOW;
      d.window_left = rng_chance(20) ? MHA_OPEN : rng_below(n + 4);
      d.window_right = rng_chance(20) ? MHA_OPEN : rng_below(8);
      d.keep_first = rng_chance(50) ? 0 : rng_below(20);
    }
    for (j = 0; j < batch * heads * q_len * n; j++) t.keep[j] = !rng_chance(15);
    if (rng_chance(60)) d.mask = t.keep;
    d.mask_stride.batch = (ptrdiff_t)(heads * q_len * n);
    d.mask_stride.head = (ptrdiff_t)(q_len * n), d.mask_stride.row = (ptrdiff_t)n;
    d.weights = t.w;
    RUN(&d, "rules together", n);

    e = d;
    e.o = t.o2, e.lse = t.lse2, e.weights = t.w2, e.mask = t.keep;
    e.flags = 0, e.window_left = e.window_right = e.keep_first = 0, e.kv_lens = NULL, e.q_starts = NULL,
    e.q_start = 0;
    for (b = 0; b < batch; b++)
      for (h = 0; h < heads; h++)
        for (i = 0; i < q_len; i++)
          for (j = 0; j < n; j++) {
            unsigned char *keep = t.keep + ((b * heads + h) * q_len + i) * n + j;
            *keep = (unsigned char)((!d.mask || *keep) && rules_admit(&d, b, i, j));
          }
    CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
    SAME(t.o, t.o2, span_of_o(&d), "rules against one mask", n);
    SAME(t.lse, t.lse2, rows_of(&d), "rules against one mask, lse", n);
    SAME(t.w, t.w2, rows_of(&d) * n, "rules against one mask, weights", n);
  }
}

/* A 3 x 3 mask with holes under causality. */
static void holes_and_causality(void) {
  static const unsigned char keep[9] = { 0, 1, 1, 1, 0, 1, 1, 0, 1 };
  mha_desc                   d = logits_call(3, 3);
  d.flags = MHA_CAUSAL, d.mask = keep, d.mask_stride = by_row(3);
  RUN(&d, "holes and causality", 3);
  EMPTY(&d, 0, -INF, "holes and causality, row 0", 3);
  ALL_ARE(t.o + 1, 0.0f, 1, "holes and causality, row 1", 3);
  NEAR(t.o[2], 1.0, 1e-6, "holes and causality, row 2", 3);
}

/* Each batch with its own positions and length is its own call. */
static void batches_have_their_own_positions(void) {
  static const ptrdiff_t q_starts[3] = { -2, 7, 130 }, kv_starts[3] = { 0, -3, 100 };
  size_t                 lens[3], b;
  int                    last;
  FOR_EDGES(n, 2)
    for (last = 0; last < 2; last++) {
      mha_desc d = random_call(2, 1, 3 * 4, 3 * n, 3), e;
      d.batch = 3, d.q_len = 4, d.kv_len = n, d.flags = MHA_CAUSAL, d.kv_starts = kv_starts, d.kv_lens = lens;
      lens[0] = n, lens[1] = n / 2, lens[2] = n - 1;
      if (last) d.flags |= MHA_Q_LAST; else d.q_starts = q_starts;
      RUN(&d, "own positions", n);
      for (b = 0; b < 3; b++) {
        e = d;
        e.batch = 1, e.kv_len = lens[b], e.kv_lens = NULL, e.kv_starts = e.q_starts = NULL,
        e.kv_start = kv_starts[b];
        e.flags = MHA_CAUSAL;
        e.q_start = last ? kv_starts[b] + (ptrdiff_t)lens[b] - 4 : q_starts[b];
        e.q = t.q + b * 24, e.k = t.k + b * n * 3, e.v = t.v + b * n * 3, e.o = t.o2, e.lse = t.lse2;
        CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
        SAME(t.o + b * 24, t.o2, 24, last ? "each batch's last key" : "each batch's positions", n);
        SAME(t.lse + b * 8, t.lse2, 8, "each batch's lse", n);
      }
    }
}

static void alibi_by_hand(void) {
  static const float slopes[2] = { 0.5f, 0.0625f };
  double             logit[300], out[1], lse;
  unsigned char      visible[300];
  size_t             h, i, j;
  memset(visible, 1, sizeof visible);
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(2, 2, 3, n, 1);
    d.scale = 0.5f, d.alibi_slopes = slopes, d.q_start = (ptrdiff_t)(n / 2), d.kv_start = 2;
    RUN(&d, "alibi", n);
    for (h = 0; h < 2; h++)
      for (i = 0; i < 3; i++) {
        for (j = 0; j < n; j++) {
          logit[j] = 0.5 * (double)t.q[i * 2 + h] * (double)t.k[j * 2 + h] -
                     (double)slopes[h] * fabs((double)(n / 2 + i) - (double)(2 + j));
          t.bias[j] = t.v[j * 2 + h];
        }
        exact_mean(out, NULL, &lse, logit, visible, n, NULL, t.bias, 1);
        NEAR(t.o[i * 2 + h], out[0], bound(n, 1, 8.0 + 0.5 * (double)n, 6.0), "alibi", n);
        NEAR(t.lse[h * 3 + i], lse, bound_lse(n, 1, 8.0 + 0.5 * (double)n, lse), "alibi, lse", n);
      }
  }
}

static void positions_and_windows(void) {
  causal_alignment();
  more_queries_than_keys();
  frontier_inside_a_tile();
  windows();
  kept_positions();
  holes_and_causality();
  batches_have_their_own_positions();
  alibi_by_hand();
}

/* ---- Faults others had: heads, strides, addresses ---- */

/* Every kv head's values are its own number; each query head must return that of its group. */
static void heads_map_by_group(void) {
  static const size_t q_heads[] = { 4, 6, 8, 24, 24, 48 }, kv_heads[] = { 2, 2, 1, 8, 1, 2 };
  size_t              s, h, j, H, G;
  FOR_EDGES(n, 1)
    for (s = 0; s < COUNT(q_heads); s++) {
      mha_desc d = random_call(H = q_heads[s], G = kv_heads[s], 1, n, 2);
      for (j = 0; j < n * G * 2; j++) t.v[j] = 0.0f;
      for (j = 0; j < n; j++)
        for (h = 0; h < G; h++) t.v[(j * G + h) * 2] = (float)(10 * (h + 1));
      RUN(&d, "grouped heads", n);
      for (h = 0; h < H; h++) {
        double want = 10.0 * (double)(h / (H / G) + 1);
        if (n == 1) ALL_ARE(t.o + 2 * h, (float)want, 1, "grouped heads, one key", h);
        NEAR(t.o[2 * h], want, bound(n, 2, 0.0, want), "grouped heads", n);
        NEAR(t.o[2 * h + 1], 0.0, 0.0, "grouped heads, second channel", n);
      }
    }
}

static void true_width_in_the_scale(void) {
  enum { D = 5 };
  double        logit[300], out[D], t_max;
  unsigned char visible[300];
  memset(visible, 1, sizeof visible);
  FOR_EDGES(n, 2) {
    mha_desc d = random_call(1, 1, 2, n, D), e;
    size_t   j, c;
    RUN(&d, "d_k 5", n);
    t_max = D * largest(t.q, 2 * D) * largest(t.k, n * D) / sqrt((double)D);
    for (j = 0; j < n; j++) logit[j] = exact_dot(t.q, t.k + j * D, D) / sqrt((double)D);
    exact_mean(out, NULL, NULL, logit, visible, n, NULL, t.v, D);
    for (c = 0; c < D; c++) NEAR(t.o[c], out[c], bound(n, D, t_max, 6.0), "d_k 5", n);
    e = d;
    e.scale = (float)(1.0 / sqrt((double)D)), e.o = t.o2, e.lse = t.lse2;
    CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
    SAME(t.o, t.o2, 2 * D, "d_k 5, scale given", n);
  }
}

/* A stride of 0 is the same as copies, for every tensor that may have one. */
static void shared_memory_is_copies(void) {
  enum { H = 3, D = 4 };
  size_t h, j, c, i;
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(H, H, 2, n, D), e;
    for (j = 0; j < n; j++)
      for (h = 1; h < H; h++)
        for (c = 0; c < D; c++) {
          t.k[(j * H + h) * D + c] = t.k[j * H * D + c];
          t.v[(j * H + h) * D + c] = t.v[j * H * D + c];
        }
    for (i = 0; i < 2; i++)
      for (h = 1; h < H; h++) memcpy(t.q + (i * H + h) * D, t.q + i * H * D, D * 4);
    for (j = 0; j < n; j++) t.bias[j] = rng_normal(), t.keep[j] = !rng_chance(20);
    for (i = 0; i < 2 * H; i++) memcpy(t.bias + i * n, t.bias, n * 4), memcpy(t.keep + i * n, t.keep, n);
    d.bias = t.bias, d.mask = t.keep;
    d.bias_stride.head = d.mask_stride.head = (ptrdiff_t)(2 * n),
    d.bias_stride.row = d.mask_stride.row = (ptrdiff_t)n;
    RUN(&d, "copies", n);
    e = d;
    e.q_stride.row = e.k_stride.row = e.v_stride.row = H * D; /* head stride 0 */
    e.bias_stride = e.mask_stride = by_row(0);
    e.o = t.o2, e.lse = t.lse2;
    RUN(&e, "head stride 0", n);
    SAME(t.o2, t.o, 2 * H * D, "head stride 0", n);
    SAME(t.lse2, t.lse, 2 * H, "head stride 0, lse", n);
  }
}

static void heads_that_do_not_divide(void) {
  mha_desc d = random_call(5, 2, 3, 4, 2);
  memset(t.o, 0xA5, sizeof t.o);
  memset(t.o2, 0xA5, sizeof t.o2);
  CHECK(mha_attend(&d, NULL, 0) == MHA_ERR_HEADS, "5 heads over 2 are not refused");
  CHECK(!memcmp(t.o, t.o2, sizeof t.o), "the output was touched");
}

/* One dimension's stride is above 2^31 elements, in memory that is mapped but hardly touched. */
static void strides_beyond_int(void) {
#if (defined(__unix__) || defined(__APPLE__)) && defined(MAP_ANONYMOUS) && SIZE_MAX > 0xffffffffu
#  ifndef MAP_NORESERVE
#    define MAP_NORESERVE 0
#  endif
  const ptrdiff_t far = (ptrdiff_t)1 << 31 | 16;
  const size_t    bytes = ((size_t)far * 2 + (1u << 20)) * 4;
  void *in = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int             which;
  if (in == MAP_FAILED || out == MAP_FAILED)
    printf("    skipped: strides above 2^31 elements (no %lu bytes of address space)\n",
           (unsigned long)bytes);
  else
    for (which = 0; which < 3; which++) { /* rows, heads, batches: three of one, and two of the others */
      float         *q = (float *)in, *k = q + 65536, *v = k + 65536, *bias = v + 65536;
      unsigned char *keep = (unsigned char *)in + (1 << 20) * 3;
      size_t         B = which == 2 ? 3 : 2, H = which == 1 ? 3 : 2, S = which == 0 ? 3 : 2, b, h, i;
      enum { D = 4, N = 3 * 3 * 3 * D };
      mha_strides near = { 0, 0, 0 }, wide, wide_keys, near_keys = { 0, 0, 0 };
      mha_desc    d = { 0 }, e;
      near.batch = (ptrdiff_t)(H * S * D), near.head = D, near.row = (ptrdiff_t)(H * D);
      near_keys.batch = (ptrdiff_t)(H * S * S), near_keys.head = (ptrdiff_t)(S * S),
      near_keys.row = (ptrdiff_t)S;
      wide = near, wide_keys = near_keys;
      if (which == 0) wide.row = wide_keys.row = far;
      if (which == 1) wide.head = wide_keys.head = far;
      if (which == 2) wide.batch = wide_keys.batch = far;
      d.batch = B, d.q_heads = H, d.q_len = d.kv_len = S, d.d_k = D, d.lse = t.lse;
      randomise(t.q, N), randomise(t.k, N), randomise(t.v, N), randomise(t.bias, N);
      for (i = 0; i < N; i++) t.keep[i] = !rng_chance(30);
      for (b = 0; b < B; b++)
        for (h = 0; h < H; h++)
          for (i = 0; i < S; i++) {
            ptrdiff_t at = (ptrdiff_t)b * wide.batch + (ptrdiff_t)h * wide.head + (ptrdiff_t)i * wide.row;
            ptrdiff_t from = (ptrdiff_t)b * near.batch + (ptrdiff_t)h * near.head + (ptrdiff_t)i * near.row;
            ptrdiff_t row =
                (ptrdiff_t)b * wide_keys.batch + (ptrdiff_t)h * wide_keys.head + (ptrdiff_t)i * wide_keys.row;
            ptrdiff_t of =
                (ptrdiff_t)b * near_keys.batch + (ptrdiff_t)h * near_keys.head + (ptrdiff_t)i * near_keys.row;
            memcpy(q + at, t.q + from, D * 4), memcpy(k + at, t.k + from, D * 4),
                memcpy(v + at, t.v + from, D * 4);
            memcpy(bias + row, t.bias + of, S * 4), memcpy(keep + row, t.keep + of, S);
          }
      e = d;
      d.q = t.q, d.k = t.k, d.v = t.v, d.bias = t.bias, d.mask = t.keep, d.o = t.o;
      d.o_stride = d.q_stride = d.k_stride = d.v_stride = near, d.bias_stride = d.mask_stride = near_keys;
      CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
      e.q = q, e.k = k, e.v = v, e.bias = bias, e.mask = keep, e.o = (float *)out, e.lse = t.lse2;
      e.o_stride = e.q_stride = e.k_stride = e.v_stride = wide, e.bias_stride = e.mask_stride = wide_keys;
      for (b = 0; b < 2; b++) {
        size_t work_bytes = mha_work_bytes(&e);
        CHECK(work_bytes < (1u << 24), "a workspace of %lu bytes", (unsigned long)work_bytes);
        CHECK(mha_attend(&e, b ? (void *)t.w : NULL, b ? sizeof t.w : 0) == MHA_OK, "not OK");
        for (h = 0; h < B * H * S; h++) {
          ptrdiff_t bb = (ptrdiff_t)(h / (H * S)), hh = (ptrdiff_t)(h / S % H), ii = (ptrdiff_t)(h % S);
          SAME(e.o + bb * wide.batch + hh * wide.head + ii * wide.row,
               t.o + bb * near.batch + hh * near.head + ii * near.row, D, "a stride above 2^31",
               (size_t)which);
        }
        SAME(t.lse2, t.lse, B * H * S, "a stride above 2^31, lse", (size_t)which);
      }
      memset(in, 0, 1 << 22);
    }
  if (in != MAP_FAILED) munmap(in, bytes);
  if (out != MAP_FAILED) munmap(out, bytes);
#else
  printf("    skipped: strides above 2^31 elements (no mmap, or addresses of 32 bits)\n");
#endif
}

/* Data aligned for its type and no more, a workspace at every address: the same bits. */
static void any_address(void) {
  static const int    types[] = { MHA_F32, MHA_F16, MHA_BF16, MHA_S8 };
  static const size_t sizes[] = { 4, 2, 2, 1 };
  enum { H = 2, R = 3, D = 7, MOST_KEYS = 140 };
  size_t type, shift, n, k, on = R * H * D;
  for (type = 0; type < 4; type++)
    for (n = 5; n <= MOST_KEYS; n *= 3)
      for (shift = 0; shift < 16; shift++) {
        size_t   kn = n * H * D, size = sizes[type], at = shift * size % 16, bytes, work_bytes;
        mha_desc d = { 0 };
        float   *q = (float *)guard_new(on * 4, shift * 4 % 16),
              *o = (float *)guard_new(on * 4, shift * 4 % 16);
        float *bias = (float *)guard_new(n * 4, shift * 4 % 16),
              *scales = (float *)guard_new(4 * n * H, shift * 4 % 16);
        float   *lse = (float *)guard_new(R * H * 4, shift * 4 % 16);
        void    *key = guard_new(kn * size, at), *value = guard_new(kn * size, at), *work;
        unsigned char *keep = (unsigned char *)guard_new(n, shift);
        if (shift == 0) {
          randomise(t.q, on), randomise(t.k, kn), randomise(t.v, kn), randomise(t.bias, n);
          for (k = 0; k < n; k++) t.keep[k] = !rng_chance(20);
        }
        memcpy(q, t.q, on * 4), memcpy(bias, t.bias, n * 4), memcpy(keep, t.keep, n);
        for (k = 0; k < n * H; k++) scales[k] = 0.02f;
        if (types[type] == MHA_F32) memcpy(key, t.k, kn * 4), memcpy(value, t.v, kn * 4);
        if (types[type] == MHA_F16)
          CHECK(!mha_f16_from_f32((uint16_t *)key, t.k, kn) && !mha_f16_from_f32((uint16_t *)value, t.v, kn),
                "not OK");
        if (types[type] == MHA_BF16)
          CHECK(!mha_bf16_from_f32((uint16_t *)key, t.k, kn) &&
                    !mha_bf16_from_f32((uint16_t *)value, t.v, kn),
                "not OK");
        if (types[type] == MHA_S8)
          for (k = 0; k < kn; k++)
            ((signed char *)key)[k] = (signed char)(t.k[k] * 20.0f),
                          ((signed char *)value)[k] = (signed char)(t.v[k] * 20.0f);
        d.batch = 1, d.q_heads = H, d.q_len = R, d.kv_len = n, d.d_k = D, d.k_type = d.v_type = types[type];
        if (types[type] == MHA_S8) {
          d.k_scale = d.v_scale = scales;
          d.k_scale_stride.row = d.v_scale_stride.row = H, d.k_scale_stride.head = d.v_scale_stride.head = 1;
        }
        d.q = q, d.k = key, d.v = value, d.o = o, d.bias = bias, d.mask = keep, d.lse = lse;
        work_bytes = mha_work_bytes(&d);
        bytes = shift % 2 ? work_bytes : rng_below(work_bytes + 1);
        work = guard_new(bytes, shift);
        CHECK(mha_attend(&d, work, bytes) == MHA_OK, "not OK");
        if (shift == 0) memcpy(t.o, o, on * 4), memcpy(t.lse, lse, R * H * 4);
        SAME(o, t.o, on, "any address", n);
        SAME(lse, t.lse, R * H, "any address, lse", n);
        guard_free(q, "q"), guard_free(o, "o"), guard_free(bias, "bias"), guard_free(scales, "scales");
        guard_free(lse, "lse"), guard_free(key, "k"), guard_free(value, "v"), guard_free(work, "work");
        guard_free(keep, "mask");
      }
}

static void heads_strides_addresses(void) {
  heads_map_by_group();
  true_width_in_the_scale();
  shared_memory_is_copies();
  heads_that_do_not_divide();
  strides_beyond_int();
  any_address();
}

/* ---- Faults others had: results that depend on company ---- */

/* RUN compares with and without weights and lse; here on larger shapes and straight. */
static void weights_change_nothing(void) {
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(2, 1, 17, n, 6), e;
    d.flags = MHA_CAUSAL, d.q_start = (ptrdiff_t)n - 9;
    e = d;
    e.lse = NULL, e.o = t.o2;
    CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
    d.weights = t.w;
    RUN(&d, "with weights", n);
    SAME(t.o, t.o2, span_of_o(&d), "asking for weights and lse", n);
  }
}

static void sink_counts_once(void) {
  static const float sink = 0.0f;
  FOR_EDGES(n, 1) {
    mha_desc d = logits_call(1, n);
    size_t   j, parts, part, bytes;
    void    *shared;
    for (j = 0; j < n; j++) t.v[j] = 1.0f;
    d.sinks = &sink, d.weights = NULL;
    RUN(&d, "a sink", n);
    NEAR(t.o[0], (double)n / ((double)n + 1), 3e-7, "a sink beside n keys", n);
    NEAR(t.lse[0], log((double)n + 1), 4e-7 * (1 + log((double)n + 1)), "a sink beside n keys, lse", n);
    t.o2[0] = t.o[0], t.lse2[0] = t.lse[0];
    bytes = mha_keys_bytes(&d);
    shared = guard_new(bytes, 0);
    for (parts = 1; parts < 7; parts++) {
      t.o[0] = t.lse[0] = 9.0f;
      for (part = 0; part < parts; part++)
        CHECK(mha_attend_keys(&d, part, parts, shared, bytes) == MHA_OK, "not OK");
      CHECK(mha_attend_join(&d, shared, bytes) == MHA_OK, "not OK");
      SAME(t.o, t.o2, 1, "a sink, keys in shares", parts);
      SAME(t.lse, t.lse2, 1, "a sink, keys in shares, lse", parts);
    }
    guard_free(shared, "shared");
  }
}

/* Slots at and beyond a length may hold anything, in every storage type; rows beyond it need not exist. */
static void unused_slots(void) {
  enum { D = 3, R = 2 };
  size_t type, j, len;
  FOR_EDGES(n, 1)
    for (type = 0; type < 4; type++) {
      mha_desc    d = random_call(1, 1, R, n + 9, D), e;
      uint16_t    half[2][310 * D];
      signed char code[2][310 * D];
      float       scales[310], *row = NULL;
      len = n;
      for (j = 0; j < n + 9; j++) scales[j] = j < n ? 0.01f : NOT_A_NUMBER;
      for (j = 0; j < (n + 9) * D; j++) {
        code[0][j] = (signed char)(rng_below(255) - 127), code[1][j] = (signed char)(rng_below(255) - 127);
        if (j >= n * D) t.k[j] = NOT_A_NUMBER, t.v[j] = j % 2 ? NOT_A_NUMBER : INF;
      }
      d.kv_lens = &len;
      if (type == MHA_F16 || type == MHA_BF16) {
        mha_status (*convert)(uint16_t *, const float *, size_t) =
            type == MHA_F16 ? mha_f16_from_f32 : mha_bf16_from_f32;
        CHECK(!convert(half[0], t.k, (n + 9) * D) && !convert(half[1], t.v, (n + 9) * D), "not OK");
        d.k = half[0], d.v = half[1];
      }
      if (type == MHA_S8) {
        d.k = code[0], d.v = code[1], d.k_scale = d.v_scale = scales;
        d.k_scale_stride.row = d.v_scale_stride.row = 1;
      }
      d.k_type = d.v_type = (int)type;
      RUN(&d, "unused slots", n);
      e = d;
      e.kv_len = n, e.kv_lens = NULL, e.o = t.o2, e.lse = t.lse2;
      CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
      SAME(t.o, t.o2, R * D, "unused slots", n);
      SAME(t.lse, t.lse2, R, "unused slots, lse", n);
      if (type == MHA_F32) { /* a block of its own, so that a sanitizer sees a read beyond it */
        row = (float *)malloc(n * D * 4);
        if (!row) continue;
        memcpy(row, t.k, n * D * 4);
        d.k = row, d.v = row;
        RUN(&d, "no memory beyond the length", n);
        free(row);
      }
    }
}

/* Masked keys may be NaN or infinite in K, V and scales, in every storage type: the bits of masked zeros. */
static void poisoned_holes(void) {
  enum { D = 5, R = 3 };
  static uint16_t    half[2][2][310 * D];
  static signed char code[2][310 * D];
  static float       scales[2][310], k[310 * D], v[310 * D];
  size_t             type, j, c, clean;
  FOR_EDGES(n, 1)
    for (type = 0; type < 4; type++) {
      mha_status (*convert)(uint16_t *, const float *, size_t) =
          type == MHA_BF16 ? mha_bf16_from_f32 : mha_f16_from_f32;
      mha_desc d = random_call(1, 1, R, n, D);
      for (j = 0; j < R * n; j++) t.keep[j] = !rng_chance(30);
      for (j = 0; j < n; j++) { /* about a third of the keys is hidden from all rows, the others from some */
        int hidden = rng_chance(30);
        scales[0][j] = hidden ? NOT_A_NUMBER : 0.01f, scales[1][j] = hidden ? 0.0f : 0.01f;
        if (hidden) t.keep[j] = t.keep[n + j] = t.keep[2 * n + j] = 0;
        for (c = j * D; c < (j + 1) * D; c++) {
          k[c] = hidden ? 0.0f : t.k[c], v[c] = hidden ? 0.0f : t.v[c];
          if (hidden) t.k[c] = NOT_A_NUMBER, t.v[c] = c % 2 ? NOT_A_NUMBER : INF;
          code[0][c] = (signed char)(rng_below(255) - 127), code[1][c] = (signed char)(rng_below(255) - 127);
        }
      }
      CHECK(!convert(half[0][0], t.k, n * D) && !convert(half[0][1], t.v, n * D), "not OK");
      CHECK(!convert(half[1][0], k, n * D) && !convert(half[1][1], v, n * D), "not OK");
      d.mask = t.keep, d.mask_stride = by_row(n), d.k_type = d.v_type = (int)type;
      for (clean = 0; clean < 2; clean++) {
        if (type == MHA_F32) d.k = clean ? k : t.k, d.v = clean ? v : t.v;
        if (type == MHA_F16 || type == MHA_BF16) d.k = half[clean][0], d.v = half[clean][1];
        if (type == MHA_S8) {
          d.k = code[0], d.v = code[1], d.k_scale = d.v_scale = scales[clean];
          d.k_scale_stride.row = d.v_scale_stride.row = 1;
        }
        d.o = clean ? t.o2 : t.o, d.lse = clean ? t.lse2 : t.lse;
        RUN(&d, clean ? "holes of zeros" : "holes of NaN", n);
      }
      SAME(t.o, t.o2, R * D, "holes of NaN", n);
      SAME(t.lse, t.lse2, R, "holes of NaN, lse", n);
    }
}

static void one_query_of_nan(void) {
  enum { R = 5, D = 4 };
  size_t bad;
  FOR_EDGES(n, 1)
    for (bad = 0; bad < R; bad++) {
      mha_desc d = random_call(1, 1, R, n, D), e = d;
      e.o = t.o2, e.lse = t.lse2;
      CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
      t.q[bad * D + bad % D] = NOT_A_NUMBER;
      RUN(&d, "a query of NaN", n);
      ALL_ARE(t.o + bad * D, NOT_A_NUMBER, D, "its row", n);
      ALL_ARE(t.lse + bad, NOT_A_NUMBER, 1, "its lse", n);
      SAME(t.o, t.o2, bad * D, "rows before it", n);
      SAME(t.o + (bad + 1) * D, t.o2 + (bad + 1) * D, (R - 1 - bad) * D, "rows after it", n);
    }
}

static void equal_logits_equal_weights(void) {
  size_t n;
  for (n = 1; n <= 300; n += n < 40 ? 1 : 13) {
    mha_desc d = logits_call(1, n);
    size_t   j;
    for (j = 0; j < n; j++) t.k[j] = 3.7f;
    t.k[n / 3] = 3.9f; /* so that the others are not E(0) = 1 */
    RUN(&d, "equal logits", n);
    for (j = 0; j < n; j++)
      if (j != n / 3) ALL_ARE(t.w + j, t.w[n / 3 ? 0 : n - 1], 1, "equal logits", n);
    if (n > 1)
      CHECK(t.w[n / 3] > t.w[n / 3 ? 0 : n - 1], "the larger logit has no larger weight, n %lu",
            (unsigned long)n);
  }
}

static void company_does_not_matter(void) {
  enum { B = 2, H = 2, R = 5, D = 6, ROW = H * D };
  size_t b, i, n2, lens[B];
  int    rule;
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(H, H, B * R, B * (n + 5), D), e;
    n2 = n + 5;
    d.batch = B, d.q_len = R, d.kv_len = n2;
    lens[0] = lens[1] = n;
    for (rule = 0; rule < 2; rule++) { /* the five more are beyond the length or masked */
      memset(t.keep, 0, n2);
      memset(t.keep, 1, n);
      d.mask = rule ? t.keep : NULL, d.kv_lens = rule ? NULL : lens;
      RUN(&d, "rows in company", n);
      for (b = 0; b < B; b++)
        for (i = 0; i < R; i++) {
          e = d;
          e.batch = e.q_len = 1, e.kv_len = n, e.mask = NULL, e.kv_lens = NULL, e.o = t.o2, e.lse = t.lse2;
          e.q = t.q + (b * R + i) * ROW, e.k = t.k + b * n2 * ROW, e.v = t.v + b * n2 * ROW;
          CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
          SAME(t.o + (b * R + i) * ROW, t.o2, ROW,
               rule ? "a row alone, masked keys" : "a row alone, short keys", n);
          SAME(t.lse + b * H * R + i, t.lse2, 1, "a row alone, lse of head 0", n);
        }
    }
  }
}

static void company(void) {
  weights_change_nothing();
  sink_counts_once();
  unused_slots();
  poisoned_holes();
  one_query_of_nan();
  equal_logits_equal_weights();
  company_does_not_matter();
}

/* ---- Properties ---- */

static void constant_values(void) {
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(2, 1, 5, n, 9);
    size_t   k;
    for (k = 0; k < n * 9; k++) t.v[k] = 0.7f;
    RUN(&d, "constant values", n);
    for (k = 0; k < 5 * 2 * 9; k++) NEAR(t.o[k], (double)0.7f, bound(n, 9, 0.0, 0.7), "constant values", n);
  }
}

static void weights_sum_to_one(void) {
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(1, 1, 3, n, 5);
    size_t   i, j;
    d.weights = t.w;
    RUN(&d, "weights", n);
    for (i = 0; i < 3; i++) {
      double sum = 0.0;
      for (j = 0; j < n; j++) {
        CHECK(t.w[i * n + j] >= 0.0f, "weight %g", (double)t.w[i * n + j]);
        sum += (double)t.w[i * n + j];
      }
      NEAR((float)(sum - 1.0), 0.0, bound(n, 5, 0.0, 1.0), "sum of weights less one", n);
    }
  }
}

static void order_of_keys(void) {
  enum { D = 6, R = 4 };
  FOR_EDGES(n, 2) {
    mha_desc d = random_call(1, 1, R, n, D), e;
    size_t   j, k, c;
    double   t_max;
    RUN(&d, "keys in order", n);
    t_max = D * largest(t.q, R * D) * largest(t.k, n * D) / sqrt((double)D);
    for (j = n - 1; j > 0; j--) {
      k = rng_below(j + 1);
      for (c = 0; c < D; c++) {
        float a = t.k[j * D + c], b = t.v[j * D + c];
        t.k[j * D + c] = t.k[k * D + c], t.v[j * D + c] = t.v[k * D + c];
        t.k[k * D + c] = a, t.v[k * D + c] = b;
      }
    }
    e = d, e.o = t.o2, e.lse = t.lse2;
    RUN(&e, "keys out of order", n);
    for (k = 0; k < R * D; k++)
      NEAR(t.o2[k], (double)t.o[k], 2 * bound(n, D, t_max, 6.0), "keys out of order", n);
    for (k = 0; k < R; k++)
      NEAR(t.lse2[k], (double)t.lse[k], 2 * bound_lse(n, D, t_max, (double)t.lse[k]),
           "keys out of order, lse", n);
  }
}

static void constant_added_to_scores(void) {
  static const float added[] = { -40.0f, -1.5f, 3.0f, 50.0f };
  enum { D = 4, R = 3 };
  size_t s, k, c;
  FOR_EDGES(n, 1)
    for (s = 0; s < COUNT(added); s++) {
      mha_desc d = random_call(1, 1, R, n, D), e;
      double   t_max = fabs((double)added[s]) + 18.0; /* |q|, |k| <= 3: 4 * 9 / sqrt(4) */
      for (k = 0; k < R * D; k++) t.q[k] = fmaxf(-3.0f, fminf(3.0f, t.q[k]));
      for (k = 0; k < n * D; k++) t.k[k] = fmaxf(-3.0f, fminf(3.0f, t.k[k]));
      RUN(&d, "scores", n);
      for (k = 0; k < n; k++) t.bias[k] = added[s];
      e = d, e.bias = t.bias, e.o = t.o2, e.lse = t.lse2;
      RUN(&e, "scores plus a constant", n);
      for (k = 0; k < R; k++) {
        for (c = 0; c < D; c++)
          NEAR(t.o2[k * D + c], (double)t.o[k * D + c], 2 * bound(n, D, t_max, 6.0), "scores plus a constant",
               n);
        NEAR(t.lse2[k], (double)t.lse[k] + (double)added[s], 2 * bound_lse(n, D, t_max, t_max),
             "scores plus a constant", n);
      }
    }
}

static void first_causal_row(void) {
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(4, 2, n, n, 3);
    size_t   h, c;
    d.flags = MHA_CAUSAL;
    RUN(&d, "first causal row", n);
    for (h = 0; h < 4; h++)
      for (c = 0; c < 3; c++) ALL_ARE(t.o + h * 3 + c, t.v[h / 2 * 3 + c], 1, "first causal row", n);
  }
}

/* A NaN or infinity at key `bad` reaches the rows that see it, all of them, and no other row or channel. */
static void nan_goes_where_it_is_seen(void) {
  enum { D = 4 };
  size_t place, i, c, bad;
  FOR_EDGES(n, 2)
    for (place = 0; place < 5; place++) {
      mha_desc d = random_call(1, 1, n, n, D), e;
      bad = place == 3 ? 0 : place == 4 ? n - 1 : rng_below(n);
      d.flags = MHA_CAUSAL;
      e = d, e.o = t.o2, e.lse = t.lse2;
      CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
      if (place == 0 || place == 3) { /* in a key: the row's logits, so the whole row */
        t.k[bad * D + 1] = NOT_A_NUMBER;
        RUN(&d, "a key of NaN", n);
        ALL_ARE(t.o + bad * D, NOT_A_NUMBER, (n - bad) * D, "rows that see a key of NaN", n);
        ALL_ARE(t.lse + bad, NOT_A_NUMBER, n - bad, "lse of rows that see a key of NaN", n);
      } else { /* in a value: one channel */
        float value = place == 2 ? INF : NOT_A_NUMBER;
        t.v[bad * D + 2] = value;
        RUN(&d, "a value of NaN or infinity", n);
        for (i = bad; i < n; i++)
          for (c = 0; c < D; c++)
            if (c == 2) ALL_ARE(t.o + i * D + c, value, 1, "the channel that sees it", n);
            else SAME(t.o + i * D + c, t.o2 + i * D + c, 1, "the channels beside it", n);
        SAME(t.lse, t.lse2, n, "lse does not see values", n);
      }
      SAME(t.o, t.o2, bad * D, "rows that do not see it", n);
      SAME(t.lse, t.lse2, bad, "lse of rows that do not see it", n);
    }
}

/* A visible weight that underflows to 0 still meets its value: 0 * NaN is NaN. */
static void underflow_does_not_hide(void) {
  FOR_EDGES(n, 2) {
    mha_desc d = logits_call(1, n);
    t.k[0] = -1000.0f, t.v[0] = NOT_A_NUMBER;
    RUN(&d, "a weight that underflows", n);
    ALL_ARE(t.w, 0.0f, 1, "its weight", n);
    ALL_ARE(t.o, NOT_A_NUMBER, 1, "0 * NaN", n);
    t.v[0] = 1e30f;
    RUN(&d, "a weight that underflows, a finite value", n);
    NEAR(t.o[0], (double)n / 2, 1e-6 * (double)n, "0 * 1e30", n);
    if (n < 3) continue; /* nor does a hidden key beside it change that */
    memset(t.keep, 1, n);
    t.keep[1] = 0, t.v[0] = t.v[1] = NOT_A_NUMBER;
    d.mask = t.keep;
    RUN(&d, "a weight that underflows beside a hidden key", n);
    ALL_ARE(t.o, NOT_A_NUMBER, 1, "0 * NaN beside a hidden key", n);
    t.v[0] = 0.0f;
    RUN(&d, "a hidden NaN", n);
    NEAR(t.o[0], ((double)n * ((double)n - 1) / 2 - 1) / ((double)n - 2), 1e-6 * (double)n, "a hidden NaN",
         n);
  }
}

/* Causal rows all at once, one by one, in uneven groups, with the future present and poisoned or not there at
   all. */
static void prefill_equals_decode(void) {
  static const size_t steps[] = { 1, 4, 7 };
  enum { H = 4, G = 2, D = 5 };
  size_t s, i, rows, j;
  FOR_EDGES(n, 2) {
    mha_desc d = random_call(H, G, n, n, D), e;
    d.flags = MHA_CAUSAL;
    RUN(&d, "prefill", n);
    for (s = 0; s < 2 * COUNT(steps); s++) {
      if (n > 40 && s % COUNT(steps) == 0 && n % 2) continue; /* not every length one by one */
      for (j = 0; j < n * G * D; j++) t.w[j] = t.w2[j] = NOT_A_NUMBER; /* the caches, filled as we go */
      for (i = 0; i < n; i += rows) {
        rows = steps[s % COUNT(steps)] < n - i ? steps[s % COUNT(steps)] : n - i;
        memcpy(t.w + i * G * D, t.k + i * G * D, rows * G * D * 4);
        memcpy(t.w2 + i * G * D, t.v + i * G * D, rows * G * D * 4);
        e = d;
        e.q = t.q + i * H * D, e.k = t.w, e.v = t.w2, e.o = t.o2 + i * H * D, e.lse = NULL;
        e.q_len = rows, e.q_start = (ptrdiff_t)i;
        if (s >= COUNT(steps)) e.kv_len = i + rows, e.q_start = 0, e.flags |= MHA_Q_LAST;
        CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
      }
      SAME(t.o2, t.o, n * H * D,
           s < COUNT(steps) ? "decode with the future poisoned" : "decode of a growing cache", n);
    }
  }
}

/* Decoding for a group of heads at once, or for each head in a call of its own. */
static void groups_equal_heads(void) {
  static const size_t q_heads[] = { 4, 8, 6 }, kv_heads[] = { 1, 2, 6 };
  enum { D = 8 };
  size_t s, h, H, G;
  FOR_EDGES(n, 1)
    for (s = 0; s < COUNT(q_heads); s++) {
      mha_desc d = random_call(H = q_heads[s], G = kv_heads[s], 1, n, D), e;
      RUN(&d, "all heads at once", n);
      for (h = 0; h < H; h++) {
        e = d;
        e.q_heads = e.kv_heads = 1, e.q = t.q + h * D, e.o = t.o2 + h * D, e.lse = t.lse2 + h;
        e.k = t.k + h / (H / G) * D, e.v = t.v + h / (H / G) * D;
        e.k_stride = e.v_stride = by_row(G * D);
        CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
      }
      SAME(t.o, t.o2, H * D, "heads together or alone", n);
      SAME(t.lse, t.lse2, H, "heads together or alone, lse", n);
    }
}

/* Every head of every batch member, with its own mask, biases, slope and sink, is a call of its own. */
static void every_head_is_its_own_call(void) {
  static const float slopes[4] = { 0.25f, 0.0f, 0.01f, -0.5f }, sinks[4] = { 1.0f, -2.0f, 0.0f, 3.0f };
  enum { B = 2, H = 4, G = 2, R = 3, D = 5 };
  size_t b, h, i, k;
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(H, G, B * R, B * n, D), e;
    for (k = 0; k < B * H * R * n; k++) t.keep[k] = !rng_chance(20), t.bias[k] = rng_normal();
    d.batch = B, d.q_len = R, d.kv_len = n, d.weights = t.w, d.flags = MHA_CAUSAL | MHA_Q_LAST;
    d.mask = t.keep, d.bias = t.bias, d.alibi_slopes = slopes, d.sinks = sinks;
    d.mask_stride.batch = (ptrdiff_t)(H * R * n), d.mask_stride.head = (ptrdiff_t)(R * n);
    d.mask_stride.row = (ptrdiff_t)n, d.bias_stride = d.mask_stride;
    RUN(&d, "all heads of all batches", n);
    for (b = 0; b < B; b++)
      for (h = 0; h < H; h++) {
        e = d;
        e.batch = e.q_heads = e.kv_heads = 1;
        e.q = t.q + (b * R * H + h) * D, e.k = t.k + (b * n * G + h / 2) * D,
        e.v = t.v + (b * n * G + h / 2) * D;
        e.q_stride = by_row(H * D), e.k_stride = e.v_stride = by_row(G * D);
        e.mask = t.keep + (b * H + h) * R * n, e.bias = t.bias + (b * H + h) * R * n;
        e.alibi_slopes = slopes + h, e.sinks = sinks + h, e.o = t.o2, e.lse = t.lse2, e.weights = t.w2;
        CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
        for (i = 0; i < R; i++) SAME(t.o + ((b * R + i) * H + h) * D, t.o2 + i * D, D, "a head alone", n);
        SAME(t.lse + (b * H + h) * R, t.lse2, R, "a head alone, lse", n);
        SAME(t.w + (b * H + h) * R * n, t.w2, R * n, "a head alone, weights", n);
      }
  }
}

static void negative_and_zero_scale(void) {
  enum { D = 4, R = 3 };
  FOR_EDGES(n, 1) {
    mha_desc d = random_call(1, 1, R, n, D), e;
    size_t   k, j;
    d.scale = -0.5f;
    RUN(&d, "a negative scale", n);
    e = d, e.scale = 0.5f, e.o = t.o2, e.lse = t.lse2;
    for (k = 0; k < R * D; k++) t.q[k] = -t.q[k];
    CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "not OK");
    SAME(t.o, t.o2, R * D, "a negative scale is a negative query", n);
    SAME(t.lse, t.lse2, R, "a negative scale is a negative query", n);
    d.scale = 0.0f, d.flags = MHA_USE_SCALE;
    RUN(&d, "scale 0", n);
    for (k = 0; k < D; k++) {
      double sum = 0.0;
      for (j = 0; j < n; j++) sum += (double)t.v[j * D + k];
      NEAR(t.o[k], sum / (double)n, bound(n, D, 0.0, 6.0), "scale 0 is a plain mean", n);
    }
    d.flags = 0; /* the default, here exactly 0.5 */
    CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
    SAME(t.o, t.o2, R * D, "no scale is 1/sqrt(d_k)", n);
  }
}

const group cases_groups[] = {
  { "example: two tokens, two heads", two_tokens_two_heads },
  { "example: four tokens, 8 heads", four_tokens_eight_heads },
  { "split and merge", split_and_merge },
  { "a reshape is not a merge", reshaping_is_not_merging },
  { "steps equal the whole", steps_equal_the_whole },
  { "fault: rows without keys", rows_without_keys },
  { "fault: large and hidden logits", large_and_hidden_logits },
  { "fault: positions and windows", positions_and_windows },
  { "fault: heads, strides, addresses", heads_strides_addresses },
  { "fault: company", company },
  { "rules compose", rules_compose },
  { "constant values come back", constant_values },
  { "weights sum to one", weights_sum_to_one },
  { "order of keys", order_of_keys },
  { "a constant added to all scores", constant_added_to_scores },
  { "first causal row", first_causal_row },
  { "nan goes where it is seen", nan_goes_where_it_is_seen },
  { "underflow does not hide", underflow_does_not_hide },
  { "prefill equals decode", prefill_equals_decode },
  { "groups equal heads", groups_equal_heads },
  { "every head is its own call", every_head_is_its_own_call },
  { "negative and zero scale", negative_and_zero_scale },
  { NULL, NULL }
};
