/* float.c - a fuzz harness: any valid mha_desc, called in any way, has the bits and the values it should.

   The first bytes say what kind of problem it is and how it is called, the others become the problem (see
   compose.h).  What is checked is what the tests of random problems check, whose functions these are. */
#include "fuzz.h"

#include "../test_random.c"
#include "../test_identity.c"

/* CHEAP: multiply-adds up to which a problem is taken through the slow references, and again another way;
   DEAR: beyond which it is dropped, for thousands of runs a minute. */
enum { CALL_BYTES = 40, CHEAP = 10000, DEAR = 100000 };

static unsigned any_flags(void) {
  const unsigned free_ones = PROBLEM_NAN | PROBLEM_INFINITE | PROBLEM_EXTREME | PROBLEM_CAUSAL |
                             PROBLEM_IN_PLACE | PROBLEM_OUTPUTS;
  unsigned flags = (unsigned)rng() & free_ones;
  if (rng_chance(50)) flags &= ~(unsigned)(PROBLEM_NAN | PROBLEM_INFINITE | PROBLEM_EXTREME);
  if (rng_chance(90)) flags |= PROBLEM_SMALL;
  if (rng_chance(3)) flags |= PROBLEM_WIDE;
  return flags;
}

/* Small, mostly. */
static problem_shape any_shape(unsigned flags) {
  problem_shape shape = { ANY, ANY, ANY, ANY };
  if (flags & PROBLEM_WIDE) return shape;
  if (rng_chance(70)) shape.q_len = rng_below(6);
  shape.kv_len = rng_chance(90) ? rng_below(12) : rng_below(300);
  if (rng_chance(80)) shape.d_k = rng_between(1, 9);
  if (rng_chance(60)) shape.d_v = rng_between(1, 9);
  return shape;
}

static double cost_of(const mha_desc *d) {
  return (double)(d->batch * d->q_heads * d->q_len) * (double)(d->kv_len * (d->d_k + oracle_dv(d)));
}

static void with_poison(problem *p, result *base, result *other) {
  size_t bytes;
  void  *work = any_work(&p->d, &bytes);
  problem_poison(p);
  if (work) memset(work, 0xff, bytes);
  problem_run(p, work, bytes, other);
  result_same(other, base, "with poison in all hidden memory", p);
  free_work(work);
}

/* One other way to the same bits. */
static void another_way(problem *p, result *base) {
  static identity *const ways[] = { in_parts,     in_workspaces, in_members,   in_row_groups, in_steps,
                                    in_key_parts, with_outputs,  in_place,     with_more_keys, with_poison };
  const size_t           n = rng_below(sizeof ways / sizeof ways[0]);
  result                 other;
  if (cost_of(&p->d) > CHEAP) return;
  if (ways[n] == in_steps && !(p->d.flags & (unsigned)MHA_CAUSAL)) return;
  if (ways[n] == in_place && !(p->flags & PROBLEM_IN_PLACE)) return;
  other = result_new(&p->d);
  ways[n](p, base, &other);
  result_free(&other);
}

/* Values and bits by the references */
static void judge(problem *p, const result *r) {
  if (cost_of(&p->d) > CHEAP) return;
  check_bits(p, r);
  if (!(p->flags & (PROBLEM_INFINITE | PROBLEM_EXTREME))) check_values(p, r); /* what the bounds are for */
}

/* On one of the machine's instruction sets; returns whether it fuses. */
static int on_some_isa(problem *p, result *r) {
  size_t n = rng_below(FUZZ_ISAS), bytes;
  void  *work = any_work(&p->d, &bytes);
  while (!fuzz_isa(n)) n = (n + 1) % FUZZ_ISAS;
  problem_run(p, work, bytes, r);
  free_work(work);
  return numerics_fused();
}

static void attend(const uint8_t *data, size_t size) {
  const unsigned flags = any_flags();
  problem       *p = problem_new_from(data, size, flags, any_shape(flags));
  result         base, other;
  int            fused;
  CHECK(mha_check(&p->d) == MHA_OK, "%s %s", mha_strerror(mha_check(&p->d)), problem_text(p));
  if (cost_of(&p->d) > DEAR) {
    problem_free(p);
    return;
  }
  base = result_new(&p->d);
  other = result_new(&p->d);
  fused = on_some_isa(p, &base);
  judge(p, &base);
  if (on_some_isa(p, &other) == fused) result_same(&other, &base, "on another instruction set", p);
  else judge(p, &other);
  another_way(p, &other);
  result_free(&other);
  result_free(&base);
  problem_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const size_t call = size < CALL_BYTES ? size : CALL_BYTES;
  rng_start(1, data, call);
  attend(data + call, size - call);
  return 0;
}
