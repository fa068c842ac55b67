/* test_accuracy.c - how far results lie from the exact ones, on inputs that make rounding errors large.

   Every class of inputs is gated twice.  No error may exceed the proven bound (oracle.h), which is computed
   for each number from its inputs; and the worst ratio error / bound of the class may not exceed 1.5 times
   the committed figure in accuracy.h, because the bound has room in which a fault could hide.  Last come the
   exponential, the tanh of the soft cap and the logarithm alone, in ulp.

   MHA_ACCURACY_PRINT=20 in the environment prints the figures anew, from 20 times the usual number of inputs,
   and compares with none; the proven bound still has to hold.

   The exact result is computed in double.  Its own error obeys the same bound with 2^-53 in place of 2^-24:
   nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mha.h"
#include "check.h"
#include "oracle.h"

/* ---- Figures ---- */

enum { OUT, WEIGHTS, LSE, OUTPUTS };

typedef struct {
  const char *name;
  int         fused; /* 1: fused multiply-add, 0: multiply, then add */
  double      worst[OUTPUTS];
} figure;

static const figure figures[] = {
#include "accuracy.h"
};

/* Figures of multiply-then-add also serve where excess precision rounds less often. */
static int  is_fused(void) { return numerics_fused() == 1; }
static long repeats(void) { /* 0: compare with the figures; else print them, from so many times the inputs */
  const char *text = getenv("MHA_ACCURACY_PRINT");
  return text ? strtol(text, NULL, 10) : 0;
}

static const char *const output_names[OUTPUTS] = { "out", "weights", "LSE" };

/* Prints `worst`, or compares it with the figure of that name times `room`. */
static void settle(const char *name, const char *const *names, const double *worst, double room) {
  size_t f, x;
  if (repeats() > 0) {
    printf("  { \"%s\", %d, { %.4g, %.4g, %.4g } },\n", name, is_fused(), worst[0], worst[1], worst[2]);
    return;
  }
  for (f = 0; f < sizeof figures / sizeof figures[0]; f++)
    if (figures[f].fused == is_fused() && strcmp(figures[f].name, name) == 0) break;
  if (!CHECK(f < sizeof figures / sizeof figures[0], "%s has no figure in accuracy.h", name)) return;
  for (x = 0; x < OUTPUTS; x++)
    CHECK(worst[x] <= room * figures[f].worst[x], "%s, %s: worst is %.4g, over %g times the committed %.4g",
          name, names[x], worst[x], room, figures[f].worst[x]);
}

/* ---- One call: its inputs, its errors ---- */

typedef struct {
  mha_desc d;
  float   *q, *k, *v; /* what d points to, or what it will be converted from */
  void    *blocks[16];
  size_t   num_blocks;
} problem;

static void *take(problem *p, size_t bytes) { /* zeros, until release */
  void *block = calloc(bytes ? bytes : 1, 1);
  if (!block || p->num_blocks == sizeof p->blocks / sizeof p->blocks[0]) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return p->blocks[p->num_blocks++] = block;
}
static float *take_floats(problem *p, size_t n) { return (float *)take(p, n * sizeof(float)); }
static void   release(problem *p) {
  while (p->num_blocks) free(p->blocks[--p->num_blocks]);
}

/* The largest error / bound of those of n numbers that are not below `least`, and where.  Infinite if one is
   NaN or should be exact and isn't. */
static double worst_ratio(const float *got, const double *exact, const double *bound, size_t n, double least,
                          size_t *where) {
  double worst = 0.0;
  size_t x;
  *where = 0;
  for (x = 0; x < n; x++) {
    double error = fabs((double)got[x] - exact[x]), ratio;
    if (fabs(exact[x]) < least) continue;
    if ((double)got[x] <= exact[x] && (double)got[x] >= exact[x]) continue; /* equal infinities too */
    ratio = error < (double)INFINITY && bound[x] > 0.0 ? error / bound[x] : (double)INFINITY;
    if (ratio > worst) worst = ratio, *where = x;
  }
  return worst;
}

