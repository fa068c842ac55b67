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

/* Under AddressSanitizer the marks may not be read either. */
#ifdef __has_feature
#  if __has_feature(address_sanitizer)
#    define ADDRESS_SANITIZER
#  endif
#elif defined(__SANITIZE_ADDRESS__)
#  define ADDRESS_SANITIZER
#endif
#ifdef ADDRESS_SANITIZER
#  include <sanitizer/asan_interface.h>
#else
#  define ASAN_POISON_MEMORY_REGION(p, bytes)   (void)0
#  define ASAN_UNPOISON_MEMORY_REGION(p, bytes) (void)0
#endif

enum { GUARD = 64, MOST_REPORTS = 10 };
static const unsigned char MARK = 0xC7;

static uint64_t seed = 20261129, rng_state;
static long     group_checks, group_failures;

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

/* splitmix64 */
uint64_t rng(void) {
  uint64_t z = (rng_state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
size_t rng_below(size_t n) { return (size_t)(rng() % n); }
size_t rng_between(size_t low, size_t high) { return low + rng_below(high - low + 1); }
int    rng_chance(unsigned percent) { return rng() % 100 < percent; }
float  rng_float(float low, float high) { return low + (high - low) * (float)(rng() >> 40) / 16777216.0f; }
float  rng_normal(void) {
  float sum = -6.0f;
  int   k;
  for (k = 0; k < 12; k++) sum += rng_float(0.0f, 1.0f);
  return sum;
}

/* A block is: header, a pointer to it, GUARD marks, data, GUARD marks. */
typedef struct {
  void  *block;
  size_t bytes;
} guard_header;

static guard_header *guard_header_of(const void *p) {
  guard_header *h;
  memcpy(&h, (const unsigned char *)p - GUARD - sizeof h, sizeof h);
  return h;
}

void *guard_new(size_t bytes, size_t shift) {
  size_t         before = sizeof(guard_header) + sizeof(guard_header *) + GUARD;
  unsigned char *block = (unsigned char *)malloc(before + 64 + shift + bytes + GUARD), *p;
  guard_header  *h = (guard_header *)(void *)block;
  if (!block) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  p = block + before;
  p += (64 - (uintptr_t)p % 64) % 64 + shift;
  h->block = block;
  h->bytes = bytes;
  memcpy(p - GUARD - sizeof h, &h, sizeof h);
  memset(p - GUARD, MARK, GUARD);
  memset(p, 0xA5, bytes);
  memset(p + bytes, MARK, GUARD);
  ASAN_POISON_MEMORY_REGION(p - GUARD, GUARD);
  ASAN_POISON_MEMORY_REGION(p + bytes, GUARD);
  return p;
}

void guard_check(const void *p, const char *what) {
  const unsigned char *data = (const unsigned char *)p;
  size_t               bytes = guard_header_of(p)->bytes, k;
  int                  intact = 1;
  ASAN_UNPOISON_MEMORY_REGION(data - GUARD, GUARD);
  ASAN_UNPOISON_MEMORY_REGION(data + bytes, GUARD);
  for (k = 0; k < GUARD; k++) intact &= (data - GUARD)[k] == MARK && data[bytes + k] == MARK;
  ASAN_POISON_MEMORY_REGION(data - GUARD, GUARD);
  ASAN_POISON_MEMORY_REGION(data + bytes, GUARD);
  CHECK(intact, "%s: memory beside it was written", what);
}

void guard_free(void *p, const char *what) {
  guard_header *h;
  guard_check(p, what);
  h = guard_header_of(p);
  ASAN_UNPOISON_MEMORY_REGION((unsigned char *)p - GUARD, GUARD);
  ASAN_UNPOISON_MEMORY_REGION((unsigned char *)p + h->bytes, GUARD);
  free(h->block);
}

uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
float from_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}
int    same_float(float a, float b) { return bits_of(a) == bits_of(b) || (a != a && b != b); }
size_t first_difference(const float *a, const float *b, size_t n) {
  size_t k;
  for (k = 0; k < n && same_float(a[k], b[k]); k++) {}
  return k;
}

int numerics_fused(void) {
  const char *name = mha_numerics();
  return strcmp(name, "excess precision") == 0 ? -1 : strcmp(name, "multiply then add") != 0;
}

static const group *const all_groups[] = { cases_groups, errors_groups,   helpers_groups,  random_groups,
                                           edges_groups, identity_groups, accuracy_groups, s8_groups };

static void run_groups(const char *filter, long *passed, long *failed) {
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
      rng_state = seed;
      group_checks = group_failures = 0;
      g->run();
      if (!group_checks) CHECK(0, "%s checked nothing", g->name);
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
  long        passed = 0, failed = 0, ran = 0, found = 0;
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
  for (n = 0; n < sizeof isas / sizeof isas[0]; n++) {
    if ((only && strcmp(only, isas[n]) != 0) || !mha__force_isa(isas[n])) continue;
    found = 1;
    printf("%s, %s, seed %llu\n", mha_isa(), mha_numerics(), (unsigned long long)seed);
    if (tested_elsewhere()) printf("  skipped: %s\n", tested_elsewhere());
    else run_groups(filter, &passed, &failed), ran++;
  }
  if (!found) {
    printf("there is no instance %s here\n", only ? only : "");
    return 2;
  }
  if (!ran) {
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
  }
  if (!passed && !failed) {
    printf("no group is named like '%s'\n", filter ? filter : "");
    return 2;
  }
  printf("%ld passed, %ld failed\n", passed, failed);
  return failed != 0;
}
