/* compose.c - see compose.h */
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compose.h"
#include "oracle.h"

/* ---- Numbers from integers ---- */

static rng_source source; /* apart from rng() so that a problem depends on its seed or bytes alone */

static uint64_t draw(void) { return rng_next(&source); }
static void     start(uint64_t seed, const unsigned char *bytes, size_t n) {
  source.state = seed;
  source.bytes = bytes;
  source.left = n;
}
static size_t below(size_t n) { return (size_t)(draw() % n); }
static size_t between(size_t low, size_t high) { return low + below(high - low + 1); }
static ptrdiff_t between_signed(ptrdiff_t low, ptrdiff_t high) {
  return low + (ptrdiff_t)below((size_t)(high - low) + 1);
}
static int chance(unsigned percent) { return draw() % 100 < percent; }

static float power_of_two(int e) { return from_bits((uint32_t)(127 + e) << 23); }

/* About N(0, 1), a multiple of 2^-15. */
static float normal(void) {
  uint64_t z = draw();
  int      sum = (int)(z & 0xffff) + (int)(z >> 16 & 0xffff) + (int)(z >> 32 & 0xffff) + (int)(z >> 48);
  return (float)(sum - 131070) * power_of_two(-15);
}

/* normal() times 2^low .. 2^high.  (Two draws in one expression could come in either order.) */
static float normal_around(int low, int high) {
  float x = normal();
  return x * power_of_two(low + (int)below((size_t)(high - low) + 1));
}

/* A random mantissa and sign, an exponent from low to high. */
static float any_float(int low, int high) {
  uint32_t e = (uint32_t)(127 + low) + (uint32_t)below((size_t)(high - low) + 1);
  uint32_t u = (uint32_t)(draw() >> 32);
  return from_bits((u & 0x807fffffu) | e << 23);
}

static float a_nan(void) { return from_bits(0x7fc00000u | (uint32_t)(draw() & 0x803fffffu)); }
static float an_infinity(void) { return from_bits(chance(50) ? 0x7f800000u : 0xff800000u); }

/* ---- Blocks ---- */

static size_t type_bytes(int type) {
  return type == MHA_F32 ? 4 : type == MHA_F16 ? 2 : type == MHA_BF16 ? 2 : 1;
}

/* At any address that its type allows. */
static void block_new(problem *p, int which, size_t elements, int type) {
  problem_block *b = &p->block[which];
  size_t         bytes = type_bytes(type);
  b->elements = elements;
  b->type = type;
  b->data = guard_new(elements * bytes, bytes * below(64 / bytes));
}

/* Element n = x, rounded towards zero.  Bytes do not care for x: they are drawn. */
static void block_set(problem_block *b, size_t n, float x) {
  uint32_t u = bits_of(x), e = u >> 23 & 0xff, m = u & 0x7fffff;
  switch (b->type) {
    case MHA_F32: ((float *)b->data)[n] = x; break;
    case MHA_BF16: ((uint16_t *)b->data)[n] = (uint16_t)(u >> 16); break;
    case MHA_F16: {
      uint32_t h;
      if (e == 255) h = 0x7c00u | m >> 13;
      else if (e > 142) h = 0x7bffu;
      else if (e > 112) h = (e - 112) << 10 | m >> 13;
      else if (e > 101) h = (m | 0x800000u) >> (126 - e);
      else h = 0;
      ((uint16_t *)b->data)[n] = (uint16_t)(h | (u >> 16 & 0x8000u));
      break;
    }
    default: ((unsigned char *)b->data)[n] = (unsigned char)draw();
  }
}

/* Numbers around 2^e, or of any size. */
static void block_fill(problem *p, int which, int e) {
  problem_block *b = &p->block[which];
  int            wild = p->flags & PROBLEM_EXTREME && chance(25), range = chance(30) ? 100 : 30;
  size_t         n;
  for (n = 0; n < b->elements; n++)
    block_set(b, n, wild ? any_float(-range, range) : normal() * power_of_two(e));
}

/* Puts one to three NaN or infinities somewhere. */
static void block_spoil(problem *p, int which) {
  problem_block *b = &p->block[which];
  size_t         n;
  for (n = between(1, 3); n && b->elements && b->data; n--) {
    int   infinite = p->flags & PROBLEM_INFINITE && (!(p->flags & PROBLEM_NAN) || chance(50));
    float x = infinite ? an_infinity() : a_nan();
    block_set(b, below(b->elements), x);
  }
}

/* ---- Layouts ---- */

ptrdiff_t stride_offset(mha_strides s, size_t b, size_t row, size_t h) {
  return (ptrdiff_t)b * s.batch + (ptrdiff_t)row * s.row + (ptrdiff_t)h * s.head;
}

static mha_strides strides(size_t batch, size_t head, size_t row) {
  mha_strides s;
  s.batch = (ptrdiff_t)batch;
  s.head = (ptrdiff_t)head;
  s.row = (ptrdiff_t)row;
  return s;
}

static mha_strides packed(mha_strides s, size_t len, size_t heads, size_t dim) {
  if (s.batch || s.head || s.row) return s;
  return strides(len * heads * dim, dim, heads * dim);
}

mha_desc desc_with_strides(const mha_desc *d) {
  mha_desc e = *d;
  e.kv_heads = oracle_kv_heads(d);
  e.d_v = oracle_dv(d);
  e.q_stride = packed(d->q_stride, d->q_len, d->q_heads, d->d_k);
  e.o_stride = packed(d->o_stride, d->q_len, d->q_heads, e.d_v);
  e.k_stride = packed(d->k_stride, d->kv_len, e.kv_heads, d->d_k);
  e.v_stride = packed(d->v_stride, d->kv_len, e.kv_heads, e.d_v);
  return e;
}

