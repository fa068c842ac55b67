/* test_edges.c - sizes at the edges of every tile, panel, stripe, block and workspace, with and without every
   rule of visibility: each result is compared bit for bit with the literal order of roundings.

   Tensors end with the last element that may be read, in guarded memory at any address. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compose.h"
#include "literal.h"

enum { MOST = 2 * 16 * 2 + 1 }; /* twice the keys of the widest panel, and one */

static int begin(void) {
  if (numerics_fused() < 0) printf("    bits skipped: %s promises none\n", mha_numerics());
  else return CHECK(literal_works(), "literal.h is compiled with excess precision or contracted products");
  return 1;
}

/* ---- Problems ---- */

enum { /* what a problem has, or-ed */
  CAUSAL = 1, WINDOW = 2, LENS = 4, MASK = 8, BIAS = 16, SINKS = 32, CAP = 64, ALIBI = 128, WEIGHTS = 256,
  LSE = 512, POISON = 1024, SPOILT = 2048, BY_HEAD = 4096, GAPS = 8192, ALL = 2 * GAPS - 1,
  RULES = CAUSAL | WINDOW | LENS | MASK | BIAS | SINKS | CAP | ALIBI
};

typedef struct {
  size_t    batch, kv_heads, group, q_len, kv_len, d_k, d_v;
  int       k_type, v_type;
  ptrdiff_t kv_start;
  unsigned  has;
} edge;

/* No rules or a few; float32, one batch member and head, blocks that begin anywhere. */
static edge edge_of(size_t q_len, size_t kv_len, size_t d_k, size_t d_v) {
  edge e;
  e.batch = rng_chance(10) ? 2 : 1;
  e.kv_heads = e.group = 1;
  e.q_len = q_len, e.kv_len = kv_len, e.d_k = d_k, e.d_v = d_v;
  e.k_type = e.v_type = MHA_F32;
  e.kv_start = rng_chance(30) ? 0 : (ptrdiff_t)rng_below(601) - 300;
  e.has = (unsigned)(rng() & rng() & rng()) & ALL & ~(unsigned)SPOILT;
  if (rng_chance(50)) e.has &= ~(unsigned)RULES;
  if (rng_chance(25)) e.has |= CAUSAL;
  if (rng_chance(50)) e.has |= POISON;
  if (rng_chance(15)) e.has |= SPOILT;
  return e;
}

static float number(void) { return (float)((int)(rng() >> 40 & 0xffff) - 0x8000) / 16384.0f; }
static float infinity(void) { return from_bits(rng_chance(50) ? 0x7f800000u : 0xff800000u); }

/* `elements` numbers that end where they end */
static void *tensor_new(problem *p, int which, size_t elements, int type) {
  problem_block *b = &p->block[which];
  const size_t   bytes = type == MHA_F32 ? 4 : type == MHA_F16 || type == MHA_BF16 ? 2 : 1;
  size_t         n;
  b->elements = elements;
  b->type = type;
  b->data = guard_new(elements * bytes, bytes * rng_below(64 / bytes));
  for (n = 0; n < elements; n++) {
    const float x = number();
    if (type == MHA_F32) ((float *)b->data)[n] = x;
    else if (type == MHA_F16) mha_f16_from_f32((uint16_t *)b->data + n, &x, 1);
    else if (type == MHA_BF16) mha_bf16_from_f32((uint16_t *)b->data + n, &x, 1);
    else ((unsigned char *)b->data)[n] = (unsigned char)(rng() >> 32);
  }
  return b->data;
}

static mha_strides layout(const edge *e, size_t heads, size_t len, size_t dim) {
  const size_t gap = e->has & GAPS ? 3 : 0;
  mha_strides  s;
  s.head = (ptrdiff_t)(e->has & BY_HEAD ? len * (dim + gap) : dim);
  s.row = (ptrdiff_t)(e->has & BY_HEAD ? dim + gap : heads * dim + gap);
  s.batch = (ptrdiff_t)(e->has & BY_HEAD ? heads * len * (dim + gap) : len * (heads * dim + gap));
  return s;
}

static size_t extent(mha_strides s, size_t batch, size_t rows, size_t heads, size_t dim) {
  if (!batch || !rows || !heads) return 0;
  return (size_t)stride_offset(s, batch - 1, rows - 1, heads - 1) + dim;
}

