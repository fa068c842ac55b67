/* test_s8.c - integer attention: the bits of TensorFlow Lite Micro, those of the literal formulas in both
   modes, the same however the rows are divided, what setup refuses, and how far from exact attention the
   codes are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "literal_s8.h"

enum { HEADS = 6 }; /* at most, in a random problem */
static const int modes[] = { MHA_S8_TFLM, MHA_S8_NATIVE };

static const char *mode_name(int mode) { return mode == MHA_S8_TFLM ? "tflm" : "native"; }

/* ---- Calls ---- */

static mha_status attend_fast(const mha_s8_desc *d, size_t first, size_t rows, void *scratch, size_t bytes) {
  return d->consts->mode == MHA_S8_TFLM ? mha_s8_tflm(d, first, rows, scratch, bytes)
                                        : mha_s8_native(d, first, rows, scratch, bytes);
}
static mha_status attend_lean(const mha_s8_desc *d, size_t first, size_t rows) {
  return d->consts->mode == MHA_S8_TFLM ? mha_s8_tflm_lean(d, first, rows)
                                        : mha_s8_native_lean(d, first, rows);
}

/* With a scratch of just the size that is asked for, at any address, or lean. */
static mha_status attend_rows(const mha_s8_desc *d, size_t first, size_t rows, int lean) {
  size_t     bytes = mha_s8_scratch_bytes(d->consts->mode, d->kv_len, d->d_k);
  void      *scratch;
  mha_status status;
  if (lean) return attend_lean(d, first, rows);
  scratch = guard_new_unset(bytes, rng_below(9));
  status = attend_fast(d, first, rows, scratch, bytes);
  guard_free(scratch, "the scratch");
  return status;
}

/* ---- Random problems ---- */

typedef struct {
  mha_s8_desc    d;
  mha_s8_quant   quant[HEADS];
  mha_s8_consts  consts[HEADS];
  literal_s8     literal[HEADS];
  int32_t        tables[HEADS][256];
  signed char    map[256];
  signed char   *q, *k, *v, *o, *want; /* guarded, of just the bytes that the strides reach */
  unsigned char *mask;
  size_t         o_bytes;
} problem;

static float power(double low, double high) { /* 2^x, x uniform */
  return (float)pow(2.0, low + (high - low) * (double)rng_float(0.0f, 1.0f));
}
static int zero_point(void) {
  static const int often[] = { -128, -127, 0, 126, 127 };
  return rng_chance(70) ? (int)rng_below(256) - 128 : often[rng_below(5)];
}

static mha_s8_affine affine(float scale, int zero) {
  mha_s8_affine a;
  a.scale = scale;
  a.zero = zero < -128 ? -128 : zero > 127 ? 127 : zero;
  return a;
}

/* near: close to 0, for factors that would saturate everything else */
static void fill(signed char *x, size_t n, int near) {
  size_t kind = near ? 9 : rng_below(8), m;
  int    low = (int)rng_below(249) - 128;
  for (m = 0; m < n; m++)
    x[m] = (signed char)(kind == 0   ? rng_chance(50) ? 127 : -128
                         : kind == 1 ? low
                         : kind == 2 ? low + (int)rng_below(8)
                         : kind == 9 ? (int)rng_below(7) - 3
                                     : (int)rng_below(256) - 128);
}

/* Scales for which a logit of uniform codes has a standard deviation of `spread` (in the exponent). */
static void random_quant(mha_s8_quant *a, int mode, size_t d_k, const signed char *map, int near) {
  double spread = (double)power(-4, 4), root = sqrt((double)d_k);
  float  ratio = power(-2.0, 1.5), factor;
  memset(a, 0, sizeof *a);
  a->mode = mode;
  a->q = affine(power(-9.0, 0.0), zero_point());
  a->v = affine(power(-9.0, 2.0), zero_point());
  a->o = affine(a->v.scale / ratio, rng_chance(60) ? (int)((float)a->v.zero * ratio) : zero_point());
  a->scale = rng_chance(50) ? 0.0f : power(-2.0, 2.0);
  factor = a->scale > 0.0f ? a->scale : mode == MHA_S8_TFLM ? 1.0f : (float)(1.0 / root);
  a->k = affine((float)(spread / (74.0 * 74.0 * root * (double)a->q.scale * (double)factor)), zero_point());
  if (near) {
    a->q.zero = (int)rng_below(5) - 2, a->k.zero = (int)rng_below(5) - 2;
    a->v.zero = (int)rng_below(5) - 2, a->o = affine(a->v.scale / power(0.0, 9.0), (int)rng_below(9) - 4);
    a->k.scale = power(-2.0, 10.0) / (a->q.scale * factor * 369.0f);
  }
  if (mode != MHA_S8_TFLM) return;
  a->logits = affine((float)(spread / (40.0 * (double)factor * (double)power(-3.0, 3.0))), zero_point());
  if (near) a->logits = affine(a->q.scale * a->k.scale / power(-3.0, 6.0), (int)rng_below(9) - 4);
  if (!map) return;
  a->logit_map = map;
  a->map_scale = a->logits.scale * power(-1.0, 1.0);
}

/* Strides, and how many elements they reach. */
static size_t random_layout(mha_s8_strides *s, size_t heads, size_t len, size_t channels, int input) {
  size_t pad = rng_chance(50) ? 0 : rng_below(4), row, head;
  switch (rng_below(input ? 5 : 3)) {
    case 0: return heads * len * channels; /* packed */
    case 1: head = channels + pad, row = heads * head + rng_below(4); break;
    case 2: row = channels + pad, head = len * row + rng_below(4); break;
    case 3: row = channels + pad, head = 0; break;
    default: row = 0, head = channels + pad;
  }
  s->row = (ptrdiff_t)row;
  s->head = (ptrdiff_t)head;
  return len ? (heads - 1) * head + (len - 1) * row + channels : 0;
}

static signed char *random_codes(mha_s8_strides *s, size_t heads, size_t len, size_t channels, int near) {
  size_t       n = random_layout(s, heads, len, channels, 1);
  signed char *x = (signed char *)guard_new(n, rng_below(5));
  fill(x, n, near);
  return x;
}

static void random_mask(problem *p) {
  mha_s8_desc *d = &p->d;
  size_t       row = rng_chance(70) ? d->kv_len + rng_below(3) : 0, n, m;
  size_t       head = rng_chance(50) ? (row ? d->q_len * row : d->kv_len) + rng_below(3) : 0;
  unsigned     visible = rng_chance(20) ? 5 : 70;
  n = d->q_len && d->kv_len ? (d->q_heads - 1) * head + (d->q_len - 1) * row + d->kv_len : 0;
  p->mask = (unsigned char *)guard_new(n, rng_below(5));
  for (m = 0; m < n; m++) p->mask[m] = (unsigned char)(rng_chance(visible) ? 1 + rng_below(255) : 0);
  d->mask = p->mask;
  d->mask_stride.row = (ptrdiff_t)row;
  d->mask_stride.head = (ptrdiff_t)head;
}

static void random_visibility(mha_s8_desc *d) {
  int reach = (int)(d->q_len + d->kv_len) + 4;
  if (rng_chance(50)) d->flags |= MHA_CAUSAL;
  if (rng_chance(30)) d->flags |= MHA_Q_LAST;
  else if (rng_chance(70)) d->q_start = (ptrdiff_t)rng_below((size_t)(2 * reach)) - reach / 2;
  if (rng_chance(40)) {
    d->flags |= MHA_USE_WINDOW;
    d->window_left = rng_chance(20) ? MHA_OPEN : rng_below((size_t)reach);
    d->window_right = rng_chance(20) ? MHA_OPEN : rng_below((size_t)reach);
  }
}

/* What head h has from the literal formulas; TFLM's factors are given to the bit. */
static void literal_new(problem *p, size_t h) {
  const mha_s8_consts *c = &p->consts[h];
  literal_s8          *literal = &p->literal[h];
  literal_s8_make(literal, &p->quant[h]);
  if (c->mode == MHA_S8_NATIVE) CHECK(literal_s8_take_factors(literal, c), "factors that the scales are not");
  else
    CHECK(c->qk.multiplier == literal->qk && c->pv.multiplier == literal->pv,
          "factors %ld and %ld, wanted %ld and %ld", (long)c->qk.multiplier, (long)c->pv.multiplier,
          (long)literal->qk, (long)literal->pv);
}

/* Constants of every head; 0 where mha_s8_prepare refuses one. */
static int prepare_all(problem *p, int mode, int near) {
  size_t heads = p->d.consts_stride ? p->d.q_heads : 1, h;
  for (h = 0; h < heads; h++) {
    mha_s8_quant *a = &p->quant[h];
    random_quant(a, mode, p->d.d_k, mode == MHA_S8_TFLM && rng_chance(25) ? p->map : NULL, near);
    if (a->scale <= 0.0f && mode == MHA_S8_NATIVE) a->d_k = p->d.d_k; /* the default scale hangs on it */
    else a->d_k = p->d.d_k + rng_below(3);
    a->kv_len = p->d.kv_len + rng_below(3) + !p->d.kv_len;
    if (mha_s8_prepare(&p->consts[h], mode == MHA_S8_TFLM ? p->tables[h] : NULL, a) != MHA_OK) return 0;
    literal_new(p, h);
  }
  return 1;
}

/* All but the constants, which stay 0.  d_k 0: random widths.  near: codes close to 0 */
static problem *problem_draw(size_t q_len, size_t kv_len, size_t d_k, size_t d_v, int near) {
  problem     *p = (problem *)calloc(1, sizeof *p);
  mha_s8_desc *d;
  size_t       each = rng_between(1, HEADS / 3), kv_heads = rng_between(1, 3), n;
  if (!p) exit(2);
  d = &p->d;
  d->q_heads = kv_heads * each;
  if (each > 1 || rng_chance(50)) d->kv_heads = kv_heads;
  d->q_len = q_len, d->kv_len = kv_len, d->d_k = d_k, d->d_v = d_v;
  if (!d_k) {
    d->d_k = rng_chance(90) ? rng_between(1, 40) : rng_between(41, 150);
    if (rng_chance(60)) d->d_v = rng_between(1, 40);
  }
  d_v = d->d_v ? d->d_v : d->d_k;
  d->q = p->q = random_codes(&d->q_stride, d->q_heads, q_len, d->d_k, near);
  d->k = p->k = random_codes(&d->k_stride, kv_heads, kv_len, d->d_k, near);
  d->v = p->v = random_codes(&d->v_stride, kv_heads, kv_len, d_v, near);
  p->o_bytes = random_layout(&d->o_stride, d->q_heads, q_len, d_v, 0);
  d->o = p->o = (signed char *)guard_new(p->o_bytes, rng_below(5));
  p->want = (signed char *)guard_new(p->o_bytes, 0);
  random_visibility(d);
  if (rng_chance(35)) random_mask(p);
  for (n = 0; n < 256; n++) p->map[n] = (signed char)((int)rng_below(256) - 128);
  d->consts = p->consts;
  d->consts_stride = rng_below(5) < 2;
  return p;
}

static problem *problem_new(int mode, size_t q_len, size_t kv_len, size_t d_k, size_t d_v) {
  int      near = rng_chance(20), tries = 0;
  problem *p = problem_draw(q_len, kv_len, d_k, d_v, near);
  while (!prepare_all(p, mode, near))
    if (!CHECK(++tries < 20, "mha_s8_prepare refuses what it should not")) exit(1);
  return p;
}

