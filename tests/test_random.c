/* test_random.c - mha_attend on random problems: near the exact values, equal to the literal roundings. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "compose.h"
#include "literal.h"
#include "oracle.h"

/* ---- Values ---- */

static long tight; /* outputs whose bound said something */

/* Exact NaN wants NaN; otherwise within the bound, and hidden weights and empty rows exactly. */
static int is_near(const float *got, const double *want, const double *bound, size_t n, const char *name,
                   problem *p) {
  size_t k;
  for (k = 0; k < n; k++) {
    double x = (double)got[k];
    int    ok = isnan(want[k]) ? isnan(x) : x >= want[k] && x <= want[k];
    if (!ok && !isnan(want[k])) ok = fabs(x - want[k]) <= bound[k];
    if (isfinite(want[k]) && fabs(want[k]) > 0.0 && bound[k] < 1e-2 * fabs(want[k])) tight++;
    if (!ok)
      return CHECK(0, "%s[%zu] is %.9g, exactly %.17g, allowed %.3g %s", name, k, x, want[k], bound[k],
                   problem_text(p));
  }
  return CHECK(1, "near");
}

static void check_values(problem *p, const result *r) {
  size_t  o_n = r->o_count, w_n = r->weights_count, l_n = r->lse_count;
  double *o = oracle_new(2 * o_n), *w = oracle_new(2 * w_n), *l = oracle_new(2 * l_n); /* and bounds */
  oracle_run(&p->d, numerics_fused() == 1, o, r->weights ? w : NULL, r->lse ? l : NULL, o + o_n,
             r->weights ? w + w_n : NULL, r->lse ? l + l_n : NULL);
  is_near(r->o, o, o + o_n, o_n, "o", p);
  is_near(r->weights, w, w + w_n, w_n, "weights", p);
  is_near(r->lse, l, l + l_n, l_n, "lse", p);
  free(l);
  free(w);
  free(o);
}

/* ---- Bits ---- */

static void check_bits(problem *p, const result *r) {
  result want = result_new(&p->d);
  literal_attend(&p->d, numerics_fused(), want.o, want.weights, want.lse);
  result_same(r, &want, "against the literal order", p);
  result_free(&want);
}

/* mha_check must accept, mha_attend must succeed, with the workspace it asks for or with none. */
static result run(problem *p, int with_work) {
  result     r = result_new(&p->d);
  mha_status status = mha_check(&p->d);
  CHECK(status == MHA_OK, "mha_check: %s %s", mha_strerror(status), problem_text(p));
  if (with_work) {
    size_t bytes = mha_work_bytes(&p->d);
    void  *work = guard_new(bytes, 0);
    problem_run(p, work, bytes, &r);
    guard_free(work, "the workspace");
  } else problem_run(p, NULL, 0, &r);
  return r;
}

static void random_values(void) {
  static const unsigned kinds[] = { 0, 0, PROBLEM_NAN, PROBLEM_OUTPUTS };
  int                   n, problems = 400;
  tight = 0;
  for (n = 0; n < problems; n++) {
    problem *p = problem_new(rng(), kinds[n % 4]);
    result   r;
    if (n % 3 == 0) problem_poison(p);
    r = run(p, rng_chance(50));
    check_values(p, &r);
    result_free(&r);
    problem_free(p);
  }
  CHECK(tight > 1000L * problems, "only %ld outputs had a bound below 1 %% of their value", tight);
}

static void random_bits(void) {
  static const unsigned kinds[] = { 0, PROBLEM_NAN, PROBLEM_INFINITE, PROBLEM_EXTREME, PROBLEM_OUTPUTS,
                                    PROBLEM_SMALL, PROBLEM_NAN | PROBLEM_INFINITE | PROBLEM_EXTREME };
  const unsigned        wide = PROBLEM_WIDE | PROBLEM_NAN | PROBLEM_INFINITE;
  int                   n, problems = 600;
  if (numerics_fused() < 0) {
    printf("    skipped: %s promises no bits\n", mha_numerics());
    CHECK(1, "skipped");
    return;
  }
  if (!CHECK(literal_works(), "literal.h is compiled with excess precision or contracted products")) return;
  for (n = 0; n < problems; n++) {
    problem *p = problem_new(rng(), n % 40 ? kinds[n % 7] : wide);
    result   r;
    if (n % 2) problem_poison(p);
    r = run(p, rng_chance(50));
    check_bits(p, &r);
    result_free(&r);
    problem_free(p);
  }
}

/* ---- Sizes around the edges of every tile ---- */

static void edge(size_t q_len, size_t kv_len, size_t d_k, size_t d_v) {
  problem_shape shape;
  problem      *p;
  result        r;
  shape.q_len = q_len, shape.kv_len = kv_len, shape.d_k = d_k, shape.d_v = d_v;
  p = problem_new_shaped(rng(), rng_chance(50) ? PROBLEM_OUTPUTS : 0, shape);
  r = run(p, rng_chance(70));
  if (numerics_fused() < 0) check_values(p, &r);
  else check_bits(p, &r);
  result_free(&r);
  problem_free(p);
}

static void random_edges(void) {
  static const size_t wide[] = { 47, 48, 49, 63, 64, 65, 66, 95, 96, 97, 126, 127, 128, 129, 130, 131, 132,
                                 255, 256, 257 };
  static const size_t narrow[] = { 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33 };
  const size_t        count = sizeof narrow / sizeof narrow[0];
  size_t              n, m, few;
  for (n = 1; n <= 33 + sizeof wide / sizeof wide[0]; n++) { /* one size at a time */
    size_t size = n <= 33 ? n : wide[n - 34];
    for (m = 0; m < 2; m++) {
      few = rng_between(1, 9);
      edge(size, few, rng_between(1, 9), rng_between(1, 9));
      edge(few, size, rng_between(1, 9), rng_between(1, 9));
      edge(few, rng_between(1, 20), size, rng_between(1, 9));
      edge(few, rng_between(1, 20), rng_between(1, 9), size);
    }
  }
  for (n = 0; n < count; n++) /* and two */
    for (m = 0; m < count; m++) {
      edge(narrow[n], narrow[m], rng_between(1, 9), rng_between(1, 9));
      edge(rng_between(1, 6), narrow[n], narrow[m], rng_between(1, 9));
      edge(rng_between(1, 6), narrow[n], rng_between(1, 9), narrow[m]);
      edge(narrow[n], rng_between(1, 20), rng_between(1, 9), narrow[m]);
    }
}

const group random_groups[] = {
  { "random: values within the bound", random_values },
  { "random: bits of the literal order", random_bits },
  { "random: edges of tiles", random_edges },
  { NULL, NULL }
};