/* 1 for most, 0 for some; rows and keys that are hidden altogether come by themselves */
static void mask_new(problem *p, size_t longest) {
  mha_desc      *d = &p->d;
  const unsigned percent = (unsigned)(rng_chance(60) ? 90 : 40);
  unsigned char *mask;
  size_t         n, end;
  d->mask_stride.head = (ptrdiff_t)(rng_chance(50) ? d->q_len * d->kv_len : 0);
  d->mask_stride.row = (ptrdiff_t)d->kv_len;
  end = extent(d->mask_stride, 1, d->q_len, d->q_heads, longest);
  mask = (unsigned char *)tensor_new(p, BLOCK_MASK, end, BLOCK_BYTES);
  for (n = 0; n < end; n++) mask[n] = (unsigned char)rng_chance(percent);
  d->mask = mask;
}

static void bias_new(problem *p, size_t longest) {
  mha_desc *d = &p->d;
  float    *bias;
  size_t    n, end;
  d->bias_stride.head = (ptrdiff_t)(rng_chance(50) ? d->q_len * d->kv_len : 0);
  d->bias_stride.row = (ptrdiff_t)d->kv_len;
  end = extent(d->bias_stride, 1, d->q_len, d->q_heads, longest);
  bias = (float *)tensor_new(p, BLOCK_BIAS, end, MHA_F32);
  for (n = 0; n < end; n++)
    if (rng_chance(10)) bias[n] = from_bits(0xff800000u);
  d->bias = bias;
}

static void positions_new(problem *p, const edge *e) {
  mha_desc *d = &p->d;
  d->kv_start = e->kv_start;
  if (rng_chance(50)) d->flags |= MHA_Q_LAST;
  else {
    d->q_start = e->kv_start;
    if (rng_chance(50)) d->q_start += (ptrdiff_t)rng_below(e->kv_len + 4) - 3;
  }
  if (e->has & CAUSAL) d->flags |= MHA_CAUSAL;
  if (!(e->has & WINDOW)) return;
  d->flags |= MHA_USE_WINDOW;
  d->window_left = rng_chance(30) ? MHA_OPEN : rng_below(e->kv_len + 2);
  d->window_right = rng_chance(50) ? MHA_OPEN : rng_below(e->kv_len + 2);
  if (rng_chance(50)) d->keep_first = rng_between(1, 20);
}

static void scales_new(problem *p, const edge *e, int which, size_t longest, const float **scale,
                       mha_strides *s) {
  edge   packed = *e;
  float *x;
  size_t n;
  packed.has &= ~(unsigned)GAPS;
  *s = layout(&packed, e->kv_heads, e->kv_len, 1);
  x = (float *)tensor_new(p, which, extent(*s, e->batch, longest, e->kv_heads, 1), MHA_F32);
  for (n = 0; n < p->block[which].elements; n++) x[n] = x[n] / 64.0f;
  *scale = x;
}

/* One NaN or infinity that may be seen: in a value more often than not, which some rows see and others don't,
   and at the beginning or in the last row as often as anywhere. */
static void spoil(problem *p) {
  const int      which = rng_chance(70) ? BLOCK_V : rng_chance(50) ? BLOCK_Q : BLOCK_K;
  problem_block *b = &p->block[which];
  const size_t   row = which == BLOCK_V ? p->d.d_v : p->d.d_k;
  const size_t   last = b->elements - 1 - rng_below(row);
  const size_t   n = rng_chance(20) ? 0 : rng_chance(60) ? last : rng_below(b->elements);
  const float    x = rng_chance(50) ? infinity() : from_bits(0x7fc00000u);
  if (b->type == MHA_F32) ((float *)b->data)[n] = x;
  if (b->type == MHA_F16) mha_f16_from_f32((uint16_t *)b->data + n, &x, 1);
  if (b->type == MHA_BF16) mha_bf16_from_f32((uint16_t *)b->data + n, &x, 1);
}

/* Of the NaN that problem_poison leaves in hidden values every other becomes infinite. */
static void poison(problem *p) {
  problem_block *b = &p->block[BLOCK_V];
  float         *v = (float *)b->data;
  size_t         n;
  problem_poison(p);
  for (n = 0; b->type == MHA_F32 && n < b->elements; n++)
    if (v[n] != v[n] && rng_chance(50)) v[n] = infinity();
}

