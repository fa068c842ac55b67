/* literal_s8.h - integer attention once more, from its formulas: every number in 64 bits, one row at a time.

   Shares nothing with mha.h but its declarations, and not its constants either: literal_s8_make derives them
   from the scales.  (In native mode the two factors may differ in the last bit from mha.h's, since their
   formula says nothing about the order of the products; literal_s8_take_factors takes those of mha.h and
   tells whether they are that near.)  Slow and plain on purpose. */
#ifndef LITERAL_S8_H
#define LITERAL_S8_H

#include <math.h>

#include "oracle.h"

typedef struct {
  int                mode;
  int64_t            q_zero, k_zero, v_zero, o_zero;
  int64_t            qk, pv;             /* factor = qk * 2^(qk_shift - 31), qk = 0 or in [2^30, 2^31) */
  int                qk_shift, pv_shift;
  int64_t            logit_zero;         /* the rest is TFLM's */
  const signed char *map;
  int64_t            exps[256];          /* Q0.31, of the distance from the largest logit */
} literal_s8;

enum { LITERAL_S8_WARNS = 1, LITERAL_S8_OVERFLOWS = 2 };

/* ---- Rounding ---- */

ORACLE_FN int64_t literal_s8_floor(int64_t x, int bits) { /* x / 2^bits, rounded down */
  int64_t d = (int64_t)1 << bits, q = x / d;
  return x % d < 0 ? q - 1 : q;
}
ORACLE_FN int64_t literal_s8_away(int64_t x, int bits) { /* x / 2^bits to nearest, half away from zero */
  int64_t d = (int64_t)1 << bits, q, r;
  if (x < 0) return -literal_s8_away(-x, bits);
  q = x / d, r = x % d;
  return 2 * r >= d ? q + 1 : q;
}
ORACLE_FN int64_t literal_s8_up(int64_t x, int bits) { /* to nearest, half up */
  return bits ? literal_s8_floor(x + ((int64_t)1 << (bits - 1)), bits) : x;
}
ORACLE_FN int64_t literal_s8_high(int64_t a, int64_t b) { /* 2 a b / 2^32, saturated: a rounding high half */
  const int64_t least = -2147483647 - 1;
  return a == least && b == least ? 2147483647 : literal_s8_up(a * b, 31);
}
ORACLE_FN int64_t literal_s8_clamp(int64_t x) { return x < -128 ? -128 : x > 127 ? 127 : x; }
ORACLE_FN int     literal_s8_zeros(int64_t x) { /* leading zeros of 32 bits, x > 0 */
  int n = 0;
  while (x < ((int64_t)1 << 31)) x *= 2, n++;
  return n;
}

/* ---- Constants ---- */

/* real = m * 2^(shift - 31), m in [2^30, 2^31). */
ORACLE_FN void literal_s8_factor(double real, int64_t *m, int *shift) {
  *m = (int64_t)floor(frexp(real, shift) * 2147483648.0 + 0.5);
  if (*m == (int64_t)1 << 31) *m /= 2, ++*shift;
}
/* The same, but what would shift out all bits is 0. */
ORACLE_FN void literal_s8_tflm_factor(double real, int64_t *m, int *shift) {
  literal_s8_factor(real, m, shift);
  if (*shift < -31) *m = 0, *shift = 0;
}

/* exp(-x / 2^26) as Q0.31, 0 <= x < 2^31: a Taylor polynomial around -1/8, times a constant per bit */
ORACLE_FN int64_t literal_s8_exp(int64_t x) {
  static const int64_t of_bit[7] = { 1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242 };
  const int64_t quarter = 1 << 24;
  int64_t       part = x % quarter ? x % quarter : quarter, whole = x - part; /* part in (0, 1/4] */
  int64_t       y = (1 << 28) - 32 * part, y2, y3, y4, e;                    /* part - 1/8, negated, Q0.31 */
  int           bit;
  if (x == 0) return 2147483647;
  y2 = literal_s8_high(y, y), y3 = literal_s8_high(y2, y), y4 = literal_s8_high(y2, y2);
  e = literal_s8_high(literal_s8_away(y4, 2) + y3, 715827883) + y2; /* (y4/4 + y3) / 3 + y2 */
  e = 1895147668 + literal_s8_high(1895147668, y + literal_s8_away(e, 1));
  for (bit = 0; bit < 7; bit++)
    if (whole & quarter << bit) e = literal_s8_high(e, of_bit[bit]);
  return e;
}

