/* padded.c - two sentences of different length in one batch, in one buffer of packed Q, K, V rows.

   cc -O2 examples/padded.c && ./a.out

   A row of the buffer is q, k and v of one token side by side, as one multiplication by [W_Q W_K W_V] leaves
   it.  The shorter sentence is padded to the longer; the padding holds NaN, and kv_lens keeps it out.  Then
   each sentence is copied out and attended alone, without strides and padding.

   Expect: 0 of 1824 outputs differ. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>
#include <string.h>

enum { SENTENCES = 2, LEN = 37, HEADS = 4, CHANNELS = 8, D_MODEL = HEADS * CHANNELS };

static float qkv[SENTENCES][LEN][3][D_MODEL]; /* made up */
static float batched[SENTENCES][LEN][D_MODEL];
static float one[3][LEN][D_MODEL], alone[LEN][D_MODEL]; /* q, k, v of one sentence and its output */

static float noise(void) { /* -2 .. 2 */
  static unsigned long state = 1;
  state = (state * 1664525UL + 1013904223UL) & 0xffffffffUL;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

int main(void) {
  const size_t lens[SENTENCES] = { LEN, 20 };
  mha_desc     d = { 0 };
  mha_strides  packed; /* in floats */
  mha_status   status;
  size_t       b, i;
  int          part, c, differ = 0, outputs = 0;
  memset(qkv, 0xff, sizeof qkv); /* a float of all ones is a NaN */
  for (b = 0; b < SENTENCES; b++)
    for (i = 0; i < lens[b]; i++)
      for (part = 0; part < 3; part++)
        for (c = 0; c < D_MODEL; c++) qkv[b][i][part][c] = noise();

  d.batch = SENTENCES;
  d.q_heads = HEADS;
  d.q_len = d.kv_len = LEN;
  d.d_k = CHANNELS;
  d.q = qkv[0][0][0], d.k = qkv[0][0][1], d.v = qkv[0][0][2];
  packed.batch = LEN * 3 * D_MODEL; /* once one stride is set, all three count */
  packed.head = CHANNELS;
  packed.row = 3 * D_MODEL;
  d.q_stride = d.k_stride = d.v_stride = packed;
  d.kv_lens = lens;
  d.o = batched[0][0]; /* without strides: packed (batch, len, heads, channels) */
  status = mha_attend(&d, NULL, 0);

  /* The rows of padding in `batched` are what their queries of NaN make of them: nobody reads them. */
  for (b = 0; b < SENTENCES && status == MHA_OK; b++) {
    for (part = 0; part < 3; part++)
      for (i = 0; i < lens[b]; i++) memcpy(one[part][i], qkv[b][i][part], sizeof one[part][i]);
    status = mha_multi_head_attention(alone[0], one[0][0], one[1][0], one[2][0], lens[b], D_MODEL, HEADS);
    for (i = 0; i < lens[b]; i++)
      for (c = 0; c < D_MODEL; c++, outputs++)
        differ += memcmp(&batched[b][i][c], &alone[i][c], sizeof(float)) != 0;
  }
  if (status != MHA_OK) {
    printf("%s\n", mha_strerror(status));
    return 1;
  }
  printf("sentences of %d and %d tokens, padded to %d\n", (int)lens[0], (int)lens[1], LEN);
  printf("%d of %d outputs differ\n", differ, outputs);
  return differ != 0;
}
