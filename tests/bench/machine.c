/* machine.c - the bounds of this machine, measured: clock, multiply-adds and reading, for each kind of vector
   that the compiler can emit and the CPU runs. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__TINYC__)
#  include <immintrin.h>
#elif defined(__aarch64__) && !defined(__TINYC__)
#  include <arm_neon.h>
#endif

enum { FMA_STEPS = 512, CYCLES = 8192, TOGETHER = 2000 };

/* Independent sums: at least latency x units of them keep every unit busy, as many as registers allow. */
#ifdef __aarch64__
enum { SUMS = 16 };
#  define EVERY(DO, isa) \
    DO(isa, 1) DO(isa, 2) DO(isa, 3) DO(isa, 4) DO(isa, 5) DO(isa, 6) DO(isa, 7) DO(isa, 8) DO(isa, 9) \
    DO(isa, 10) DO(isa, 11) DO(isa, 12) DO(isa, 13) DO(isa, 14) DO(isa, 15) DO(isa, 16)
#else
enum { SUMS = 12 };
#  define EVERY(DO, isa) \
    DO(isa, 1) DO(isa, 2) DO(isa, 3) DO(isa, 4) DO(isa, 5) DO(isa, 6) DO(isa, 7) DO(isa, 8) DO(isa, 9) \
    DO(isa, 10) DO(isa, 11) DO(isa, 12)
#endif

/* They begin differently, or a compiler would see that all are one. */
#define DECLARE(isa, k) vec_##isa a##k = set_##isa(0.01f * k##.0f);
#define STEP(isa, k)    a##k = fma_##isa(a##k, x, y);
#define COLLECT(isa, k) total = fma_##isa(total, x, a##k);

static volatile unsigned char sink; /* what goes here has to be computed */

/* The FMA loop and the read loop for one kind of vector.  (Reading drops the last bytes below 4 vectors.) */
#define LOOPS(isa, attribute) \
  attribute static void fma_##isa##_run(void *unused) { \
    const vec_##isa x = set_##isa(0.999f), y = set_##isa(0.001f); \
    vec_##isa       total = y; \
    size_t          n; \
    EVERY(DECLARE, isa) \
    for (n = 0; n < FMA_STEPS; n++) { EVERY(STEP, isa) } \
    EVERY(COLLECT, isa) \
    (void)unused; \
    sink = *(unsigned char *)&total; \
  } \
  attribute static void read_##isa(const void *p, size_t bytes) { \
    const size_t         step = sizeof(int_##isa); \
    const unsigned char *at = (const unsigned char *)p, *end = at + bytes / (4 * step) * (4 * step); \
    int_##isa            a = zero_##isa, b = a, c = a, d = a; \
    for (; at < end; at += 4 * step) { \
      a = add_##isa(a, load_##isa(at)); \
      b = add_##isa(b, load_##isa(at + step)); \
      c = add_##isa(c, load_##isa(at + 2 * step)); \
      d = add_##isa(d, load_##isa(at + 3 * step)); \
    } \
    a = add_##isa(add_##isa(a, b), add_##isa(c, d)); \
    sink = *(unsigned char *)&a; \
  }

#if defined(__x86_64__) && !defined(__TINYC__)
#  define TARGET(isa) __attribute__((target(isa)))

#  define vec_avx512           __m512
#  define set_avx512(x)        _mm512_set1_ps(x)
#  define fma_avx512(a, x, y)  _mm512_fmadd_ps(a, x, y)
#  define int_avx512           __m512i
#  define zero_avx512          _mm512_setzero_si512()
#  define load_avx512(p)       _mm512_loadu_si512(p)
#  define add_avx512(a, b)     _mm512_add_epi32(a, b)
LOOPS(avx512, TARGET("avx512f"))

#  define vec_avx2             __m256
#  define set_avx2(x)          _mm256_set1_ps(x)
#  define fma_avx2(a, x, y)    _mm256_fmadd_ps(a, x, y)
#  define int_avx2             __m256i
#  define zero_avx2            _mm256_setzero_si256()
#  define load_avx2(p)         _mm256_loadu_si256((const __m256i *)(const void *)(p))
#  define add_avx2(a, b)       _mm256_add_epi32(a, b)
LOOPS(avx2, TARGET("avx2,fma"))

#  define vec_sse2             __m128
#  define set_sse2(x)          _mm_set1_ps(x)
#  ifdef __FMA__
#    define fma_sse2(a, x, y)  _mm_fmadd_ps(a, x, y)
#  else
#    define fma_sse2(a, x, y)  _mm_add_ps(_mm_mul_ps(a, x), y)
#  endif
#  define int_sse2             __m128i
#  define zero_sse2            _mm_setzero_si128()
#  define load_sse2(p)         _mm_loadu_si128((const __m128i *)(const void *)(p))
#  define add_sse2(a, b)       _mm_add_epi32(a, b)
LOOPS(sse2, )

#elif defined(__aarch64__) && !defined(__TINYC__)
#  define vec_neon             float32x4_t
#  define set_neon(x)          vdupq_n_f32(x)
#  define fma_neon(a, x, y)    vfmaq_f32(a, x, y) /* a + x y: the other order costs a move */
#  define int_neon             uint32x4_t
#  define zero_neon            vdupq_n_u32(0)
#  define load_neon(p)         vreinterpretq_u32_u8(vld1q_u8(p))
#  define add_neon(a, b)       vaddq_u32(a, b)
LOOPS(neon, )
#endif

