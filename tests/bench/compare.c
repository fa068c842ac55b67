/* compare.c - two builds of mha.h on the same shapes and inputs, in turn.

     make bench-compare OLD=HEAD~1                          a revision, or the path of a file
     make bench-compare OLD=HEAD BENCH="--group short"

   Each row runs old and new, and both once more: how far the two best times of one build lie apart is the
   noise.  A difference counts if it is above twice that, and above what the place of the code in the program
   makes: one build beside itself differed by up to 5 % in calls of a microsecond. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t same, faster, slower, different; /* rows; the last: in bits */

void compare_head(void) {
  printf("\n%-8s %-38s %-6s %2s %11s %11s %8s %6s  %s\n", "group", "shape", "ISA", "th", "old us", "new us",
         "new/old", "noise", "");
}

/* Do both, which share an output, write the same?  It is cleared first, so that neither finds the other's. */
static int same_bits(problem *p, problem *q) {
  void *first = line_alloc(p->o_bytes);
  int   same_output;
  memset(p->d.o, 0, p->o_bytes);
  problem_run(p);
  memcpy(first, p->d.o, p->o_bytes);
  memset(q->d.o, 0xFF, p->o_bytes);
  problem_run(q);
  same_output = memcmp(first, q->d.o, p->o_bytes) == 0;
  free(first);
  return same_output;
}

static double least_difference(double t) { return t < 10e-6 ? 0.06 : 0.01; }

static double smaller(double a, double b) { return a < b ? a : b; }

void compare_row(const build *old, const shape *s, FILE *json, int first, double seconds) {
  problem     p, q, kept;
  contender   c[4];
  const char *verdict;
  char        name[64];
  double      t_old, t_new, noise = 1.0, limit;
  int         equal, tries, k;
  problem_new(&p, s, old);
  problem_new(&q, s, &build_new);
  kept = q;
  q.d = p.d; /* the same memory, for where it lies makes some percent */
  if (q.work_bytes <= p.work_bytes) q.work = p.work;
  if (q.shared_bytes <= p.shared_bytes) q.shared = p.shared;
  for (k = 0; k < 4; k++) {
    const contender each = { problem_run, k % 2 ? &q : &p, (int)s->threads, 0, 0.0 };
    c[k] = each;
  }
  for (tries = 0; tries < 3 && noise > least_difference(1.0); tries++) { /* when busy, more chances */
    race(c, 4, seconds);
    noise = fmax(fabs(log(c[0].best / c[2].best)), fabs(log(c[1].best / c[3].best)));
  }
  equal = same_bits(&p, &q);
  problem_check(&p);
  problem_check(&q);
  t_old = smaller(c[0].best, c[2].best), t_new = smaller(c[1].best, c[3].best);
  different += !equal;
  limit = fmax(2.0 * noise, least_difference(t_old));
  if (fabs(log(t_new / t_old)) <= limit) verdict = "same within the noise", same++;
  else if (t_new < t_old) verdict = "FASTER", faster++;
  else verdict = "SLOWER", slower++;
  shape_name(s, name, sizeof name);
  printf("%-8s %-38s %-6s %2zu %11.3f %11.3f %8.3f %5.1f%%  %s%s\n", s->group, name, build_new.isa(),
         s->threads, t_old * 1e6, t_new * 1e6, t_new / t_old, 100.0 * noise, verdict,
         equal ? "" : "  *** BITS DIFFER ***");
  if (json)
    fprintf(json, "%s\n  {\"group\": \"%s\", \"shape\": \"%s\", \"isa\": \"%s\", \"threads\": %zu, "
                  "\"old\": %.9g, \"new\": %.9g, \"noise\": %.4g, \"same_bits\": %s}",
            first ? "" : ",", s->group, name, build_new.isa(), s->threads, t_old, t_new, noise,
            equal ? "true" : "false");
  fflush(stdout);
  problem_free(&p);
  problem_free(&kept);
}

int compare_end(void) {
  printf("%zu faster, %zu slower, %zu the same within the noise\n", faster, slower, same);
  if (different) printf("*** BITS DIFFER in %zu rows ***\n", different);
  return different != 0;
}