/* Elements from the first to behind the last, of strides that are not "packed". */
static size_t extent(mha_strides s, size_t batch, size_t rows, size_t heads, size_t dim) {
  if (!batch || !rows || !heads || !dim) return 0;
  return (size_t)stride_offset(s, batch - 1, rows - 1, heads - 1) + dim;
}

/* Any nesting of the three dimensions, with and without gaps; `input`: dimensions may repeat. */
static mha_strides any_strides(size_t batch, size_t len, size_t heads, size_t dim, int input) {
  size_t      count[3], order[3] = { 0, 1, 2 }, value[3] = { 0, 0, 0 }, step = dim, k;
  mha_strides s;
  count[0] = batch, count[1] = heads, count[2] = len;
  if (chance(35)) return strides(0, 0, 0);
  if (chance(40)) order[0] = 2, order[1] = 1, order[2] = 0; /* (batch, heads, len, dim) */
  else
    for (k = 2; k; k--) {
      size_t other = below(k + 1), t = order[k];
      order[k] = order[other];
      order[other] = t;
    }
  for (k = 0; k < 3; k++) {
    step += chance(40) ? between(1, 9) : 0;
    value[order[k]] = step;
    step *= count[order[k]] ? count[order[k]] : 1;
  }
  for (k = 0; k < 3; k++)
    if (input ? chance(8) : count[k] == 1 && chance(30)) value[k] = 0;
  s = strides(value[0], value[1], value[2]);
  if (!s.batch && !s.head && !s.row) s.row = (ptrdiff_t)(dim + below(5)); /* all zero would mean packed */
  return s;
}

/* The offset of any row of mask or bias. */
static size_t any_row(const mha_desc *d, mha_strides s) {
  size_t b = below(d->batch), i = below(d->q_len), h = below(d->q_heads);
  return (size_t)stride_offset(s, b, i, h);
}

/* For mask, bias and scales: every dimension counts or repeats. */
static mha_strides any_small_strides(size_t batch, size_t len, size_t heads, size_t dim) {
  size_t row = dim + (chance(30) ? between(1, 9) : 0), head = row, whole;
  int    with_row = chance(70), with_head = chance(60), with_batch = chance(60);
  if (with_row) head = row * (len ? len : 1);
  whole = with_head ? head * heads : head;
  if (batch == 0) with_batch = 0;
  return strides(with_batch ? whole : 0, with_head ? head : 0, with_row ? row : 0);
}

/* ---- Sizes and options ---- */

static size_t any_length(unsigned small) {
  if (chance(2)) return 0;
  if (small) return between(1, 12);
  return chance(50) ? between(1, 12) : chance(60) ? between(1, 40) : between(1, 70);
}
static size_t any_dim(unsigned small) {
  if (small) return between(1, 20);
  return chance(40) ? between(1, 12) : chance(50) ? between(1, 33) : between(1, 70);
}

static void choose_shape(problem *p, problem_shape shape, int square) {
  mha_desc *d = &p->d;
  unsigned  small = p->flags & PROBLEM_SMALL;
  size_t    share = chance(60) ? 1 : between(2, 6), heads = between(1, 3);
  double    limit = small ? 2e5 : 1e6; /* multiply-adds that a problem may cost */
  d->batch = chance(1) ? 0 : chance(50) ? 1 : between(2, 3);
  d->q_heads = heads * share;
  d->kv_heads = share == 1 && chance(50) ? 0 : heads;
  d->q_len = any_length(small);
  d->kv_len = chance(20) ? between(100, small ? 280 : 400) : any_length(small);
  d->d_k = any_dim(small);
  d->d_v = chance(50) ? 0 : any_dim(small);
  if (p->flags & PROBLEM_WIDE) {
    d->q_len = between(1, 5);
    d->d_k = chance(30) ? any_dim(1) : between(71, 1300);
    d->d_v = chance(30) ? any_dim(1) : between(71, 1300);
    if (d->kv_len > 20) d->kv_len = chance(20) ? 130 : 20;
  }
  if (shape.q_len != ANY) d->q_len = shape.q_len;
  if (shape.kv_len != ANY) d->kv_len = shape.kv_len;
  if (shape.d_k != ANY) d->d_k = shape.d_k;
  if (shape.d_v != ANY) d->d_v = shape.d_v;
  if (square) d->q_len = d->kv_len, d->d_v = chance(50) ? 0 : d->d_k;
  while (d->q_len > 1 && shape.q_len == ANY && !square &&
         (double)(d->batch * d->q_heads * d->q_len) * (double)(d->kv_len * (d->d_k + oracle_dv(d))) > limit)
    d->q_len = (d->q_len + 1) / 2;
  if (shape.q_len != ANY || square) { /* then heads and batch have to give way */
    if ((double)(d->batch * d->q_heads * d->q_len) * (double)(d->kv_len * (d->d_k + oracle_dv(d))) > limit) {
      d->batch = d->batch ? 1 : 0;
      d->q_heads = share;
      d->kv_heads = 1;
    }
  }
}

