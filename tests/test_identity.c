/* test_identity.c - the same bits however the work is divided (parts, workspaces, batch, rows, keys, steps of
   a decoder), in any layout, whatever lies in hidden memory, and, by golden hashes, on every platform. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compose.h"
#include "literal.h"
#include "oracle.h"

static const unsigned kinds[] = { 0, PROBLEM_NAN | PROBLEM_INFINITE, PROBLEM_SMALL | PROBLEM_OUTPUTS,
                                  PROBLEM_EXTREME };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int is_ok(mha_status status, const char *what, problem *p) {
  return CHECK(status == MHA_OK, "%s: %s %s", what, mha_strerror(status), problem_text(p));
}

/* ---- Parts of a descriptor ---- */

static const void *element(const void *p, int type, ptrdiff_t n) {
  ptrdiff_t bytes = type == MHA_F32 ? 4 : type == MHA_S8 ? 1 : 2;
  return p ? (const char *)p + n * bytes : NULL;
}

/* Member b of the batch alone, writing where the whole would. */
static mha_desc batch_member(const mha_desc *d, size_t b) {
  mha_desc  e = desc_with_strides(d);
  ptrdiff_t n = (ptrdiff_t)b;
  size_t    rows = b * d->q_heads * d->q_len;
  e.batch = 1;
  if (e.o) e.o += n * e.o_stride.batch;
  if (e.q) e.q += n * e.q_stride.batch;
  e.k = element(e.k, e.k_type, n * e.k_stride.batch);
  e.v = element(e.v, e.v_type, n * e.v_stride.batch);
  if (e.k_scale) e.k_scale += n * e.k_scale_stride.batch;
  if (e.v_scale) e.v_scale += n * e.v_scale_stride.batch;
  if (e.q_starts) e.q_starts += b;
  if (e.kv_starts) e.kv_starts += b;
  if (e.kv_lens) e.kv_lens += b;
  if (e.mask) e.mask += n * e.mask_stride.batch;
  if (e.bias) e.bias += n * e.bias_stride.batch;
  if (e.weights) e.weights += rows * e.kv_len;
  if (e.lse) e.lse += rows;
  return e;
}

/* Query rows first .. first + count - 1 of every member and head.  weights and lse of so few rows are packed
   otherwise, so they go to memory of their own, and query_rows_end copies them to where they belong. */
typedef struct {
  mha_desc   d;
  ptrdiff_t *q_starts;
  size_t    *kv_lens; /* a copy that the caller may change, or NULL */
} query_rows;

static query_rows query_rows_new(const mha_desc *d, size_t first, size_t count) {
  query_rows r;
  ptrdiff_t  n = (ptrdiff_t)first;
  size_t     b, rows = d->batch * d->q_heads * count;
  r.d = desc_with_strides(d);
  r.d.q_len = count;
  r.q_starts = (ptrdiff_t *)guard_new(d->batch * sizeof *r.q_starts, 0);
  r.kv_lens = (size_t *)guard_new(d->batch * sizeof *r.kv_lens, 0);
  for (b = 0; b < d->batch; b++) {
    r.q_starts[b] = oracle_q_position(d, b, first);
    r.kv_lens[b] = oracle_kv_len(d, b);
  }
  if (r.d.o) r.d.o += n * r.d.o_stride.row;
  if (r.d.q) r.d.q += n * r.d.q_stride.row;
  if (r.d.mask) r.d.mask += n * r.d.mask_stride.row;
  if (r.d.bias) r.d.bias += n * r.d.bias_stride.row;
  r.d.q_start = 0;
  r.d.q_starts = r.q_starts;
  r.d.flags &= ~(unsigned)MHA_Q_LAST;
  if (d->weights) r.d.weights = (float *)guard_new(rows * d->kv_len * sizeof(float), 0);
  if (d->lse) r.d.lse = (float *)guard_new(rows * sizeof(float), 0);
  return r;
}

