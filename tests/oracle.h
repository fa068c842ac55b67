/* oracle.h - attention in double, from its formula, and the error that mha.h may make beside it.

     visible  = below kv_lens AND causal AND window AND mask AND bias != -inf
     s        = cap * tanh(scale * (q . k) / cap) + bias - slope * |query position - key position|
     weights  = exp(s) / (exp(sink) + sum over visible keys of exp(s))
     o        = sum over visible keys of weights * v
     lse      = log(exp(sink) + sum over visible keys of exp(s))

   Shares nothing with mha.h but its declarations: own strides, own conversions, own defaults.  The descriptor
   must be one that mha_check accepts.  Slow and plain on purpose.

   What a double cannot show: where float logits or sums overflow, here they don't; and a key of infinite
   value whose weight is below 2^-126 gives NaN in mha.h, infinity here. */
#ifndef ORACLE_H
#define ORACLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../mha.h"

#ifdef __GNUC__
#  define ORACLE_FN static __attribute__((unused))
#else
#  define ORACLE_FN static
#endif

ORACLE_FN double *oracle_new(size_t n) { /* n doubles, or the end of the program */
  double *p = (double *)malloc((n ? n : 1) * sizeof *p);
  if (!p) {
    fprintf(stderr, "oracle: out of memory\n");
    exit(2);
  }
  return p;
}

/* ---- The descriptor's defaults ---- */

ORACLE_FN size_t oracle_kv_heads(const mha_desc *d) { return d->kv_heads ? d->kv_heads : d->q_heads; }
ORACLE_FN size_t oracle_dv(const mha_desc *d) { return d->d_v ? d->d_v : d->d_k; }
ORACLE_FN size_t oracle_kv_len(const mha_desc *d, size_t b) { return d->kv_lens ? d->kv_lens[b] : d->kv_len; }

/* The offset of row (b, r, h) of q, k, v or o: packed (batch, len, heads, dim) if all strides are zero. */
ORACLE_FN size_t oracle_row(const mha_strides *s, size_t b, size_t r, size_t h, size_t len, size_t heads,
                            size_t dim) {
  if (s->batch == 0 && s->head == 0 && s->row == 0) return ((b * len + r) * heads + h) * dim;
  return b * (size_t)s->batch + r * (size_t)s->row + h * (size_t)s->head;
}

/* The offset of (b, r, h) in mask, bias or a scale, where a zero stride always repeats. */
ORACLE_FN size_t oracle_at(const mha_strides *s, size_t b, size_t r, size_t h) {
  return b * (size_t)s->batch + r * (size_t)s->row + h * (size_t)s->head;
}

ORACLE_FN double oracle_scale(const mha_desc *d) {
  if (d->flags & (unsigned)MHA_USE_SCALE || d->scale < 0.0f || d->scale > 0.0f) return (double)d->scale;
  return 1.0 / sqrt((double)d->d_k);
}

ORACLE_FN ptrdiff_t oracle_k_position(const mha_desc *d, size_t b, size_t j) {
  return (d->kv_starts ? d->kv_starts[b] : d->kv_start) + (ptrdiff_t)j;
}
ORACLE_FN ptrdiff_t oracle_q_position(const mha_desc *d, size_t b, size_t i) {
  if (d->flags & (unsigned)MHA_Q_LAST)
    return oracle_k_position(d, b, oracle_kv_len(d, b)) - (ptrdiff_t)d->q_len + (ptrdiff_t)i;
  return (d->q_starts ? d->q_starts[b] : d->q_start) + (ptrdiff_t)i;
}

/* ---- Which keys a query sees ---- */

/* All rules but mask and bias: those that need no memory. */
ORACLE_FN int oracle_visible_by_position(const mha_desc *d, size_t b, size_t i, size_t j) {
  ptrdiff_t p = oracle_q_position(d, b, i), at = oracle_k_position(d, b, j);
  if (j >= oracle_kv_len(d, b)) return 0;
  if (d->flags & (unsigned)MHA_CAUSAL && at > p) return 0;
  if (d->flags & (unsigned)MHA_USE_WINDOW) {
    int kept_first = at >= 0 && (size_t)at < d->keep_first, inside = 1;
    if (at < p && d->window_left != MHA_OPEN && (size_t)(p - at) > d->window_left) inside = 0;
    if (at > p && d->window_right != MHA_OPEN && (size_t)(at - p) > d->window_right) inside = 0;
    if (!inside && !kept_first) return 0;
  }
  return 1;
}