static problem *edge_new(const edge *e) {
  problem  *p = (problem *)calloc(1, sizeof *p);
  mha_desc *d = &p->d;
  size_t    longest = e->kv_len, b, n;
  if (!p) exit(2);
  p->made = "by test_edges.c";
  p->k_in = BLOCK_K;
  p->v_in = BLOCK_V;
  d->batch = e->batch;
  d->kv_heads = e->kv_heads;
  d->q_heads = e->kv_heads * e->group;
  d->q_len = e->q_len, d->kv_len = e->kv_len, d->d_k = e->d_k, d->d_v = e->d_v;
  d->k_type = e->k_type, d->v_type = e->v_type;
  if (e->has & LENS) {
    size_t *lens = (size_t *)guard_new(e->batch * sizeof *lens, 0);
    for (longest = b = 0; b < e->batch; b++) {
      lens[b] = rng_chance(50) ? e->kv_len - rng_below(e->kv_len < 3 ? 1 : 3) : rng_below(e->kv_len + 1);
      if (lens[b] > longest) longest = lens[b];
    }
    p->block[BLOCK_KV_LENS].data = lens;
    p->block[BLOCK_KV_LENS].elements = e->batch;
    d->kv_lens = lens;
  }
  d->q_stride = layout(e, d->q_heads, e->q_len, e->d_k);
  d->o_stride = layout(e, d->q_heads, e->q_len, e->d_v);
  d->k_stride = layout(e, e->kv_heads, e->kv_len, e->d_k);
  d->v_stride = layout(e, e->kv_heads, e->kv_len, e->d_v);
  n = extent(d->q_stride, e->batch, e->q_len, d->q_heads, e->d_k);
  d->q = (float *)tensor_new(p, BLOCK_Q, n, MHA_F32);
  n = extent(d->o_stride, e->batch, e->q_len, d->q_heads, e->d_v);
  d->o = (float *)tensor_new(p, BLOCK_O, n, MHA_F32);
  d->k = tensor_new(p, BLOCK_K, extent(d->k_stride, e->batch, longest, e->kv_heads, e->d_k), e->k_type);
  d->v = tensor_new(p, BLOCK_V, extent(d->v_stride, e->batch, longest, e->kv_heads, e->d_v), e->v_type);
  if (e->k_type == MHA_S8) scales_new(p, e, BLOCK_K_SCALE, longest, &d->k_scale, &d->k_scale_stride);
  if (e->v_type == MHA_S8) scales_new(p, e, BLOCK_V_SCALE, longest, &d->v_scale, &d->v_scale_stride);
  positions_new(p, e);
  if (e->has & MASK) mask_new(p, longest);
  if (e->has & BIAS) bias_new(p, longest);
  if (e->has & CAP) d->softcap = 1.5f;
  if (e->has & ALIBI) d->alibi_slopes = (float *)tensor_new(p, BLOCK_SLOPES, d->q_heads, MHA_F32);
  if (e->has & SINKS) d->sinks = (float *)tensor_new(p, BLOCK_SINKS, d->q_heads, MHA_F32);
  n = e->batch * d->q_heads * e->q_len;
  if (e->has & WEIGHTS) d->weights = (float *)tensor_new(p, BLOCK_WEIGHTS, n * e->kv_len, MHA_F32);
  if (e->has & LSE) d->lse = (float *)tensor_new(p, BLOCK_LSE, n, MHA_F32);
  if (e->has & SPOILT && longest) spoil(p);
  if (e->has & POISON) poison(p);
  return p;
}

/* ---- Ways to attend ---- */

/* Sizes below, at and above which something else fits; any address. */
static void *any_work(const mha_desc *d, size_t *bytes) {
  const size_t full = mha_work_bytes(d);
  const size_t sizes[] = { full, full - 1, full - 64, full / 2, full / 4, 4096, 4096 + 64, 6000, 10000, 0 };
  const size_t n = rng_below(2 * sizeof sizes / sizeof sizes[0]);
  *bytes = n < sizeof sizes / sizeof sizes[0] ? sizes[n] : rng_below(full + 100);
  return *bytes ? guard_new(*bytes, rng_below(64)) : NULL;
}

static void free_work(void *work) {
  if (work) guard_free(work, "the workspace");
}

static void is_ok(mha_status status, const char *what, problem *p) {
  if (status) CHECK(0, "%s: %s %s", what, mha_strerror(status), problem_text(p));
}

