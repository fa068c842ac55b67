/* literal.h - "numerics 1" once more, every rounding in the order that mha.h promises, for any descriptor.

   A second opinion on bits, where oracle.h is one on values: slow, straight through, one row at a time.  It
   takes from oracle.h only what has no roundings: strides, storage types and which keys are visible.

   Every statement below rounds once, to nearest even, to float, and literal_step is the only place where a
   product meets a sum.  So this file wants float arithmetic without excess precision and -ffp-contract=off;
   literal_works tells whether it got both. */
#ifndef LITERAL_H
#define LITERAL_H

#include <float.h>
#include <string.h>

#include "oracle.h"

enum { LITERAL_BLOCK = 128, LITERAL_LANES = 16 };

static const float LITERAL_LOG2E = 1.44269502f, LITERAL_LN2 = 0.693147182f;

ORACLE_FN uint32_t literal_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
ORACLE_FN float literal_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* a * b + c, rounded once.  The double product is exact and so is the sum, but for its rounding to 53 bits:
   that can only mislead the second rounding where it lands in the middle between two floats, or below the
   normal ones where these middles lie elsewhere.  There the lost part is recovered, and an even last bit is
   made odd towards it. */
ORACLE_FN float literal_fused(float a, float b, float c) {
  double   product = (double)a * (double)b, sum = product + (double)c, part, lost;
  uint64_t u;
  memcpy(&u, &sum, sizeof u);
  if ((u & 0x1fffffffu) != 0x10000000u && (u >> 52 & 0x7ffu) >= 1023 - 126) return (float)sum;
  part = sum - product;
  lost = (product - (sum - part)) + ((double)c - part);
  if (!(u & 1u) && (lost > 0.0 || lost < 0.0)) {
    u = (lost > 0.0) == (sum > 0.0) ? u + 1u : u - 1u;
    memcpy(&sum, &u, sizeof sum);
  }
  return (float)sum;
}

ORACLE_FN float literal_step(int fused, float a, float b, float c) {
  float product;
  if (fused) return literal_fused(a, b, c);
  product = a * b;
  return product + c;
}

/* Hard cases: is this compilation of this file one whose results count? */
ORACLE_FN int literal_works(void) {
  static const struct { uint32_t a, b, c, fused, apart; } hard[] = {
    { 0x3f800800u, 0x3f800800u, 0xbf801000u, 0x33800000u, 0x00000000u }, /* all but the last bit cancels */
    { 0x39800001u, 0x397ffffeu, 0x3f800001u, 0x3f800001u, 0x3f800002u }, /* just below a tie */
    { 0x39800001u, 0xb97ffffeu, 0xbf800001u, 0xbf800001u, 0xbf800002u },
    { 0x39800003u, 0x397ffffeu, 0x3f800002u, 0x3f800003u, 0x3f800003u }, /* just above */
    { 0x1f800001u, 0x1f7fffffu, 0x00000001u, 0x00200001u, 0x00200001u }, /* subnormal */
    { 0x00000001u, 0x3f000000u, 0x00000001u, 0x00000002u, 0x00000001u }, /* 1.5 of the smallest: a tie */
    { 0x7f7fffffu, 0x40000000u, 0xff7fffffu, 0x7f7fffffu, 0x7f800000u }  /* overflow on the way */
  };
  volatile float big = 12582912.0f, small = 0.4f, t = big + small; /* excess precision would keep the 0.4 */
  size_t         n;
  if (t - big != 0.0f) return 0;
  for (n = 0; n < sizeof hard / sizeof hard[0]; n++) {
    volatile float a = literal_float(hard[n].a), b = literal_float(hard[n].b), c = literal_float(hard[n].c);
    if (literal_bits(literal_step(1, a, b, c)) != hard[n].fused) return 0;
    if (literal_bits(literal_step(0, a, b, c)) != hard[n].apart) return 0;
  }
  return 1;
}

/* ---- Three functions of one variable ---- */

/* Splits x = n + f with f in [-1/2, 1/2].  Returns 2 * 2^f, or with last = 0 2 * (2^f - 1).
   *power = 2^(n - 1), or +0 for n = -126; n comes from the low bits of x + 1.5 * 2^23 + 126. */
