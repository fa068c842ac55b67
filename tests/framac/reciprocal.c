/* reciprocal.c - what EVA cannot prove about mha__s8_reciprocal, by trying all of its 2^31 arguments: compiled
   with -fsanitize=undefined it says whether an integer overflows, and itself whether the result is right. */
#include <stdio.h>

#define MHA_STATIC
#define MHA_NO_FLOAT
#define MHA_IMPLEMENTATION
#include "mha.h"

int main(void) {
  uint32_t x = (uint32_t)1 << 31;
  int64_t  most = 0;
  for (; x; x++) {
    const int64_t y = mha__s8_reciprocal(x), exact = (int64_t)(((uint64_t)1 << 62) / x);
    const int64_t error = y > exact ? y - exact : exact - y;
    if (error > most) most = error;
  }
  printf("largest error %ld\n", (long)most);
  return most > 7;
}
