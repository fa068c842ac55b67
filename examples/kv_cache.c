/* kv_cache.c - decodes token by token from a cache and compares with one pass over the whole sequence.

   cc -O2 examples/kv_cache.c && ./a.out

   A language model keeps the keys and values of the tokens it has read, and asks with the newest token only.
   This cache has room for 512 tokens.  Its unused slots hold NaN: kv_lens says how many slots are in use, and
   the rest is not read.  MHA_Q_LAST puts the query at the newest key, so that no position has to be counted.

   Expect: 0 of 614400 bits differ. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>
#include <string.h>

enum { TOKENS = 300, SLOTS = 512, HEADS = 4, CHANNELS = 16, ROW = HEADS * CHANNELS };

static float q[TOKENS][ROW], k[TOKENS][ROW], v[TOKENS][ROW]; /* (token, head, channel), made up */
static float k_cache[SLOTS][ROW], v_cache[SLOTS][ROW];
static float whole[TOKENS][ROW], step[TOKENS][ROW]; /* the outputs to compare */

static float noise(void) { /* -2 .. 2 */
  static unsigned long state = 1;
  state = (state * 1664525UL + 1013904223UL) & 0xffffffffUL;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

int main(void) {
  mha_desc   d = { 0 };
  mha_status status;
  size_t     i, used;
  long       differ = 0;
  int        c;
  for (i = 0; i < TOKENS; i++)
    for (c = 0; c < ROW; c++) q[i][c] = noise(), k[i][c] = noise(), v[i][c] = noise();

  /* The whole sequence at once: what a model does with its prompt. */
  d.batch = 1;
  d.q_heads = HEADS;
  d.d_k = CHANNELS;
  d.q_len = d.kv_len = TOKENS;
  d.q = &q[0][0], d.k = k, d.v = v, d.o = &whole[0][0];
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  status = mha_attend(&d, NULL, 0);

  /* One token at a time, from the cache: what it does afterwards. */
  memset(k_cache, 0xff, sizeof k_cache); /* a float of all ones is a NaN */
  memset(v_cache, 0xff, sizeof v_cache);
  d.q_len = 1;
  d.kv_len = SLOTS;
  d.kv_lens = &used;
  d.k = k_cache, d.v = v_cache;
  for (i = 0; i < TOKENS && status == MHA_OK; i++) {
    memcpy(k_cache[i], k[i], sizeof k[i]);
    memcpy(v_cache[i], v[i], sizeof v[i]);
    used = i + 1;
    d.q = q[i], d.o = step[i];
    status = mha_attend(&d, NULL, 0);
  }
  if (status != MHA_OK) {
    printf("%s\n", mha_strerror(status));
    return 1;
  }

  for (i = 0; i < sizeof whole; i++) {
    unsigned bits = ((unsigned char *)whole)[i] ^ ((unsigned char *)step)[i];
    for (; bits; bits >>= 1) differ += bits & 1;
  }
  printf("%d tokens, instructions: %s, roundings: %s\n", TOKENS, mha_isa(), mha_numerics());
  printf("%ld of %ld bits differ\n", differ, (long)sizeof whole * 8);
  return differ != 0;
}
