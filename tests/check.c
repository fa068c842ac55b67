/* check.c - see check.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mha.h"
#include "check.h"

/* Under AddressSanitizer the marks may not be read either. */
#ifdef __has_feature
#  if __has_feature(address_sanitizer)
#    define ADDRESS_SANITIZER
#  endif
#  if __has_feature(memory_sanitizer)
#    include <sanitizer/msan_interface.h>
#    define MEMORY_SANITIZER
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

enum { GUARD = 64 };
static const unsigned char MARK = 0xC7;

/* ---- Random numbers ---- */

uint64_t rng_next(rng_source *r) { /* splitmix64, of its own state or of two bytes */
  uint64_t z = 0;
  if (r->left < 2) z = r->state += 0x9E3779B97F4A7C15u;
  else {
    z = ((uint64_t)r->bytes[0] + 256u * (uint64_t)r->bytes[1] + 1u) * 0x9E3779B97F4A7C15u;
    r->bytes += 2, r->left -= 2;
  }
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static rng_source source;

void rng_start(uint64_t seed, const unsigned char *bytes, size_t n) {
  source.state = seed;
  source.bytes = bytes;
  source.left = n;
}
uint64_t rng(void) { return rng_next(&source); }
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

void *guard_new_unset(size_t bytes, size_t shift) {
  void *p = guard_new(bytes, shift);
#ifdef MEMORY_SANITIZER
  __msan_poison(p, bytes);
#endif
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