/* 2^62 / x as Q0.31 for x in [2^31, 2^32): three steps of Newton for half of it, in Q2.29 */
ORACLE_FN int64_t literal_s8_reciprocal(int64_t x) {
  int64_t half = literal_s8_up(x - 1, 1), r, miss; /* the half-sum of x - 2^31 and 2^31 - 1, rounded */
  int     n;
  r = 1515870810 + literal_s8_high(half, -1010580540); /* 48/17 - 32/17 half */
  for (n = 0; n < 3; n++) {
    miss = ((int64_t)1 << 29) - literal_s8_high(half, r);
    r += literal_s8_high(r, miss) * 4;
  }
  return 2 * r > 2147483647 ? 2147483647 : 2 * r;
}

ORACLE_FN void literal_s8_exps(int64_t *exps, int64_t multiplier, int left) {
  int64_t most = left > 63 ? 0 : (((int64_t)31 << 26) >> left), d;
  for (d = 0; d < 256; d++)
    exps[d] = d > most ? 0 : literal_s8_exp(-literal_s8_high(-(d << left), multiplier));
}

ORACLE_FN void literal_s8_make(literal_s8 *c, const mha_s8_quant *a) {
  double  q = (double)a->q.scale, k = (double)a->k.scale, v = (double)a->v.scale, o = (double)a->o.scale;
  int64_t m;
  int     left;
  c->mode = a->mode;
  c->q_zero = a->q.zero, c->k_zero = a->k.zero, c->v_zero = a->v.zero, c->o_zero = a->o.zero;
  c->logit_zero = a->logits.zero, c->map = NULL;
  if (a->mode == MHA_S8_TFLM) {
    double beta = a->scale > 0.0f ? (double)a->scale : 1.0;
    double step = a->logit_map ? (double)a->map_scale : (double)a->logits.scale;
    literal_s8_tflm_factor(q * k / (double)a->logits.scale, &c->qk, &c->qk_shift);
    literal_s8_tflm_factor(v * (1.0 / 256.0) / o, &c->pv, &c->pv_shift);
    literal_s8_tflm_factor(fmin(beta * step * 67108864.0, 2147483647.0), &m, &left);
    literal_s8_exps(c->exps, m, left);
    c->map = a->logit_map;
  } else {
    double scale = (double)(a->scale > 0.0f ? a->scale : (float)(1.0 / sqrt((double)a->d_k)));
    literal_s8_factor(q * k * scale * 1.4426950408889634 * 256.0, &c->qk, &c->qk_shift);
    literal_s8_factor(v / o, &c->pv, &c->pv_shift);
  }
}

/* Right but for the last bit; or 0 instead of less than 2^least, which then moves no result by 1/2. */
ORACLE_FN int literal_s8_near(double got, double want, int least) {
  return fabs(got - want) <= ldexp(want, -30) || (got == 0.0 && want < ldexp(1.0, least));
}

/* Native: takes the two factors of mha.h, and tells whether they are right. */
ORACLE_FN int literal_s8_take_factors(literal_s8 *c, const mha_s8_consts *of) {
  double qk = ldexp((double)c->qk, c->qk_shift), pv = ldexp((double)c->pv, c->pv_shift);
  c->qk = of->qk.multiplier, c->qk_shift = of->qk.left - of->qk.right - 1;
  c->pv = of->pv.multiplier, c->pv_shift = 46 - of->pv.right;
  return literal_s8_near(ldexp((double)c->qk, c->qk_shift), qk, 31 - 33) &&
         literal_s8_near(ldexp((double)c->pv, c->pv_shift), pv, 31 - 17);
}