static void query_rows_end(query_rows *r, const mha_desc *d, size_t first) {
  size_t bh, i, count = r->d.q_len;
  for (bh = 0; bh < d->batch * d->q_heads; bh++)
    for (i = 0; i < count; i++) {
      size_t to = bh * d->q_len + first + i, from = bh * count + i;
      if (d->weights)
        memcpy(d->weights + to * d->kv_len, r->d.weights + from * d->kv_len, d->kv_len * sizeof(float));
      if (d->lse) d->lse[to] = r->d.lse[from];
    }
  guard_free(r->q_starts, "q_starts");
  guard_free(r->kv_lens, "kv_lens");
  if (d->weights) guard_free(r->d.weights, "weights of some rows");
  if (d->lse) guard_free(r->d.lse, "lse of some rows");
}

/* ---- The groups ---- */

/* A workspace of a size that tests often miss, at any address.  NULL with *bytes = 0 is one of them. */
static void *any_work(const mha_desc *d, size_t *bytes) {
  size_t full = mha_work_bytes(d);
  *bytes = rng_chance(20) ? full : rng_chance(30) ? rng_below(200) : rng_below(full + 100);
  if (rng_chance(25)) {
    *bytes = 0;
    return NULL;
  }
  return guard_new_unset(*bytes, rng_below(64));
}
static void free_work(void *work) {
  if (work) guard_free(work, "the workspace");
}

static void say_without_bits(void) {
  if (numerics_fused() < 0) printf("    bits skipped: %s promises none\n", mha_numerics());
}

typedef void identity(problem *p, result *base, result *other);

/* Calls `test` with problems, what mha_attend makes of them without a workspace, and room for a result. */
static void with_problems(int count, unsigned flags, identity *test) {
  int n;
  say_without_bits();
  if (strcmp(mha_numerics(), "software fma") == 0) count = count / 4 + 1; /* four times as slow */
  for (n = 0; n < count; n++) {
    problem *p = problem_new(rng(), flags | kinds[n % KINDS]);
    result   base = result_new(&p->d), other = result_new(&p->d);
    problem_run(p, NULL, 0, &base);
    test(p, &base, &other);
    result_free(&base);
    result_free(&other);
    problem_free(p);
  }
}

/* Copies what a call wrote into `all`, and counts how often each number was written. */
static void collect(const float *some, float *all, unsigned char *times, size_t n) {
  size_t k;
  for (k = 0; k < n; k++)
    if (result_written(some[k])) {
      all[k] = some[k];
      if (times[k] < 255) times[k]++;
    }
}

static int all_once(const unsigned char *times, size_t n) {
  size_t k;
  for (k = 0; k < n && times[k] == 1; k++) {}
  return k == n;
}

static void in_parts(problem *p, result *base, result *other) {
  size_t rows = p->d.batch * p->d.q_heads * p->d.q_len, counts[5] = { 1, 2, 3, 7, 0 }, c, part;
  counts[4] = rows + 1 + rng_below(5);
  for (c = 0; c < 5; c++) {
    result         some = result_new(&p->d);
    size_t         parts = counts[c], o = base->o_count, w = base->weights_count, l = base->lse_count;
    unsigned char *times = (unsigned char *)guard_new(o + w + l, 0);
    if (parts > 60 && rng_chance(80)) parts = 11; /* each part is looked at in full: keep it short */
    memset(times, 0, o + w + l);
    for (part = parts; part--;) {
      size_t bytes;
      void  *work = any_work(&p->d, &bytes);
      problem_clear(p);
      is_ok(mha_attend_part(&p->d, part, parts, work, bytes), "mha_attend_part", p);
      free_work(work);
      problem_take(p, &some);
      collect(some.o, other->o, times, o);
      if (w) collect(some.weights, other->weights, times + o, w);
      if (l) collect(some.lse, other->lse, times + o + w, l);
    }
    CHECK(all_once(times, o + w + l), "%zu parts: not all written exactly once %s", parts, problem_text(p));
    result_same(other, base, "in parts", p);
    guard_free(times, "times");
    result_free(&some);
  }
}
static void identity_parts(void) { with_problems(140, PROBLEM_SMALL, in_parts); }