/* 1 when query i of head h in batch member b sees key j. */
ORACLE_FN int oracle_visible(const mha_desc *d, size_t b, size_t h, size_t i, size_t j) {
  if (!oracle_visible_by_position(d, b, i, j)) return 0;
  if (d->mask && d->mask[oracle_at(&d->mask_stride, b, i, h) + j] == 0) return 0;
  if (d->bias) {
    float x = d->bias[oracle_at(&d->bias_stride, b, i, h) + j];
    if (x < 0.0f && isinf(x)) return 0;
  }
  return 1;
}

/* ---- Storage types ---- */

/* A binary format of one sign bit, `exponent` bits and `mantissa` bits. */
ORACLE_FN double oracle_from_format(unsigned code, int exponent, int mantissa) {
  int      bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  int      e = (int)(code >> mantissa) & top, negative = (int)(code >> (mantissa + exponent)) & 1;
  unsigned m = code & ((1u << mantissa) - 1u);
  double   x;
  if (e == top) x = m ? (double)NAN : (double)INFINITY;
  else if (e == 0) x = ldexp((double)m, 1 - bias - mantissa);
  else x = ldexp((double)(m | 1u << mantissa), e - bias - mantissa);
  return negative ? -x : x;
}
ORACLE_FN double oracle_from_f16(unsigned code) { return oracle_from_format(code, 5, 10); }
ORACLE_FN double oracle_from_bf16(unsigned code) { return oracle_from_format(code, 8, 7); }

/* Element n of a tensor of any type.  `scale` is the row's, for MHA_S8. */
ORACLE_FN double oracle_element(const void *p, int type, size_t n, double scale) {
  switch (type) {
    case MHA_F16: return oracle_from_f16(((const uint16_t *)p)[n]);
    case MHA_BF16: return oracle_from_bf16(((const uint16_t *)p)[n]);
    case MHA_S8: return (double)((const signed char *)p)[n] * scale;
    default: return (double)((const float *)p)[n];
  }
}

/* (rows, dim) of K or V for one batch member and kv head; scale may be NULL. */
ORACLE_FN void oracle_load(double *out, const void *p, int type, const mha_strides *stride,
                           const float *scale, const mha_strides *scale_stride, size_t b, size_t h,
                           size_t rows, size_t len, size_t heads, size_t dim) {
  size_t j, c;
  for (j = 0; j < rows; j++) {
    size_t row = oracle_row(stride, b, j, h, len, heads, dim);
    double s = scale ? (double)scale[oracle_at(scale_stride, b, j, h)] : 1.0;
    for (c = 0; c < dim; c++) out[j * dim + c] = oracle_element(p, type, row + c, s);
  }
}

/* ---- One row ---- */

typedef struct {
  size_t seen; /* visible keys */
  double most; /* largest |scale| sum |q k| + |bias| + |slope| distance over visible keys */
} oracle_facts;

/* Scores of query row i into s (kv_len; untouched where hidden) and visible (kv_len). */
ORACLE_FN oracle_facts oracle_scores(const mha_desc *d, size_t b, size_t h, size_t i, const double *k,
                                     double *s, unsigned char *visible) {
  const float *q = d->q + oracle_row(&d->q_stride, b, i, h, d->q_len, d->q_heads, d->d_k);
  double       scale = oracle_scale(d), cap = (double)d->softcap;
  oracle_facts f = { 0, 0.0 };
  size_t       j, c;
  for (j = 0; j < d->kv_len; j++) {
    double x = 0.0, size = 0.0;
    visible[j] = (unsigned char)oracle_visible(d, b, h, i, j);
    if (!visible[j]) continue;
    f.seen++;
    for (c = 0; c < d->d_k; c++) {
      double t = (double)q[c] * k[j * d->d_k + c];
      x += t;
      size += fabs(t);
    }
    size *= fabs(scale);
    x *= scale;
    if (cap > 0.0) x = cap * tanh(x / cap);
    if (d->bias) {
      double t = (double)d->bias[oracle_at(&d->bias_stride, b, i, h) + j];
      x += t;
      size += fabs(t);
    }
    if (d->alibi_slopes) {
      double slope = (double)d->alibi_slopes[h];
      double distance = fabs((double)(oracle_q_position(d, b, i) - oracle_k_position(d, b, j)));
      x -= slope * distance;
      size += fabs(slope) * distance;
    }
    s[j] = x;
    if (!(size <= f.most)) f.most = size; /* NaN stays */
  }
  return f;
}