static void choose_tensors(problem *p, int square, int same_kv) {
  mha_desc *d = &p->d;
  size_t    heads = oracle_kv_heads(d), b, longest = d->kv_lens ? 0 : d->kv_len, n;
  mha_desc  e;
  int       types[4] = { MHA_F32, MHA_F16, MHA_BF16, MHA_S8 };
  for (b = 0; d->kv_lens && b < d->batch; b++)
    if (d->kv_lens[b] > longest) longest = d->kv_lens[b];
  d->k_type = square || chance(50) ? MHA_F32 : types[below(4)];
  d->v_type = square || chance(50) ? MHA_F32 : types[below(4)];
  if (same_kv) {
    d->v_type = d->k_type;
    if (oracle_dv(d) > d->d_k) d->d_v = d->d_k;
  }
  d->q_stride = any_strides(d->batch, d->q_len, d->q_heads, d->d_k, !(p->flags & PROBLEM_IN_PLACE));
  if (p->flags & PROBLEM_IN_PLACE) d->d_v = chance(50) ? 0 : d->d_k, d->o_stride = d->q_stride;
  else d->o_stride = any_strides(d->batch, d->q_len, d->q_heads, oracle_dv(d), 0);
  d->k_stride = any_strides(d->batch, d->kv_len, heads, d->d_k, 1);
  d->v_stride = any_strides(d->batch, d->kv_len, heads, oracle_dv(d), 1);
  if (square) { /* q, k and v of a token lie side by side, as one projection writes them */
    size_t token = (d->q_heads + 2 * heads) * d->d_k + (chance(30) ? between(1, 9) : 0);
    d->q_stride = d->k_stride = d->v_stride = strides(token * d->q_len, d->d_k, token);
  }
  if (same_kv) d->v_stride = packed(d->k_stride, d->kv_len, heads, d->d_k); /* values begin where keys do */
  e = desc_with_strides(d);
  block_new(p, BLOCK_O, extent(e.o_stride, d->batch, d->q_len, d->q_heads, e.d_v), MHA_F32);
  n = extent(e.q_stride, d->batch, d->q_len, d->q_heads, d->d_k);
  if (square) {
    size_t k = extent(e.k_stride, d->batch, longest, heads, d->d_k);
    size_t v_end = k ? (d->q_heads + heads) * d->d_k + k : 0;
    if (v_end > n) n = v_end;
    block_new(p, BLOCK_Q, n, MHA_F32);
    d->q = (const float *)p->block[BLOCK_Q].data;
    d->k = d->q + (k ? d->q_heads * d->d_k : 0);
    d->v = d->q + (k ? (d->q_heads + heads) * d->d_k : 0);
    p->k_in = p->v_in = BLOCK_Q;
  } else {
    block_new(p, BLOCK_Q, n, MHA_F32);
    block_new(p, BLOCK_K, extent(e.k_stride, d->batch, longest, heads, d->d_k), d->k_type);
    d->q = (const float *)p->block[BLOCK_Q].data;
    d->k = d->v = p->block[BLOCK_K].data;
    p->k_in = p->v_in = BLOCK_K;
    if (!same_kv) {
      block_new(p, BLOCK_V, extent(e.v_stride, d->batch, longest, heads, e.d_v), d->v_type);
      d->v = p->block[BLOCK_V].data;
      p->v_in = BLOCK_V;
    }
  }
  if (d->k_type == MHA_S8) {
    d->k_scale_stride = any_small_strides(d->batch, d->kv_len, heads, 1);
    block_new(p, BLOCK_K_SCALE, extent(d->k_scale_stride, d->batch, longest, heads, 1), MHA_F32);
    d->k_scale = (const float *)p->block[BLOCK_K_SCALE].data;
  }
  if (d->v_type == MHA_S8) {
    d->v_scale_stride = any_small_strides(d->batch, d->kv_len, heads, 1);
    block_new(p, BLOCK_V_SCALE, extent(d->v_scale_stride, d->batch, longest, heads, 1), MHA_F32);
    d->v_scale = (const float *)p->block[BLOCK_V_SCALE].data;
  }
  d->o = (float *)p->block[BLOCK_O].data;
  if (d->kv_len == 0 && !square && chance(50)) d->k = d->v = NULL; /* tensors without elements may be */
  if ((d->batch == 0 || d->q_len == 0) && chance(50)) d->q = NULL, d->o = NULL;
}

static size_t *choose_lengths(problem *p) {
  size_t  n = p->d.batch, b;
  size_t *lens = (size_t *)guard_new(n * sizeof *lens, 0);
  p->block[BLOCK_KV_LENS].data = lens;
  p->block[BLOCK_KV_LENS].elements = n;
  for (b = 0; b < n; b++) lens[b] = chance(7) ? 0 : chance(30) ? p->d.kv_len : below(p->d.kv_len + 1);
  return lens;
}

static ptrdiff_t *starts(problem *p, int which) {
  ptrdiff_t *s = (ptrdiff_t *)guard_new(p->d.batch * sizeof *s, 0);
  p->block[which].data = s;
  p->block[which].elements = p->d.batch;
  return s;
}

static ptrdiff_t a_kv_start(const problem *p) {
  const ptrdiff_t most = PTRDIFF_MAX / 4 - 2000;
  if (!(p->flags & PROBLEM_PORTABLE) && chance(4)) return chance(50) ? most : -most;
  return chance(50) ? 0 : between_signed(-400, 400);
}
static ptrdiff_t a_q_start(const problem *p, ptrdiff_t kv_start) {
  const mha_desc *d = &p->d;
  if (!(p->flags & PROBLEM_CAUSAL) && kv_start > -1000 && kv_start < 1000 && chance(6))
    return between_signed(-300000000, 300000000); /* so far that a float can't hold the distance */
  return kv_start + between_signed(-(ptrdiff_t)d->q_len / 2 - 1, (ptrdiff_t)d->kv_len + 1);
}