/* ---- A row ---- */

ORACLE_FN int literal_s8_sees(const mha_s8_desc *d, size_t h, size_t i, size_t j) {
  int64_t at = (int64_t)j, p = (int64_t)d->q_start + (int64_t)i;
  if (d->flags & (unsigned)MHA_Q_LAST) p = (int64_t)d->kv_len - (int64_t)d->q_len + (int64_t)i;
  if (d->flags & (unsigned)MHA_CAUSAL && at > p) return 0;
  if (d->flags & (unsigned)MHA_USE_WINDOW) {
    if (d->window_left != MHA_OPEN && at < p && (uint64_t)(p - at) > d->window_left) return 0;
    if (d->window_right != MHA_OPEN && at > p && (uint64_t)(at - p) > d->window_right) return 0;
  }
  if (!d->mask) return 1;
  return d->mask[(ptrdiff_t)h * d->mask_stride.head + (ptrdiff_t)i * d->mask_stride.row + (ptrdiff_t)j] != 0;
}

/* The offset of row r of head h: packed (length, heads, channels) if both strides are zero. */
ORACLE_FN ptrdiff_t literal_s8_row(mha_s8_strides s, size_t h, size_t r, size_t heads, size_t channels) {
  if (s.head == 0 && s.row == 0) return (ptrdiff_t)((r * heads + h) * channels);
  return (ptrdiff_t)h * s.head + (ptrdiff_t)r * s.row;
}

/* x * factor as TFLM does it: to nearest twice, first half up, then half away from zero */
ORACLE_FN int64_t literal_s8_scaled(int64_t x, int64_t m, int shift, int *flags) {
  if (shift > 0) x *= (int64_t)1 << shift;
  if (x < -2147483647 - 1 || x > 2147483647) *flags |= LITERAL_S8_OVERFLOWS;
  return literal_s8_away(literal_s8_high(x, m), shift < 0 ? -shift : 0);
}

/* From acc[j], the dot products of the keys that sees[j] marks, to w[j], what multiplies their values.
   Returns how often the weights' unit 1 goes into their sum: 256 for TFLM's probabilities; 0: no key, or no
   weight. */
ORACLE_FN int64_t literal_s8_weights(const literal_s8 *c, const unsigned char *sees, const int64_t *acc,
                                     size_t n, int64_t *w, int *flags) {
  int64_t most = INT64_MIN, sum = 0;
  size_t  j;
  for (j = 0; j < n; j++) {
    int64_t x = acc[j];
    if (!sees[j]) continue;
    if (c->mode == MHA_S8_TFLM) {
      x = literal_s8_clamp(c->logit_zero + literal_s8_scaled(x, c->qk, c->qk_shift, flags));
      if (c->map) x = c->map[x + 128];
    }
    w[j] = x;
    if (x > most) most = x;
  }
  for (j = 0; j < n; j++) {
    int64_t far, t, x;
    if (!sees[j]) { w[j] = 0; continue; }
    far = most - w[j];
    if (c->mode == MHA_S8_TFLM) {
      w[j] = c->exps[far];
      sum += literal_s8_away(w[j], 12);
      continue;
    }
    /* far * qk * 2^(qk_shift - 31) to nearest, half up; far < 2^32, so that what is left of the point fits */
    if (c->qk_shift >= 31) t = !far ? 0 : 4096;
    else if (c->qk_shift > 0) {
      int64_t product = far * c->qk;
      t = product >= (int64_t)4096 << (31 - c->qk_shift) ? 4096 : literal_s8_up(product, 31 - c->qk_shift);
    } else t = c->qk_shift < -31 ? 0 : literal_s8_up(far * c->qk, 31 - c->qk_shift);
    if (t >= 4096) { w[j] = 0; continue; }
    x = (int64_t)floor(32767.0 * pow(2.0, -(double)(t / 16 % 16) / 16.0) + 0.5) *
        (int64_t)floor(32768.0 * pow(2.0, -(double)(t % 16) / 256.0) + 0.5);
    w[j] = literal_s8_up(literal_s8_up(x, 15), (int)(t / 256));
    sum += w[j];
  }
  if (c->mode == MHA_S8_TFLM && sum >= (int64_t)1 << 28) {
    *flags |= LITERAL_S8_WARNS;
    sum = 0;
  }
  if (!sum) {
    for (j = 0; j < n; j++) w[j] = 0;
    return 0;
  }
  if (c->mode == MHA_S8_TFLM) {
    int     zeros = literal_s8_zeros(sum);
    int64_t r = literal_s8_reciprocal(sum << zeros);
    for (j = 0; j < n; j++) {
      w[j] = literal_s8_away(literal_s8_high(r, w[j]), 35 - zeros);
      if (w[j] > 255) w[j] = 255;
    }
    return 256;
  }
  return sum;
}

