/* float_hash.c - float attention in little memory, one hash per case; the desktop's are those to get.  A program
   of its own, or with HASH_PART a part of tests/hash.c (in C++, too). */
#include "../../mha.h"
#include "firmware.h"

#ifndef HASH_FLOATS
#  define HASH_FLOATS 2048
#endif
static float  memory[HASH_FLOATS]; /* what a case works on: q, k and v first, outputs last */
static size_t used;

static float *take(size_t n) {
  float *p = memory + used;
  used += n;
  if (used > sizeof memory / sizeof memory[0]) board_exit(2);
  return p;
}
static float *take_noise(size_t n) {
  float *p = take(n);
  noise_floats(p, n);
  return p;
}

/* A descriptor with noise for q, and for k and v if they are float, and room for o. */
static mha_desc desc(size_t q_heads, size_t kv_heads, size_t q_len, size_t kv_len, size_t d_k, size_t d_v) {
  static mha_desc zero;
  mha_desc        d = zero;
  d.batch = 1;
  d.q_heads = q_heads;
  d.kv_heads = kv_heads;
  d.q_len = q_len;
  d.kv_len = kv_len;
  d.d_k = d_k;
  d.d_v = d_v;
  d.q = take_noise(q_len * q_heads * d_k);
  d.k = take_noise(kv_len * kv_heads * d_k);
  d.v = take_noise(kv_len * kv_heads * d_v);
  d.o = take(q_len * q_heads * d_v);
  return d;
}

static void must(mha_status status) {
  if (status == MHA_OK) return;
  say_text("error:", mha_strerror(status));
  board_exit(1);
}

static uint32_t outputs(const mha_desc *d) {
  const size_t rows = d->q_len * d->q_heads;
  uint32_t     h = hash_floats(HASH_START, d->o, rows * d->d_v);
  if (d->weights) h = hash_floats(h, d->weights, rows * d->kv_len);
  if (d->lse) h = hash_floats(h, d->lse, rows);
  return h;
}

static uint32_t attend(const mha_desc *d) {
  must(mha_attend(d, NULL, 0));
  return outputs(d);
}

/* ---- The cases ---- */

static uint32_t example(void) { /* of the manual */
  static const float qk[8] = { 1, 0, 0, 1, 0, 1, 1, 0 }, v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  float             *o = take(8);
  must(mha_multi_head_attention(o, qk, qk, v, 2, 4, 2));
  return hash_floats(HASH_START, o, 8);
}

static uint32_t level1(void) {
  float *q = take_noise(240), *k = take_noise(240), *v = take_noise(240), *o = take(240);
  must(mha_multi_head_attention(o, q, k, v, 10, 24, 3));
  must(mha_split_heads(k, o, 10, 3, 8));
  must(mha_sdpa(q, q, k, v, 10, 3, 8)); /* in place */
  must(mha_merge_heads(o, q, 10, 3, 8));
  return hash_floats(HASH_START, o, 240);
}

static uint32_t long_rows(void) { /* two blocks of 128 keys; a decoder's view */
  mha_desc d = desc(2, 1, 6, 150, 4, 4);
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  return attend(&d);
}

static uint32_t grouped(void) {
  mha_desc d = desc(4, 2, 7, 9, 5, 3);
  d.k_stride.row = 5; /* (heads, len, channels) */
  d.k_stride.head = 45;
  d.k_stride.batch = 90;
  d.weights = take(4 * 7 * 9);
  d.lse = take(4 * 7);
  return attend(&d);
}

static uint32_t window(void) {
  mha_desc d = desc(2, 2, 8, 14, 6, 6);
  d.flags = MHA_CAUSAL | MHA_USE_WINDOW;
  d.q_start = 6;
  d.window_left = 3;
  d.window_right = 1;
  d.keep_first = 1;
  d.softcap = 3.0f;
  d.bias = take_noise(14); /* one row for all */
  return attend(&d);
}

static uint32_t alibi(void) {
  static const unsigned char mask[11] = { 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1 };
  mha_desc                   d = desc(3, 3, 5, 11, 8, 8);
  float                     *slopes = take(3);
  must(mha_alibi_slopes(slopes, 3));
  d.alibi_slopes = slopes;
  d.sinks = take_noise(3);
  d.mask = mask;
  d.scale = 0.75f;
  d.lse = take(15);
  return attend(&d);
}

static uint32_t halves(void) {
  mha_desc  d = desc(2, 2, 4, 12, 8, 8);
  uint16_t *k = (uint16_t *)(void *)take(96), *v = (uint16_t *)(void *)take(96);
  must(mha_f16_from_f32(k, (const float *)d.k, 192));
  must(mha_bf16_from_f32(v, (const float *)d.v, 192));
  d.k = k;
  d.v = v;
  d.k_type = MHA_F16;
  d.v_type = MHA_BF16;
  return attend(&d);
}

static uint32_t bytes(void) { /* an int8 cache */
  mha_desc     d = desc(2, 2, 4, 12, 8, 8);
  signed char *k = (signed char *)take(48), *v = (signed char *)take(48);
  float       *k_scale = take(24), *v_scale = take(24);
  must(mha_s8_from_f32(k, k_scale, (const float *)d.k, 24, 8));
  must(mha_s8_from_f32(v, v_scale, (const float *)d.v, 24, 8));
  d.k = k;
  d.v = v;
  d.k_type = d.v_type = MHA_S8;
  d.k_scale = k_scale;
  d.v_scale = v_scale;
  d.k_scale_stride.row = d.v_scale_stride.row = 2;
  d.k_scale_stride.head = d.v_scale_stride.head = 1;
  return attend(&d);
}

static uint32_t in_parts(void) { /* keys shared out, then rows */
  mha_desc d = desc(1, 1, 3, 140, 4, 4);
  float   *shared = take(128);
  size_t   part;
  uint32_t h;
  if (mha_keys_bytes(&d) > 128 * sizeof *shared) board_exit(2);
  for (part = 2; part--;) must(mha_attend_keys(&d, part, 2, shared, 128 * sizeof *shared));
  must(mha_attend_join(&d, shared, 128 * sizeof *shared));
  h = outputs(&d);
  for (part = 2; part--;) must(mha_attend_part(&d, part, 2, shared, 128 * sizeof *shared));
  return hash_floats(h, d.o, 12);
}

static void float_hash(void) {
  static const struct {
    const char *name;
    uint32_t  (*run)(void);
  } cases[] = { { "example", example }, { "level1", level1 },   { "long_rows", long_rows },
                { "grouped", grouped }, { "window", window },   { "alibi", alibi },
                { "halves", halves },   { "int8_cache", bytes }, { "in_parts", in_parts } };
  size_t n;
  say_text("numerics", mha_numerics());
  for (n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    used = 0;
    noise_seed((uint32_t)n + 1u);
    say_hash("float", cases[n].name, cases[n].run());
  }
}

#ifndef HASH_PART
int main(void);
int main(void) {
  float_hash();
  say_all("float");
  return 0;
}
#endif