/* One head, packed, every key visible, every code 0: for the caller to fill, and to prepare. */
static problem *problem_plain(int mode, size_t q_len, size_t kv_len, size_t d_k, size_t d_v) {
  problem      *p = (problem *)calloc(1, sizeof *p);
  mha_s8_desc  *d;
  mha_s8_quant *a;
  if (!p) exit(2);
  d = &p->d, a = p->quant;
  d->q_heads = 1, d->q_len = q_len, d->kv_len = kv_len, d->d_k = d_k, d->d_v = d_v;
  d->q = p->q = (signed char *)guard_new(q_len * d_k, 0);
  d->k = p->k = (signed char *)guard_new(kv_len * d_k, 0);
  d->v = p->v = (signed char *)guard_new(kv_len * d_v, 0);
  p->o_bytes = q_len * d_v;
  d->o = p->o = (signed char *)guard_new(p->o_bytes, 0);
  p->want = (signed char *)guard_new(p->o_bytes, 0);
  memset(p->q, 0, q_len * d_k);
  memset(p->k, 0, kv_len * d_k);
  memset(p->v, 0, kv_len * d_v);
  d->consts = p->consts;
  a->mode = mode;
  a->d_k = d_k, a->kv_len = kv_len;
  a->q = a->k = a->v = a->o = affine(0.25f, 0);
  if (mode == MHA_S8_TFLM) a->logits = affine(0.25f, 0);
  return p;
}

static int problem_prepare(problem *p) {
  const mha_s8_quant *a = p->quant;
  mha_status          status = mha_s8_prepare(p->consts, a->mode == MHA_S8_TFLM ? p->tables[0] : NULL, a);
  if (!CHECK(status == MHA_OK, "mha_s8_prepare: %s", mha_strerror(status))) return 0;
  literal_new(p, 0);
  return 1;
}

static void problem_free(problem *p) {
  guard_free(p->q, "q");
  guard_free(p->k, "k");
  guard_free(p->v, "v");
  guard_free(p->o, "o");
  guard_free(p->want, "the expected o");
  if (p->mask) guard_free(p->mask, "the mask");
  free(p);
}

static const char *problem_text(const problem *p) {
  static char        text[400];
  const mha_s8_desc *d = &p->d;
  snprintf(
      text, sizeof text,
      "(%s: heads %zu/%zu q_len %zu kv_len %zu d_k %zu d_v %zu flags %u q_start %td window %zu %zu mask %d "
      "map %d consts_stride %zu strides o %td %td q %td %td k %td %td v %td %td)",
      mode_name(p->quant[0].mode), d->q_heads, d->kv_heads, d->q_len, d->kv_len, d->d_k, d->d_v, d->flags,
      d->q_start, d->window_left, d->window_right, d->mask != NULL, p->quant[0].logit_map != NULL,
      d->consts_stride, d->o_stride.head, d->o_stride.row, d->q_stride.head, d->q_stride.row,
      d->k_stride.head, d->k_stride.row, d->v_stride.head, d->v_stride.row);
  return text;
}

/* The whole of o, gaps between rows too, against what the literal formulas make of it. */
static void same_as_literal(problem *p, const char *what) {
  size_t n;
  for (n = 0; n < p->o_bytes && p->o[n] == p->want[n]; n++) {}
  if (n == p->o_bytes) CHECK(1, "same");
  else CHECK(0, "%s: byte %zu of o is %d, wanted %d %s", what, n, p->o[n], p->want[n], problem_text(p));
  memset(p->o, 0xA5, p->o_bytes);
}

static void same_status(mha_status got, int flags, const char *what, const problem *p) {
  mha_status want = flags & LITERAL_S8_WARNS ? MHA_WARN_SUM : MHA_OK;
  CHECK(got == want, "%s: status %d (%s), wanted %d %s", what, (int)got, mha_strerror(got), (int)want,
        problem_text(p));
}

/* With scratch and without: the status and codes of the literal formulas, whose flags these are. */
static void both_as_literal(problem *p, int flags, const char *what) {
  char text[64];
  int  lean;
  for (lean = 0; lean < 2; lean++) {
    snprintf(text, sizeof text, "%s, %s", what, lean ? "lean" : "fast");
    same_status(attend_rows(&p->d, 0, MHA_ALL, lean), flags, text, p);
    same_as_literal(p, text);
  }
}

/* In pieces, in any order, each fast or lean. */
static mha_status attend_pieces(const problem *p) {
  size_t     rows = p->d.q_heads * p->d.q_len, first[8], count[8], pieces = 0, at = 0, n;
  mha_status all = MHA_OK;
  while (at < rows && pieces < 7) {
    first[pieces] = at;
    count[pieces] = rng_between(0, rows - at);
    at += count[pieces++];
  }
  first[pieces] = at;
  count[pieces++] = rng_chance(50) ? MHA_ALL : rows - at + rng_below(9);
  for (n = pieces; n > 0; n--) {
    size_t     m = rng_below(n);
    mha_status status = attend_rows(&p->d, first[m], count[m], rng_chance(50));
    if (status != MHA_OK) all = status;
    first[m] = first[n - 1], count[m] = count[n - 1];
  }
  return all;
}

static void against_literal(problem *p, int *flags) {
  *flags = literal_s8_attend(&p->d, p->literal, p->want);
  CHECK(mha_s8_check(&p->d) == MHA_OK, "mha_s8_check: %s %s", mha_strerror(mha_s8_check(&p->d)),
        problem_text(p));
  both_as_literal(p, *flags, "whole");
  same_status(attend_pieces(p), *flags, "pieces", p);
  same_as_literal(p, "pieces");
}

static void s8_random(void) {
  size_t n, m, warned = 0;
  for (m = 0; m < 2; m++)
    for (n = 0; n < 500; n++) {
      size_t   q_len = rng_chance(3) ? 0 : rng_between(1, 6);
      size_t   kv_len = rng_chance(3) ? 0 : rng_chance(4) ? rng_between(490, 700) : rng_between(1, 60);
      problem *p = problem_new(modes[m], q_len, kv_len, 0, 0);
      int      flags;
      against_literal(p, &flags);
      CHECK(!(flags & LITERAL_S8_OVERFLOWS), "prepare lets 32 bits overflow %s", problem_text(p));
      warned += flags & LITERAL_S8_WARNS;
      problem_free(p);
    }
  CHECK(warned > 0, "no row summed to 512");
}

/* Every small size: the ends of loops that do several rows, keys or channels at a time. */
static void s8_sizes(void) {
  size_t m, n, which;
  for (m = 0; m < 2; m++)
    for (which = 0; which < 3; which++)
      for (n = 1; n < 70; n++) {
        problem *p = problem_new(modes[m], which == 0 ? n % 9 + 1 : 2, which == 0 ? n : rng_between(1, 9),
                                 which == 1 ? n : 3, which == 2 ? n : 5);
        int      flags;
        against_literal(p, &flags);
        problem_free(p);
      }
}

/* Token by token from a cache that grows, and all at once. */
static void s8_steps(void) {
  size_t n, i;
  for (n = 0; n < 60; n++) {
    size_t       tokens = rng_between(1, 20), cached = rng_below(20), d_v;
    problem     *p = problem_new(modes[n % 2], tokens, cached + tokens, 0, 0);
    mha_s8_desc *d = &p->d, step;
    mha_status   all = MHA_OK;
    int          flags;
    d_v = d->d_v ? d->d_v : d->d_k;
    d->flags = (d->flags & (unsigned)MHA_USE_WINDOW) | MHA_CAUSAL;
    d->q_start = (ptrdiff_t)cached;
    flags = literal_s8_attend(d, p->literal, p->want);
    for (i = 0; i < tokens; i++) {
      mha_status status;
      step = *d;
      step.q_len = 1;
      step.kv_len = cached + i + 1;
      step.q += literal_s8_row(d->q_stride, 0, i, d->q_heads, d->d_k);
      step.o += literal_s8_row(d->o_stride, 0, i, d->q_heads, d_v);
      if (d->mask) step.mask += (ptrdiff_t)i * d->mask_stride.row;
      if (rng_chance(50)) {
        step.q_start = 0;
        step.flags |= MHA_Q_LAST;
      } else step.q_start = (ptrdiff_t)(cached + i);
      status = attend_rows(&step, 0, MHA_ALL, rng_chance(50));
      if (status != MHA_OK) all = status;
    }
    same_status(all, flags, "steps", p);
    same_as_literal(p, "steps");
    problem_free(p);
  }
}

/* ---- Golden vectors of TensorFlow Lite Micro ---- */

enum { UNIFORM, NARROW, EXTREME, EQUAL, CLIFF, SMALL }; /* kinds of codes, see tflm/golden.py */

static const struct golden {
  const char *name;
  size_t      heads, q_len, kv_len, d_k, d_v;
  int         kinds[3]; /* of q, k and v */
  uint32_t    seed;
  struct { uint32_t scale; int zero; } affine[5]; /* q, k, v, o, logits; the scales as bits */
  uint32_t    beta, map_scale;
  const char *map, *out; /* two hexadecimal digits per code */
} golden_cases[] = {
#include "tflm/golden.h"
};

static void golden_fill(signed char *x, size_t n, int kind, uint32_t *state) {
  size_t m;
  for (m = 0; m < n; m++) {
    int byte;
    *state = (*state * 1664525u + 1013904223u) & 0xffffffffu;
    byte = (int)(*state >> 24);
    x[m] = (signed char)(kind == UNIFORM   ? byte - 128
                         : kind == NARROW  ? byte / 32 + 20
                         : kind == EXTREME ? (byte >= 128 ? 127 : -128)
                         : kind == EQUAL   ? 40
                         : kind == SMALL   ? byte / 43 - 3
                                           : (m < 511 ? 40 : m < 513 ? 33 : -10));
  }
}

static size_t golden_codes(signed char *x, const char *text) { /* returns how many */
  static const char digits[] = "0123456789abcdef";
  size_t            n;
  for (n = 0; text[2 * n]; n++) {
    int code =
        (int)(strchr(digits, text[2 * n]) - digits) * 16 + (int)(strchr(digits, text[2 * n + 1]) - digits);
    x[n] = (signed char)(code < 128 ? code : code - 256);
  }
  return n;
}

static void s8_golden(void) {
  size_t n, m, differ, total = 0;
  for (n = 0; n < sizeof golden_cases / sizeof golden_cases[0]; n++) {
    const struct golden *g = &golden_cases[n];
    /* the rows of all heads are those of one head as far as memory goes */
    problem       *p = problem_plain(MHA_S8_TFLM, g->heads * g->q_len, g->heads * g->kv_len, g->d_k, g->d_v);
    mha_s8_desc   *d = &p->d;
    mha_s8_quant  *a = p->quant;
    mha_s8_affine *affines[5];
    uint32_t       state = g->seed;
    int            lean;
    affines[0] = &a->q, affines[1] = &a->k, affines[2] = &a->v, affines[3] = &a->o, affines[4] = &a->logits;
    for (m = 0; m < 5; m++) *affines[m] = affine(from_bits(g->affine[m].scale), g->affine[m].zero);
    a->kv_len = g->kv_len;
    a->scale = from_bits(g->beta);
    if (g->map) {
      CHECK(golden_codes(p->map, g->map) == 256, "%s: the map has not 256 codes", g->name);
      a->logit_map = p->map;
      a->map_scale = from_bits(g->map_scale);
    }
    d->q_heads = g->heads, d->q_len = g->q_len, d->kv_len = g->kv_len;
    d->q_stride.row = d->k_stride.row = (ptrdiff_t)g->d_k;
    d->o_stride.row = d->v_stride.row = (ptrdiff_t)g->d_v;
    d->q_stride.head = (ptrdiff_t)(g->q_len * g->d_k), d->k_stride.head = (ptrdiff_t)(g->kv_len * g->d_k);
    d->o_stride.head = (ptrdiff_t)(g->q_len * g->d_v), d->v_stride.head = (ptrdiff_t)(g->kv_len * g->d_v);
    golden_fill(p->q, g->heads * g->q_len * g->d_k, g->kinds[0], &state);
    golden_fill(p->k, g->heads * g->kv_len * g->d_k, g->kinds[1], &state);
    golden_fill(p->v, g->heads * g->kv_len * g->d_v, g->kinds[2], &state);
    CHECK(golden_codes(p->want, g->out) == p->o_bytes, "%s: stored outputs are missing", g->name);
    if (problem_prepare(p))
      for (lean = 0; lean < 2; lean++) {
        same_status(attend_rows(d, 0, MHA_ALL, lean), 0, g->name, p);
        for (m = differ = 0; m < p->o_bytes; m++) differ += p->o[m] != p->want[m];
        CHECK(!differ, "%s, %s: %zu of %zu codes are not TFLM's", g->name, lean ? "lean" : "fast", differ,
              p->o_bytes);
        total += p->o_bytes;
        memset(p->o, 0xA5, p->o_bytes);
      }
    problem_free(p);
  }
  CHECK(total > 8000, "only %zu golden outputs", total);
}