/* Runs the problem, checks it against the proven bound and raises worst[]. */
static void judge(problem *p, const char *name, size_t number, double *worst) {
  mha_desc  *d = &p->d;
  size_t     rows = d->batch * d->q_len * d->q_heads, n[OUTPUTS], x, where;
  float     *got[OUTPUTS];
  double    *exact[OUTPUTS], *bound[OUTPUTS];
  mha_status status;
  n[OUT] = rows * oracle_dv(d);
  n[WEIGHTS] = rows * d->kv_len;
  n[LSE] = rows;
  for (x = 0; x < OUTPUTS; x++) {
    got[x] = take_floats(p, n[x]);
    exact[x] = oracle_new(n[x]);
    bound[x] = oracle_new(n[x]);
  }
  d->o = got[OUT];
  d->weights = got[WEIGHTS];
  d->lse = got[LSE];
  status = mha_attend(d, NULL, 0);
  CHECK(status == MHA_OK, "%s %lu: %s", name, (unsigned long)number, mha_strerror(status));
  oracle_run(d, is_fused(), exact[OUT], exact[WEIGHTS], exact[LSE], bound[OUT], bound[WEIGHTS], bound[LSE]);
  for (x = 0; x < OUTPUTS; x++) {
    /* A weight of about 2^-126 may become 0: 0.7 of its bound, which would be the figure of most classes. */
    double least = x == WEIGHTS ? ldexp(1.0, -100) : 0.0;
    double ratio = worst_ratio(got[x], exact[x], bound[x], n[x], least, &where);
    if (ratio > worst[x]) worst[x] = ratio;
    ratio = worst_ratio(got[x], exact[x], bound[x], n[x], 0.0, &where);
    CHECK(ratio <= 1.0, "%s %lu (d_k %lu, kv_len %lu), %s[%lu]: %.9g, not %.12g, error %.4g times the bound",
          name, (unsigned long)number, (unsigned long)d->d_k, (unsigned long)d->kv_len, output_names[x],
          (unsigned long)where, (double)got[x][where], exact[x][where], ratio);
    free(exact[x]);
    free(bound[x]);
  }
}

static void measure(const char *name, void (*make)(problem *, size_t), size_t problems) {
  double worst[OUTPUTS] = { 0.0, 0.0, 0.0 };
  size_t runs = problems * (size_t)(repeats() > 0 ? repeats() : 1), n;
  for (n = 0; n < runs; n++) {
    problem p;
    memset(&p, 0, sizeof p);
    make(&p, n % problems);
    judge(&p, name, n, worst);
    release(&p);
  }
  settle(name, output_names, worst, 1.5);
}

/* ---- Inputs that the classes have in common ---- */

/* 2^low .. 2^high */
static float power(float low, float high) { return (float)exp2((double)rng_float(low, high)); }
/* About N(0, 1), as the sum of the four quarters of one random number; rng_normal took half of the time. */
static float normal(void) {
  uint64_t r = rng();
  long     sum = (long)(r >> 48) + (long)(r >> 32 & 0xFFFF) + (long)(r >> 16 & 0xFFFF) + (long)(r & 0xFFFF);
  return (float)(sum - 131070) * 2.643e-5f; /* sqrt(3) / 65535 */
}
static float sign(void) { return rng_chance(50) ? 1.0f : -1.0f; }

/* One batch member.  A third of the problems has d_k from 1 to 256 and up to four blocks of keys.  The others
   are cheap, so there can be many, and of sizes where errors come nearest to their bounds: a small d_k, and
   either so few keys that few roundings have to agree, or an LSE just above 4, where an ulp is large. */
