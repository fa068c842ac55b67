/* test_mha.c - runs every group of tests on every instance of the kernels that this CPU has.

   test_mha [seed [name [isa]]]   seed 0 or none: the fixed one; name: only groups whose name contains it;
                                  isa: only that instance */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MHA_TEST_HOOKS
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include "check.h"

enum { MOST_REPORTS = 10 };

static uint64_t seed = 20261129;
static long     group_checks, group_failures;
static const char *group_skips; /* why, or NULL */

int check_that(int ok, const char *file, int line, const char *format, ...) {
  va_list list;
  group_checks++;
  if (ok) return 1;
  if (++group_failures <= MOST_REPORTS) {
    printf("    %s:%d: seed %llu: ", file, line, (unsigned long long)seed);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
  }
  return 0;
}

void skip_that(const char *why) { group_skips = why; }

static const group *const all_groups[] = { cases_groups, errors_groups,   helpers_groups,  random_groups,
                                           edges_groups, identity_groups, limits_groups,   accuracy_groups,
                                           s8_groups };

static void run_groups(const char *filter, long *passed, long *failed, long *skipped) {
  static const char *measured = ""; /* the roundings of the instance before: equal bits have equal errors */
  static const char *integers = ""; /* the integer kernels that ran before: most instances share them */
  size_t             f;
  const group       *g;
  for (f = 0; f < sizeof all_groups / sizeof all_groups[0]; f++) {
    if (all_groups[f] == accuracy_groups && strcmp(measured, mha_numerics()) == 0) {
      if (!filter) printf("  skipped: accuracy, which stands above for %s\n", measured);
      continue;
    }
    if (all_groups[f] == s8_groups && strcmp(integers, mha__s8_active()->isa) == 0) {
      if (!filter) printf("  skipped: s8, which stands above for the integer kernels %s\n", integers);
      continue;
    }
    for (g = all_groups[f]; g->name; g++) {
      clock_t start = clock();
      if (filter && !strstr(g->name, filter)) continue;
      rng_start(seed, NULL, 0);
      group_checks = group_failures = 0;
      group_skips = NULL;
      g->run();
      if (!group_checks && !group_skips) CHECK(0, "%s checked nothing", g->name);
      if (group_skips) printf("  skipped %s\n", group_skips), ++*skipped;
      if (!group_checks) continue;
      printf("  %-6s %-32s %9ld checks %6.2f s\n", group_failures ? "FAILED" : "ok", g->name, group_checks,
             (double)(clock() - start) / CLOCKS_PER_SEC);
      fflush(stdout);
      if (group_failures) ++*failed; else ++*passed;
    }
  }
  measured = mha_numerics();
  integers = mha__s8_active()->isa;
}

/* Why an instance need not be tested in this build, or NULL.  Builds with MHA_EXACT_FMA or MHA_NO_FMA differ
   from the default one only where there is no fma, or is; one vector instance shows what MHA_NO_FMA does. */
static const char *tested_elsewhere(void) {
  const char *same = "the default build has the same code";
#if defined(MHA_EXACT_FMA)
  if (strcmp(mha_numerics(), "software fma") != 0) return same;
#elif defined(MHA_NO_FMA) && defined(__x86_64__) && !defined(__FMA__)
  if (strcmp(mha_isa(), "scalar") == 0 || strcmp(mha_isa(), "sse2") == 0) return same;
  if (strcmp(mha_isa(), "avx512") == 0) return "avx2 stands for both, to save time";
#endif
  (void)same;
  return NULL;
}

int main(int argc, char **argv) {
  static const char *const isas[] = { "scalar", "sse2", "avx2", "avx512", "neon", "wasm" };
  const char *filter = argc > 2 ? argv[2] : NULL, *only = argc > 3 ? argv[3] : NULL;
  long        passed = 0, failed = 0, skipped = 0, ran = 0, found = 0;
  size_t      n;
  if (argc > 4) {
    fprintf(stderr, "usage: test_mha [seed [part of a group's name [instruction set]]]\n");
    return 2;
  }
  if (argc > 1) {
    char *end;
    seed = strtoull(argv[1], &end, 0);
    if (end == argv[1] || *end) {
      fprintf(stderr, "test_mha: the seed must be a number, not '%s'\n", argv[1]);
      return 2;
    }
    if (!seed) seed = 20261129;
  }
  printf("chosen here: %s\n", mha_isa());
  printf("for integers: %s\n", mha__s8_active()->isa);
  for (n = 0; n < sizeof isas / sizeof isas[0]; n++) {
    if ((only && strcmp(only, isas[n]) != 0) || !mha__force_isa(isas[n])) continue;
    found = 1;
    printf("%s, %s, seed %llu\n", mha_isa(), mha_numerics(), (unsigned long long)seed);
    if (tested_elsewhere()) printf("  skipped: %s\n", tested_elsewhere());
    else run_groups(filter, &passed, &failed, &skipped), ran++;
  }
  if (!found) {
    printf("there is no instance %s here\n", only ? only : "");
    return 2;
  }
  if (!ran) {
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
  }
  if (!passed && !failed && !skipped) {
    printf("no group is named like '%s'\n", filter ? filter : "");
    return 2;
  }
  printf("%ld passed, %ld failed", passed, failed);
  if (skipped) printf(", %ld skipped", skipped);
  printf("\n");
  return failed != 0;
}