static void choose_positions(problem *p) {
  mha_desc *d = &p->d;
  size_t    b;
  int       q_last = chance(30), q_each = !q_last && chance(30), kv_each = chance(20);
  if (d->batch == 0) q_each = kv_each = 0;
  if (q_last) d->flags |= MHA_Q_LAST;
  if (kv_each) {
    ptrdiff_t *s = starts(p, BLOCK_KV_STARTS);
    ptrdiff_t  common = a_kv_start(p);
    for (b = 0; b < d->batch; b++) s[b] = q_each ? a_kv_start(p) : common + between_signed(-9, 9);
    d->kv_starts = s;
  } else d->kv_start = a_kv_start(p);
  if (q_each) {
    ptrdiff_t *s = starts(p, BLOCK_Q_STARTS);
    for (b = 0; b < d->batch; b++) s[b] = a_q_start(p, d->kv_starts ? d->kv_starts[b] : d->kv_start);
    d->q_starts = s;
  } else if (!q_last) d->q_start = a_q_start(p, d->kv_starts ? d->kv_starts[0] : d->kv_start);
}

static size_t a_window_side(const problem *p) {
  size_t kind = below(10);
  if (kind < 3) return MHA_OPEN;
  if (kind < 5) return 0;
  if (kind == 5) return MHA_OPEN - below(5);
  return below(p->d.kv_len + 3);
}

static void choose_options(problem *p) {
  mha_desc   *d = &p->d;
  const float caps[] = { 1.0f, 3.0f, 30.0f, 50.0f, 0.03125f, 3000.0f };
  if (p->flags & PROBLEM_CAUSAL || chance(40)) d->flags |= MHA_CAUSAL;
  if (chance(25)) {
    d->flags |= MHA_USE_WINDOW;
    d->window_left = a_window_side(p);
    d->window_right = a_window_side(p);
    d->keep_first = chance(50) ? 0 : chance(90) ? between(1, 9) : MHA_OPEN;
  }
  if (chance(20)) d->scale = normal();
  if (chance(10)) d->scale = normal_around(-6, 5);
  if (chance(10)) d->flags |= MHA_USE_SCALE; /* with 0 more often than not */
  if (chance(20)) d->softcap = caps[below(6)];
  if (p->flags & PROBLEM_EXTREME && chance(20)) {
    d->scale = any_float(-120, 120);
    if (d->softcap > 0.0f && chance(50)) d->softcap = fabsf(any_float(-30, 120));
    if (d->softcap > 0.0f && !(fabsf(d->scale / d->softcap) < 1e30f)) d->softcap = 0.0f;
  }
}

static void choose_mask(problem *p) {
  mha_desc      *d = &p->d;
  unsigned       percent = (unsigned)(chance(40) ? 90 : chance(50) ? 50 : chance(30) ? 10 : 99);
  size_t         n, j, tries;
  unsigned char *mask;
  d->mask_stride = any_small_strides(d->batch, d->q_len, d->q_heads, d->kv_len);
  n = extent(d->mask_stride, d->batch, d->q_len, d->q_heads, d->kv_len);
  block_new(p, BLOCK_MASK, n, BLOCK_BYTES);
  mask = (unsigned char *)p->block[BLOCK_MASK].data;
  d->mask = mask;
  for (j = 0; j < n; j++) mask[j] = chance(percent) ? (unsigned char)between(1, 255) : 0;
  /* rows that see nothing, or nothing in their first blocks */
  for (tries = n && chance(50) ? below(6) : 0; tries; tries--) {
    size_t at = any_row(d, d->mask_stride);
    memset(mask + at, 0, chance(50) ? d->kv_len : below(d->kv_len));
  }
  /* keys that no row sees */
  for (tries = n && chance(50) ? below(4) : 0; tries; tries--) {
    size_t rows = d->batch * d->q_len * d->q_heads, r, key = below(d->kv_len);
    for (r = 0; r < rows; r++) {
      size_t b = r / (d->q_len * d->q_heads), i = r / d->q_heads % d->q_len, h = r % d->q_heads;
      mask[(size_t)stride_offset(d->mask_stride, b, i, h) + key] = 0;
    }
  }
}

static void choose_bias(problem *p) {
  mha_desc   *d = &p->d;
  unsigned    hidden = (unsigned)(chance(40) ? 0 : chance(50) ? 10 : 60);
  unsigned    low = (unsigned)(chance(90) ? 0 : 40);
  const float lows[] = { -10000.0f, -1e30f, -FLT_MAX };
  float       low_value = lows[below(3)], *bias;
  size_t      n, j, tries;
  d->bias_stride = any_small_strides(d->batch, d->q_len, d->q_heads, d->kv_len);
  n = extent(d->bias_stride, d->batch, d->q_len, d->q_heads, d->kv_len);
  block_new(p, BLOCK_BIAS, n, MHA_F32);
  block_fill(p, BLOCK_BIAS, (int)below(5) - 1);
  bias = (float *)p->block[BLOCK_BIAS].data;
  d->bias = bias;
  for (j = 0; j < n; j++) {
    if (chance(hidden)) bias[j] = from_bits(0xff800000u);
    else if (chance(low)) bias[j] = low_value;
    else if (p->flags & PROBLEM_EXTREME && chance(2)) bias[j] = any_float(120, 127);
  }
  /* whole rows of one value, hidden or very low */
  for (tries = n && chance(50) ? below(4) : 0; tries; tries--) {
    size_t at = any_row(d, d->bias_stride);
    float  x = chance(60) ? from_bits(0xff800000u) : -FLT_MAX;
    for (j = 0; j < d->kv_len; j++) bias[at + j] = x;
  }
}