/* ---- Exponentials ---- */

static void s8_exps(void) {
  int32_t table[256];
  int64_t want[256];
  int     left, n, k;
  for (left = 0; left <= 31; left++)
    for (n = 0; n < 6; n++) {
      int32_t m = (int32_t)(n == 0   ? 1 << 30
                            : n == 1 ? 2147483647
                                     : (1 << 30) + (int32_t)rng_below(1u << 30));
      mha_status status = mha_s8_exp_table(table, m, left);
      CHECK(status == MHA_OK, "multiplier %ld, shift %d: %s", (long)m, left, mha_strerror(status));
      literal_s8_exps(want, m, left);
      for (k = 0; k < 256 && table[k] == want[k]; k++) {}
      CHECK(k == 256, "multiplier %ld, shift %d: entry %d is %ld, wanted %ld", (long)m, left, k,
            (long)table[k & 255], (long)want[k & 255]);
    }
  for (n = 0; n < 100; n++) { /* prepare makes the table, and its constants make it again */
    mha_s8_quant  a;
    mha_s8_consts c;
    literal_s8    literal;
    int32_t       again[256];
    random_quant(&a, MHA_S8_TFLM, 8, NULL, 0);
    a.d_k = 8, a.kv_len = 10;
    if (mha_s8_prepare(&c, table, &a) != MHA_OK) continue;
    literal_s8_make(&literal, &a);
    for (k = 0; k < 256 && table[k] == literal.exps[k]; k++) {}
    CHECK(k == 256, "entry %d differs from the literal one", k);
    CHECK(c.exp_table == table, "the constants don't point to the table");
    CHECK(mha_s8_exp_table(again, c.exp_multiplier, c.exp_shift) == MHA_OK, "refused");
    CHECK(memcmp(table, again, sizeof table) == 0, "the table made anew differs");
  }
}

/* The roundings from exponentials to weights.  Tables made by hand reach the ends of each: of two keys the
   second's exponential is the least for which its weight is k, or the one below. */
static void s8_weights(void) {
  problem *p = problem_plain(MHA_S8_TFLM, 1, 2, 1, 1);
  int      k, below, round, flags;
  size_t   j;
  p->q[0] = 1;
  p->k[0] = 1;
  p->v[1] = 1;
  p->quant->q = p->quant->k = p->quant->logits = affine(1.0f, 0);
  p->quant->v = affine(256.0f, 0), p->quant->o = affine(1.0f, -128); /* so that o is the weight - 128 */
  if (!problem_prepare(p)) return;
  for (k = 1; k < 128; k++)
    for (below = 0; below < 2; below++) {
      int64_t e = (int64_t)k << 23, sum, least;
      for (round = 0; round < 50; round++) {
        int zeros;
        sum = 524288 + literal_s8_away(e, 12), zeros = literal_s8_zeros(sum);
        least = ((int64_t)(2 * k - 1) << (34 - zeros + 31)) - (1 << 30); /* of e times the reciprocal */
        e = least / literal_s8_reciprocal(sum << zeros) + 1 - below;
      }
      p->literal->exps[1] = e;
      p->tables[0][1] = (int32_t)e;
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      CHECK(p->want[0] == k - below - 128, "weight %d is %d", k - below, p->want[0] + 128);
      both_as_literal(p, flags, "weights");
    }
  problem_free(p);

  p = problem_plain(MHA_S8_TFLM, 1, 500, 1, 1); /* 498 exponentials that are half a unit of their sum */
  p->q[0] = 1;
  for (j = 2; j < 500; j++) p->k[j] = -2;
  p->k[0] = 0, p->k[1] = -1;
  p->v[1] = 1;
  p->quant->q = p->quant->k = p->quant->logits = affine(1.0f, 0);
  p->quant->v = affine(256.0f, 0), p->quant->o = affine(1.0f, -128);
  if (problem_prepare(p))
    for (round = 0; round < 300; round++) {
      p->literal->exps[1] = p->tables[0][1] = (int32_t)rng_between(1u << 29, 2147483647u);
      p->literal->exps[2] = p->tables[0][2] = 0x800;
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      same_status(attend_rows(&p->d, 0, MHA_ALL, round % 2), flags, "halves", p);
      same_as_literal(p, "halves");
    }
  problem_free(p);
}

/* Weights that add up to 257 and more in one row or in both: of values at one end, 16 bits hold the sums of
   256 at most. */
static void s8_runs(void) {
  size_t n, which;
  int    v, flags;
  for (n = 150; n < 400; n++)
    for (v = -128; v < 128; v += 255)
      for (which = 0; which < 3; which++) { /* keys that are alike for the first row, the second, both */
        problem *p = problem_plain(MHA_S8_TFLM, 2, n, 1, 9);
        p->q[0] = which == 1, p->q[1] = which == 0, p->k[0] = 127;
        p->quant->q = p->quant->k = p->quant->logits = affine(1.0f, 0);
        memset(p->v, v, n * 9);
        if (problem_prepare(p)) {
          flags = literal_s8_attend(&p->d, p->literal, p->want);
          both_as_literal(p, flags, "runs");
        }
        problem_free(p);
      }
}

/* Native: two keys, one at each distance from 0 to beyond 16 octaves below the other, whose values cancel but
   for the rounding of v_0, times so much that one unit of the smaller weight is about one code. */
static void s8_native_exps(void) {
  int far, flags;
  for (far = 0; far < 4400; far++) {
    problem      *p = problem_plain(MHA_S8_NATIVE, 1, 2, 2, 1);
    mha_s8_quant *a = p->quant;
    unsigned char sees[2] = { 1, 1 };
    int64_t       acc[2] = { 0, 0 }, w[2];
    p->q[0] = 20, p->q[1] = 1;
    a->q = affine(1.0f, 0), a->k = affine(1.0f, 127), a->v = affine(256.0f, 0), a->o = affine(1.0f, 3);
    a->scale = (float)(log(2.0) / 256.0);
    memset(p->k, 127, 2);
    p->k[2] = (signed char)(127 - far / 20), p->k[3] = (signed char)(127 - far % 20);
    if (problem_prepare(p)) {
      acc[1] = -far;
      literal_s8_weights(p->literal, sees, acc, 2, w, &flags);
      p->v[0] = (signed char)((127 * w[1] + w[0] / 2) / w[0]), p->v[1] = -127;
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      both_as_literal(p, flags, "two keys");
    }
    problem_free(p);
  }
}

/* Native: halves, with weights 32767 and 1, whose sum has an exact reciprocal; and keys that are all alike,
   with values all at one end: the largest sums there are. */
static void s8_native_sums(void) {
  static const size_t lens[] = { 511, 512, 513, 514, 515, 1024, 1025, 1100, 3000 };
  int                 v, flags;
  size_t              n;
  for (v = -128; v < 128; v++) {
    problem      *p = problem_plain(MHA_S8_NATIVE, 1, 2, 2, 1);
    mha_s8_quant *a = p->quant;
    p->q[0] = 20, p->q[1] = 1, p->k[0] = 100, p->k[2] = -100;
    a->q = a->k = affine(1.0f, 0), a->v = affine(128.0f, 0), a->o = affine(1.0f, 3);
    a->scale = (float)(log(2.0) / 256.0);
    p->v[0] = (signed char)(v < 0 ? v + 128 : v - 128), p->v[1] = (signed char)v;
    if (problem_prepare(p)) {
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      both_as_literal(p, flags, "halves");
    }
    problem_free(p);
  }
  for (n = 0; n < sizeof lens / sizeof lens[0]; n++)
    for (v = -128; v < 128; v += 255) {
      problem *p = problem_plain(MHA_S8_NATIVE, 3, lens[n], 1, 9);
      memset(p->v, v, lens[n] * 9);
      p->quant->o = affine(0.3f, 3);
      if (problem_prepare(p)) {
        flags = literal_s8_attend(&p->d, p->literal, p->want);
        both_as_literal(p, flags, "alike");
      }
      problem_free(p);
    }
}

/* ---- Rows whose exponentials sum to 512 or more ---- */

/* keys: the first `equal` are alike, then two of e^-0.7, then e^-5 */
static void cliff(size_t equal, size_t others, int warns) {
  size_t m, j;
  int    flags;
  for (m = 0; m < 2; m++) {
    problem      *p = problem_plain(modes[m], 2, equal + others, 1, 5);
    mha_s8_quant *a = p->quant;
    memset(p->q, 1, 2);
    for (j = 0; j < equal + others; j++) p->k[j] = (signed char)(j < equal ? 40 : j < equal + 2 ? 33 : -10);
    fill(p->v, (equal + others) * 5, 0);
    a->q = affine(1.0f, 0);
    a->k = a->logits = affine(0.1f, 0);
    if (modes[m] == MHA_S8_NATIVE) memset(&a->logits, 0, sizeof a->logits);
    a->v.zero = -7, a->o = affine(0.03f, 21);
    if (problem_prepare(p)) {
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      CHECK(flags == (warns && modes[m] == MHA_S8_TFLM ? LITERAL_S8_WARNS : 0), "%zu + %zu keys", equal,
            others);
      if (flags) {
        for (j = 0; j < p->o_bytes && p->want[j] == 21; j++) {}
        CHECK(j == p->o_bytes, "the output of such a row is the zero point");
      }
      both_as_literal(p, flags, "equal keys");
    }
    problem_free(p);
  }
}

static void s8_cliff(void) {
  problem      *p;
  unsigned char mask[3 * 600];
  int           flags;
  size_t        i;
  cliff(511, 0, 0);
  cliff(512, 0, 1);
  cliff(511, 3, 0); /* 511.9999 */
  cliff(511, 4, 1); /* 512.007 */
  cliff(5000, 0, 1);
  cliff(8192, 0, 1); /* 2^32 of the unit */
  cliff(8192 + 7, 2, 1);
  cliff(16384, 0, 1);
  cliff(65535, 0, 1);
  /* one such row among others */
  for (i = 0; i < 3; i++) {
    p = problem_plain(MHA_S8_TFLM, 3, 600, 2, 3);
    fill(p->v, 600 * 3, 0);
    p->quant->o.zero = 5;
    memset(mask, 0, sizeof mask);
    memset(mask, 1, 30), memset(mask + 600, 1, 30), memset(mask + 1200, 1, 30);
    memset(mask + 600 * i, 1, 600);
    p->d.mask = mask;
    p->d.mask_stride.row = 600;
    if (problem_prepare(p)) {
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      CHECK(flags == LITERAL_S8_WARNS, "row %zu warns", i);
      both_as_literal(p, flags, "among others");
    }
    problem_free(p);
  }
}

