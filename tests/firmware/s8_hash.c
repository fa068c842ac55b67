/* s8_hash.c - integer attention in little memory: a hash per case and arithmetic, which must be the
   desktop's.  Rows in parts, and without scratch, must give the same bytes here and now.  A program of its own,
   or with HASH_PART a part of tests/hash.c (in C++, too). */
#include "firmware.h"
#include "s8.h"

enum { MOST = 2048 }; /* codes of a tensor */
static signed char q[MOST], k[MOST], v[MOST], o[MOST];
static uint8_t     scratch[1 + MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, 128, 8)];

static const unsigned char mask[] = { 1, 0, 1, 1, 1, 0, 1,   0, 0, 0, 0, 0, 0, 0 }; /* two rows of 7 */

typedef struct {
  const char   *name;
  unsigned char q_heads, q_len, kv_len, d_k, kv_heads, d_v;
  signed char   least, most; /* codes of q */
  unsigned char flags, masked;
} test;

static const test tests[] = {
  { "32x8x8", 8, 32, 32, 8, 8, 8, -128, 127, 0, 0 },
  { "66x8x2", 8, 66, 66, 2, 8, 2, -128, 127, 0, 0 },
  { "grouped_causal", 4, 9, 13, 7, 2, 5, -128, 127, MHA_CAUSAL | MHA_Q_LAST, 0 },
  { "window", 1, 21, 21, 3, 1, 8, -128, 127, MHA_CAUSAL | MHA_USE_WINDOW, 0 },
  { "mask", 3, 2, 7, 8, 1, 6, -128, 127, 0, 1 },
  { "one_key", 2, 3, 1, 1, 2, 1, -128, 127, 0, 0 },
  { "least", 1, 4, 100, 8, 1, 8, -128, -127, 0, 0 },
  { "most", 1, 4, 100, 8, 1, 8, 126, 127, 0, 0 }
};

static const struct {
  const char          *name;
  const mha_s8_consts *consts;
} arithmetics[] = {
  { "tflm", &tflm_8 }, { "native", &native_8 }, { "tflm_map", &tflm_map }, { "native_steep", &native_steep }
};

static mha_s8_desc s8_desc(const test *t, const mha_s8_consts *consts) {
  static mha_s8_desc zero;
  mha_s8_desc        d = zero;
  d.q_heads = t->q_heads;
  d.q_len = t->q_len;
  d.kv_len = t->kv_len;
  d.d_k = t->d_k;
  d.kv_heads = t->kv_heads;
  d.d_v = t->d_v;
  d.q = q;
  d.k = k;
  d.v = v;
  d.o = o;
  d.consts = consts;
  d.flags = t->flags;
  if (t->flags & MHA_USE_WINDOW) d.window_left = 4;
  if (t->masked) {
    d.mask = mask;
    d.mask_stride.row = 7;
  }
  return d;
}

static mha_status with_scratch(const mha_s8_desc *d, size_t first, size_t rows, uint8_t *room) {
  const size_t bytes = mha_s8_scratch_bytes(d->consts->mode, d->kv_len, d->d_k);
  return d->consts->mode == MHA_S8_TFLM ? mha_s8_tflm(d, first, rows, room, bytes)
                                        : mha_s8_native(d, first, rows, room, bytes);
}

static mha_status lean(const mha_s8_desc *d) {
  return d->consts->mode == MHA_S8_TFLM ? mha_s8_tflm_lean(d, 0, MHA_ALL) : mha_s8_native_lean(d, 0, MHA_ALL);
}

static uint32_t result(mha_status status, size_t codes) {
  uint32_t h = hash_bytes(HASH_START, o, codes);
  size_t   n;
  if (status < 0) {
    say_text("error:", mha_strerror(status));
    board_exit(1);
  }
  for (n = 0; n < MOST; n++) o[n] = 99;
  return h;
}

static void run(const test *t, const char *name, const mha_s8_consts *consts) {
  const mha_s8_desc d = s8_desc(t, consts);
  const size_t      rows = d.q_heads * d.q_len, codes = rows * d.d_v;
  size_t            first;
  mha_status        status = MHA_OK;
  uint32_t          h = result(with_scratch(&d, 0, MHA_ALL, scratch), codes);
  for (first = 0; first < rows && status >= 0; first += 5) status = with_scratch(&d, first, 5, scratch + 1);
  if (result(status, codes) != h) {
    say_text("error: other bytes in parts:", t->name);
    board_exit(1);
  }
  if (result(lean(&d), codes) != h) {
    say_text("error: other bytes without scratch:", t->name);
    board_exit(1);
  }
  say_hash(t->name, name, h);
}

static void s8_hash(void) {
  size_t n, a;
  for (n = 0; n < sizeof tests / sizeof tests[0]; n++) {
    const test *t = &tests[n];
    noise_seed((uint32_t)n);
    noise_codes(q, (size_t)t->q_heads * t->q_len * t->d_k, t->least, t->most);
    noise_codes(k, (size_t)t->kv_heads * t->kv_len * t->d_k, -128, 127);
    noise_codes(v, (size_t)t->kv_heads * t->kv_len * t->d_v, -128, 127);
    for (a = 0; a < sizeof arithmetics / sizeof arithmetics[0]; a++)
      run(t, arithmetics[a].name, arithmetics[a].consts);
  }
}

#ifndef HASH_PART
int main(void);
int main(void) {
  s8_hash();
  say_all("int8");
  return 0;
}
#endif