static void choose_per_head(problem *p) {
  mha_desc *d = &p->d;
  size_t    h;
  if (chance(25)) {
    float *slopes;
    block_new(p, BLOCK_SLOPES, d->q_heads, MHA_F32);
    slopes = (float *)p->block[BLOCK_SLOPES].data;
    for (h = 0; h < d->q_heads; h++) {
      slopes[h] = chance(30) ? power_of_two(-(int)below(9)) : normal_around(-5, 0);
      if (chance(20)) slopes[h] *= power_of_two(-20); /* for distances beyond 2^24 */
      if (chance(5)) slopes[h] = 0.0f;
    }
    d->alibi_slopes = slopes;
  }
  if (chance(25)) {
    float *sinks;
    block_new(p, BLOCK_SINKS, d->q_heads, MHA_F32);
    sinks = (float *)p->block[BLOCK_SINKS].data;
    for (h = 0; h < d->q_heads; h++) {
      sinks[h] = normal_around(0, 4);
      if (chance(5)) sinks[h] = chance(50) ? -FLT_MAX : -1e30f;
      if (p->flags & PROBLEM_EXTREME && chance(10)) sinks[h] = any_float(60, 126);
      if (p->flags & PROBLEM_INFINITE && chance(10)) sinks[h] = an_infinity();
      if (p->flags & PROBLEM_NAN && chance(5)) sinks[h] = a_nan();
    }
    d->sinks = sinks;
  }
}

static void choose_outputs(problem *p) {
  mha_desc *d = &p->d;
  int       all = p->flags & PROBLEM_OUTPUTS;
  if (all || chance(45)) {
    block_new(p, BLOCK_WEIGHTS, d->batch * d->q_heads * d->q_len * d->kv_len, MHA_F32);
    d->weights = (float *)p->block[BLOCK_WEIGHTS].data;
  }
  if (all || chance(55)) {
    block_new(p, BLOCK_LSE, d->batch * d->q_heads * d->q_len, MHA_F32);
    d->lse = (float *)p->block[BLOCK_LSE].data;
  }
}

static void choose_data(problem *p) {
  const int sizes[] = { 0, 0, 0, 0, -3, 3, -10, 5 };
  size_t    n;
  int       which;
  block_fill(p, BLOCK_Q, p->block[BLOCK_Q].elements ? sizes[below(8)] : 0);
  if (p->block[BLOCK_K].data) block_fill(p, BLOCK_K, sizes[below(8)]);
  if (p->block[BLOCK_V].data) block_fill(p, BLOCK_V, sizes[below(8)]);
  for (which = BLOCK_K_SCALE; which <= BLOCK_V_SCALE; which++) {
    float *scale = (float *)p->block[which].data;
    int    low = which == BLOCK_K_SCALE ? -8 : -12;
    if (p->flags & PROBLEM_EXTREME && chance(10)) low = -126;
    for (n = 0; n < p->block[which].elements; n++) scale[n] = any_float(low, -4); /* negative: legal */
  }
  if (!(p->flags & (PROBLEM_NAN | PROBLEM_INFINITE))) return;
  for (which = BLOCK_Q; which <= BLOCK_BIAS; which++)
    if (which != BLOCK_MASK && chance(25)) block_spoil(p, which);
}

/* With numbers as start() made them come. */
static problem *compose(uint64_t seed, unsigned flags, problem_shape shape) {
  problem *p = (problem *)calloc(1, sizeof *p);
  int      square, same_kv;
  if (!p) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  p->seed = seed;
  p->flags = flags;
  square = chance(8) && shape.q_len == ANY && shape.d_v == ANY && !(flags & PROBLEM_IN_PLACE);
  same_kv = !square && chance(5) && shape.d_v == ANY && !(flags & PROBLEM_IN_PLACE);
  choose_shape(p, shape, square);
  if (chance(35)) p->d.kv_lens = choose_lengths(p);
  choose_tensors(p, square, same_kv);
  choose_positions(p);
  choose_options(p);
  if (chance(35)) choose_mask(p);
  if (chance(35)) choose_bias(p);
  choose_per_head(p);
  choose_outputs(p);
  choose_data(p);
  return p;
}

problem *problem_new_shaped(uint64_t seed, unsigned flags, problem_shape shape) {
  start(seed, NULL, 0);
  return compose(seed, flags, shape);
}

problem *problem_new_from(const unsigned char *bytes, size_t n, unsigned flags, problem_shape shape) {
  start(0, bytes, n);
  return compose(0, flags, shape);
}

problem *problem_new(uint64_t seed, unsigned flags) {
  const problem_shape any = { ANY, ANY, ANY, ANY };
  return problem_new_shaped(seed, flags, any);
}

void problem_free(problem *p) {
  int which;
  problem_text(p); /* while what it reads is there */
  for (which = 0; which < BLOCKS; which++)
    if (p->block[which].data) guard_free(p->block[which].data, p->text);
  free(p);
}

/* ---- In words ---- */

static void say(problem *p, const char *format, ...) {
  size_t  used = strlen(p->text);
  va_list list;
  va_start(list, format);
  vsnprintf(p->text + used, sizeof p->text - used, format, list);
  va_end(list);
}

