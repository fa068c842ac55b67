/* check.h - what every test file shares: checks that count and report, seeded random numbers, guarded memory.
   Defined in check.c but for check_that: what a failure does is up to the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *name;
  void (*run)(void);
} group;

/* One array per test file, ended by a NULL name. */
extern const group cases_groups[], errors_groups[], helpers_groups[];
extern const group s8_groups[], random_groups[], edges_groups[], identity_groups[], limits_groups[],
    accuracy_groups[];

/* CHECK(condition, printf arguments that say what was got and wanted).  A failure prints file, line, seed and
   the message, at most ten per group, and fails the run.  The arguments are evaluated only then. */
#define CHECK(ok, ...) \
  ((ok) ? check_that(1, __FILE__, __LINE__, "ok") : check_that(0, __FILE__, __LINE__, __VA_ARGS__))
int check_that(int ok, const char *file, int line, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ; /* returns ok */

/* Of this group something cannot be checked here, and `why` says what and why. */
void skip_that(const char *why);

/* Random numbers: from bytes, two for each, as long as there are any, then by splitmix64. */
typedef struct {
  uint64_t             state;
  const unsigned char *bytes;
  size_t               left;
} rng_source;
uint64_t rng_next(rng_source *r);

/* The generator starts anew from the seed in every group: a group alone repeats what it did in a full run. */
void     rng_start(uint64_t seed, const unsigned char *bytes, size_t n);
uint64_t rng(void);
size_t   rng_below(size_t n);                 /* 0 .. n - 1 */
size_t   rng_between(size_t low, size_t high); /* low .. high, both included */
int      rng_chance(unsigned percent);
float    rng_float(float low, float high);
float    rng_normal(void);                    /* about N(0, 1): a sum of twelve uniforms */

/* Memory with 64 marked bytes before and behind it.  `shift` is added to an address that is a multiple of 64.
   Filled with 0xA5; "unset" if MemorySanitizer shall object to all use of that.  guard_free checks the marks
   (a failed CHECK names `what`) and frees. */
void *guard_new(size_t bytes, size_t shift);
void *guard_new_unset(size_t bytes, size_t shift);
void  guard_check(const void *p, const char *what);
void  guard_free(void *p, const char *what);

/* Bits, and equality of bits except that any NaN equals any NaN. */
uint32_t bits_of(float x);
float    from_bits(uint32_t u);
int      same_float(float a, float b);
size_t   first_difference(const float *a, const float *b, size_t n); /* n when equal by same_float */

/* 1 when the instance that runs now fuses multiply and add (mha_numerics), 0 when it multiplies, then adds,
   and -1 when it promises no bits. */
int numerics_fused(void);

#endif
