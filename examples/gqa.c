/* gqa.c - grouped-query attention: 8 query heads share 2 heads of keys and values.

   cc -O2 examples/gqa.c && ./a.out

   Query head h reads key head h / 4.  Setting kv_heads is all there is to it.  To show that nothing else
   happens, the program repeats every key and value head by hand, runs plain attention on that, and compares.

   Expect: 0 of 8192 outputs differ, in a quarter of the memory. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>
#include <string.h>

enum { TOKENS = 64, Q_HEADS = 8, KV_HEADS = 2, CHANNELS = 16, GROUP = Q_HEADS / KV_HEADS };

static float q[TOKENS][Q_HEADS][CHANNELS];
static float grouped[TOKENS][Q_HEADS][CHANNELS], plain[TOKENS][Q_HEADS][CHANNELS]; /* the outputs */
static float k[TOKENS][KV_HEADS][CHANNELS], v[TOKENS][KV_HEADS][CHANNELS];
static float k_all[TOKENS][Q_HEADS][CHANNELS], v_all[TOKENS][Q_HEADS][CHANNELS]; /* every head repeated */

static float noise(void) { /* -2 .. 2 */
  static unsigned long state = 1;
  state = (state * 1664525UL + 1013904223UL) & 0xffffffffUL;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

int main(void) {
  mha_desc   d = { 0 };
  mha_status status;
  int        j, h, c, differ = 0;
  for (j = 0; j < TOKENS; j++) {
    for (h = 0; h < Q_HEADS; h++)
      for (c = 0; c < CHANNELS; c++) q[j][h][c] = noise();
    for (h = 0; h < KV_HEADS; h++)
      for (c = 0; c < CHANNELS; c++) k[j][h][c] = noise(), v[j][h][c] = noise();
    for (h = 0; h < Q_HEADS; h++) {
      memcpy(k_all[j][h], k[j][h / GROUP], sizeof k_all[j][h]);
      memcpy(v_all[j][h], v[j][h / GROUP], sizeof v_all[j][h]);
    }
  }

  d.batch = 1;
  d.q_heads = Q_HEADS;
  d.kv_heads = KV_HEADS;
  d.q_len = d.kv_len = TOKENS;
  d.d_k = CHANNELS;
  d.q = &q[0][0][0], d.k = k, d.v = v, d.o = &grouped[0][0][0];
  d.flags = MHA_CAUSAL;
  status = mha_attend(&d, NULL, 0);

  if (status == MHA_OK) {
    d.kv_heads = Q_HEADS;
    d.k = k_all, d.v = v_all, d.o = &plain[0][0][0];
    status = mha_attend(&d, NULL, 0);
  }
  if (status != MHA_OK) {
    printf("%s\n", mha_strerror(status));
    return 1;
  }

  for (j = 0; j < TOKENS; j++)
    for (h = 0; h < Q_HEADS; h++)
      for (c = 0; c < CHANNELS; c++) differ += memcmp(&grouped[j][h][c], &plain[j][h][c], sizeof(float)) != 0;
  printf("keys and values: %lu bytes grouped, %lu bytes repeated\n", (unsigned long)(sizeof k + sizeof v),
         (unsigned long)(sizeof k_all + sizeof v_all));
  printf("%d of %d outputs differ\n", differ, TOKENS * Q_HEADS * CHANNELS);
  return differ != 0;
}
