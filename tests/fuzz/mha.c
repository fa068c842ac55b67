/* mha.c - the implementation for the harnesses, see fuzz.h */
#define MHA_TEST_HOOKS
#define MHA_IMPLEMENTATION
#include "../../mha.h"

int fuzz_isa(size_t n);

#if defined(MHA__X86) || defined(MHA__NEON)
/* Asking the machine costs more than many a call: once is enough. */
int fuzz_isa(size_t n) {
  static const char *const names[] = { "scalar", "sse2", "neon", "avx2", "avx512" };
  static struct {
    const mha__kernels    *kernels;
    const mha__s8_kernels *s8;
  } known[sizeof names / sizeof names[0]];
  static int asked;
  size_t     k;
  for (k = 0; !asked && k < sizeof names / sizeof names[0]; k++) {
    if (!mha__force_isa(names[k])) continue;
    known[k].kernels = mha__chosen;
    known[k].s8 = mha__s8_chosen;
  }
  asked = 1;
  if (!known[n].kernels) return 0;
  mha__chosen = known[n].kernels;
  mha__s8_chosen = known[n].s8;
  return 1;
}
#else
int fuzz_isa(size_t n) { return n == 0; }
#endif