const char *problem_text(problem *p) {
  static const char *const types[] = { "f32", "f16", "bf16", "s8" };
  const mha_desc          *d = &p->d;
  size_t                   b;
  p->text[0] = '\0';
  say(p, "[problem %llu/%u%s%s: batch %zu heads %zu/%zu q_len %zu kv_len %zu d %zu/%zu k %s v %s",
      (unsigned long long)p->seed, p->flags, p->made ? " " : "", p->made ? p->made : "", d->batch, d->q_heads,
      oracle_kv_heads(d), d->q_len, d->kv_len, d->d_k, oracle_dv(d), types[d->k_type], types[d->v_type]);
  say(p, "%s%s", d->flags & MHA_CAUSAL ? " causal" : "", d->flags & MHA_Q_LAST ? " q_last" : "");
  if (d->flags & MHA_USE_WINDOW)
    say(p, " window %td,%td first %td", (ptrdiff_t)d->window_left, (ptrdiff_t)d->window_right,
        (ptrdiff_t)d->keep_first);
  if (d->flags & MHA_USE_SCALE || d->scale < 0.0f || d->scale > 0.0f) say(p, " scale %.9g", (double)d->scale);
  if (d->softcap > 0.0f) say(p, " cap %.9g", (double)d->softcap);
  say(p, " at q");
  if (d->q_starts)
    for (b = 0; b < d->batch; b++) say(p, " %td", d->q_starts[b]);
  else say(p, " %td", d->q_start);
  say(p, " kv");
  if (d->kv_starts)
    for (b = 0; b < d->batch; b++) say(p, " %td", d->kv_starts[b]);
  else say(p, " %td", d->kv_start);
  for (b = 0; d->kv_lens && b < d->batch; b++) say(p, "%s%zu", b ? " " : " lens ", d->kv_lens[b]);
  say(p, "%s%s%s%s%s%s; strides", d->mask ? " mask" : "", d->bias ? " bias" : "",
      d->alibi_slopes ? " alibi" : "", d->sinks ? " sinks" : "", d->weights ? " weights" : "",
      d->lse ? " lse" : "");
  say(p, " o %td %td %td q %td %td %td", d->o_stride.batch, d->o_stride.head, d->o_stride.row,
      d->q_stride.batch, d->q_stride.head, d->q_stride.row);
  say(p, " k %td %td %td v %td %td %td", d->k_stride.batch, d->k_stride.head, d->k_stride.row,
      d->v_stride.batch, d->v_stride.head, d->v_stride.row);
  if (d->mask) say(p, " mask %td %td %td", d->mask_stride.batch, d->mask_stride.head, d->mask_stride.row);
  if (d->bias) say(p, " bias %td %td %td", d->bias_stride.batch, d->bias_stride.head, d->bias_stride.row);
  say(p, "%s]", p->k_in == BLOCK_Q ? " qkv in one" : p->v_in == BLOCK_K ? " v in k" : "");
  return p->text;
}

/* ---- Poison ---- */

static void mark(unsigned char *used, ptrdiff_t from, size_t n) { memset(used + from, 1, n); }

void problem_poison(problem *p) {
  const mha_desc d = desc_with_strides(&p->d);
  unsigned char *used[BLOCK_BIAS + 1];
  ptrdiff_t      q_from = 0, k_from = 0, v_from = 0;
  size_t         b, h, i, j, n;
  int            which;
  for (which = 0; which <= BLOCK_BIAS; which++) {
    used[which] = (unsigned char *)calloc(p->block[which].elements + 1, 1);
    if (!used[which]) exit(2);
  }
  if (p->k_in == BLOCK_Q && d.q) {
    k_from = (const float *)d.k - d.q;
    v_from = (const float *)d.v - d.q;
  }
  for (b = 0; b < d.batch; b++)
    for (h = 0; h < d.q_heads; h++)
      for (i = 0; i < d.q_len; i++) {
        size_t    kv_head = h / (d.q_heads / d.kv_heads);
        ptrdiff_t mask_row = stride_offset(d.mask_stride, b, i, h);
        ptrdiff_t bias_row = stride_offset(d.bias_stride, b, i, h);
        for (j = 0; j < d.kv_len; j++) {
          if (!oracle_visible_by_position(&d, b, i, j)) continue;
          if (d.mask) used[BLOCK_MASK][mask_row + (ptrdiff_t)j] = 1;
          if (d.mask && !d.mask[mask_row + (ptrdiff_t)j]) continue;
          if (d.bias) used[BLOCK_BIAS][bias_row + (ptrdiff_t)j] = 1;
          if (!oracle_visible(&d, b, h, i, j)) continue;
          mark(used[BLOCK_Q], q_from + stride_offset(d.q_stride, b, i, h), d.d_k);
          mark(used[p->k_in], k_from + stride_offset(d.k_stride, b, j, kv_head), d.d_k);
          mark(used[p->v_in], v_from + stride_offset(d.v_stride, b, j, kv_head), d.d_v);
          if (d.k_scale) used[BLOCK_K_SCALE][stride_offset(d.k_scale_stride, b, j, kv_head)] = 1;
          if (d.v_scale) used[BLOCK_V_SCALE][stride_offset(d.v_scale_stride, b, j, kv_head)] = 1;
        }
      }
  start(p->seed + 1, NULL, 0);
  for (which = 0; which <= BLOCK_BIAS; which++) {
    for (n = 0; n < p->block[which].elements; n++)
      if (!used[which][n]) block_set(&p->block[which], n, a_nan());
    free(used[which]);
  }
}

/* ---- More keys, another layout ---- */

static void block_copy(problem *to, const problem *from, int which) {
  const problem_block *b = &from->block[which];
  size_t               bytes = type_bytes(b->type);
  if (!b->data) return;
  if (which >= BLOCK_Q_STARTS && which <= BLOCK_KV_LENS) {
    bytes = which == BLOCK_KV_LENS ? sizeof(size_t) : sizeof(ptrdiff_t);
    to->block[which].data = guard_new(b->elements * bytes, 0);
    to->block[which].elements = b->elements;
  } else block_new(to, which, b->elements, b->type);
  memcpy(to->block[which].data, b->data, b->elements * bytes);
}