/* ---- Extreme values ---- */

/* q, k and v of one code each, or v of two in turn, zero points as given */
static void extreme(size_t kv_len, size_t d_k, int q, int k, int v, int q_zero, int k_zero, int v_zero,
                    int o_zero) {
  size_t m, n;
  for (m = 0; m < 2; m++) {
    problem      *p = problem_plain(modes[m], 2, kv_len, d_k, 3);
    mha_s8_quant *a = p->quant;
    float         unit = 1.0f / (65536.0f * (float)d_k);
    int           flags;
    memset(p->q, q, 2 * d_k);
    memset(p->k, k, kv_len * d_k);
    memset(p->v, v, kv_len * 3);
    for (n = 0; n < kv_len; n += 3)
      p->k[n * d_k] = (signed char)(k < 0 ? k + 1 : k - 1), p->v[n * 3] = (signed char)-1;
    a->q = affine(unit, q_zero), a->k = affine(1.0f, k_zero);
    a->v.zero = v_zero, a->o.zero = o_zero;
    if (modes[m] == MHA_S8_TFLM) a->logits = affine(1.0f / 128.0f, 0);
    else a->scale = 2000.0f;
    if (problem_prepare(p)) {
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      CHECK(!(flags & LITERAL_S8_OVERFLOWS), "the literal formulas overflow");
      both_as_literal(p, flags, "extremes");
    }
    problem_free(p);
  }
}

static void s8_extremes(void) {
  static const int ends[] = { -128, 127 };
  static const struct {
    size_t kv_len, d_k;
  } shapes[] = { { 1, 1 }, { 1, 33 }, { 300, 7 }, { 3, 33025 }, { 65535, 2 } };
  size_t s, n;
  for (s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (n = 0; n < (shapes[s].kv_len * shapes[s].d_k < 10000 ? 128 : 32); n++) {
      int q = ends[n & 1], k = ends[n >> 1 & 1], v = ends[n >> 2 & 1];
      int far = (int)(n >> 3 & 1), flip = (int)(n >> 4 & 1);
      /* zero points at the other end make products of 255 * 255 */
      extreme(shapes[s].kv_len, shapes[s].d_k, q, k, v, far ? ends[!(n & 1)] : 0,
              far ? ends[flip ^ !(n >> 1 & 1)] : 0, n >> 5 & 1 ? 0 : ends[flip ^ !(n >> 2 & 1)],
              n >> 6 & 1 ? 127 : -128);
    }
}

/* ---- Scratch ---- */

static void s8_scratch(void) {
  static unsigned char one[MHA_S8_SCRATCH_BYTES(MHA_S8_TFLM, 50, 20)],
      other[MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, 50, 20)];
  size_t m, kv_len, d_k, shift;
  CHECK(sizeof one == mha_s8_scratch_bytes(MHA_S8_TFLM, 50, 20), "the macro and the function differ");
  CHECK(sizeof other == mha_s8_scratch_bytes(MHA_S8_NATIVE, 50, 20), "the macro and the function differ");
  for (m = 0; m < 2; m++) {
    for (kv_len = 0; kv_len <= 200; kv_len++)
      for (d_k = 1; d_k < 200; d_k += kv_len % 5 + 1) {
        size_t bytes = mha_s8_scratch_bytes(modes[m], kv_len, d_k);
        CHECK(MHA_S8_SCRATCH_BYTES(modes[m], kv_len, d_k) == bytes,
              "%s: the macro and the function differ at %zu, %zu", mode_name(modes[m]), kv_len, d_k);
      }
    for (shift = 0; shift < 20; shift++) {
      problem       *p = problem_new(modes[m], 3, rng_between(1, 40), 0, 0);
      size_t         bytes = mha_s8_scratch_bytes(modes[m], p->d.kv_len, p->d.d_k);
      unsigned char *scratch = (unsigned char *)guard_new(bytes, shift);
      int            flags = literal_s8_attend(&p->d, p->literal, p->want);
      same_status(attend_fast(&p->d, 0, MHA_ALL, scratch, bytes), flags, "any alignment", p);
      same_as_literal(p, "any alignment");
      memset(scratch, 0xFF, bytes); /* its contents don't matter */
      same_status(attend_fast(&p->d, 0, MHA_ALL, scratch, bytes), flags, "used scratch", p);
      same_as_literal(p, "used scratch");
      guard_free(scratch, "the scratch");
      problem_free(p);
    }
  }
}

/* ---- What setup refuses ---- */

/* Constants that are fine, in either mode. */
static mha_s8_quant fine_quant(int mode) {
  mha_s8_quant a;
  memset(&a, 0, sizeof a);
  a.mode = mode;
  a.d_k = 8, a.kv_len = 20;
  a.q = affine(0.02f, 3), a.k = affine(0.03f, -5), a.v = affine(0.02f, 7), a.o = affine(0.01f, -9);
  if (mode == MHA_S8_TFLM) a.logits = affine(0.05f, 11);
  return a;
}

/* Prepares and wants that status; then, or after an error, nothing may have been written. */
static void prepare_wants(mha_status want, const mha_s8_quant *a, const char *what) {
  mha_s8_consts c, before;
  int32_t       table[256], old[256];
  mha_status    got;
  memset(&c, 0x5A, sizeof c), memset(&before, 0x5A, sizeof before);
  memset(table, 0x5A, sizeof table), memset(old, 0x5A, sizeof old);
  got = mha_s8_prepare(&c, a->mode == MHA_S8_NATIVE ? NULL : table, a);
  CHECK(got == want, "%s, %s: %s, wanted %s", what, mode_name(a->mode), mha_strerror(got),
        mha_strerror(want));
  if (got != MHA_OK)
    CHECK(memcmp(&c, &before, sizeof c) == 0 && memcmp(table, old, sizeof table) == 0,
          "%s: written after all", what);
}

/* The largest d_k that is accepted */
static size_t largest_d_k(mha_s8_quant a) {
  size_t        low = 0, high = 200000; /* low: fine, high: not */
  mha_s8_consts c;
  int32_t       table[256];
  while (high - low > 1) {
    a.d_k = (low + high) / 2;
    if (mha_s8_prepare(&c, a.mode == MHA_S8_TFLM ? table : NULL, &a) == MHA_OK) low = a.d_k;
    else high = a.d_k;
  }
  return low;
}

static void s8_prepare(void) {
  static const float bad_scales[] = { 0.0f, -1.0f, -1e-30f, INFINITY, -INFINITY };
  static const int   bad_zeros[] = { -129, 128, -65536, 2147483647, -2147483647 - 1 };
  static const float tiny = 1e-45f, huge = 3e38f;
  float              nan = from_bits(0x7fc00000u);
  int32_t            table[257];
  mha_s8_consts      c;
  signed char        map[256] = { 0 };
  size_t             m, n, x;
  for (m = 0; m < 2; m++) {
    mha_s8_quant   a = fine_quant(modes[m]), b;
    const int      tflm = modes[m] == MHA_S8_TFLM;
    mha_s8_affine *affines[5];
    prepare_wants(MHA_OK, &a, "fine");
    CHECK(mha_s8_prepare(NULL, tflm ? table : NULL, &a) == MHA_ERR_NULL, "no constants");
    CHECK(mha_s8_prepare(&c, tflm ? table : NULL, NULL) == MHA_ERR_NULL, "no quant");
    if (tflm) {
      CHECK(mha_s8_prepare(&c, NULL, &a) == MHA_ERR_NULL, "no table");
      CHECK(mha_s8_prepare(&c, (int32_t *)(void *)((char *)table + 1), &a) == MHA_ERR_ALIGN,
            "misaligned table");
    } else CHECK(mha_s8_prepare(&c, table, &a) == MHA_ERR_OPTION, "a table in native mode");
    affines[0] = &b.q, affines[1] = &b.k, affines[2] = &b.v, affines[3] = &b.o, affines[4] = &b.logits;
    for (n = 0; n < 5; n++) {
      mha_status want = n == 4 && !tflm ? MHA_ERR_OPTION : MHA_ERR_VALUE;
      for (x = 0; x < 5; x++) {
        b = a, affines[n]->scale = bad_scales[x];
        if (n < 4 || tflm || bad_scales[x] != 0.0f) prepare_wants(want, &b, "scale");
        b = a, affines[n]->zero = bad_zeros[x];
        prepare_wants(want, &b, "zero point");
      }
      b = a, affines[n]->scale = nan;
      prepare_wants(want, &b, "NaN");
    }
    for (x = 1; x < 5; x++)
      b = a, b.scale = bad_scales[x], prepare_wants(MHA_ERR_VALUE, &b, "factor");
    b = a, b.scale = nan, prepare_wants(MHA_ERR_VALUE, &b, "NaN factor");
    b = a, b.mode = 0, prepare_wants(MHA_ERR_TYPE, &b, "mode 0");
    b = a, b.mode = 3, prepare_wants(MHA_ERR_TYPE, &b, "mode 3");
    b = a, b.mode = -1, prepare_wants(MHA_ERR_TYPE, &b, "mode -1");
    b = a, b.d_k = 0, prepare_wants(MHA_ERR_SHAPE, &b, "d_k 0");
    b = a, b.kv_len = 0, prepare_wants(MHA_ERR_SHAPE, &b, "kv_len 0");
    b = a, b.kv_len = 65535, prepare_wants(MHA_OK, &b, "kv_len 65535");
    b = a, b.kv_len = 65536, prepare_wants(MHA_ERR_RANGE, &b, "kv_len 65536");
    b = a, b.kv_len = (size_t)-1, prepare_wants(MHA_ERR_RANGE, &b, "kv_len SIZE_MAX");
    b = a, b.d_k = (size_t)-1, prepare_wants(MHA_ERR_RANGE, &b, "d_k SIZE_MAX");
    b = a, b.map_scale = 1.0f, prepare_wants(MHA_ERR_OPTION, &b, "map_scale without a map");
    b = a, b.logit_map = map,
    prepare_wants(tflm ? MHA_ERR_VALUE : MHA_ERR_OPTION, &b, "a map without map_scale");
    b.map_scale = 0.1f, prepare_wants(tflm ? MHA_OK : MHA_ERR_OPTION, &b, "a map");
    b.map_scale = nan, prepare_wants(tflm ? MHA_ERR_VALUE : MHA_ERR_OPTION, &b, "a map with NaN");

    /* sums of products of 255 * 255, 128 * 128, 255 * 128 */
    b = a, b.q.scale = 1e-6f, b.scale = 1.0f;
    b.q.zero = -128, b.k.zero = 127, CHECK(largest_d_k(b) == 33025, "255 * 255: %zu", largest_d_k(b));
    b.q.zero = 127, b.k.zero = -128, CHECK(largest_d_k(b) == 33025, "255 * 255: %zu", largest_d_k(b));
    b.q.zero = 0, b.k.zero = 0, CHECK(largest_d_k(b) == 131071, "128 * 128: %zu", largest_d_k(b));
    b.q.zero = 0, b.k.zero = -1, CHECK(largest_d_k(b) == 131071, "128 * 128: %zu", largest_d_k(b));
    b.q.zero = -128, b.k.zero = 0, CHECK(largest_d_k(b) == 65793, "255 * 128: %zu", largest_d_k(b));
    b.d_k = 65793 + 1, prepare_wants(MHA_ERR_RANGE, &b, "d_k beyond the bound");
    for (b.q.zero = 0, n = 17; n < 8 * sizeof(size_t); n++)
      b.d_k = ((size_t)1 << n) + 64, prepare_wants(MHA_ERR_RANGE, &b, "d_k far beyond the bound");

    /* factors: none of them may overflow, whatever the scales */
    b = a, b.q.scale = b.k.scale = tiny, prepare_wants(MHA_OK, &b, "tiny q k");
    b = a, b.v.scale = tiny, prepare_wants(MHA_OK, &b, "tiny v");
    b = a, b.o.scale = huge, prepare_wants(MHA_OK, &b, "huge o");
    b = a, b.q.scale = b.k.scale = huge, prepare_wants(tflm ? MHA_ERR_RANGE : MHA_ERR_VALUE, &b, "huge q k");
    b = a, b.v.scale = huge, prepare_wants(tflm ? MHA_ERR_RANGE : MHA_ERR_VALUE, &b, "huge v");
    b = a, b.o.scale = tiny, prepare_wants(tflm ? MHA_ERR_RANGE : MHA_ERR_VALUE, &b, "tiny o");
    if (tflm) {
      b = a, b.logits.scale = 1.5f / 67108864.0f, prepare_wants(MHA_ERR_RANGE, &b, "a factor of thousands");
      b.q.scale = 1e-9f, b.logits.scale = 1.0f / 67108864.0f;
      prepare_wants(MHA_ERR_VALUE, &b, "a step of 2^-26 in the exponent");
      b.scale = 1.001f, prepare_wants(MHA_OK, &b, "a step of more than 2^-26");
      b = a, b.logits.scale = huge, prepare_wants(MHA_OK, &b, "huge logits");
      b.scale = huge, prepare_wants(MHA_OK, &b, "huge logits, huge beta");
    } else {
      b = a, b.v.scale = 8191.0f, b.o.scale = 1.0f, prepare_wants(MHA_OK, &b, "v / o 8191");
      b.v.scale = 8192.0f, prepare_wants(MHA_ERR_VALUE, &b, "v / o 8192");
      b = a, b.scale = huge, prepare_wants(MHA_ERR_VALUE, &b, "huge factor");
      b = a, b.scale = tiny, prepare_wants(MHA_OK, &b, "tiny factor");
    }
  }
  CHECK(mha_s8_exp_table(NULL, 1 << 30, 5) == MHA_ERR_NULL, "no table");
  memset(table, 0x5A, sizeof table);
  CHECK(mha_s8_exp_table(table, (1 << 30) - 1, 5) == MHA_ERR_VALUE, "multiplier too small");
  CHECK(mha_s8_exp_table(table, 0, 5) == MHA_ERR_VALUE, "multiplier 0");
  CHECK(mha_s8_exp_table(table, -2147483647 - 1, 5) == MHA_ERR_VALUE, "multiplier negative");
  CHECK(mha_s8_exp_table(table, 1 << 30, -1) == MHA_ERR_VALUE, "shift -1");
  CHECK(mha_s8_exp_table(table, 1 << 30, 32) == MHA_ERR_VALUE, "shift 32");
  CHECK(mha_s8_exp_table((int32_t *)(void *)((char *)table + 1), 1 << 30, 5) == MHA_ERR_ALIGN, "misaligned");
  for (n = 0; n < 257 && table[n] == 0x5A5A5A5A; n++) {}
  CHECK(n == 257, "a table that was refused is written");
}