static void shape(problem *p, size_t number) {
  static const size_t first[] = { 1, 256, 64, 2, 255, 17 };
  p->d.batch = 1;
  p->d.q_heads = number % 3 ? 4 : 2;
  p->d.kv_heads = rng_chance(50) ? p->d.q_heads : 1;
  p->d.q_len = 2;
  p->d.d_v = rng_between(1, 8);
  p->d.kv_start = (ptrdiff_t)rng_below(512) - 256;
  if (number % 3 == 0) {
    p->d.kv_len = rng_chance(40) ? rng_between(1, 20) : rng_between(1, 300);
    p->d.d_k = number / 3 < sizeof first / sizeof first[0] ? first[number / 3] : (size_t)power(0.0f, 8.0f);
  } else if (number % 3 == 1) {
    p->d.kv_len = rng_between(1, 6);
    p->d.d_k = rng_between(1, 4);
  } else {
    p->d.kv_len = rng_between(50, 150);
    p->d.d_k = rng_between(1, 3);
  }
}

static void normals(float *x, size_t n, float size) {
  size_t e;
  for (e = 0; e < n; e++) x[e] = size * normal();
}
static size_t k_count(const mha_desc *d) { return d->batch * d->kv_len * d->kv_heads * d->d_k; }
static size_t v_count(const mha_desc *d) { return d->batch * d->kv_len * d->kv_heads * d->d_v; }
static size_t q_count(const mha_desc *d) { return d->batch * d->q_len * d->q_heads * d->d_k; }

/* q of `size` normals, k and v of normals: at the default scale logits have about that size. */
static void fill(problem *p, float size) {
  p->d.q = p->q = take_floats(p, q_count(&p->d));
  p->d.k = p->k = take_floats(p, k_count(&p->d));
  p->d.v = p->v = take_floats(p, v_count(&p->d));
  normals(p->q, q_count(&p->d), size);
  normals(p->k, k_count(&p->d), 1.0f);
  normals(p->v, v_count(&p->d), 1.0f);
}

static void positive_values(problem *p) { /* in [1, 2): sums of them only grow, errors do not cancel */
  size_t e;
  for (e = 0; e < v_count(&p->d); e++) p->v[e] = rng_float(1.0f, 2.0f);
}

/* bias: (q_heads, q_len, kv_len), or (kv_len) for all rows */
static void set_bias(problem *p, float *bias, int per_row) {
  p->d.bias = bias;
  if (!per_row) return;
  p->d.bias_stride.row = (ptrdiff_t)p->d.kv_len;
  p->d.bias_stride.head = (ptrdiff_t)(p->d.q_len * p->d.kv_len);
}

static float *per_head(problem *p, float low, float high, int signs) {
  float *x = take_floats(p, p->d.q_heads);
  size_t h;
  for (h = 0; h < p->d.q_heads; h++) x[h] = power(low, high) * (signs ? sign() : 1.0f);
  return x;
}

static void store_keys(problem *p, int type) {
  size_t n = k_count(&p->d), rows = p->d.kv_len * p->d.kv_heads;
  p->d.k_type = type;
  if (type == MHA_F16) {
    uint16_t *x = (uint16_t *)take(p, n * sizeof *x);
    mha_f16_from_f32(x, p->k, n);
    p->d.k = x;
  } else if (type == MHA_BF16) {
    uint16_t *x = (uint16_t *)take(p, n * sizeof *x);
    mha_bf16_from_f32(x, p->k, n);
    p->d.k = x;
  } else if (type == MHA_S8) {
    signed char *x = (signed char *)take(p, n);
    float       *scale = take_floats(p, rows);
    mha_s8_from_f32(x, scale, p->k, rows, p->d.d_k);
    p->d.k = x;
    p->d.k_scale = scale;
    p->d.k_scale_stride.row = (ptrdiff_t)p->d.kv_heads;
    p->d.k_scale_stride.head = 1;
  }
}