ORACLE_FN float literal_split(int fused, float x, float last, float *power) {
  static const float a[] = { 0.00268132868f, 0.0192353856f, 0.111006208f, 0.480453044f, 1.38629448f };
  float              moved = x + 12583038.0f, n = moved - 12583038.0f, f = x - n, y = 0.000311893527f;
  int                k;
  for (k = 0; k < 5; k++) y = literal_step(fused, y, f, a[k]);
  *power = literal_float(literal_bits(moved) << 23);
  return literal_step(fused, y, f, last);
}

/* 2^x for x <= 0; NaN stays. */
ORACLE_FN float literal_exp2(int fused, float x) {
  float power, y;
  if (x < -126.0f) x = -126.0f;
  y = literal_split(fused, x, 2.0f, &power);
  return y * power;
}

/* (2^x - 1) / (2^x + 1); NaN stays. */
ORACLE_FN float literal_tanh(int fused, float x) {
  float size = x < 0.0f ? -x : x, power, y, below, above;
  if (size > 26.0f) size = 26.0f;
  y = literal_split(fused, size, 0.0f, &power);
  below = literal_step(fused, 2.0f, power, -1.0f);
  below = literal_step(fused, y, power, below);
  above = below + 2.0f;
  y = below / above;
  return x < 0.0f ? -y : y;
}

/* ln x for x >= 0; NaN stays. */
ORACLE_FN float literal_ln(int fused, float x) {
  uint32_t mantissa = (literal_bits(x) & 0x7fffffu) | 0x3f800000u;
  int      e = (int)(literal_bits(x) >> 23) - 127;
  float    y, z, zz, r, h, t;
  if (x != x || x > FLT_MAX) return x;
  if (!(x > 0.0f)) return literal_float(0xff800000u);
  if (mantissa > 0x3fb504f3u) mantissa -= 0x800000u, e++;
  y = literal_float(mantissa) - 1.0f; /* x = 2^e (1 + y), 1 + y between sqrt(1/2) and sqrt(2) */
  t = y + 2.0f;
  z = y / t;
  zz = z * z;
  r = literal_step(fused, zz, 0.222222224f, 0.285714298f);
  r = literal_step(fused, zz, r, 0.400000006f);
  r = literal_step(fused, zz, r, 0.666666687f);
  r = zz * r;
  t = literal_step(fused, -z, y, 0.0f);
  h = literal_step(fused, r, z, t);
  if (e == 0) return y + h;
  t = literal_step(fused, (float)e, 1.42860677e-06f, h);
  y = literal_step(fused, (float)e, 0.693145752f, y);
  return y + t;
}

/* ---- A softmax that takes one block after the other ---- */

typedef struct {
  float  m, l; /* maximum, and the sum of 2^(s - m) */
  float *o;    /* (d_v) sums of 2^(s - m) v */
} literal_sum;

/* total = total and block together */
ORACLE_FN void literal_fold(int fused, literal_sum *total, const literal_sum *block, size_t dv) {
  size_t c;
  float  e;
  if (block->m > total->m) {
    e = literal_exp2(fused, total->m - block->m);
    total->l = literal_step(fused, total->l, e, block->l);
    for (c = 0; c < dv; c++) total->o[c] = literal_step(fused, total->o[c], e, block->o[c]);
    total->m = block->m;
  } else {
    e = literal_exp2(fused, block->m - total->m);
    total->l = literal_step(fused, block->l, e, total->l);
    for (c = 0; c < dv; c++) total->o[c] = literal_step(fused, block->o[c], e, total->o[c]);
  }
}

/* Where a key's absolute position lies: block floor(position / 128), index inside the block. */
ORACLE_FN ptrdiff_t literal_block_of(ptrdiff_t position, size_t *index) {
  ptrdiff_t n = position / LITERAL_BLOCK, rest = position % LITERAL_BLOCK;
  if (rest < 0) n--, rest += LITERAL_BLOCK;
  *index = (size_t)rest;
  return n;
}

/* ---- One batch member and kv head, its rows as floats ---- */

typedef struct {
  const mha_desc *d;
  int             fused;
  size_t          b, kv_head, rows, dv; /* rows: keys that exist */
  float          *k, *v, *s, *q, *block_o, *total_o;
  unsigned char  *visible;
} literal_state;

