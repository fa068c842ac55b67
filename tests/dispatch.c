/* dispatch.c - which instance runs on x86-64 processors, under operating systems, that this machine is not.

   mha.h asks through two functions of its own, which get other names here; fakes take their place. */
#include <stdio.h>
#include <string.h>

/* `mha__cpuid(unsigned leaf, ...` is the definition, `mha__cpuid(7, ...` a call; likewise (void) and (). */
#define mha__cpuid(leaf, r)  CPUID_##leaf, r)
#define CPUID_unsigned       real_cpuid(unsigned
#define CPUID_0              fake_cpuid(0
#define CPUID_1              fake_cpuid(1
#define CPUID_7              fake_cpuid(7
#define mha__xcr0(nothing)   XCR0_##nothing
#define XCR0_void            real_xcr0(void)
#define XCR0_                fake_xcr0()
void     fake_cpuid(unsigned leaf, unsigned r[4]);
unsigned fake_xcr0(void);

#define MHA_IMPLEMENTATION
#include "../mha.h"

#ifdef MHA__X86

enum { FMA = 1 << 12, OSXSAVE = 1 << 27, F16C = 1 << 29 }; /* leaf 1, ecx */
enum { AVX2 = 1 << 5, AVX512F = 1 << 16 };                  /* leaf 7, ebx */
enum { SSE = 2, AVX = 4, OPMASK = 0x20, ZMM_HIGH = 0x40, ZMM_MORE = 0x80 }; /* saved by the system */

typedef struct {
  const char *what;
  unsigned    leaves, features1, features7, saved;
} machine;

static machine here;
static int     misasked; /* for what the processor does not answer */

void fake_cpuid(unsigned leaf, unsigned r[4]) {
  misasked |= leaf > here.leaves;
  r[0] = leaf == 0 ? here.leaves : 0;
  r[1] = leaf == 7 ? here.features7 : 0;
  r[2] = leaf == 1 ? here.features1 : 0;
  r[3] = 0;
}

unsigned fake_xcr0(void) {
  misasked |= !(here.features1 & OSXSAVE);
  return here.saved;
}

static int passed, failed;

static void expect(machine m, const char *isa, const char *integers) {
  const char *got, *got_integers;
  here = m;
  misasked = 0;
  got = mha__instance(0)->isa;
  got_integers = mha__s8_choose(0)->isa;
  if (strcmp(got, isa) == 0 && strcmp(got_integers, integers) == 0 && !misasked) {
    passed++;
    return;
  }
  failed++;
  printf("  FAILED dispatch: %s: %s and %s instead of %s and %s%s\n", m.what, got, got_integers, isa,
         integers, misasked ? ", and it asks for what is not there" : "");
}

int main(void) {
  const machine all = { "everything", 7, FMA | OSXSAVE | F16C, AVX2 | AVX512F,
                        SSE | AVX | OPMASK | ZMM_HIGH | ZMM_MORE };
#  ifdef MHA__SSE2
  const char *const least = "sse2";
#  else
  const char *const least = "scalar";
#  endif
  machine m;
  (void)real_cpuid, (void)real_xcr0;
  expect(all, "avx512", "avx2");
#  define WITHOUT(member, bit, isa, integers) \
    m = all, m.what = "without " #bit, m.member &= ~(unsigned)(bit), expect(m, isa, integers)
  WITHOUT(features1, FMA, least, "scalar");
  WITHOUT(features1, OSXSAVE, least, "scalar");
  WITHOUT(features1, F16C, least, "scalar");
  WITHOUT(features7, AVX2, least, "scalar");
  WITHOUT(features7, AVX512F, "avx2", "avx2");
  WITHOUT(saved, SSE, least, "scalar");
  WITHOUT(saved, AVX, least, "scalar");
  WITHOUT(saved, OPMASK, "avx2", "avx2");
  WITHOUT(saved, ZMM_HIGH, "avx2", "avx2");
  WITHOUT(saved, ZMM_MORE, "avx2", "avx2");
  m = all, m.what = "without leaf 7", m.leaves = 6;
  expect(m, least, "scalar");
  if (!failed) printf("  ok     dispatch: %d processors and operating systems\n", passed);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

#else
int main(void) {
  printf("  skipped dispatch: nothing is chosen at run time here\n0 passed, 0 failed, 1 skipped\n");
  return 0;
}
#endif