static void with_work(problem *p, const result *want, result *got, size_t bytes, size_t shift) {
  void *work = guard_new(bytes, shift);
  char  text[80];
  problem_run(p, work, bytes, got);
  guard_free(work, "the workspace");
  snprintf(text, sizeof text, "with %zu bytes, shifted by %zu", bytes, shift);
  result_same(got, want, text, p);
}

static void in_parts(problem *p, size_t parts) {
  size_t part, bytes;
  for (part = 0; part < parts; part++) {
    void *work = any_work(&p->d, &bytes);
    is_ok(mha_attend_part(&p->d, part, parts, work, bytes), "mha_attend_part", p);
    free_work(work);
  }
}

static void by_keys(problem *p, size_t parts) {
  const size_t bytes = mha_keys_bytes(&p->d);
  void        *shared = guard_new(bytes, rng_below(64));
  size_t       part;
  for (part = parts; part--;)
    is_ok(mha_attend_keys(&p->d, part, parts, shared, bytes), "mha_attend_keys", p);
  is_ok(mha_attend_join(&p->d, shared, bytes), "mha_attend_join", p);
  guard_free(shared, "the shared memory");
}

/* Where o is a wide q, a row of it must fit: exactly that is enough, at any address. */
static void whole(problem *p) {
  const size_t row = p->d.d_k * sizeof(float);
  size_t       bytes, shift = rng_below(64);
  void        *work = p->d.q == p->d.o && p->d.d_k > 512 ? guard_new(bytes = row + (4 - shift % 4) % 4, shift)
                                                  : any_work(&p->d, &bytes);
  is_ok(mha_attend(&p->d, work, bytes), "mha_attend", p);
  free_work(work);
}

/* Once more in another way: in any workspace, in parts, by keys; and, if it may be, in place. */
static void another_way(problem *p, const result *want, result *got) {
  static const size_t some[] = { 2, 3, 5 };
  const size_t        way = p->d.d_k > 512 ? 3 : rng_below(4), parts = some[rng_below(3)];
  const float        *q = p->d.q;
  const char         *name = way == 0 ? "by rows" : way == 1 ? "by keys" : "in a workspace";
  const int           in_place = p->d.d_k == p->d.d_v && rng_chance(50) && (p->d.d_k <= MOST || way == 3);
  char                text[80];
  problem_clear(p);
  if (in_place) { /* between the rows of q lies what may not be written in o either: leave that odd */
    size_t b, i, h;
    for (b = 0; b < p->d.batch; b++)
      for (i = 0; i < p->d.q_len; i++)
        for (h = 0; h < p->d.q_heads; h++) {
          const size_t at = o_offset(&p->d, b, i, h);
          memcpy(p->d.o + at, q + at, p->d.d_k * sizeof(float));
        }
    p->d.q = p->d.o;
  }
  if (way == 0) in_parts(p, parts);
  else if (way == 1 && !p->d.weights) by_keys(p, parts - 1 - parts / 4);
  else whole(p);
  problem_take(p, got);
  snprintf(text, sizeof text, "%s%s, parts %zu", name, in_place ? " in place" : "", parts);
  result_same(got, want, text, p);
  p->d.q = q;
}

/* mha_attend without a workspace and with all that it asks for, and `more` other ways */
static void check_edge(const edge *e, int more) {
  problem *p = edge_new(e);
  result   want = result_new(&p->d), got = result_new(&p->d);
  if (numerics_fused() < 0) problem_run(p, NULL, 0, &want);
  else literal_attend(&p->d, numerics_fused(), want.o, want.weights, want.lse);
  problem_run(p, NULL, 0, &got);
  result_same(&got, &want, "without a workspace", p);
  with_work(p, &want, &got, mha_work_bytes(&p->d), rng_below(64));
  for (; more; more--) another_way(p, &want, &got);
  result_free(&got);
  result_free(&want);
  problem_free(p);
}

/* ---- The groups ---- */

static void lengths(void) {
  size_t q_len, kv_len;
  if (!begin()) return;
  for (q_len = 1; q_len <= MOST; q_len++)
    for (kv_len = 1; kv_len <= MOST; kv_len++) {
      edge   e;
      size_t d_k = rng_between(1, 5);
      if (!rng_chance(q_len == kv_len ? 100 : 50)) continue;
      e = edge_of(q_len, kv_len, d_k, rng_chance(50) ? d_k : rng_between(1, 9));
      check_edge(&e, 1);
    }
}