/* At the largest d_k that prepare accepts for a factor, data at its ends does not overflow; likewise the
   largest sum of weights, 511 keys of 1/256 each, times the largest factor to o. */
static void s8_bounds(void) {
  int e, sign, flags;
  for (e = -3; e < 14; e++)
    for (sign = 0; sign < 2; sign++) {
      mha_s8_quant a = fine_quant(MHA_S8_TFLM);
      problem     *p;
      size_t       d_k;
      a.q = affine(1.0f, sign ? -128 : 127), a.k = affine(1.0f, 127), a.o.scale = 1.0f, a.v.scale = 1.0f;
      a.logits.scale = ldexpf(1.0f + 1e-6f, -e);
      d_k = largest_d_k(a);
      CHECK(d_k >= ((size_t)1 << 13) >> (e > 0 ? e : 0), "factor 2^%d: only d_k %zu", e, d_k);
      p = problem_plain(MHA_S8_TFLM, 1, 3, d_k, 1);
      a.d_k = d_k, p->quant[0] = a;
      memset(p->q, sign ? 127 : -128, d_k);
      memset(p->k, -128, 3 * d_k);
      memset(p->k, 127, d_k);
      p->v[0] = 50, p->v[1] = -50;
      if (problem_prepare(p)) {
        flags = literal_s8_attend(&p->d, p->literal, p->want);
        CHECK(!(flags & LITERAL_S8_OVERFLOWS), "factor 2^%d, d_k %zu overflows", e, d_k);
        both_as_literal(p, flags, "bounds");
      }
      problem_free(p);
    }
  /* native: the second key so far away that distance * 2^left is 2^32 */
  for (e = 5; e <= 13; e++) {
    problem *p = problem_plain(MHA_S8_NATIVE, 1, 2, (size_t)1 << (20 - e), 2);
    size_t   d_k = p->d.d_k;
    memset(p->q, 64, d_k);
    memset(p->k, 64, d_k);
    p->v[0] = 50, p->v[2] = -100;
    p->quant->q = p->quant->k = affine(1.0f, 0);
    p->quant->scale = ldexpf(0.9f, e - 1) / 369.33f;
    if (problem_prepare(p)) {
      CHECK(p->consts->qk.left == e, "left is %d, not %d", p->consts->qk.left, e);
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      both_as_literal(p, flags, "far");
    }
    problem_free(p);
  }
  { /* q.scale * k.scale = 1 - 2^-46, whose multiplier rounds up to 2^31 */
    problem *p = problem_plain(MHA_S8_TFLM, 1, 40, 1, 1);
    size_t   n;
    p->quant->q = affine(1.0f - ldexpf(1.0f, -23), 0), p->quant->k = affine(1.0f + ldexpf(1.0f, -23), 0);
    p->quant->logits = affine(2.0f, 0);
    p->q[0] = 1;
    for (n = 0; n < 40; n++) p->k[n] = (signed char)n, p->v[n] = (signed char)(n * 11);
    if (problem_prepare(p)) {
      CHECK(p->literal->qk == 1 << 30 && p->literal->qk_shift == 0, "the test is not what it says");
      flags = literal_s8_attend(&p->d, p->literal, p->want);
      same_status(attend_rows(&p->d, 0, MHA_ALL, 0), flags, "carry", p);
      same_as_literal(p, "carry");
    }
    problem_free(p);
  }
  for (e = 0; e < 24; e++)
    for (sign = 0; sign < 2; sign++) {
      problem      *p = problem_plain(MHA_S8_TFLM, 1, 511, 1, 1);
      mha_s8_quant *a = p->quant;
      mha_status    status;
      memset(p->v, sign ? 127 : -128, 511);
      a->v = affine(1.0f, sign ? -128 : 127);
      a->o.scale = ldexpf(1.0f, -e);
      status = mha_s8_prepare(p->consts, p->tables[0], a);
      CHECK(status == MHA_OK || (status == MHA_ERR_RANGE && e > 19), "v / o 2^%d: %s", e,
            mha_strerror(status));
      if (status == MHA_OK && problem_prepare(p)) {
        flags = literal_s8_attend(&p->d, p->literal, p->want);
        CHECK(!flags, "v / o 2^%d overflows", e);
        same_status(attend_rows(&p->d, 0, MHA_ALL, sign), flags, "bounds", p);
        same_as_literal(p, "bounds");
      }
      problem_free(p);
    }
}

/* ---- What a call refuses ---- */

/* Every entry must refuse d with that status, and write nothing. */
static void refuses(const problem *p, mha_status want, const char *what) {
  size_t        bytes = 4096, n;
  unsigned char scratch[4096];
  mha_status    got[3];
  const int     native = p->quant[0].mode == MHA_S8_NATIVE;
  memset(scratch, 0x3C, bytes);
  got[0] = mha_s8_check(&p->d);
  got[1] = native ? mha_s8_native(&p->d, 0, MHA_ALL, scratch, bytes)
                  : mha_s8_tflm(&p->d, 0, MHA_ALL, scratch, bytes);
  got[2] = native ? mha_s8_native_lean(&p->d, 0, MHA_ALL) : mha_s8_tflm_lean(&p->d, 0, MHA_ALL);
  for (n = 0; n < 3; n++)
    CHECK(got[n] == want, "%s, entry %zu: %s, wanted %s", what, n, mha_strerror(got[n]), mha_strerror(want));
  for (n = 0; n < p->o_bytes && p->o[n] == (signed char)0xA5; n++) {}
  CHECK(want == MHA_OK || n == p->o_bytes, "%s: o is written", what);
  for (n = 0; n < bytes && scratch[n] == 0x3C; n++) {}
  CHECK(want == MHA_OK || n == bytes, "%s: the scratch is written", what);
  memset(p->o, 0xA5, p->o_bytes);
}