/* Softmax over the visible keys, in place (hidden: 0).  Returns the log of the sum of exponentials. */
ORACLE_FN double oracle_softmax(double *s, const unsigned char *visible, size_t n, const float *sink) {
  double most = -(double)INFINITY, sum = 0.0;
  size_t j, seen = 0, nans = 0;
  for (j = 0; j < n; j++) {
    if (!visible[j]) continue;
    seen++;
    if (isnan(s[j])) nans++;
    if (s[j] > most) most = s[j];
  }
  if (sink && (double)*sink > most) most = (double)*sink;
  for (j = 0; j < n; j++) {
    if (visible[j]) s[j] = exp(s[j] - most), sum += s[j];
    else s[j] = 0.0;
  }
  if (!seen) return sink ? (double)*sink : -(double)INFINITY;
  if (sink) sum += isinf(*sink) && *sink > 0.0f ? 1.0 : exp((double)*sink - most);
  for (j = 0; j < n; j++)
    if (visible[j]) s[j] /= sum;
  return isinf(most) && most < 0.0 && !nans ? most : most + log(sum); /* every logit -inf: the sum is 0 */
}

/* ---- Everything ---- */

/* What may lie between mha.h and the exact result: see oracle_bounds. */
ORACLE_FN void oracle_row_bounds(const mha_desc *d, int fused, const oracle_facts *f, const double *w,
                                 double lse, const float *sink, const double *v, const unsigned char *visible,
                                 double *o_bound, double *weights_bound, double *lse_bound) {
  double u = ldexp(1.0, -24), tiny = ldexp(1.0, -126), n = (double)f->seen + 1.0, dk = (double)d->d_k;
  double D = u * (fused ? dk + 16.0 : 2.0 * dk + 20.0) * f->most, growth = expm1(2.0 * D);
  double block = (n < 128.0 ? n : 128.0) * (fused ? 1.0 : 2.0), fold = n / (fused ? 20.0 : 12.0);
  double from_sink = sink ? 2.0 * fabs((double)*sink) : 0.0;
  size_t j, c, dv = oracle_dv(d);
  if (!(f->most * 1.4427 < ldexp(1.0, 127))) D = growth = (double)INFINITY; /* where they do not hold */
  for (c = 0; o_bound && c < dv; c++) {
    double most = 0.0, sum = 0.0;
    for (j = 0; j < d->kv_len; j++) {
      double x;
      if (!visible[j]) continue;
      x = fabs(v[j * dv + c]);
      if (x > most) most = x;
      sum += x;
    }
    o_bound[c] = most * (growth + u * (block + fold + 2.0 * log(n) + 30.0)) + tiny * sum;
    o_bound[c] += ldexp(n + 4.0, -149);
    if (isinf(growth)) o_bound[c] = growth;
  }
  for (j = 0; weights_bound && j < d->kv_len; j++) {
    double x = w[j] * (growth + u * (fold + 2.0 * log(n) + from_sink + 100.0)) + 2.0 * tiny;
    weights_bound[j] = !visible[j] ? 0.0 : isinf(growth) ? growth : x;
  }
  if (lse_bound) *lse_bound = D + u * (2.0 * fabs(lse) + from_sink + fold + 4.0 * log(n) + 20.0);
}