static void in_workspaces(problem *p, result *base, result *other) {
  size_t full = mha_work_bytes(&p->d), shift, bytes;
  void  *work;
  for (shift = 0; shift < 16; shift++) {
    switch (shift % 4) {
      case 0: bytes = full; break;
      case 1: bytes = rng_below(full + 1); break;
      case 2: bytes = shift < 8 ? shift / 4 : rng_below(64); break;
      default: bytes = full + rng_below(5000); break;
    }
    work = guard_new_unset(bytes, shift);
    problem_run(p, work, bytes, other);
    guard_free(work, "the workspace");
    result_same(other, base, "in a workspace", p);
  }
}
static void identity_workspaces(void) {
  with_problems(70, 0, in_workspaces);
  with_problems(24, PROBLEM_WIDE, in_workspaces);
}

static void in_members(problem *p, result *base, result *other) {
  size_t b;
  problem_clear(p);
  for (b = p->d.batch; b--;) {
    size_t   bytes;
    mha_desc e = batch_member(&p->d, b);
    void    *work = any_work(&e, &bytes);
    is_ok(mha_attend(&e, work, bytes), "mha_attend on a member of the batch", p);
    free_work(work);
  }
  problem_take(p, other);
  result_same(other, base, "member by member", p);
}
static void identity_batch(void) { with_problems(250, 0, in_members); }

static void in_row_groups(problem *p, result *base, result *other) {
  size_t first, count;
  problem_clear(p);
  for (first = 0; first < p->d.q_len; first += count) {
    query_rows r;
    size_t     bytes;
    void      *work;
    count = rng_between(1, rng_chance(50) ? 5 : 40);
    if (count > p->d.q_len - first) count = p->d.q_len - first;
    r = query_rows_new(&p->d, first, count);
    work = any_work(&r.d, &bytes);
    is_ok(mha_attend(&r.d, work, bytes), "mha_attend on some rows", p);
    free_work(work);
    query_rows_end(&r, &p->d, first);
  }
  problem_take(p, other);
  result_same(other, base, "some rows at a time", p);
}
static void identity_rows(void) {
  with_problems(250, 0, in_row_groups);
  with_problems(24, PROBLEM_WIDE, in_row_groups);
}

/* Step i of a decoder has one query and the keys up to it; those behind do not exist yet. */
static void in_steps(problem *p, result *base, result *other) {
  size_t i, b;
  problem_clear(p);
  for (i = 0; i < p->d.q_len; i++) {
    query_rows r = query_rows_new(&p->d, i, 1);
    size_t     bytes;
    void      *work;
    int        on_last = 1;
    for (b = 0; b < p->d.batch; b++) {
      ptrdiff_t keys = r.q_starts[b] - oracle_k_position(&p->d, b, 0) + 1;
      if (keys < 0) keys = 0;
      if ((size_t)keys < r.kv_lens[b]) r.kv_lens[b] = (size_t)keys;
      if (oracle_k_position(&p->d, b, r.kv_lens[b]) - 1 != r.q_starts[b]) on_last = 0;
    }
    r.d.kv_lens = r.kv_lens;
    if (on_last && i % 2) { /* the same position, said otherwise */
      r.d.q_starts = NULL;
      r.d.flags |= MHA_Q_LAST;
    }
    work = any_work(&r.d, &bytes);
    is_ok(mha_attend(&r.d, work, bytes), "mha_attend on one row", p);
    free_work(work);
    query_rows_end(&r, &p->d, i);
  }
  problem_take(p, other);
  result_same(other, base, "step by step", p);
}
static void identity_decode(void) { with_problems(250, PROBLEM_CAUSAL, in_steps); }