#if defined(__x86_64__) && !defined(__TINYC__)
#  define ALL ENTRY(avx512, 16), ENTRY(avx2, 8), ENTRY(sse2, 4)
#  define HAS(feature) (__builtin_cpu_supports(feature) != 0)
#  define FIRST (HAS("avx512f") ? 0u : HAS("avx2") && HAS("fma") ? 1u : 2u)
#elif defined(__aarch64__) && !defined(__TINYC__)
#  define ALL   ENTRY(neon, 4)
#  define FIRST 0u
#else /* plain C */
#  define vec_scalar           float
#  define set_scalar(x)        (x)
#  define fma_scalar(a, x, y)  ((a) * (x) + (y))
#  define int_scalar           uint64_t
#  define zero_scalar          0
#  define load_scalar(p)       (*(const uint64_t *)(const void *)(p))
#  define add_scalar(a, b)     ((a) + (b))
LOOPS(scalar, )
#  define ALL   ENTRY(scalar, 1)
#  define FIRST 0u
#endif

#define ENTRY(isa, lanes) { #isa, lanes, fma_##isa##_run, read_##isa, 0.0, 0.0, 0.0, 0.0 }

loops *loops_all(size_t *n) {
  static loops all[] = { ALL };
  *n = sizeof all / sizeof all[0] - FIRST;
  return all + FIRST;
}

/* The scalar instance of mha.h is measured by the narrowest vectors, which a compiler may use there. */
loops *loops_for(const char *isa) {
  size_t n, k;
  loops *l = loops_all(&n);
  for (k = 0; k + 1 < n && strcmp(l[k].isa, isa) != 0; k++) {}
  return &l[k];
}

/* One addition takes one cycle on every CPU we know, if no part of it is a constant.  The empty statement
   keeps a compiler from adding eight times at once. */
static void add_chain(void) {
  static volatile size_t one = 1;
  const size_t           y = one;
  size_t                 x = 0, n;
#ifdef __GNUC__
#  define ADD x += y; __asm__ volatile("" : "+r"(x));
#else
#  define ADD x += y;
#endif
  for (n = 0; n < CYCLES / 8; n++) { ADD ADD ADD ADD ADD ADD ADD ADD }
  sink = (unsigned char)x;
}

/* ---- Rates ---- */

/* Wide vectors may lower the clock, for about a millisecond: hence the chain always follows some of them. */
static void run_both(void *self) {
  ((const loops *)self)->fma(NULL);
  add_chain();
}

/* Long beside the start of a thread. */
static void fma_part(void *self, size_t part, size_t parts) {
  size_t n;
  for (n = 0; n < TOGETHER; n++) ((const loops *)self)->fma(NULL);
  (void)part, (void)parts;
}


/* Two: no shape takes more. */
static void run_together(void *self) { share_out(fma_part, self, 2); }

size_t peak_contenders(contender *c, loops *l, size_t threads) {
  const contender all[] = { { l->fma, NULL, 1, 0, 0.0 },
                            { run_both, l, 1, 0, 0.0 },
                            { run_together, l, 2, 0, 0.0 } };
  const size_t    n = threads > 1 ? 3 : 2;
  memcpy(c, all, n * sizeof *c);
  return n;
}

double peak_of(const contender *c, const loops *l) {
  return 2.0 * (double)l->lanes * FMA_STEPS * SUMS / c[0].best;
}

static double clock_of(const contender *c) { return CYCLES / (c[1].best - c[0].best); }

double peak_share(const contender *c, const loops *l, size_t threads) {
  const double together = threads > 1 ? TOGETHER * c[0].best / c[2].best : 1.0;
  return together * peak_of(c, l) / (clock_of(c) * l->per_cycle);
}

typedef struct {
  const loops *l;
  void        *memory;
  size_t       bytes;
} reading;

static void run_reading(void *self) {
  const reading *r = (const reading *)self;
  r->l->read(r->memory, r->bytes);
}

/* A CPU has a whole number of units, so the best rate seen, in vectors per cycle, is rounded up; the 10 % are
   for noise. */
static double whole_units(double per_cycle, double per_unit) {
  double units = 1.0;
  while (per_cycle > 1.1 * units * per_unit) units += 1.0;
  return units * per_unit;
}

const loops *machine_measure(double seconds) {
  enum { MOST = 4, BYTES = 64 << 20 };
  contender    peak[2], reader[MOST];
  reading      r[MOST];
  void        *memory = line_alloc(BYTES);
  const loops *best;
  size_t       n, k;
  loops       *l = loops_all(&n);
  memset(memory, 1, BYTES);
  for (k = 0; k < n; k++) {
    const reading   each = { &l[k], memory, BYTES };
    const contender read = { run_reading, &r[k], 1, 0, 0.0 };
    peak_contenders(peak, &l[k], 1);
    race(peak, 2, seconds);
    l[k].peak = peak_of(peak, &l[k]);
    l[k].clock = clock_of(peak);
    l[k].per_cycle = whole_units(l[k].peak / l[k].clock, 2.0 * (double)l[k].lanes);
    r[k] = each;
    reader[k] = read;
  }
  race(reader, n, seconds * (double)n);
  free(memory);
  best = l;
  for (k = 0; k < n; k++) {
    l[k].read_rate = BYTES / reader[k].best;
    if (l[k].read_rate > best->read_rate) best = &l[k];
  }
  return best;
}

/* ---- Names ---- */

const char *machine_name(void) {
  static char line[256];
  FILE       *f = fopen("/proc/cpuinfo", "r");
  const char *name = NULL;
  while (!name && f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    name = colon + 1 + strspn(colon + 1, " ");
  }
  if (f) fclose(f);
  return name ? name : "unknown CPU";
}

#define TEXT(x)   #x
#define NUMBER(x) TEXT(x)

const char *machine_compiler(void) {
#if defined(__clang__)
  return "clang " NUMBER(__clang_major__) "." NUMBER(__clang_minor__) "." NUMBER(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown compiler";
#endif
}