/* Rows around the heights of tiles and stripes, keys around panels and blocks that begin anywhere. */
static void tiles_and_blocks(void) {
  static const size_t tiles[] = { 4, 6, 8, 12, 16, 18, 24, 48, 96, 256 };
  static const size_t blocks[] = { 16, 32, 64, 128, 256 };
  size_t              r, more, k, near;
  if (!begin()) return;
  for (r = 0; r < sizeof tiles / sizeof tiles[0]; r++)
    for (more = 0; more < 5; more++)
      for (k = 0; k < sizeof blocks / sizeof blocks[0]; k++)
        for (near = 0; near < 3; near++) {
          edge   e;
          size_t d_k = rng_between(1, 6), d_v = rng_between(1, 20), piece = rng_below(5);
          if (!rng_chance(tiles[r] > 24 ? 30 : 60)) continue;
          e = edge_of(tiles[r] + more - 1, blocks[k] + near - 1, d_k, d_v);
          if (rng_chance(40)) e.kv_start = (ptrdiff_t)(64 * piece + rng_below(3)) - 129;
          e.batch = 1;
          check_edge(&e, 1);
        }
}

/* Few rows go key by key, many pack: both for every number of channels. */
static void channels_of(size_t d_k, size_t d_v) {
  const size_t few = rng_between(1, 11), many = rng_between(12, 27);
  edge         e = edge_of(few, rng_between(1, 40), d_k, d_v);
  check_edge(&e, 1);
  e = edge_of(many, rng_between(1, 40), d_k, d_v);
  check_edge(&e, 1);
}

static void channels(void) {
  static const size_t wide[] = { 95, 96, 97, 127, 128, 129, 191, 192, 193, 255, 257, 513, 600, 1030 };
  const size_t        count = sizeof wide / sizeof wide[0];
  size_t              n;
  if (!begin()) return;
  for (n = 1; n <= MOST; n++) {
    channels_of(n, rng_between(1, 8));
    channels_of(rng_between(1, 8), n);
    channels_of(n, n);
    if (rng_chance(50)) channels_of(n, rng_between(1, MOST));
  }
  for (n = 0; n < 2 * count; n++) { /* which small workspaces take in pieces */
    const size_t other = rng_between(1, MOST), width = wide[n / 2], q_len = rng_between(1, 6);
    edge         e = edge_of(q_len, rng_between(1, 18), n % 2 ? width : other, n % 2 ? other : width);
    check_edge(&e, 2);
    e = edge_of(q_len, rng_between(1, 9), width, width);
    check_edge(&e, 4);
  }
}

/* Rows of several kv heads side by side, of all types. */
static void heads(void) {
  size_t rows, kv_heads, types;
  if (!begin()) return;
  for (rows = 1; rows <= 13; rows++)
    for (kv_heads = 1; kv_heads <= 7; kv_heads++)
      for (types = 0; types < 16; types++) {
        edge   e;
        size_t d_k = rng_between(1, MOST), share = rng_between(1, rows), keys = rng_between(1, 24);
        if (types && !rng_chance(35)) continue;
        while (rows % share) share--;
        if (rng_chance(15)) keys = rng_between(120, 150);
        if (keys > 100 || rng_chance(40)) d_k = rng_between(1, 20);
        e = edge_of(rows / share, keys, d_k, rng_chance(30) ? d_k : rng_between(1, 20));
        e.kv_heads = rows * kv_heads > 64 && rng_chance(60) ? 64 / rows + 1 : kv_heads;
        e.group = share;
        e.k_type = (int)(types / 4);
        e.v_type = (int)(types % 4);
        check_edge(&e, 1);
      }
}

/* Types where rows are many. */
static void types_of_many(void) {
  size_t n;
  if (!begin()) return;
  for (n = 0; n < 16 * 14; n++) {
    const size_t q_len = rng_between(5, 15), kv_len = rng_between(1, 50), d_k = rng_between(1, 40);
    edge         e = edge_of(q_len, kv_len, d_k, rng_between(1, 40));
    if (!rng_chance(70)) continue;
    e.group = rng_between(1, 5);
    e.kv_heads = rng_between(1, 2);
    e.k_type = (int)(n / 4 % 4);
    e.v_type = (int)(n % 4);
    if (rng_chance(10)) e.kv_len += 128;
    check_edge(&e, 1);
  }
}