static void store_values(problem *p, int type) {
  size_t n = v_count(&p->d), rows = p->d.kv_len * p->d.kv_heads;
  p->d.v_type = type;
  if (type == MHA_F16) {
    uint16_t *x = (uint16_t *)take(p, n * sizeof *x);
    mha_f16_from_f32(x, p->v, n);
    p->d.v = x;
  } else if (type == MHA_BF16) {
    uint16_t *x = (uint16_t *)take(p, n * sizeof *x);
    mha_bf16_from_f32(x, p->v, n);
    p->d.v = x;
  } else if (type == MHA_S8) {
    signed char *x = (signed char *)take(p, n);
    float       *scale = take_floats(p, rows);
    mha_s8_from_f32(x, scale, p->v, rows, p->d.d_v);
    p->d.v = x;
    p->d.v_scale = scale;
    p->d.v_scale_stride.row = (ptrdiff_t)p->d.kv_heads;
    p->d.v_scale_stride.head = 1;
  }
}

/* ---- The classes ---- */

static void make_plain(problem *p, size_t number) {
  shape(p, number);
  fill(p, 1.0f);
}

static void make_wide(problem *p, size_t number) { /* logits to +-100: a few keys have all the weight */
  shape(p, number);
  fill(p, power(2.0f, 5.0f));
}

static void make_equal(problem *p, size_t number) { /* logits and weights nearly equal: the longest sums */
  size_t e;
  float  noise = power(-20.0f, -5.0f);
  shape(p, number);
  fill(p, power(-2.0f, 4.0f));
  for (e = p->d.d_k * p->d.kv_heads; e < k_count(&p->d); e++)
    p->k[e] = p->k[e - p->d.d_k * p->d.kv_heads] + noise * normal();
  positive_values(p);
}

static void make_cancel(problem *p, size_t number) { /* dots of large terms that sum to nearly nothing */
  size_t e;
  shape(p, number);
  fill(p, power(0.0f, 7.0f));
  for (e = 0; e + 1 < q_count(&p->d); e++)
    if (e % p->d.d_k % 2 == 1) p->q[e] = p->q[e - 1];
  for (e = 1; e < k_count(&p->d); e++)
    if (e % p->d.d_k % 2 == 1) p->k[e] = -p->k[e - 1] + 0.01f * normal();
}

/* ln 2 as a float.  Times log2e it rounds to 1, so with this scale a score in base 2 is q . k itself: only
   thus can an input place the roundings. */
static const float LN2 = 0.693147182f;

/* Dots whose every rounding goes the same way: after a term of 2^e come terms of a little more, or a little
   less, than half an ulp.  This is what the d_k of the bound is for; keys of both signs err apart. */
static void make_one_way_dots(problem *p, size_t number) {
  float  size = (float)ldexp(1.0, (int)rng_between(0, 8) - 3);
  float  step = size * (rng_chance(50) ? 0.51f : 0.49f) / 8388608.0f;
  size_t e;
  shape(p, number);
  if (number % 3) p->d.d_k = rng_between(64, 256);
  p->d.scale = LN2;
  fill(p, 1.0f);
  for (e = 0; e < q_count(&p->d); e++) p->q[e] = 1.0f;
  for (e = 0; e < k_count(&p->d); e += p->d.d_k) {
    float  s = sign();
    size_t c;
    for (c = 0; c < p->d.d_k; c++) p->k[e + c] = s * (c ? step : size);
  }
}

/* Sums over keys whose every rounding goes one way: equal logits, values of 1 and half an ulp of the sum. */
static void make_one_way_sums(problem *p, size_t number) {
  size_t j, c, dv;
  shape(p, number);
  p->d.kv_heads = 1;
  p->d.kv_len = rng_between(1, 600);
  p->d.kv_start = (ptrdiff_t)rng_below(256);
  fill(p, 0.0f);
  dv = p->d.d_v;
  for (c = 0; c < dv; c++) {
    double sum = 0.0, part = rng_chance(50) ? 0.52 : 0.48;
    float  s = sign();
    for (j = 0; j < p->d.kv_len; j++) {
      float v;
      if (((size_t)p->d.kv_start + j) % 128 == 0) sum = 0.0; /* a new block, a new sum */
      v = (float)(1.0 + part * ldexp(1.0, ilogb(sum + 1.0) - 23));
      sum = (double)(float)(sum + (double)v);
      p->v[j * dv + c] = s * v;
    }
  }
}