static void in_key_parts(problem *p, result *base, result *other) {
  static const size_t counts[] = { 1, 2, 3, 9 };
  float              *weights = p->d.weights;
  size_t              c, part, bytes;
  result              some;
  p->d.weights = NULL; /* refused here */
  bytes = mha_keys_bytes(&p->d);
  some = result_new(&p->d);
  for (c = 0; c < 4; c++) {
    size_t extra = rng_chance(50) ? 0 : rng_below(100), parts = counts[c];
    void  *shared = guard_new_unset(bytes + extra, rng_below(64));
    problem_clear(p);
    for (part = 0; part < parts; part++)
      is_ok(mha_attend_keys(&p->d, c % 2 ? part : parts - 1 - part, parts, shared, bytes + extra),
            "mha_attend_keys", p);
    problem_take(p, &some);
    CHECK(some.o_count == 0 || !result_written(some.o[0]), "mha_attend_keys wrote o %s", problem_text(p));
    is_ok(mha_attend_join(&p->d, shared, bytes + extra), "mha_attend_join", p);
    guard_free(shared, "the shared memory");
    problem_take(p, &some);
    result_same(&some, base, "keys in parts", p);
  }
  result_free(&some);
  p->d.weights = weights;
  (void)other;
}
static void identity_keys(void) {
  with_problems(240, 0, in_key_parts);
  with_problems(24, PROBLEM_WIDE, in_key_parts);
}

static void with_outputs(problem *p, result *base, result *other) {
  float *weights = p->d.weights, *lse = p->d.lse;
  int    n;
  for (n = 0; n < 3; n++) {
    result some;
    p->d.weights = n == 1 ? weights : NULL;
    p->d.lse = n == 2 ? lse : NULL;
    some = result_new(&p->d);
    problem_run(p, NULL, 0, &some);
    result_same(&some, base, n == 0 ? "without both" : n == 1 ? "without lse" : "without weights", p);
    result_free(&some);
  }
  p->d.weights = weights;
  p->d.lse = lse;
  (void)other;
}
static void identity_outputs(void) { with_problems(120, PROBLEM_OUTPUTS, with_outputs); }

static void in_place(problem *p, result *base, result *other) {
  const float *q = p->d.q;
  size_t       b, i, h, part, parts = rng_between(1, 4), bytes;
  int          by_keys = !p->d.weights && rng_chance(50);
  void        *work;
  if (!q) return;
  problem_clear(p);
  for (b = 0; b < p->d.batch; b++)
    for (i = 0; i < p->d.q_len; i++)
      for (h = 0; h < p->d.q_heads; h++) {
        size_t at = o_offset(&p->d, b, i, h);
        memcpy(p->d.o + at, q + at, p->d.d_k * sizeof(float));
      }
  p->d.q = p->d.o;
  if (by_keys) {
    bytes = mha_keys_bytes(&p->d);
    work = guard_new(bytes, 0);
    for (part = 0; part < parts; part++)
      is_ok(mha_attend_keys(&p->d, part, parts, work, bytes), "mha_attend_keys in place", p);
    is_ok(mha_attend_join(&p->d, work, bytes), "join in place", p);
  } else {
    if (p->d.d_k <= 70) work = any_work(&p->d, &bytes);
    else work = guard_new(bytes = 4 * p->d.d_k + 3, rng_below(64)); /* one row's query, wherever it lies */
    if (parts == 1) is_ok(mha_attend(&p->d, work, bytes), "mha_attend in place", p);
    for (part = 0; parts > 1 && part < parts; part++)
      is_ok(mha_attend_part(&p->d, part, parts, work, bytes), "mha_attend_part in place", p);
  }
  free_work(work);
  problem_take(p, other);
  result_same(other, base, by_keys ? "in place by keys" : "in place", p);
  p->d.q = q;
}
static void identity_in_place(void) {
  with_problems(300, PROBLEM_IN_PLACE, in_place);
  with_problems(40, PROBLEM_IN_PLACE | PROBLEM_WIDE, in_place);
}