static void s8_check_desc(void) {
  static const int32_t empty_table[256] = { 0 };
  size_t               m, n;
  for (m = 0; m < 2; m++) {
    problem       *p = problem_plain(modes[m], 4 * 3, 2 * 5, 8, 6), fine;
    mha_s8_desc   *d = &p->d;
    const int      tflm = modes[m] == MHA_S8_TFLM;
    unsigned char  mask[4 * 3 * 5], scratch[4096];
    const size_t   bytes = mha_s8_scratch_bytes(modes[m], 5, 8);
    mha_s8_strides *strides[4];
    const ptrdiff_t beyond = PTRDIFF_MAX / 4 + 2;
    int            lean;
    CHECK(mha_s8_check(NULL) == MHA_ERR_NULL, "NULL");
    p->quant[0].kv_len = 5;
    if (!problem_prepare(p)) return;
    for (n = 1; n < 4; n++) p->consts[n] = p->consts[0];
    memset(mask, 1, sizeof mask);
    d->q_heads = 4, d->kv_heads = 2, d->q_len = 3, d->kv_len = 5;
    d->mask = mask, d->mask_stride.head = 15, d->mask_stride.row = 5;
    fine = *p;
    strides[0] = &d->o_stride, strides[1] = &d->q_stride, strides[2] = &d->k_stride,
    strides[3] = &d->v_stride;
    refuses(p, MHA_OK, "fine");
#define REFUSES(change, want) (*p = fine, change, refuses(p, want, #change))
    REFUSES(d->consts = NULL, MHA_ERR_NULL);
    REFUSES(d->o = NULL, MHA_ERR_NULL);
    REFUSES(d->q = NULL, MHA_ERR_NULL);
    REFUSES(d->k = NULL, MHA_ERR_NULL);
    REFUSES(d->v = NULL, MHA_ERR_NULL);
    REFUSES(d->q_heads = 0, MHA_ERR_SHAPE);
    REFUSES(d->d_k = 0, MHA_ERR_SHAPE);
    REFUSES(d->kv_heads = 3, MHA_ERR_HEADS);
    REFUSES(d->kv_heads = 8, MHA_ERR_HEADS);
    REFUSES(d->flags = MHA_USE_SCALE, MHA_ERR_FLAG);
    REFUSES(d->flags = 0x80000000u, MHA_ERR_FLAG);
    REFUSES(d->consts_stride = 2, MHA_ERR_STRIDE);
    REFUSES(d->consts_stride = 1, MHA_OK);
    REFUSES(d->window_left = 1, MHA_ERR_OPTION);
    REFUSES(d->window_right = 1, MHA_ERR_OPTION);
    REFUSES((d->flags = MHA_USE_WINDOW, d->window_left = 1), MHA_OK);
    REFUSES((d->flags = MHA_Q_LAST, d->q_start = 1), MHA_ERR_OPTION);
    REFUSES(d->q_start = beyond, MHA_ERR_RANGE);
    REFUSES(d->q_start = -beyond, MHA_ERR_RANGE);
    REFUSES(d->q_start = PTRDIFF_MAX, MHA_ERR_RANGE);
    REFUSES(d->q_start = -PTRDIFF_MAX - 1, MHA_ERR_RANGE);
    REFUSES(d->q_len = (size_t)beyond, MHA_ERR_RANGE);
    REFUSES(d->q_len = (size_t)-1, MHA_ERR_RANGE);
    REFUSES(d->kv_len = (size_t)-1, MHA_ERR_RANGE);
    REFUSES(d->kv_len = 6, MHA_ERR_LENGTH);
    REFUSES(d->kv_len = 4, MHA_OK);
    REFUSES(d->d_k = 9, MHA_ERR_LENGTH);
    REFUSES(d->d_k = 7, MHA_OK);
    REFUSES(d->d_v = (size_t)-1, MHA_ERR_RANGE);
    for (n = 0; n < 4; n++) {
      const ptrdiff_t width = n == 0 || n == 3 ? 6 : 8; /* of a row */
      *p = fine;
      strides[n]->head = -width, strides[n]->row = width * 5,
      refuses(p, MHA_ERR_STRIDE, "a negative head stride");
      strides[n]->head = width * 5, strides[n]->row = -width,
      refuses(p, MHA_ERR_STRIDE, "a negative row stride");
      strides[n]->head = PTRDIFF_MAX, strides[n]->row = width,
      refuses(p, MHA_ERR_RANGE, "a huge head stride");
      strides[n]->head = width, strides[n]->row = PTRDIFF_MAX, refuses(p, MHA_ERR_RANGE, "a huge row stride");
    }
    REFUSES(d->mask_stride.head = -1, MHA_ERR_STRIDE);
    REFUSES(d->mask_stride.row = -1, MHA_ERR_STRIDE);
    REFUSES(d->mask_stride.row = PTRDIFF_MAX, MHA_ERR_RANGE);
    /* rows of o that coincide, overlap or interleave */
    REFUSES((d->o_stride.head = 0, d->o_stride.row = 24), MHA_ERR_STRIDE);
    REFUSES((d->o_stride.head = 18, d->o_stride.row = 0), MHA_ERR_STRIDE);
    REFUSES((d->o_stride.head = 5, d->o_stride.row = 24), MHA_ERR_STRIDE);
    REFUSES((d->o_stride.head = 6, d->o_stride.row = 23), MHA_ERR_STRIDE);
    REFUSES((d->o_stride.head = 17, d->o_stride.row = 6), MHA_ERR_STRIDE);
    REFUSES((d->o_stride.head = 12, d->o_stride.row = 12), MHA_ERR_STRIDE);
    REFUSES((d->o_stride.head = 18, d->o_stride.row = 6), MHA_OK);
    REFUSES((d->o_stride.head = 6, d->o_stride.row = 24), MHA_OK);
    /* constants */
    REFUSES(p->consts[0].mode = 0, MHA_ERR_TYPE);
    REFUSES(p->consts[0].mode = 3, MHA_ERR_TYPE);
    if (tflm) REFUSES(p->consts[0].exp_table = NULL, MHA_ERR_NULL);
    if (tflm) REFUSES(p->consts[0].exp_table = empty_table, MHA_ERR_VALUE);
    REFUSES((d->consts_stride = 1, p->consts[3].mode = (int16_t)(3 - modes[m])), MHA_ERR_TYPE);
    REFUSES((d->consts_stride = 1, p->consts[3].max_d_k = 7), MHA_ERR_LENGTH);
    REFUSES((d->consts_stride = 1, p->consts[3].max_kv_len = 4), MHA_ERR_LENGTH);
    REFUSES((d->consts_stride = 0, p->consts[3].max_kv_len = 4), MHA_OK);
    /* o in the way of an input, by one byte */
    REFUSES(d->q = p->o + 4 * 3 * 6 - 1, MHA_ERR_OVERLAP);
    REFUSES(d->k = p->o + 4 * 3 * 6 - 1, MHA_ERR_OVERLAP);
    REFUSES(d->v = p->o + 4 * 3 * 6 - 1, MHA_ERR_OVERLAP);
    REFUSES(d->mask = (unsigned char *)p->o + 4 * 3 * 6 - 1, MHA_ERR_OVERLAP);
    REFUSES(d->mask = (unsigned char *)p->o - (sizeof mask - 1), MHA_ERR_OVERLAP);
    /* beyond the last address */
    REFUSES(d->o = (signed char *)(UINTPTR_MAX - 4 * 3 * 6 + 1), MHA_ERR_RANGE);
    REFUSES(d->q = (signed char *)(UINTPTR_MAX - 4 * 3 * 8 + 1), MHA_ERR_RANGE);
    REFUSES(d->v = (signed char *)UINTPTR_MAX, MHA_ERR_RANGE);
    /* lengths of 0 need no memory */
    REFUSES((d->q_len = 0, d->o = NULL, d->q = NULL, d->mask = NULL), MHA_OK);
    REFUSES((d->kv_len = 0, d->k = NULL, d->v = NULL, d->mask = NULL), MHA_OK);
    REFUSES((d->kv_len = 0, d->mask = (unsigned char *)p->o, d->mask_stride.row = PTRDIFF_MAX), MHA_OK);
#undef REFUSES
    /* scratch, and constants of the other mode */
    *p = fine;
    CHECK(attend_fast(d, 0, MHA_ALL, NULL, bytes) == MHA_ERR_WORK, "scratch NULL");
    CHECK(attend_fast(d, 0, MHA_ALL, scratch, bytes - 1) == MHA_ERR_WORK, "scratch too small");
    CHECK(attend_fast(d, 0, MHA_ALL, scratch, 0) == MHA_ERR_WORK, "no scratch");
    CHECK(attend_fast(d, 0, MHA_ALL, p->o - bytes + 1, bytes) == MHA_ERR_OVERLAP, "scratch over o");
    CHECK(attend_fast(d, 0, MHA_ALL, p->q - bytes + 1, bytes) == MHA_ERR_OVERLAP, "scratch over q");
    CHECK(attend_fast(d, 0, MHA_ALL, p->k - bytes + 1, bytes) == MHA_ERR_OVERLAP, "scratch over k");
    CHECK(attend_fast(d, 0, MHA_ALL, p->v - bytes + 1, bytes) == MHA_ERR_OVERLAP, "scratch over v");
    CHECK(attend_fast(d, 0, MHA_ALL, mask + sizeof mask - 1, bytes) == MHA_ERR_OVERLAP,
          "scratch over the mask");
    CHECK((tflm ? mha_s8_native(d, 0, MHA_ALL, scratch, sizeof scratch)
                : mha_s8_tflm(d, 0, MHA_ALL, scratch, sizeof scratch)) == MHA_ERR_TYPE, "the other mode");
    CHECK((tflm ? mha_s8_native_lean(d, 0, MHA_ALL) : mha_s8_tflm_lean(d, 0, MHA_ALL)) == MHA_ERR_TYPE,
          "the other mode, lean");
    for (n = 0; n < p->o_bytes && p->o[n] == (signed char)0xA5; n++) {}
    CHECK(n == p->o_bytes, "o is written");
    /* rows that are none */
    for (lean = 0; lean < 2; lean++) {
      CHECK(attend_rows(d, 12, MHA_ALL, lean) == MHA_OK && attend_rows(d, (size_t)-1, 5, lean) == MHA_OK &&
                attend_rows(d, 0, 0, lean) == MHA_OK, "rows that don't exist");
      for (n = 0; n < p->o_bytes && p->o[n] == (signed char)0xA5; n++) {}
      CHECK(n == p->o_bytes, "o is written");
      CHECK(attend_rows(d, 11, (size_t)-2, lean) == MHA_OK, "the last row");
      for (n = 0; n < p->o_bytes && p->o[n] == (signed char)0xA5; n++) {}
      CHECK(n == p->o_bytes - 6, "byte %zu, not in the last row, is written", n);
      memset(p->o, 0xA5, p->o_bytes);
    }
    problem_free(p);
  }
}

/* ---- Quantising ---- */

static void s8_quantize(void) {
  static const struct { float x, scale; int zero, code;
  } known[] = {
    { 0.0f, 1.0f, 5, 5 },         { 0.5f, 1.0f, 0, 1 },         { -0.5f, 1.0f, 0, -1 },
    { 1.5f, 1.0f, 0, 2 },         { 2.5f, 1.0f, 0, 3 },         { -2.5f, 1.0f, 0, -3 },
    { -2.5f, 1.0f, 10, 7 },       { 0.49999997f, 1.0f, 0, 0 },  { 1.25f, 0.5f, -3, 0 },
    { 126.5f, 1.0f, 0, 127 },     { 127.5f, 1.0f, 0, 127 },     { -128.5f, 1.0f, 0, -128 },
    { -128.4f, 1.0f, 0, -128 },   { 254.6f, 1.0f, -128, 127 },  { 254.4f, 1.0f, -128, 126 },
    { 255.5f, 1.0f, -128, 127 },  { -255.5f, 1.0f, 127, -128 }, { -254.5f, 1.0f, 127, -128 },
    { -254.4f, 1.0f, 127, -127 }, { 3e38f, 1e-38f, 0, 127 },    { -3e38f, 1e-38f, 0, -128 },
    { 3e38f, 1e-38f, -128, 127 }, { 1e-45f, 3e38f, 4, 4 },      { 1e9f, 1.0f, -128, 127 },
    { -1e9f, 1.0f, 127, -128 },
  };
  static float       x[1000];
  static signed char code[1000], before[1000];
  const float        bad[] = { from_bits(0x7fc00000u), from_bits(0x7f800000u), from_bits(0xff800000u) };
  size_t             n, m;
  for (n = 0; n < sizeof known / sizeof known[0]; n++) {
    mha_status status = mha_s8_quantize(code, &known[n].x, 1, affine(known[n].scale, known[n].zero));
    CHECK(status == MHA_OK && code[0] == known[n].code, "%g / %g + %d: code %d, wanted %d",
          (double)known[n].x, (double)known[n].scale, known[n].zero, code[0], known[n].code);
  }
  for (m = 0; m < 100; m++) {
    mha_s8_affine a = affine(power(-10.0, 10.0), zero_point());
    for (n = 0; n < 1000; n++) x[n] = a.scale * rng_float(-200.0f, 200.0f);
    CHECK(mha_s8_quantize(code, x, 1000, a) == MHA_OK, "refused");
    for (n = 0; n < 1000; n++) {
      double t = (double)x[n] / (double)a.scale + a.zero;
      t = t < -128.0 ? -128.0 : t > 127.0 ? 127.0 : t;
      CHECK(fabs(code[n] - t) <= 0.5 + 2e-5, "%g / %g + %d: code %d", (double)x[n], (double)a.scale, a.zero,
            code[n]);
    }
  }
  memcpy(before, code, sizeof code);
  for (n = 0; n < 3; n++) {
    x[999] = bad[n];
    CHECK(mha_s8_quantize(code, x, 1000, affine(1.0f, 0)) == MHA_ERR_VALUE, "not finite");
    x[999] = 0.0f;
    CHECK(mha_s8_quantize(code, x, 1000, affine(bad[n], 0)) == MHA_ERR_VALUE, "scale not finite");
  }
  CHECK(mha_s8_quantize(code, x, 1000, affine(0.0f, 0)) == MHA_ERR_VALUE, "scale 0");
  CHECK(mha_s8_quantize(code, x, 1000, affine(-1.0f, 0)) == MHA_ERR_VALUE, "scale -1");
  for (n = 0; n < 2; n++) {
    mha_s8_affine a;
    a.scale = 1.0f, a.zero = n ? 128 : -129;
    CHECK(mha_s8_quantize(code, x, 1000, a) == MHA_ERR_VALUE, "zero point");
  }
  CHECK(mha_s8_quantize(NULL, x, 1, affine(1.0f, 0)) == MHA_ERR_NULL, "out NULL");
  CHECK(mha_s8_quantize(code, NULL, 1, affine(1.0f, 0)) == MHA_ERR_NULL, "x NULL");
  CHECK(mha_s8_quantize((signed char *)x + 3, x, 1, affine(1.0f, 0)) == MHA_ERR_OVERLAP, "out over x");
  CHECK(mha_s8_quantize(code, x, 0, affine(1.0f, 0)) == MHA_OK, "nothing");
  CHECK(memcmp(code, before, sizeof code) == 0, "what was refused is written");
}