/* Copies the rows that exist of k or v, head before row, and leaves NaN behind them. */
static mha_strides copy_rows(problem *to, int which, const void *data, int type, mha_strides from,
                             const mha_desc *d, size_t dim, size_t extra) {
  size_t         len = d->kv_len + extra, bytes = type_bytes(type), b, h, j, n;
  mha_strides    s = strides(d->kv_heads * len * dim, len * dim, dim);
  problem_block *block = &to->block[which];
  block_new(to, which, d->batch * d->kv_heads * len * dim, type);
  for (n = 0; n < block->elements; n++) block_set(block, n, a_nan());
  for (b = 0; b < d->batch; b++)
    for (h = 0; h < d->kv_heads; h++)
      for (j = 0; j < oracle_kv_len(d, b); j++)
        memcpy((char *)block->data + (size_t)stride_offset(s, b, j, h) * bytes,
               (const char *)data + (size_t)stride_offset(from, b, j, h) * bytes, dim * bytes);
  return s;
}

problem *problem_grow(const problem *p, size_t extra, grow_way way) {
  static const char *const names[] = { "+ keys beyond kv_lens", "+ masked keys", "+ keys with bias -inf",
                                       "+ future keys" };
  const mha_desc           d = desc_with_strides(&p->d);
  problem                 *grown = (problem *)calloc(1, sizeof *grown);
  mha_desc                *e;
  size_t                   b, h, i, j, len = d.kv_len + extra;
  int                      which;
  if (!grown) exit(2);
  e = &grown->d;
  *e = p->d;
  grown->seed = p->seed;
  grown->flags = p->flags;
  grown->k_in = BLOCK_K;
  grown->v_in = BLOCK_V;
  start(p->seed + 2, NULL, 0);
  if (way == GROW_FUTURE) {
    if (!(d.flags & MHA_CAUSAL) || d.kv_lens) way = GROW_MASKED;
    for (b = 0; b < d.batch && d.q_len; b++)
      if (oracle_q_position(&d, b, d.q_len - 1) >= oracle_k_position(&d, b, d.kv_len)) way = GROW_MASKED;
  }
  if (way == GROW_BIASED && !d.bias) way = GROW_MASKED;
  grown->made = names[way];

  for (which = 0; which < BLOCKS; which++)
    if ((which == BLOCK_Q && p->k_in != BLOCK_Q) || (which >= BLOCK_SLOPES && which <= BLOCK_KV_STARTS) ||
        which == BLOCK_O || which == BLOCK_LSE)
      block_copy(grown, p, which);
  if (p->k_in == BLOCK_Q) { /* q alone */
    size_t n = extent(d.q_stride, d.batch, d.q_len, d.q_heads, d.d_k);
    block_new(grown, BLOCK_Q, n, MHA_F32);
    if (n) memcpy(grown->block[BLOCK_Q].data, d.q, n * sizeof(float));
  }
  e->kv_len = len;
  e->o_stride = d.o_stride;
  e->q = d.q ? (const float *)grown->block[BLOCK_Q].data : NULL;
  e->o = d.o ? (float *)grown->block[BLOCK_O].data : NULL;
  e->lse = (float *)grown->block[BLOCK_LSE].data;
  e->alibi_slopes = (const float *)grown->block[BLOCK_SLOPES].data;
  e->sinks = (const float *)grown->block[BLOCK_SINKS].data;
  e->kv_starts = (const ptrdiff_t *)grown->block[BLOCK_KV_STARTS].data;
  e->q_starts = (const ptrdiff_t *)grown->block[BLOCK_Q_STARTS].data;
  if (d.weights) {
    block_new(grown, BLOCK_WEIGHTS, d.batch * d.q_heads * d.q_len * len, MHA_F32);
    e->weights = (float *)grown->block[BLOCK_WEIGHTS].data;
  }

  e->k_stride = copy_rows(grown, BLOCK_K, d.k, d.k_type, d.k_stride, &d, d.d_k, extra);
  e->v_stride = copy_rows(grown, BLOCK_V, d.v, d.v_type, d.v_stride, &d, d.d_v, extra);
  e->k = grown->block[BLOCK_K].data;
  e->v = grown->block[BLOCK_V].data;
  if (d.k_scale) {
    e->k_scale_stride = copy_rows(grown, BLOCK_K_SCALE, d.k_scale, MHA_F32, d.k_scale_stride, &d, 1, extra);
    e->k_scale = (const float *)grown->block[BLOCK_K_SCALE].data;
  }
  if (d.v_scale) {
    e->v_scale_stride = copy_rows(grown, BLOCK_V_SCALE, d.v_scale, MHA_F32, d.v_scale_stride, &d, 1, extra);
    e->v_scale = (const float *)grown->block[BLOCK_V_SCALE].data;
  }

  if (way == GROW_BEYOND_LENGTH) {
    size_t *lens = (size_t *)guard_new(d.batch * sizeof *lens, 0);
    for (b = 0; b < d.batch; b++) lens[b] = oracle_kv_len(&d, b);
    grown->block[BLOCK_KV_LENS].data = lens;
    grown->block[BLOCK_KV_LENS].elements = d.batch;
    e->kv_lens = lens;
  } else {
    e->kv_lens = NULL;
    if (d.flags & MHA_Q_LAST) { /* the last key is another now */
      ptrdiff_t *s = starts(grown, BLOCK_Q_STARTS);
      for (b = 0; b < d.batch; b++) s[b] = oracle_q_position(&d, b, 0);
      e->q_starts = s;
      e->flags &= ~(unsigned)MHA_Q_LAST;
    }
  }
  if (d.bias) {
    float *bias;
    block_new(grown, BLOCK_BIAS, d.batch * d.q_heads * d.q_len * len, MHA_F32);
    bias = (float *)grown->block[BLOCK_BIAS].data;
    e->bias = bias;
    e->bias_stride = strides(d.q_heads * d.q_len * len, d.q_len * len, len);
    for (b = 0; b < d.batch; b++)
      for (h = 0; h < d.q_heads; h++)
        for (i = 0; i < d.q_len; i++)
          for (j = 0; j < len; j++, bias++)
            if (j < oracle_kv_len(&d, b))
              *bias = d.bias[stride_offset(d.bias_stride, b, i, h) + (ptrdiff_t)j];
            else
              *bias = way == GROW_BIASED ? from_bits(0xff800000u) : a_nan();
  }
  if (d.mask || way == GROW_MASKED) {
    unsigned char *mask;
    block_new(grown, BLOCK_MASK, d.batch * d.q_heads * d.q_len * len, BLOCK_BYTES);
    mask = (unsigned char *)grown->block[BLOCK_MASK].data;
    e->mask = mask;
    e->mask_stride = strides(d.q_heads * d.q_len * len, d.q_len * len, len);
    for (b = 0; b < d.batch; b++)
      for (h = 0; h < d.q_heads; h++)
        for (i = 0; i < d.q_len; i++)
          for (j = 0; j < len; j++, mask++) {
            *mask = way != GROW_MASKED;
            if (j < oracle_kv_len(&d, b))
              *mask = d.mask ? d.mask[stride_offset(d.mask_stride, b, i, h) + (ptrdiff_t)j] : 1;
          }
  }
  return grown;
}