static void make_long(problem *p, size_t number) { /* 1024 to 8192 keys */
  shape(p, number);
  p->d.kv_len = number ? (size_t)power(10.0f, 13.0f) : 8192;
  p->d.q_heads = 2;
  p->d.kv_heads = 1;
  p->d.q_len = 1;
  p->d.d_v = 4;
  fill(p, power(-3.0f, 3.0f));
  if (rng_chance(50)) positive_values(p);
}

static void make_rising(problem *p, size_t number) { /* long, and each block has a new maximum */
  float *bias, slope = power(-16.0f, -6.0f);
  size_t j;
  make_long(p, number);
  bias = take_floats(p, p->d.kv_len);
  for (j = 0; j < p->d.kv_len; j++) bias[j] = slope * (float)j;
  set_bias(p, bias, 0);
}

static void make_bias(problem *p, size_t number) { /* small, large, hiding, or common to all */
  size_t n, e;
  float *bias, size = power(-10.0f, 10.0f), common = rng_chance(30) ? -power(0.0f, 14.0f) : 0.0f;
  shape(p, number);
  fill(p, power(-3.0f, 2.0f));
  n = p->d.q_heads * p->d.q_len * p->d.kv_len;
  bias = take_floats(p, n);
  for (e = 0; e < n; e++) bias[e] = rng_chance(5) ? -(float)INFINITY : common + size * normal();
  set_bias(p, bias, 1);
}

static void make_alibi(problem *p, size_t number) { /* near and far; slope times distance up to some 1000 */
  float far = power(0.0f, 26.0f);
  shape(p, number);
  p->d.q_start = p->d.kv_start + (ptrdiff_t)p->d.kv_len + (ptrdiff_t)far * (rng_chance(80) ? 1 : -1);
  fill(p, power(-3.0f, 2.0f));
  p->d.alibi_slopes = per_head(p, -12.0f, 10.0f - (float)log2((double)far + 300.0), 1);
}

static void make_cap(problem *p, size_t number) {
  shape(p, number);
  p->d.softcap = power(-3.0f, 7.0f);
  fill(p, p->d.softcap * power(-8.0f, 4.0f));
}

static void make_sinks(problem *p, size_t number) {
  size_t e;
  float *sinks;
  shape(p, number);
  if (number % 5) {
    fill(p, power(-3.0f, 3.0f));
    p->d.sinks = per_head(p, -5.0f, 6.0f, 1);
    return;
  }
  /* A sink whose score in base 2 lies half way between floats, and from which so small a logit vanishes
     altogether: the worst of all sinks from 58 to 72, and others near it. */
  p->d.d_k = p->d.kv_len = 1;
  fill(p, 1.0f);
  p->d.sinks = sinks = take_floats(p, p->d.q_heads);
  for (e = 0; e < p->d.q_heads; e++) sinks[e] = 68.3046417f + (number ? rng_float(-10.0f, 4.0f) : 0.0f);
  for (e = 0; e < q_count(&p->d); e++) p->q[e] = -2.643e-6f;
  for (e = 0; e < k_count(&p->d); e++) p->k[e] = 1.0f;
}

static void make_f16(problem *p, size_t number) {
  make_plain(p, number);
  store_keys(p, MHA_F16);
  store_values(p, rng_chance(80) ? MHA_F16 : MHA_F32);
}
static void make_bf16(problem *p, size_t number) {
  make_plain(p, number);
  store_keys(p, MHA_BF16);
  store_values(p, rng_chance(80) ? MHA_BF16 : MHA_F32);
}
static void make_s8(problem *p, size_t number) {
  make_plain(p, number);
  if (rng_chance(50)) positive_values(p);
  store_keys(p, rng_chance(80) ? MHA_S8 : MHA_F32);
  store_values(p, MHA_S8);
}