/* ---- Scales from a calibration set ---- */

typedef struct { double least, most; } span;

static void include(span *s, double x) {
  if (x < s->least) s->least = x;
  if (x > s->most) s->most = x;
}

/* 256 codes, one of them 0, from end to end */
static void covers(mha_s8_affine a, span s, const char *what) {
  double scale = (double)a.scale, width = s.most - s.least;
  CHECK(fabs(scale * 255.0 - width) <= 1e-5 * width, "%s: scale %g for %g .. %g", what, scale, s.least,
        s.most);
  CHECK(a.zero >= -128 && a.zero <= 127 && scale * (-128 - a.zero) <= s.least + 0.501 * scale &&
            scale * (127 - a.zero) >= s.most - 0.501 * scale,
        "%s: scale %g, zero point %d for %g .. %g", what, scale, a.zero, s.least, s.most);
}

enum { CAL_BATCH = 3, CAL_Q = 7, CAL_KV = 19, CAL_D = 16, CAL_DV = 12 };

typedef struct {
  mha_desc d;
  float q[CAL_BATCH * CAL_Q * 4 * CAL_D], k[CAL_BATCH * CAL_KV * 2 * CAL_D],
      v[CAL_BATCH * CAL_KV * 2 * CAL_DV];
  float    o[CAL_BATCH * CAL_Q * 4 * CAL_DV];
  size_t   lens[CAL_BATCH];
} calibration;

static void calibration_new(calibration *c) {
  float  q_middle = rng_float(-2.0f, 2.0f), v_middle = rng_float(-3.0f, 3.0f);
  size_t n;
  memset(c, 0, sizeof *c);
  c->d.batch = CAL_BATCH, c->d.q_heads = 4, c->d.kv_heads = 2;
  c->d.q_len = CAL_Q, c->d.kv_len = CAL_KV, c->d.d_k = CAL_D, c->d.d_v = CAL_DV;
  c->d.q = c->q, c->d.k = c->k, c->d.v = c->v, c->d.o = c->o;
  for (n = 0; n < sizeof c->q / sizeof c->q[0]; n++)
    c->q[n] = q_middle + rng_normal() * (1.0f + (float)(n % 64 / 16));
  for (n = 0; n < sizeof c->k / sizeof c->k[0]; n++) c->k[n] = rng_normal();
  for (n = 0; n < sizeof c->v / sizeof c->v[0]; n++) c->v[n] = v_middle + rng_normal();
}

static void s8_calibrate(void) {
  static calibration c;
  size_t             round, m, b, h, i, j, x;
  for (round = 0; round < 12; round++)
    for (m = 0; m < 2; m++) {
      const size_t head = round % 3 ? rng_below(4) : MHA_ALL;
      span         q = { 0.0, 0.0 }, k = q, v = q, o = q, dots = q;
      mha_s8_quant a;
      mha_status   status;
      calibration_new(&c);
      if (rng_chance(50)) {
        for (b = 0; b < CAL_BATCH; b++) c.lens[b] = rng_between(1, CAL_KV);
        c.d.kv_lens = c.lens;
        for (b = 0; b < CAL_BATCH; b++)
          for (x = c.lens[b] * 2 * CAL_D; x < CAL_KV * 2 * CAL_D; x++) c.k[b * CAL_KV * 2 * CAL_D + x] = 1e9f;
      }
      if (rng_chance(50)) c.d.scale = rng_float(0.1f, 0.5f);
      memset(&a, 0x11, sizeof a); /* all but the mode is written */
      a.mode = modes[m];
      status = mha_s8_calibrate(&a, &c.d, head);
      if (!CHECK(status == MHA_OK, "mha_s8_calibrate: %s", mha_strerror(status))) continue;
      for (b = 0; b < CAL_BATCH; b++)
        for (h = 0; h < 4; h++) {
          size_t len = c.d.kv_lens ? c.lens[b] : CAL_KV;
          if (head != MHA_ALL && h != head) continue;
          for (i = 0; i < CAL_Q; i++) {
            const float *q0 = c.q + ((b * CAL_Q + i) * 4 + h) * CAL_D;
            for (x = 0; x < CAL_D; x++) include(&q, (double)q0[x]);
            for (x = 0; x < CAL_DV; x++) include(&o, (double)c.o[((b * CAL_Q + i) * 4 + h) * CAL_DV + x]);
            for (j = 0; j < len; j++) {
              const float *k0 = c.k + ((b * CAL_KV + j) * 2 + h / 2) * CAL_D;
              double       dot = 0.0;
              for (x = 0; x < CAL_D; x++) dot += (double)q0[x] * (double)k0[x];
              include(&dots, dot);
            }
          }
          for (j = 0; j < len; j++) {
            for (x = 0; x < CAL_D; x++) include(&k, (double)c.k[((b * CAL_KV + j) * 2 + h / 2) * CAL_D + x]);
            for (x = 0; x < CAL_DV; x++)
              include(&v, (double)c.v[((b * CAL_KV + j) * 2 + h / 2) * CAL_DV + x]);
          }
        }
      covers(a.q, q, "q"), covers(a.k, k, "k"), covers(a.v, v, "v"), covers(a.o, o, "o");
      if (modes[m] == MHA_S8_TFLM) covers(a.logits, dots, "logits");
      else CHECK(!(a.logits.scale > 0.0f) && !a.logits.zero, "logits in native mode");
      CHECK(a.mode == modes[m] && a.d_k == CAL_D && a.kv_len == CAL_KV && !a.logit_map &&
                !(a.map_scale > 0.0f),
            "the rest of quant");
      CHECK(same_float(a.scale, c.d.scale > 0.0f ? c.d.scale : 0.25f), "scale %g", (double)a.scale);
    }
}

/* What a product loses when it is rounded to float must count, for a compiler that fuses does not round it. */
static void s8_calibrate_exact(void) {
  const float  q[2] = { 1024.25f, 1024.0f }, k[2] = { 1024.25f, -1024.5f }; /* 0.0625; in floats 0 */
  float        o[2];
  mha_desc     d;
  mha_s8_quant a;
  memset(&d, 0, sizeof d);
  memset(&a, 0, sizeof a);
  d.batch = d.q_heads = d.q_len = d.kv_len = 1;
  d.d_k = 2;
  d.o = o, d.q = q, d.k = d.v = k;
  a.mode = MHA_S8_TFLM;
  CHECK(mha_s8_calibrate(&a, &d, MHA_ALL) == MHA_OK, "calibrate");
  CHECK(same_float(a.logits.scale, 0.0625f / 255.0f), "%g", (double)a.logits.scale);
}

/* Tensors without elements: neither their pointers nor their strides matter. */
static void s8_calibrate_empty(void) {
  static calibration c;
  size_t             m, n;
  for (m = 0; m < 2; m++)
    for (n = 0; n < 4; n++) {
      mha_s8_quant a;
      memset(&a, 0, sizeof a);
      a.mode = modes[m];
      calibration_new(&c);
      if (n / 2) {
        c.d.kv_len = 0;
        c.d.k_stride.head = c.d.v_stride.batch = PTRDIFF_MAX;
        if (n % 2) c.d.k = c.d.v = NULL;
      } else {
        c.d.q_len = 0;
        c.d.q_stride.head = c.d.o_stride.batch = PTRDIFF_MAX;
        if (n % 2) c.d.q = NULL, c.d.o = NULL;
      }
      CHECK(mha_s8_calibrate(&a, &c.d, MHA_ALL) == MHA_OK, "way %zu", n);
      if (n / 2) CHECK(a.k.scale < 1e-30f && a.v.scale < 1e-30f, "way %zu: a span of nothing", n);
      else CHECK(a.q.scale < 1e-30f && a.o.scale <= a.v.scale / 4096.0f, "way %zu: a span of nothing", n);
    }
}

/* A float attention quantised by what calibration says of it: how far from its own output are the codes? */
static void s8_end_to_end(void) {
  static calibration c;
  static const double most[2] = { 15.0, 14.0 }, mean[2] = { 1.1, 0.7 }; /* steps of o, as in s8_accuracy */
  size_t             m, round, b, n;
  for (m = 0; m < 2; m++) {
    double worst = 0.0, sum = 0.0, count = 0.0;
    for (round = 0; round < 20; round++) {
      static signed char q[CAL_Q * 4 * CAL_D], k[CAL_KV * 2 * CAL_D], v[CAL_KV * 2 * CAL_DV],
          o[CAL_Q * 4 * CAL_DV];
      mha_s8_quant       a;
      mha_s8_consts      consts;
      mha_s8_desc        d;
      int32_t            table[256];
      calibration_new(&c);
      memset(&a, 0, sizeof a);
      memset(&d, 0, sizeof d);
      a.mode = modes[m];
      CHECK(mha_s8_calibrate(&a, &c.d, MHA_ALL) == MHA_OK, "calibrate");
      CHECK(mha_s8_prepare(&consts, modes[m] == MHA_S8_TFLM ? table : NULL, &a) == MHA_OK, "prepare");
      d.q_heads = 4, d.kv_heads = 2, d.q_len = CAL_Q, d.kv_len = CAL_KV, d.d_k = CAL_D, d.d_v = CAL_DV;
      d.q = q, d.k = k, d.v = v, d.o = o, d.consts = &consts;
      for (b = 0; b < CAL_BATCH; b++) {
        mha_s8_quantize(q, c.q + b * sizeof q, sizeof q, a.q);
        mha_s8_quantize(k, c.k + b * sizeof k, sizeof k, a.k);
        mha_s8_quantize(v, c.v + b * sizeof v, sizeof v, a.v);
        CHECK(attend_rows(&d, 0, MHA_ALL, 0) == MHA_OK, "attend");
        for (n = 0; n < sizeof o; n++) {
          double error = fabs(o[n] - a.o.zero - (double)c.o[b * sizeof o + n] / (double)a.o.scale);
          worst = error > worst ? error : worst;
          sum += error, count += 1.0;
        }
      }
    }
    sum /= count;
    CHECK(worst <= most[m] && sum <= mean[m], "%s: mean error %g, largest %g steps", mode_name(modes[m]), sum,
          worst);
    if (getenv("MHA_ACCURACY_PRINT"))
      printf("    %-6s from float to float: mean error %.3f, largest %.3f steps\n", mode_name(modes[m]), sum,
             worst);
  }
}