/* Without the kinds that put NaN where it can be seen, so that what poison does shows. */
static void identity_poison(void) {
  int n;
  say_without_bits();
  for (n = 0; n < 250; n++) {
    problem *p = problem_new(rng(), n % 2 ? PROBLEM_OUTPUTS : n % 4 ? PROBLEM_EXTREME : 0);
    result   base = result_new(&p->d), other = result_new(&p->d);
    size_t   bytes;
    void    *work = any_work(&p->d, &bytes);
    problem_run(p, work, bytes, &base);
    problem_poison(p);
    problem_run(p, work, bytes, &other);
    result_same(&other, &base, "with poison in all hidden memory", p);
    if (work) memset(work, 0xff, bytes); /* NaN there as well */
    problem_run(p, work, bytes, &other);
    result_same(&other, &base, "with poison in the workspace", p);
    free_work(work);
    result_free(&base);
    result_free(&other);
    problem_free(p);
  }
}

static void with_more_keys(problem *p, result *base, result *other) {
  int way;
  for (way = 0; way < GROW_WAYS; way++) {
    size_t   extra = rng_chance(20) ? 0 : rng_chance(70) ? rng_between(1, 9) : rng_between(100, 200);
    size_t   len, row, j, bytes;
    problem *grown = problem_grow(p, extra, (grow_way)way);
    result   r = result_new(&grown->d);
    void    *work = any_work(&grown->d, &bytes);
    int      zero = 1;
    problem_run(grown, work, bytes, &r);
    free_work(work);
    memcpy(other->o, r.o, r.o_count * sizeof(float));
    if (r.lse) memcpy(other->lse, r.lse, r.lse_count * sizeof(float));
    len = grown->d.kv_len;
    for (row = 0; r.weights && row < p->d.batch * p->d.q_heads * p->d.q_len; row++) {
      memcpy(other->weights + row * p->d.kv_len, r.weights + row * len, p->d.kv_len * sizeof(float));
      for (j = p->d.kv_len; j < len; j++)
        if (bits_of(r.weights[row * len + j]) != 0) zero = 0;
    }
    CHECK(zero, "weights of hidden keys are not 0 %s", problem_text(grown));
    result_same(other, base, "with more keys, all hidden", grown);
    result_free(&r);
    problem_free(grown);
  }
}
static void identity_more_keys(void) { with_problems(180, 0, with_more_keys); }

/* ---- Golden hashes ---- */

/* FNV-1a over the four bytes of each float, low byte first; every NaN as 7fc00000. */
static uint32_t hash(uint32_t h, const float *x, size_t n) {
  size_t k;
  int    shift;
  for (k = 0; k < n; k++) {
    uint32_t u = x[k] != x[k] ? 0x7fc00000u : bits_of(x[k]);
    for (shift = 0; shift < 32; shift += 8) h = (h ^ (u >> shift & 0xffu)) * 16777619u;
  }
  return h;
}
static uint32_t hash_of(const result *r) {
  return hash(hash(hash(2166136261u, r->o, r->o_count), r->weights, r->weights_count), r->lse, r->lse_count);
}