/* Results and bounds; any of the six may be NULL.  See the two functions below. */
ORACLE_FN void oracle_run(const mha_desc *d, int fused, double *o, double *weights, double *lse,
                          double *o_bound, double *weights_bound, double *lse_bound) {
  size_t  dv = oracle_dv(d), kv_heads = oracle_kv_heads(d), b, h, i, j, c;
  double *k = oracle_new(d->kv_len * d->d_k), *v = oracle_new(d->kv_len * dv), *s = oracle_new(d->kv_len);
  unsigned char *visible = (unsigned char *)oracle_new(d->kv_len / sizeof(double) + 1);
  for (b = 0; b < d->batch; b++)
    for (h = 0; h < d->q_heads; h++) {
      size_t       share = d->q_heads / kv_heads, rows = oracle_kv_len(d, b);
      const float *sink = d->sinks ? d->sinks + h : NULL;
      if (d->q_len && h % share == 0) {
        oracle_load(k, d->k, d->k_type, &d->k_stride, d->k_scale, &d->k_scale_stride, b, h / share, rows,
                    d->kv_len, kv_heads, d->d_k);
        oracle_load(v, d->v, d->v_type, &d->v_stride, d->v_scale, &d->v_scale_stride, b, h / share, rows,
                    d->kv_len, kv_heads, dv);
      }
      for (i = 0; i < d->q_len; i++) {
        size_t by_head = (b * d->q_heads + h) * d->q_len + i, by_token = (b * d->q_len + i) * d->q_heads + h;
        oracle_facts f = oracle_scores(d, b, h, i, k, s, visible);
        double       log_sum = oracle_softmax(s, visible, d->kv_len, sink);
        for (c = 0; o && c < dv; c++) {
          double sum = 0.0;
          for (j = 0; j < d->kv_len; j++)
            if (visible[j]) sum += s[j] * v[j * dv + c];
          o[by_token * dv + c] = sum;
        }
        for (j = 0; weights && j < d->kv_len; j++) weights[by_head * d->kv_len + j] = s[j];
        if (lse) lse[by_head] = log_sum;
        oracle_row_bounds(d, fused, &f, s, log_sum, sink, v, visible,
                          o_bound ? o_bound + by_token * dv : NULL,
                          weights_bound ? weights_bound + by_head * d->kv_len : NULL,
                          lse_bound ? lse_bound + by_head : NULL);
      }
    }
  free(visible);
  free(s);
  free(v);
  free(k);
}

/* o        (batch, q_len, q_heads, d_v) packed, whatever d->o_stride says
   weights  (batch, q_heads, q_len, kv_len) or NULL
   lse      (batch, q_heads, q_len) or NULL */
ORACLE_FN void oracle_attend(const mha_desc *d, double *o, double *weights, double *lse) {
  oracle_run(d, 1, o, weights, lse, NULL, NULL, NULL);
}

/* The largest proven distance of each output from the exact value, in the same shapes.  With u = 2^-24,
   n = visible keys + 1, T = the largest over visible keys of |scale| sum |q k| + |bias| + |slope| distance,
   D = u (d_k + 16) T:

     o        max|v| (e^(2D) - 1 + u (min(n, 128) + n/20 + 2 ln n + 30)) + 2^-126 sum|v|     per channel
     weights  w (e^(2D) - 1 + u (n/20 + 2 ln n + 2|sink| + 100)) + 2^-125              0 for hidden keys
     lse      D + u (2|lse| + 2|sink| + n/20 + 4 ln n + 20)

   and for multiply-then-add (fused = 0) D = u (2 d_k + 20) T, 2 min(n, 128) and n/12.  To o we add
   (n + 4) 2^-149 for values so small that results are subnormal.  They hold while everything is finite,
   scale log2e, softcap log2e, T log2e and sum |v| stay below 2^127 (a row whose T does not has infinite
   bounds), and no q scale log2e and no v_scale is subnormal. */
ORACLE_FN void oracle_bounds(const mha_desc *d, int fused, double *o, double *weights, double *lse) {
  oracle_run(d, fused, NULL, NULL, NULL, o, weights, lse);
}

#endif