/* Workspaces of every size, in small steps, at every address. */
static void workspaces(void) {
  static const struct { size_t q_len, group, kv_heads, kv_len, d_k, d_v; } shape[] = {
    { 3, 1, 1, 20, 5, 19 }, { 1, 4, 9, 17, 8, 8 }, { 11, 1, 3, 9, 7, 33 }, { 13, 1, 1, 19, 5, 5 },
    { 99, 1, 1, 5, 3, 4 }, { 50, 4, 1, 3, 2, 2 }, { 2, 3, 2, 18, 150, 90 }, { 1, 1, 1, 5, 900, 700 }
  };
  size_t n, bytes, full, shift = 0;
  if (!begin()) return;
  for (n = 0; n < sizeof shape / sizeof shape[0]; n++) {
    edge     e = edge_of(shape[n].q_len, shape[n].kv_len, shape[n].d_k, shape[n].d_v);
    problem *p;
    result   want, got;
    e.group = shape[n].group;
    e.kv_heads = shape[n].kv_heads;
    e.batch = 1;
    e.has &= POISON | CAUSAL | BY_HEAD;
    p = edge_new(&e);
    want = result_new(&p->d), got = result_new(&p->d);
    if (numerics_fused() < 0) problem_run(p, NULL, 0, &want);
    else literal_attend(&p->d, numerics_fused(), want.o, want.weights, want.lse);
    full = mha_work_bytes(&p->d);
    for (bytes = 0; bytes < full + 70; bytes += rng_between(1, full / 150 + 1))
      with_work(p, &want, &got, bytes, shift++ % 64);
    for (bytes = full > 200 ? full - 200 : 0; bytes < full + 70; bytes += 3)
      with_work(p, &want, &got, bytes, shift++ % 64);
    result_free(&got);
    result_free(&want);
    problem_free(p);
  }
}

/* ---- Level 1 ---- */

/* A level-1 call as the descriptor that it stands for: heads apart, or side by side. */
static mha_desc alike(float *out, const float *q, const float *k, const float *v, size_t len, size_t heads,
                      size_t d_k, int apart) {
  mha_desc d;
  memset(&d, 0, sizeof d);
  d.batch = 1;
  d.q_heads = heads;
  d.q_len = d.kv_len = len;
  d.d_k = d_k;
  d.o = out, d.q = q, d.k = k, d.v = v;
  d.q_stride.row = (ptrdiff_t)(apart ? d_k : heads * d_k);
  d.q_stride.head = (ptrdiff_t)(apart ? len * d_k : d_k);
  d.o_stride = d.k_stride = d.v_stride = d.q_stride;
  return d;
}

static mha_status level_1(float *out, const float *q, const float *k, const float *v, size_t len,
                          size_t heads, size_t d_k, int apart) {
  return apart ? mha_sdpa(out, q, k, v, len, heads, d_k)
               : mha_multi_head_attention(out, q, k, v, len, heads * d_k, heads);
}

static void same_level_1(const float *out, const float *want, size_t n, mha_status status, const char *what) {
  const size_t at = first_difference(out, want, n);
  CHECK(status == MHA_OK && at == n, "%s: %s, [%zu] is %08lx, not %08lx", what, mha_strerror(status), at,
        (unsigned long)bits_of(out[at < n ? at : 0]), (unsigned long)bits_of(want[at < n ? at : 0]));
}