/* What a problem of this seed gives, rounding products and sums apart, and fused. */
static const struct {
  uint32_t seed, hash[2];
} golden[] = {
  { 2, { 0x466cf6eeu, 0xee5ebd8au } }, { 5, { 0x3f74c80du, 0x304725dcu } },
  { 6, { 0x4fa9a3f4u, 0x49e2f36eu } }, { 9, { 0xcba770f2u, 0x798c8c71u } },
  { 10, { 0x0052986fu, 0x9e42a55bu } }, { 11, { 0x4d1747c1u, 0x109114a1u } },
  { 14, { 0x0a756780u, 0x29cccd6du } }, { 16, { 0xedaa7339u, 0xec7f4f7fu } },
  { 17, { 0xabeab189u, 0x01f2ad6du } }, { 19, { 0x8ef9a04au, 0x00cde064u } },
  { 20, { 0x820b2a6du, 0xc9b70755u } }, { 25, { 0xb2744068u, 0x41dd75c9u } },
  { 26, { 0x62df1ce4u, 0x86f7b3dau } }, { 28, { 0x41992154u, 0x52eb1da2u } },
  { 29, { 0xd8c4562fu, 0xb441c496u } }, { 30, { 0x1bcb9d3eu, 0x848ec39fu } },
  { 31, { 0x83c22e53u, 0xaac61e99u } }, { 32, { 0xcdb4048au, 0xcda9be0bu } },
  { 34, { 0x07e5c12au, 0x02a32290u } }, { 35, { 0xed74fbebu, 0xab6c423bu } },
  { 36, { 0xf4f73227u, 0xc3a2bebfu } }, { 37, { 0x32483b1au, 0xf76b67b0u } },
  { 40, { 0xd4a3b866u, 0xded031c7u } }, { 41, { 0xecd87295u, 0x95978927u } },
  { 42, { 0xa40e77bdu, 0xc1eb3d6bu } }, { 43, { 0x5887e752u, 0x5912ebb6u } },
  { 44, { 0xc3227305u, 0x4d42a5c0u } }, { 45, { 0x493268b4u, 0x45b39624u } },
  { 50, { 0x88c0633fu, 0xf4e696f6u } }, { 51, { 0x08b8944fu, 0x1a45de0cu } },
  { 52, { 0x7a5b931fu, 0xc9ff63ddu } }, { 54, { 0xa0b62d46u, 0xc9e21f06u } },
  { 55, { 0xa8bc4ad2u, 0xa9ce24eau } }, { 57, { 0xe87c180cu, 0x98e2d816u } },
  { 59, { 0x88f6c41cu, 0x3b96214du } }, { 60, { 0x17c5904bu, 0xbb53c2c4u } },
  { 61, { 0xed75a56au, 0xea61f917u } }, { 63, { 0x0ef5b610u, 0x0e1676f1u } },
  { 64, { 0xa8ebf87du, 0xaf1534bbu } }, { 65, { 0x66750cfbu, 0x6aefe7cdu } }
};

static void identity_golden(void) {
  static const unsigned more[] = { 0, 0, PROBLEM_NAN | PROBLEM_INFINITE, PROBLEM_EXTREME, PROBLEM_CAUSAL };
  int                   fused = numerics_fused();
  size_t                n;
  if (fused < 0) {
    printf("    skipped: %s promises no bits\n", mha_numerics());
    CHECK(1, "skipped");
    return;
  }
  CHECK(literal_works(), "literal.h is compiled with excess precision or contracted products");
  for (n = 0; n < sizeof golden / sizeof golden[0]; n++) {
    const uint32_t *want = golden[n].hash, seed = golden[n].seed;
    const unsigned  flags = PROBLEM_PORTABLE | PROBLEM_OUTPUTS | PROBLEM_SMALL | more[seed % 5];
    problem        *p = problem_new(seed, flags);
    result          r = result_new(&p->d);
    int             f;
    problem_run(p, NULL, 0, &r);
    CHECK(hash_of(&r) == want[fused], "mha_attend: %08lx, not %08lx %s", (unsigned long)hash_of(&r),
          (unsigned long)want[fused], problem_text(p));
    for (f = 0; f < 2; f++) { /* so that a golden, too, has a witness */
      literal_attend(&p->d, f, r.o, r.weights, r.lse);
      CHECK(hash_of(&r) == want[f], "literal, fused %d: %08lx, not %08lx %s", f, (unsigned long)hash_of(&r),
            (unsigned long)want[f], problem_text(p));
    }
    result_free(&r);
    problem_free(p);
  }
}

const group identity_groups[] = {
  { "identity: parts", identity_parts },
  { "identity: workspaces", identity_workspaces },
  { "identity: members of the batch", identity_batch },
  { "identity: some rows at a time", identity_rows },
  { "identity: decode step by step", identity_decode },
  { "identity: keys in parts", identity_keys },
  { "identity: weights and lse or not", identity_outputs },
  { "identity: in place", identity_in_place },
  { "identity: poison", identity_poison },
  { "identity: more hidden keys", identity_more_keys },
  { "identity: golden hashes", identity_golden },
  { NULL, NULL }
};