static void make_scale(problem *p, size_t number) { /* any scale and sign, q such that logits are moderate */
  shape(p, number);
  p->d.scale = power(-60.0f, 60.0f) * sign();
  fill(p, power(-2.0f, 3.0f) / (p->d.scale * (float)sqrt((double)p->d.d_k)));
}

static void make_zero_scale(problem *p, size_t number) { /* every visible key the same weight, exactly */
  shape(p, number);
  p->d.flags = MHA_USE_SCALE;
  fill(p, 1.0f);
}

static void make_values(problem *p, size_t number) { /* 2^-140 to 2^118 in one column; or all tiny */
  size_t e;
  float  high = rng_chance(80) ? rng_float(-120.0f, 118.0f) : rng_float(-135.0f, -120.0f);
  shape(p, number);
  fill(p, power(-2.0f, 4.0f));
  for (e = 0; e < v_count(&p->d); e++) p->v[e] = power(-140.0f, high) * sign();
}

static void make_hidden(problem *p, size_t number) { /* causal, windows, masks, rows that see nothing */
  unsigned char *mask;
  size_t         n, e;
  unsigned       percent = (unsigned)rng_between(0, 100);
  shape(p, number);
  p->d.q_start = p->d.kv_start + (ptrdiff_t)rng_below(p->d.kv_len + 4) - 4;
  if (rng_chance(70)) p->d.flags |= MHA_CAUSAL;
  if (rng_chance(50)) {
    p->d.flags |= MHA_USE_WINDOW;
    p->d.window_left = rng_below(150);
    p->d.window_right = rng_chance(50) ? MHA_OPEN : rng_below(150);
    p->d.keep_first = rng_below(5);
  }
  fill(p, power(-2.0f, 4.0f));
  n = p->d.q_heads * p->d.q_len * p->d.kv_len;
  mask = (unsigned char *)take(p, n);
  for (e = 0; e < n; e++) mask[e] = (unsigned char)!rng_chance(percent);
  if (rng_chance(30)) return;
  p->d.mask = mask;
  p->d.mask_stride.row = (ptrdiff_t)p->d.kv_len;
  p->d.mask_stride.head = (ptrdiff_t)(p->d.q_len * p->d.kv_len);
}

static void make_mixed(problem *p, size_t number) { /* everything at once */
  make_hidden(p, number);
  if (rng_chance(40)) p->d.softcap = power(-2.0f, 6.0f);
  if (rng_chance(40)) p->d.alibi_slopes = per_head(p, -10.0f, 0.0f, 1);
  if (rng_chance(40)) p->d.sinks = per_head(p, -3.0f, 4.0f, 1);
  if (rng_chance(40)) {
    float *bias = take_floats(p, p->d.kv_len);
    normals(bias, p->d.kv_len, power(-3.0f, 5.0f));
    set_bias(p, bias, 0);
  }
  if (rng_chance(40)) p->d.scale = power(-4.0f, 1.0f) * sign();
  store_keys(p, (int)rng_below(4));
  store_values(p, (int)rng_below(4));
}