/* The code of one channel: total = sum of w (v - v_zero), sum as returned above */
ORACLE_FN int64_t literal_s8_output(const literal_s8 *c, int64_t total, int64_t sum, int *flags) {
  int     zeros, shift = 46 - c->pv_shift;
  int64_t y, f;
  if (!sum) return c->o_zero;
  if (c->mode == MHA_S8_TFLM)
    return literal_s8_clamp(c->o_zero + literal_s8_scaled(total, c->pv, c->pv_shift, flags));
  zeros = literal_s8_zeros(sum);
  y = literal_s8_floor(total * ((int64_t)1 << zeros), 16);
  f = literal_s8_high(literal_s8_reciprocal(sum << zeros), c->pv);
  return literal_s8_clamp(c->o_zero + (shift > 62 ? 0 : literal_s8_up(y * f, shift)));
}

/* All rows, written to o, which is laid out as d->o is.  c: one for all heads, or one each as
   d->consts_stride has it.  Returns LITERAL_S8_ bits. */
ORACLE_FN int literal_s8_attend(const mha_s8_desc *d, const literal_s8 *constants, signed char *o) {
  size_t kv_heads = d->kv_heads ? d->kv_heads : d->q_heads, d_v = d->d_v ? d->d_v : d->d_k, n = d->kv_len;
  size_t         h, i, j, x;
  int64_t       *acc = (int64_t *)malloc((n + 1) * sizeof *acc), *w = (int64_t *)malloc((n + 1) * sizeof *w);
  unsigned char *sees = (unsigned char *)malloc(n + 1);
  int            flags = 0;
  if (!acc || !w || !sees) exit(2);
  for (h = 0; h < d->q_heads; h++)
    for (i = 0; i < d->q_len; i++) {
      const literal_s8  *c = constants + h * d->consts_stride;
      size_t             kv_head = h / (d->q_heads / kv_heads);
      const signed char *q = d->q + literal_s8_row(d->q_stride, h, i, d->q_heads, d->d_k);
      signed char       *out = o + literal_s8_row(d->o_stride, h, i, d->q_heads, d_v);
      int64_t            sum;
      for (j = 0; j < n; j++) {
        sees[j] = (unsigned char)literal_s8_sees(d, h, i, j);
        acc[j] = 0;
        for (x = 0; sees[j] && x < d->d_k; x++)
          acc[j] +=
              (q[x] - c->q_zero) *
              (d->k[literal_s8_row(d->k_stride, kv_head, j, kv_heads, d->d_k) + (ptrdiff_t)x] - c->k_zero);
      }
      sum = literal_s8_weights(c, sees, acc, n, w, &flags);
      for (x = 0; x < d_v; x++) {
        int64_t total = 0;
        for (j = 0; j < n; j++)
          if (w[j])
            total += w[j] * (d->v[literal_s8_row(d->v_stride, kv_head, j, kv_heads, d_v) + (ptrdiff_t)x] -
                             c->v_zero);
        out[x] = (signed char)literal_s8_output(c, total, sum, &flags);
      }
    }
  free(sees);
  free(w);
  free(acc);
  return flags;
}

#endif