static void check_level_1(size_t len, size_t heads, size_t d_k) {
  const size_t n = len * heads * d_k;
  float       *x[4], *apart[4];
  float       *want = (float *)malloc(n * sizeof *want), *merged = (float *)malloc(n * sizeof *want);
  size_t       t, k;
  int          way, shared = rng_chance(20);
  mha_desc     d;
  char         text[80];
  if (!want || !merged) exit(2);
  for (t = 0; t < 4; t++) { /* out, q, k, v */
    x[t] = (float *)guard_new(n * sizeof(float), 4 * rng_below(16));
    apart[t] = (float *)guard_new(n * sizeof(float), 4 * rng_below(16));
    for (k = 0; k < n; k++) x[t][k] = number();
  }
  for (k = rng_chance(30) ? rng_between(1, 3) : 0; k; k--) {
    const size_t which = rng_between(1, 3), at = rng_chance(40) ? n - 1 : rng_below(n);
    x[which][at] = rng_chance(50) ? infinity() : from_bits(0x7fc00000u);
  }
  for (t = 1; t < 4; t++) mha_split_heads(apart[t], x[t], len, heads, d_k);
  d = alike(NULL, x[1], x[shared ? 1 : 2], x[shared ? 1 : 3], len, heads, d_k, 0);
  if (numerics_fused() >= 0) literal_attend(&d, numerics_fused(), want, NULL, NULL);
  else {
    d.o = want;
    mha_attend(&d, NULL, 0);
  }
  for (way = 0; way < 4; way++) { /* heads apart or not, in place or not */
    float *const    *in = way & 1 ? apart : x;
    const float     *kk = in[shared ? 1 : 2], *vv = in[shared ? 1 : 3], *q = in[1];
    float           *out = in[0];
    mha_status       status;
    if (way & 2) {
      if (shared) kk = vv = in[1]; /* which stay where they are: q alone moves */
      memcpy(out, q, n * sizeof *out);
      q = out;
    }
    status = level_1(out, q, kk, vv, len, heads, d_k, way & 1);
    if (way & 1) mha_merge_heads(merged, out, len, heads, d_k);
    snprintf(text, sizeof text, "%s%s%s, len %zu, heads %zu, d_k %zu",
             way & 1 ? "mha_sdpa" : "mha_multi_head_attention", way & 2 ? " in place" : "",
             shared ? " of one x" : "", len, heads, d_k);
    same_level_1(way & 1 ? merged : out, want, n, status, text);
  }
  for (t = 0; t < 4; t++) {
    guard_free(x[t], "a tensor of a level 1 call");
    guard_free(apart[t], "a tensor of a level 1 call");
  }
  free(merged);
  free(want);
}

static void level_1_bits(void) {
  static const size_t many[] = { 63, 64, 65, 127, 128, 129, 256, 257, 300 };
  size_t              len, d_k, n;
  if (!begin()) return;
  for (len = 1; len <= 20; len++)
    for (d_k = 1; d_k <= 20; d_k++)
      for (n = 1; n <= 4; n++)
        if (rng_chance(n == 1 || len <= 4 || d_k <= 4 ? 80 : 25)) check_level_1(len, n, d_k);
  for (n = 14; n <= 18; n++)
    for (len = 15; len <= 17; len++)
      check_level_1(len, n, rng_chance(50) ? rng_between(1, 4) : rng_between(15, 17));
  for (n = 0; n < sizeof many / sizeof many[0]; n++) /* one block of keys and several */
    for (d_k = 1; d_k <= 3; d_k++) check_level_1(many[n], d_k % 2 + 1, rng_between(24 * d_k - 23, 24 * d_k));
}

/* Pointers good and bad, in any combination: refused as mha_check refuses the descriptor,
   and nothing written. */
static void level_1_refusals(void) {
  enum { AT_MOST = 1200, BYTES = 4 * AT_MOST };
  long   found[MHA_OK - MHA_ERR_ALIGN + 1] = { 0 };
  char  *arena = (char *)guard_new(BYTES, 0), *before = (char *)malloc(BYTES);
  float *x = (float *)(void *)arena;
  int    n, t;
  if (!before) exit(2);
  for (n = 0; n < AT_MOST; n++) x[n] = number();
  for (n = 0; n < 20000; n++) {
    const size_t len = rng_between(1, 6), heads = rng_between(1, 3), d_k = rng_between(1, 8);
    const size_t numbers = len * heads * d_k, bytes = numbers * sizeof(float);
    const int    apart = (int)rng_below(2);
    float       *p[4];
    mha_desc     d;
    mha_status   want, got;
    for (t = 0; t < 4; t++) { /* a place of its own, more often than not; or a little off it; or none */
      const size_t kind = rng_below(40);
      size_t       at = (size_t)t * bytes;
      if (kind == 0) at += rng_between(1, 3);
      if (kind == 1 && at) at -= 4;
      if (kind == 2) at += 4;
      if (kind == 3) at = 0;
      if (kind == 4) at = rng_below(4) * bytes;
      if (kind == 5) at = 4 * rng_below(4 * numbers);
      p[t] = (float *)(void *)(arena + at);
      if (kind == 6) p[t] = NULL;
      if (kind == 7 && rng_chance(50)) p[t] = (float *)(UINTPTR_MAX - 4 * rng_between(1, numbers) + 1);
    }
    if (rng_chance(20)) p[0] = p[1];
    d = alike(p[0], p[1], p[2], p[3], len, heads, d_k, apart);
    want = mha_check(&d);
    memcpy(before, arena, BYTES);
    got = level_1(p[0], p[1], p[2], p[3], len, heads, d_k, apart);
    CHECK(got == want, "len %zu, heads %zu, d_k %zu, apart %d: %s, not %s", len, heads, d_k, apart,
          mha_strerror(got), mha_strerror(want));
    if (got) CHECK(memcmp(before, arena, BYTES) == 0, "%s, and yet written", mha_strerror(got));
    memcpy(arena, before, BYTES);
    if (want <= MHA_OK && want >= MHA_ERR_ALIGN) found[MHA_OK - want]++;
  }
  CHECK(found[0] > 5000 && found[-MHA_ERR_NULL] > 500 && found[-MHA_ERR_ALIGN] > 500 &&
        found[-MHA_ERR_OVERLAP] > 500 && found[-MHA_ERR_RANGE] > 200,
        "too few of a kind: ok %ld, null %ld, align %ld, overlap %ld, range %ld", found[0],
        found[-MHA_ERR_NULL], found[-MHA_ERR_ALIGN], found[-MHA_ERR_OVERLAP], found[-MHA_ERR_RANGE]);
  guard_free(arena, "the arena");
  free(before);
}