static void run_plain(void) { measure("plain", make_plain, 1500); }
static void run_wide(void) { measure("wide", make_wide, 1500); }
static void run_equal(void) { measure("equal", make_equal, 1500); }
static void run_cancel(void) { measure("cancel", make_cancel, 1500); }
static void run_one_way_dots(void) { measure("one-way dots", make_one_way_dots, 1200); }
static void run_one_way_sums(void) { measure("one-way sums", make_one_way_sums, 1200); }
static void run_long(void) { measure("long", make_long, 120); }
static void run_rising(void) { measure("rising", make_rising, 120); }
static void run_bias(void) { measure("bias", make_bias, 1500); }
static void run_alibi(void) { measure("alibi", make_alibi, 1500); }
static void run_cap(void) { measure("cap", make_cap, 1500); }
static void run_sinks(void) { measure("sinks", make_sinks, 1500); }
static void run_f16(void) { measure("f16", make_f16, 1200); }
static void run_bf16(void) { measure("bf16", make_bf16, 1200); }
static void run_s8(void) { measure("s8", make_s8, 1200); }
static void run_scale(void) { measure("scale", make_scale, 1500); }
static void run_zero_scale(void) { measure("zero scale", make_zero_scale, 600); }
static void run_values(void) { measure("values", make_values, 1500); }
static void run_hidden(void) { measure("hidden", make_hidden, 1500); }
static void run_mixed(void) { measure("mixed", make_mixed, 2400); }

/* ---- The three functions alone, in ulp, with inputs that do not hang on the seed ---- */

enum { ROWS = 4096, BITS = 17, ONES = 16, LN_KEYS = ONES + BITS };

static double ulps(float got, double exact) {
  double error = fabs((double)got - exact);
  if ((double)got <= exact && (double)got >= exact) return 0.0;
  return error < (double)INFINITY ? error / ldexp(1.0, ilogb(exact) - 23) : error;
}