/* ---- Results ---- */

static float odd_number(void) { return from_bits(0xc7a5a5b3u); }

int result_written(float x) { return bits_of(x) != bits_of(odd_number()); }

static float *floats(size_t n) {
  float *p = (float *)malloc((n ? n : 1) * sizeof *p);
  if (!p) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return p;
}

result result_new(const mha_desc *d) {
  result r;
  size_t rows = d->batch * d->q_heads * d->q_len;
  r.o_count = rows * oracle_dv(d);
  r.weights_count = d->weights ? rows * d->kv_len : 0;
  r.lse_count = d->lse ? rows : 0;
  r.o = floats(r.o_count);
  r.weights = d->weights ? floats(r.weights_count) : NULL;
  r.lse = d->lse ? floats(r.lse_count) : NULL;
  return r;
}

void result_free(result *r) {
  free(r->o);
  free(r->weights);
  free(r->lse);
}

size_t o_offset(const mha_desc *d, size_t b, size_t i, size_t h) {
  return oracle_row(&d->o_stride, b, i, h, d->q_len, d->q_heads, oracle_dv(d));
}

void problem_clear(problem *p) {
  int    which;
  size_t n;
  for (which = BLOCK_O; which <= BLOCK_LSE; which++)
    for (n = 0; p->block[which].data && n < p->block[which].elements; n++)
      ((float *)p->block[which].data)[n] = odd_number();
}

void problem_take(problem *p, result *r) {
  const mha_desc *d = &p->d;
  const float    *o = (const float *)p->block[BLOCK_O].data;
  size_t          dv = oracle_dv(d), b, i, h, n, row = 0;
  unsigned char  *used = (unsigned char *)calloc(p->block[BLOCK_O].elements + 1, 1);
  int             intact = 1;
  if (!used) exit(2);
  for (b = 0; b < d->batch; b++)
    for (i = 0; i < d->q_len; i++)
      for (h = 0; h < d->q_heads; h++, row++) {
        size_t at = o_offset(d, b, i, h);
        memcpy(r->o + row * dv, o + at, dv * sizeof *o);
        memset(used + at, 1, dv);
      }
  for (n = 0; n < p->block[BLOCK_O].elements; n++)
    if (!used[n] && result_written(o[n])) intact = 0;
  CHECK(intact, "memory between the rows of o was written %s", problem_text(p));
  free(used);
  if (r->weights) memcpy(r->weights, d->weights, r->weights_count * sizeof(float));
  if (r->lse) memcpy(r->lse, d->lse, r->lse_count * sizeof(float));
}

void problem_run(problem *p, void *work, size_t work_bytes, result *r) {
  mha_status status;
  problem_clear(p);
  status = mha_attend(&p->d, work, work_bytes);
  CHECK(status == MHA_OK, "mha_attend: %s %s", mha_strerror(status), problem_text(p));
  problem_take(p, r);
}

static int same(const float *got, const float *want, size_t n, const char *name, const char *what,
                problem *p) {
  size_t at = first_difference(got, want, n);
  if (numerics_fused() < 0) /* no bits are promised: then no more than which numbers are NaN */
    for (at = 0; at < n && (got[at] != got[at]) == (want[at] != want[at]); at++) {}
  if (at == n) return CHECK(1, "same");
  return CHECK(0, "%s: %s[%zu] is %.9g (%08lx), not %.9g (%08lx) %s", what, name, at, (double)got[at],
               (unsigned long)bits_of(got[at]), (double)want[at], (unsigned long)bits_of(want[at]),
               problem_text(p));
}

int result_same(const result *got, const result *want, const char *what, problem *p) {
  int ok = same(got->o, want->o, want->o_count, "o", what, p);
  if (got->weights && want->weights)
    ok &= same(got->weights, want->weights, want->weights_count, "weights", what, p);
  if (got->lse && want->lse) ok &= same(got->lse, want->lse, want->lse_count, "lse", what, p);
  return ok;
}