ORACLE_FN void literal_load(literal_state *t) {
  const mha_desc *d = t->d;
  size_t          kv_heads = oracle_kv_heads(d), j, c;
  for (j = 0; j < t->rows; j++) { /* int8 codes stay codes: their scale enters after the dot product */
    size_t k = oracle_row(&d->k_stride, t->b, j, t->kv_head, d->kv_len, kv_heads, d->d_k);
    size_t v = oracle_row(&d->v_stride, t->b, j, t->kv_head, d->kv_len, kv_heads, t->dv);
    for (c = 0; c < d->d_k; c++) t->k[j * d->d_k + c] = (float)oracle_element(d->k, d->k_type, k + c, 1.0);
    for (c = 0; c < t->dv; c++) t->v[j * t->dv + c] = (float)oracle_element(d->v, d->v_type, v + c, 1.0);
  }
}

/* Steps 1 to 3: the logits, times log2 e, of the keys that row (h, i) sees.  Returns how many. */
ORACLE_FN size_t literal_scores(literal_state *t, size_t h, size_t i) {
  const mha_desc *d = t->d;
  const float    *q = d->q + oracle_row(&d->q_stride, t->b, i, h, d->q_len, d->q_heads, d->d_k);
  float           c = d->scale, cap = d->softcap * LITERAL_LOG2E, slope = 0.0f;
  ptrdiff_t       at = oracle_q_position(d, t->b, i);
  size_t          seen = 0, j, x;
  if (!(d->flags & (unsigned)MHA_USE_SCALE) && c == 0.0f) c = (float)(1.0 / sqrt((double)d->d_k));
  if (d->softcap > 0.0f) {
    c = c / d->softcap;
    c = c * 2.88539004f;
  } else c = c * LITERAL_LOG2E;
  if (d->alibi_slopes) slope = d->alibi_slopes[h] * LITERAL_LOG2E;
  for (x = 0; x < d->d_k; x++) t->q[x] = q[x] * c;
  for (j = 0; j < d->kv_len; j++) {
    float s = 0.0f, y;
    t->visible[j] = (unsigned char)oracle_visible(d, t->b, h, i, j);
    if (!t->visible[j]) continue;
    seen++;
    for (x = 0; x < d->d_k; x++) s = literal_step(t->fused, t->q[x], t->k[j * d->d_k + x], s);
    if (d->k_type == MHA_S8)
      s = literal_step(t->fused, s, d->k_scale[oracle_at(&d->k_scale_stride, t->b, j, t->kv_head)], 0.0f);
    if (d->softcap > 0.0f) s = literal_step(t->fused, literal_tanh(t->fused, s), cap, 0.0f);
    if (d->bias) {
      y = literal_step(t->fused, d->bias[oracle_at(&d->bias_stride, t->b, i, h) + j], LITERAL_LOG2E, s);
      if (y < -FLT_MAX && s >= -FLT_MAX) y = -FLT_MAX;
      s = y;
    }
    if (d->alibi_slopes) {
      ptrdiff_t distance = at - oracle_k_position(d, t->b, j);
      y = (float)(distance < 0 ? -distance : distance);
      s = literal_step(t->fused, slope, -y, s);
    }
    t->s[j] = s;
  }
  return seen;
}

/* Steps 4 to 6 for keys first .. end - 1 of one block.  Returns 0 if none is visible. */
ORACLE_FN int literal_block(literal_state *t, size_t first, size_t end, literal_sum *block) {
  const mha_desc *d = t->d;
  float           lane[LITERAL_LANES];
  size_t          j, c, index, half, seen = 0;
  block->m = -FLT_MAX;
  for (j = first; j < end; j++) {
    if (!t->visible[j]) continue;
    seen++;
    if (t->s[j] > block->m) block->m = t->s[j];
  }
  for (c = 0; c < LITERAL_LANES; c++) lane[c] = 0.0f;
  for (c = 0; c < t->dv; c++) block->o[c] = 0.0f;
  for (j = first; j < end; j++) {
    float p;
    if (!t->visible[j]) continue;
    p = literal_exp2(t->fused, t->s[j] - block->m);
    literal_block_of(oracle_k_position(d, t->b, j), &index);
    lane[index % LITERAL_LANES] += p;
    if (d->v_type == MHA_S8) p = p * d->v_scale[oracle_at(&d->v_scale_stride, t->b, j, t->kv_head)];
    for (c = 0; c < t->dv; c++) block->o[c] = literal_step(t->fused, p, t->v[j * t->dv + c], block->o[c]);
  }
  for (half = LITERAL_LANES / 2; half; half /= 2)
    for (c = 0; c < half; c++) lane[c] += lane[c + half];
  block->l = lane[0];
  return seen != 0;
}

