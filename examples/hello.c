/* hello.c - two tokens attend to each other in two heads: the smallest whole program.

   cc -O2 hello.c && ./a.out          with mha.h in the same folder or on the include path (-I) */
#define MHA_IMPLEMENTATION
#include "mha.h"
#include <stdio.h>

int main(void) {
  const float qk[8] = { 1, 0, 0, 1,   0, 1, 1, 0 }; /* one row per token, two columns per head */
  const float v[8]  = { 1, 2, 3, 4,   5, 6, 7, 8 };
  float       out[8];
  int         i;
  mha_status  status = mha_multi_head_attention(out, qk, qk, v, 2, 4, 2); /* 2 tokens, 4 channels, 2 heads */
  if (status != MHA_OK) {
    printf("%s\n", mha_strerror(status));
    return 1;
  }
  for (i = 0; i < 8; i++) printf("%.3f%c", (double)out[i], i % 4 == 3 ? '\n' : ' ');
  return 0;
}
