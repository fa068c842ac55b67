/* causal.c - why the mask matters: prints the attention weights of a 5-token sequence, without and with it.

   cc -O2 examples/causal.c && ./a.out

   Row i says how much token i takes from each token.  Expect a full square on the left and a lower triangle
   on the right: nothing comes from a later token, and what would have is shared by the others in proportion.
   Each row still sums to 1.00. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>

enum { TOKENS = 5, CHANNELS = 4 };

static const float x[TOKENS][CHANNELS] = { /* the tokens' vectors; query, key and value in one here */
  { 1.0f, 0.2f, 0.0f, 0.5f },
  { 0.1f, 1.0f, 0.3f, 0.0f },
  { 0.9f, 0.0f, 0.4f, 0.7f },
  { 0.0f, 0.8f, 1.0f, 0.1f },
  { 0.6f, 0.1f, 0.2f, 1.0f }
};

/* weights[i][j] = share of token j in the output of token i */
static mha_status attend(float weights[TOKENS][TOKENS], unsigned flags) {
  float    out[TOKENS][CHANNELS];
  mha_desc d = { 0 };
  d.batch = d.q_heads = 1;
  d.q_len = d.kv_len = TOKENS;
  d.d_k = CHANNELS;
  d.q = &x[0][0];
  d.k = d.v = x;
  d.o = &out[0][0];
  d.flags = flags;
  d.weights = &weights[0][0];
  return mha_attend(&d, NULL, 0);
}

int main(void) {
  float      all[TOKENS][TOKENS], past[TOKENS][TOKENS];
  mha_status status = attend(all, 0);
  int        i, j, wrong = 0;
  if (status == MHA_OK) status = attend(past, MHA_CAUSAL);
  if (status != MHA_OK) {
    printf("%s\n", mha_strerror(status));
    return 1;
  }

  printf("without the mask                    with it\n");
  for (i = 0; i < TOKENS; i++) {
    float seen = 0.0f, sum = 0.0f, error;
    for (j = 0; j < TOKENS; j++) printf("%.2f  ", (double)all[i][j]);
    printf("      ");
    for (j = 0; j < TOKENS; j++) printf("%.2f  ", (double)past[i][j]);
    printf("\n");

    /* What the opening paragraph claims, checked. */
    for (j = 0; j <= i; j++) seen += all[i][j];
    for (j = 0; j < TOKENS; j++) {
      sum += past[i][j];
      error = past[i][j] - (j <= i ? all[i][j] / seen : 0.0f);
      wrong += j > i ? past[i][j] != 0.0f : !(error < 1e-6f && error > -1e-6f);
    }
    wrong += !(sum > 0.999999f && sum < 1.000001f);
  }
  if (wrong) printf("%d weights or sums are wrong\n", wrong);
  return wrong != 0;
}