/* Calls with ROWS queries of one channel; every result goes through `error`. */
static double sweep(mha_desc *d, const float *got, size_t every, const double *exact) {
  double     worst = 0.0;
  size_t     i;
  mha_status status = mha_attend(d, NULL, 0);
  CHECK(status == MHA_OK, "%s", mha_strerror(status));
  for (i = 0; i < ROWS; i++) {
    double error = ulps(got[i * every], exact[i]);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/* The weight of a key at x beside a key at 0, x <= -25 and both in base 2: then the sum is 1, and the weight
   is the exponential.  Every float in [-26, -25), so every fraction that 2^-19 resolves, and 2^18 more. */
static double exponential(void) {
  static float       q[ROWS], o[ROWS], weights[2 * ROWS];
  static double      exact[ROWS];
  static const float k[2] = { 0.0f, 1.0f }, v[2] = { 1.0f, 1.0f };
  mha_desc           d = { 0 };
  double             worst = 0.0;
  long               x, part;
  d.batch = d.q_heads = d.d_k = 1;
  d.q_len = ROWS;
  d.kv_len = 2;
  d.scale = LN2;
  d.q = q;
  d.k = k;
  d.v = v;
  d.o = o;
  d.weights = weights;
  for (part = 0; part < (1L << 19) / ROWS + (1L << 18) / ROWS; part++) {
    double error;
    for (x = 0; x < ROWS; x++) {
      long n = part * ROWS + x;
      q[x] = (float)(n < 1L << 19 ? (double)n / 524288.0 : (double)((1L << 19) - n) * 3.75e-4) - 26.0f;
      exact[x] = exp2((double)q[x]);
    }
    error = sweep(&d, weights + 1, 2, exact);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/* The LSE of a row of one key is its logit; with this cap and scale LN2 tanh(q ln2 / 2), |q| 2^-20 .. 32. */
static double hyperbolic_tangent(void) {
  static float       q[ROWS], o[ROWS], lse[ROWS];
  static double      exact[ROWS];
  static const float one = 1.0f;
  mha_desc           d = { 0 };
  double             worst = 0.0, ln2 = log(2.0);
  int                e, x, part;
  d.batch = d.q_heads = d.d_k = d.kv_len = 1;
  d.q_len = ROWS;
  d.scale = 0.240226507f; /* LN2 LN2 / 2, then scale / cap * 2 log2e and cap * log2e round to 1 */
  d.softcap = LN2;
  d.q = q;
  d.k = d.v = &one;
  d.o = o;
  d.lse = lse;
  for (e = -20; e < 5; e++)
    for (part = 0; part < 2; part++) {
      double error;
      for (x = 0; x < ROWS; x++) {
        double m = 1.0 + (double)(part * ROWS + x) / (2.0 * ROWS);
        q[x] = (float)ldexp(x % 2 ? m : -m, e);
        exact[x] = (double)LN2 * tanh((double)q[x] * ln2 / 2.0);
      }
      error = sweep(&d, lse, 1, exact);
      if (!(error <= worst)) worst = error;
    }
  return worst;
}

/* The LSE of keys at 0 (ONES of them) and -1, -2 .. -BITS in base 2, of which a mask chooses: 2^-b is exact
   and so is their sum, which takes every value in [1, 2) with BITS bits, and 2^16 values up to ONES + 1. */
static double logarithm(void) {
  static float         q[ROWS], o[ROWS], lse[ROWS], k[LN_KEYS];
  static unsigned char mask[ROWS * LN_KEYS];
  static double        exact[ROWS];
  mha_desc             d = { 0 };
  double               worst = 0.0;
  unsigned long        x, part, b;
  for (b = 0; b < BITS; b++) k[ONES + b] = -(float)(b + 1);
  for (x = 0; x < ROWS; x++) q[x] = 1.0f;
  d.batch = d.q_heads = d.d_k = 1;
  d.q_len = ROWS;
  d.kv_len = LN_KEYS;
  d.scale = LN2;
  d.q = q;
  d.k = d.v = k;
  d.o = o;
  d.lse = lse;
  d.mask = mask;
  d.mask_stride.row = LN_KEYS;
  for (part = 0; part < ((1ul << BITS) + (1ul << 16)) / ROWS; part++) {
    double error;
    for (x = 0; x < ROWS; x++) {
      unsigned long n = part * ROWS + x, whole = 1, bits = n;
      if (n >= 1ul << BITS) {
        bits = n * 2654435761ul >> 7 & ((1ul << BITS) - 1);
        whole = 1 + n % ONES;
      }
      for (b = 0; b < ONES; b++) mask[x * LN_KEYS + b] = b < whole;
      for (b = 0; b < BITS; b++) mask[x * LN_KEYS + ONES + b] = (unsigned char)(bits >> (BITS - 1 - b) & 1);
      exact[x] = log((double)whole + ldexp((double)bits, -BITS));
    }
    error = sweep(&d, lse, 1, exact);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

static void run_functions(void) {
  static const char *const names[OUTPUTS] = { "exponential", "tanh", "logarithm" };
  double                   worst[OUTPUTS];
  if (numerics_fused() < 0) {
    CHECK(1, "a group without a check fails");
    printf("    skipped: with excess precision constants are not the floats that this takes apart\n");
    return;
  }
  worst[0] = exponential();
  worst[1] = hyperbolic_tangent();
  worst[2] = logarithm();
  settle("functions", names, worst, 1.01);
}

const group accuracy_groups[] = {
  { "accuracy: plain", run_plain },
  { "accuracy: wide", run_wide },
  { "accuracy: equal", run_equal },
  { "accuracy: cancel", run_cancel },
  { "accuracy: one-way dots", run_one_way_dots },
  { "accuracy: one-way sums", run_one_way_sums },
  { "accuracy: long", run_long },
  { "accuracy: rising", run_rising },
  { "accuracy: bias", run_bias },
  { "accuracy: alibi", run_alibi },
  { "accuracy: cap", run_cap },
  { "accuracy: sinks", run_sinks },
  { "accuracy: f16", run_f16 },
  { "accuracy: bf16", run_bf16 },
  { "accuracy: s8", run_s8 },
  { "accuracy: scale", run_scale },
  { "accuracy: zero scale", run_zero_scale },
  { "accuracy: values", run_values },
  { "accuracy: hidden", run_hidden },
  { "accuracy: mixed", run_mixed },
  { "accuracy: functions", run_functions },
  { NULL, NULL }
};