/* o (d_v), weights (kv_len) or NULL, lse or NULL of one row. */
ORACLE_FN void literal_row(literal_state *t, size_t h, size_t i, float *o, float *weights, float *lse) {
  const mha_desc *d = t->d;
  literal_sum     block = { 0.0f, 0.0f, NULL }, total = { -FLT_MAX, 0.0f, NULL };
  size_t          seen = literal_scores(t, h, i), j, end, index, c;
  block.o = t->block_o;
  total.o = t->total_o;
  for (c = 0; c < t->dv; c++) total.o[c] = 0.0f;
  for (j = 0; j < t->rows; j = end) { /* step 7 */
    literal_block_of(oracle_k_position(d, t->b, j), &index);
    end = j + (LITERAL_BLOCK - index);
    if (end > t->rows) end = t->rows;
    if (literal_block(t, j, end, &block)) literal_fold(t->fused, &total, &block, t->dv);
  }
  if (d->sinks) {
    block.m = literal_step(t->fused, d->sinks[h], LITERAL_LOG2E, 0.0f);
    block.l = 1.0f;
    for (c = 0; c < t->dv; c++) block.o[c] = 0.0f;
    literal_fold(t->fused, &total, &block, t->dv);
  }
  if (seen) { /* step 8 */
    float r = 1.0f / total.l, y;
    for (c = 0; c < t->dv; c++) o[c] = literal_step(t->fused, total.o[c], r, 0.0f);
    for (j = 0; weights && j < d->kv_len; j++) {
      y = t->visible[j] ? literal_exp2(t->fused, t->s[j] - total.m) : 0.0f;
      weights[j] = t->visible[j] ? literal_step(t->fused, y, r, 0.0f) : 0.0f;
    }
    if (lse) *lse = literal_step(t->fused, total.m, LITERAL_LN2, literal_ln(t->fused, total.l));
  } else {
    for (c = 0; c < t->dv; c++) o[c] = 0.0f;
    for (j = 0; weights && j < d->kv_len; j++) weights[j] = 0.0f;
    if (lse) *lse = d->sinks ? d->sinks[h] : literal_float(0xff800000u);
  }
}

/* The bits of mha_attend where products and sums are fused, or (fused = 0) rounded apart.

     o        (batch, q_len, q_heads, d_v) packed, whatever d->o_stride says
     weights  (batch, q_heads, q_len, kv_len) or NULL
     lse      (batch, q_heads, q_len) or NULL */
ORACLE_FN void literal_attend(const mha_desc *d, int fused, float *o, float *weights, float *lse) {
  literal_state t;
  size_t        kv = d->kv_len, share = d->q_heads / oracle_kv_heads(d), b, h, i, floats;
  float        *memory;
  t.d = d;
  t.fused = fused;
  t.dv = oracle_dv(d);
  floats = kv * (d->d_k + t.dv + 1) + d->d_k + 2 * t.dv;
  memory = (float *)oracle_new(floats / 2 + 1);
  t.k = memory;
  t.v = t.k + kv * d->d_k;
  t.s = t.v + kv * t.dv;
  t.q = t.s + kv;
  t.block_o = t.q + d->d_k;
  t.total_o = t.block_o + t.dv;
  t.visible = (unsigned char *)oracle_new(kv / sizeof(double) + 1);
  for (b = 0; b < d->batch; b++)
    for (h = 0; h < d->q_heads; h++) {
      t.b = b;
      t.kv_head = h / share;
      t.rows = oracle_kv_len(d, b);
      if (d->q_len && h % share == 0) literal_load(&t);
      for (i = 0; i < d->q_len; i++) {
        size_t by_head = (b * d->q_heads + h) * d->q_len + i, by_token = (b * d->q_len + i) * d->q_heads + h;
        literal_row(&t, h, i, o + by_token * t.dv, weights ? weights + by_head * kv : NULL,
                    lse ? lse + by_head : NULL);
      }
    }
  free(t.visible);
  free(memory);
}

#endif