/* ---- Sums beside a tie ----

   A product ends so close to the middle between two floats that rounding the sum to double first would round
   it twice.  With one key the LSE shows the score: products of two channels. */
static void beside_ties(void) {
  enum { CASES = 500 };
  size_t n = 0;
  if (!begin() || numerics_fused() < 0) return;
  while (n < CASES) {
    float    q[2], k[2], v[2] = { 1, 2 }, o[2], want[2], lse, want_lse;
    double   half, product;
    mha_desc d;
    memset(&d, 0, sizeof d);
    d.batch = d.q_heads = d.q_len = d.kv_len = 1, d.d_k = 2;
    d.q = q, d.k = k, d.v = v, d.o = o, d.lse = &lse;
    d.scale = 0.693147182f; /* times log2(e) it is 1: the query is not rounded */
    q[0] = from_bits(0x3f800000u | (uint32_t)rng_below(1u << 23)), k[0] = 1.0f;
    q[1] = from_bits(0x3f800000u | (uint32_t)rng_below(1u << 23));
    half = rng_chance(50) ? 1.0 / 16777216.0 : -1.0 / 16777216.0; /* half a unit in the last place of q[0] */
    k[1] = (float)(half / (double)q[1]);
    product = (double)q[1] * (double)k[1] / half - 1.0;
    if (product == 0.0 || fabs(product) > 1.0 / (1 << 30)) continue;
    n++;
    CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
    literal_attend(&d, numerics_fused(), want, NULL, &want_lse);
    CHECK(same_float(lse, want_lse), "%a + %a * %a: lse %a, not %a", (double)q[0], (double)q[1], (double)k[1],
          (double)lse, (double)want_lse);
  }
}

/* A zero is +0, also where the sum of the values is the -0 of an underflow. */
static void zeros(void) {
  static const float q[1] = { 1.0f }, k[2] = { 0.0f, -80.0f };
  size_t             d_v, c;
  for (d_v = 1; d_v <= MOST; d_v++) {
    float    v[2 * MOST], o[MOST];
    mha_desc d;
    for (c = 0; c < d_v; c++) v[c] = 0.0f, v[d_v + c] = -1e-20f;
    memset(&d, 0, sizeof d);
    d.batch = d.q_heads = d.q_len = d.d_k = 1, d.kv_len = 2, d.d_v = d_v;
    d.q = q, d.k = k, d.v = v, d.o = o;
    CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
    for (c = 0; c < d_v; c++)
      CHECK(bits_of(o[c]) == 0, "%zu channels: %zu is %g", d_v, c, (double)o[c]);
  }
}

const group edges_groups[] = {
  { "edges: lengths", lengths },
  { "edges: tiles and blocks", tiles_and_blocks },
  { "edges: channels", channels },
  { "edges: few rows of several heads", heads },
  { "edges: types, many rows", types_of_many },
  { "edges: workspaces", workspaces },
  { "edges: level 1", level_1_bits },
  { "edges: level 1 refusals", level_1_refusals },
  { "edges: beside ties", beside_ties },
  { "edges: zeros", zeros },
  { NULL, NULL }
};