/* Heads that say next to nothing: what calibrate makes of them is what prepare takes. */
static void s8_calibrate_faint(void) {
  static calibration c;
  static const float sizes[] = { 0.0f, 1e-40f, 1e-20f, 1e-5f, 1.0f };
  int32_t            table[256];
  mha_s8_consts      consts;
  mha_s8_quant       a;
  size_t             m, n, x, of_q, of_v;
  for (m = 0; m < 2; m++)
    for (of_q = 0; of_q < 5; of_q++)
      for (of_v = 0; of_v < 5; of_v++)
        for (n = 0; n < 3; n++) { /* n: values cancel not at all, nearly, altogether */
          const float scales[] = { 0.0f, 1e-6f, 100.0f };
          const int   tflm = modes[m] == MHA_S8_TFLM;
          calibration_new(&c);
          for (x = 0; x < sizeof c.q / sizeof c.q[0]; x++) c.q[x] *= sizes[of_q];
          for (x = 0; x < sizeof c.k / sizeof c.k[0]; x++) c.k[x] *= n ? 0.0f : sizes[of_q];
          for (x = 0; x < sizeof c.v / sizeof c.v[0]; x++)
            if (n) c.v[x] = sizes[of_v] * ((x / c.d.d_k) % 2 ? -1.0f : n == 1 ? 1.0001f : 1.0f);
            else c.v[x] *= sizes[of_v];
          memset(&a, 0, sizeof a);
          a.mode = modes[m];
          c.d.scale = scales[(of_q + of_v) % 3];
          CHECK(mha_s8_calibrate(&a, &c.d, MHA_ALL) == MHA_OK, "calibrate, %zu %zu %zu", of_q, of_v, n);
          CHECK(mha_s8_prepare(&consts, tflm ? table : NULL, &a) == MHA_OK,
                "mode %d, q of %g, v of %g, way %zu: prepare refuses what calibrate found", modes[m],
                (double)sizes[of_q], (double)sizes[of_v], n);
        }
}

static void s8_calibrate_refuses(void) {
  enum { LONG = CAL_BATCH * CAL_Q * 4 * CAL_D };
  static calibration c, fine;
  static float       some[4] = { 0.1f, 0.1f, 0.1f, 0.1f }, bias[CAL_KV];
  mha_s8_quant       a, before;
  size_t             m, n;
  calibration_new(&fine);
  for (m = 0; m < 2; m++) {
    memset(&a, 0, sizeof a);
    a.mode = modes[m];
    before = a;
#define REFUSES(change, head, want)                                                                  \
  do {                                                                                               \
    mha_status got;                                                                                  \
    c = fine;                                                                                        \
    c.d.q = c.q, c.d.k = c.k, c.d.v = c.v, c.d.o = c.o;                                              \
    change;                                                                                          \
    got = mha_s8_calibrate(&a, &c.d, head);                                                          \
    CHECK(got == want, "%s: %s, wanted %s", #change, mha_strerror(got), mha_strerror(want));         \
    CHECK(memcmp(&a, &before, sizeof a) == 0 && memcmp(c.o, fine.o, sizeof c.o) == 0, "%s: written", \
          #change);                                                                                  \
  } while (0)
    CHECK(mha_s8_calibrate(NULL, &fine.d, 0) == MHA_ERR_NULL, "quant NULL");
    CHECK(mha_s8_calibrate(&a, NULL, 0) == MHA_ERR_NULL, "d NULL");
    REFUSES(c.d.q = NULL, 0, MHA_ERR_NULL);
    REFUSES(c.d.o = NULL, 0, MHA_ERR_NULL);
    REFUSES(c.d.softcap = 5.0f, 0, MHA_ERR_OPTION);
    REFUSES(c.d.bias = bias, 0, MHA_ERR_OPTION);
    REFUSES(c.d.alibi_slopes = some, 0, MHA_ERR_OPTION);
    REFUSES(c.d.sinks = some, 0, MHA_ERR_OPTION);
    REFUSES(c.d.k_type = MHA_F16, 0, MHA_ERR_TYPE);
    REFUSES(c.d.v_type = MHA_BF16, 0, MHA_ERR_TYPE);
    REFUSES((void)0, 4, MHA_ERR_HEADS);
    REFUSES(c.d.flags = MHA_USE_SCALE, 0, MHA_ERR_VALUE);
    REFUSES(c.d.scale = -0.5f, 0, MHA_ERR_VALUE);
    if (modes[m] == MHA_S8_TFLM) REFUSES((c.q[0] = 1e30f, c.k[0] = 1e30f), 0, MHA_ERR_VALUE); /* q k^T */
    REFUSES((c.d.o = c.q, c.d.d_v = 0, c.d.d_k = LONG, c.d.q = c.q, c.d.q_heads = c.d.kv_heads = 1,
             c.d.batch = c.d.q_len = c.d.kv_len = 1),
            0, MHA_ERR_OVERLAP); /* in place, but of too many channels for that without a workspace */
    for (n = 0; n < 3; n++) {
      float bad = n == 0 ? from_bits(0x7fc00000u) : n == 1 ? INFINITY : -INFINITY;
      REFUSES(c.q[sizeof c.q / sizeof c.q[0] - 1] = bad, MHA_ALL, MHA_ERR_VALUE);
      REFUSES(c.k[3] = bad, MHA_ALL, MHA_ERR_VALUE);
      REFUSES(c.v[5] = bad, MHA_ALL, MHA_ERR_VALUE);
    }
    c = fine; /* an output that overflows: all values 3.4e38 */
    c.d.q = c.q, c.d.k = c.k, c.d.v = c.v, c.d.o = c.o;
    for (n = 0; n < sizeof c.v / sizeof c.v[0]; n++) c.v[n] = 3.4e38f;
    CHECK(mha_s8_calibrate(&a, &c.d, MHA_ALL) == MHA_ERR_VALUE, "an infinite output is let through");
    CHECK(memcmp(&a, &before, sizeof a) == 0, "written");
    a.mode = before.mode = 0;
    REFUSES((void)0, 0, MHA_ERR_TYPE);
    a.mode = before.mode = 3;
    REFUSES((void)0, 0, MHA_ERR_TYPE);
#undef REFUSES
  }
}

/* ---- Distance from exact attention ---- */

/* Row i of head 0 in double, of the numbers that the codes stand for, in steps of the output, not rounded. */
static void exact_row(const problem *p, size_t i, double *o) {
  const mha_s8_quant *a = p->quant;
  const mha_s8_desc  *d = &p->d;
  double              scale = (double)a->q.scale * (double)a->k.scale, most = -1e300, sum = 0.0;
  double             *s = oracle_new(d->kv_len);
  size_t              j, c;
  if (a->mode == MHA_S8_NATIVE) scale *= a->scale > 0.0f ? (double)a->scale : 1.0 / sqrt((double)d->d_k);
  else if (a->scale > 0.0f) scale *= (double)a->scale;
  for (j = 0; j < d->kv_len; j++) {
    int64_t acc = 0;
    for (c = 0; c < d->d_k; c++)
      acc += (p->q[i * d->d_k + c] - a->q.zero) * (p->k[j * d->d_k + c] - a->k.zero);
    s[j] = scale * (double)acc;
    if (s[j] > most) most = s[j];
  }
  for (j = 0; j < d->kv_len; j++) sum += s[j] = exp(s[j] - most);
  for (c = 0; c < d->d_v; c++) {
    o[c] = 0.0;
    for (j = 0; j < d->kv_len; j++) o[c] += s[j] * (p->v[j * d->d_v + c] - a->v.zero);
    o[c] *= (double)a->v.scale / sum;
  }
  free(s);
}

static signed char normal_code(void) {
  float x = rng_normal() * 30.0f;
  return (signed char)(x < -128.0f ? -128.0f : x > 127.0f ? 127.0f : x);
}

static void s8_accuracy(void) {
  /* Errors in steps of o, tflm and native: the largest of 2,560, and the mean, half of which is the rounding
     of o itself.  About 1.3 times what twelve seeds gave. */
  static const struct { size_t kv_len; double spread, most[2], mean[2]; } rows[] = {
    { 32, 1.0, { 5.2, 0.62 }, { 1.1, 0.27 } },    { 128, 1.0, { 17.0, 0.6 }, { 3.2, 0.27 } },
    { 128, 2.5, { 5.2, 0.6 }, { 1.0, 0.27 } },    { 512, 1.0, { 95.0, 0.6 }, { 16.0, 0.27 } },
    { 4096, 1.0, { 130.0, 0.6 }, { 96.0, 0.27 } }, { 4096, 2.5, { 110.0, 1.2 }, { 8.0, 0.27 } },
  };
  enum { D = 32, ROWS = 80 };
  static double exact[ROWS * D];
  size_t        n, m, i;
  for (n = 0; n < sizeof rows / sizeof rows[0]; n++)
    for (m = 0; m < 2; m++) {
      size_t        kv_len = rows[n].kv_len;
      problem      *p = problem_plain(modes[m], ROWS, kv_len, D, D);
      mha_s8_quant *a = p->quant;
      double        largest = 0.0, worst = 0.0, sum = 0.0;
      for (i = 0; i < ROWS * D; i++) p->q[i] = normal_code();
      for (i = 0; i < kv_len * D; i++) p->k[i] = normal_code(), p->v[i] = normal_code();
      a->q = affine((float)(rows[n].spread / (900.0 * sqrt((double)D))), 0);
      a->k = affine(1.0f, 0);
      a->v = affine(0.02f, 4);
      if (modes[m] == MHA_S8_TFLM) a->logits = affine((float)(rows[n].spread * 4.5 / 127.0), 0);
      else a->scale = 1.0f;
      for (i = 0; i < ROWS; i++) exact_row(p, i, exact + i * D);
      for (i = 0; i < ROWS * D; i++) largest = fabs(exact[i]) > largest ? fabs(exact[i]) : largest;
      a->o = affine((float)(largest / 127.0), 0);
      if (problem_prepare(p)) {
        mha_status status = attend_rows(&p->d, 0, MHA_ALL, 0);
        CHECK(status == MHA_OK || status == MHA_WARN_SUM, "%s", mha_strerror(status));
        for (i = 0; i < ROWS * D; i++) {
          double error = fabs(p->o[i] - exact[i] / (double)a->o.scale);
          worst = error > worst ? error : worst;
          sum += error;
        }
        sum /= ROWS * D;
        CHECK(worst <= rows[n].most[m] && sum <= rows[n].mean[m],
              "%s, %zu keys: mean error %g, largest %g steps", mode_name(modes[m]), kv_len, sum, worst);
        if (getenv("MHA_ACCURACY_PRINT"))
          printf("    %-6s %4zu keys, logits of %.1f: mean error %.3f, largest %.3f steps%s\n",
                 mode_name(modes[m]), kv_len, rows[n].spread, sum, worst,
                 status == MHA_WARN_SUM ? " (rows beyond 512)" : "");
      }
      problem_free(p);
    }
}

const group s8_groups[] = {
  { "s8: golden vectors of TFLM", s8_golden },
  { "s8: random, literal formulas", s8_random },
  { "s8: every small size", s8_sizes },
  { "s8: a step at a time", s8_steps },
  { "s8: exponentials", s8_exps },
  { "s8: weights", s8_weights },
  { "s8: runs", s8_runs },
  { "s8: native exponentials", s8_native_exps },
  { "s8: native sums", s8_native_sums },
  { "s8: sums of 512", s8_cliff },
  { "s8: extremes", s8_extremes },
  { "s8: scratch", s8_scratch },
  { "s8: what prepare refuses", s8_prepare },
  { "s8: bounds", s8_bounds },
  { "s8: what a call refuses", s8_check_desc },
  { "s8: quantize", s8_quantize },
  { "s8: calibrate", s8_calibrate },
  { "s8: calibrate exactly", s8_calibrate_exact },
  { "s8: calibrate without elements", s8_calibrate_empty },
  { "s8: calibrate faint heads", s8_calibrate_faint },
  { "s8: what calibrate refuses", s8_calibrate_refuses },
  { "s8: float to float", s8_end_to_end },
  { "s8: accuracy", s8_accuracy },
  { NULL, NULL }
};
