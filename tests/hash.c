/* hash.c - what comes out, to the bit, as three hashes for each instance of the kernels that this machine has:

     ISA, NUMERICS, FLOAT INT8 LARGE

   FLOAT and INT8 are over the small cases of tests/firmware/float_hash.c and s8_hash.c, which a microcontroller
   computes, too; LARGE is over the longer calls below, of float and of int8 attention.  Inputs are exact in any
   arithmetic.  C99 and C++98.  With an argument only the instance that mha_isa() chose runs.

   cc -I. -Itests/firmware tests/hash.c s8_consts.c      where tests/firmware/s8_consts.c printed s8_consts.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MHA_TEST_HOOKS
#define MHA_IMPLEMENTATION
#include "mha.h"

#define HASH_PART
#define HASH_FLOATS 600000
#include "firmware/board.c"
#include "firmware/float_hash.c"

void board_text(const char *text) {
  (void)text; /* only the sums count here */
}
void board_exit(int status) {
  printf("hash: stopped with status %d\n", status);
  exit(status);
}
void          board_start(void) {}
unsigned long board_cycles(void) { return 0; }

/* ---- Larger float calls ---- */

static void fail(const char *what) {
  printf("hash: %s\n", what);
  exit(4);
}

static void same_bits(uint32_t got, uint32_t want, const char *what) {
  if (got != want && mha_numerics()[0] != 'e') fail(what); /* excess precision promises no bits */
}

/* The hash of a call without a workspace, which must be the one with the largest, and in parts. */
static uint32_t in_every_way(mha_desc *d) {
  const size_t   bytes = mha_work_bytes(d), keep = used;
  const uint32_t h = attend(d);
  float         *work = take(bytes / sizeof *work + 1);
  size_t         part;
  must(mha_attend(d, work, bytes));
  same_bits(outputs(d), h, "other bits with a workspace");
  for (part = 3; part--;) must(mha_attend_part(d, part, 3, work, part ? bytes : 5000));
  same_bits(outputs(d), h, "other bits in parts");
  if (!d->weights) {
    if (mha_keys_bytes(d) > bytes) take((mha_keys_bytes(d) - bytes) / sizeof *work + 1);
    for (part = 2; part--;) must(mha_attend_keys(d, part, 2, work, mha_keys_bytes(d)));
    must(mha_attend_join(d, work, mha_keys_bytes(d)));
    same_bits(outputs(d), h, "other bits with the keys in parts");
  }
  used = keep;
  return h;
}

static uint32_t prefill(void) {
  mha_desc d = desc(4, 2, 66, 280, 40, 24);
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  d.lse = take(4 * 66);
  return in_every_way(&d);
}

static uint32_t halves_in_a_window(void) { /* several blocks below position 0, and a bias */
  const size_t n = 2 * 150 * 32;
  mha_desc     d = desc(2, 2, 150, 150, 32, 32);
  uint16_t    *k = (uint16_t *)(void *)take(n / 2), *v = (uint16_t *)(void *)take(n / 2);
  must(mha_f16_from_f32(k, (const float *)d.k, n));
  must(mha_bf16_from_f32(v, (const float *)d.v, n));
  d.k = k;
  d.v = v;
  d.k_type = MHA_F16;
  d.v_type = MHA_BF16;
  d.flags = MHA_USE_WINDOW;
  d.window_left = 140;
  d.window_right = 3;
  d.q_start = d.kv_start = -70;
  d.bias = take_noise(150 * 150);
  d.bias_stride.row = 150;
  return in_every_way(&d);
}

static uint32_t cache_of_codes(void) { /* masked, with a soft cap and sinks */
  static unsigned char keep[300];
  const size_t         n = 2 * 300;
  size_t               j;
  mha_desc             d = desc(6, 2, 7, 300, 64, 64);
  signed char         *k = (signed char *)take(n * 16), *v = (signed char *)take(n * 16);
  float               *k_scale = take(n), *v_scale = take(n);
  must(mha_s8_from_f32(k, k_scale, (const float *)d.k, n, 64));
  must(mha_s8_from_f32(v, v_scale, (const float *)d.v, n, 64));
  for (j = 0; j < 300; j++) keep[j] = noise_bits() >> 29 != 0;
  d.k = k;
  d.v = v;
  d.k_type = d.v_type = MHA_S8;
  d.k_scale = k_scale;
  d.v_scale = v_scale;
  d.k_scale_stride.row = d.v_scale_stride.row = 2;
  d.k_scale_stride.head = d.v_scale_stride.head = 1;
  d.mask = keep;
  d.softcap = 5.0f;
  d.sinks = take_noise(6);
  return in_every_way(&d);
}

static uint32_t weighed(void) { /* steep logits, ALiBi, weights */
  mha_desc d = desc(3, 3, 50, 200, 17, 5);
  float   *slopes = take(3);
  must(mha_alibi_slopes(slopes, 3));
  d.alibi_slopes = slopes;
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  d.scale = 8.0f;
  d.weights = take(3 * 50 * 200);
  d.lse = take(3 * 50);
  return in_every_way(&d);
}

static uint32_t one_row(void) { /* decoding */
  mha_desc d = desc(8, 2, 1, 900, 64, 64);
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  return in_every_way(&d);
}

static uint32_t model(void) { /* level 1, its long rows and its short ones */
  float   *x = take_noise(140 * 51), *o = take(140 * 51);
  uint32_t h;
  must(mha_multi_head_attention(o, x, x, x, 140, 51, 3));
  h = hash_floats(HASH_START, o, 140 * 51);
  must(mha_multi_head_attention(o, x, x, x, 5, 24, 2));
  return hash_floats(h, o, 5 * 24);
}

/* ---- Larger int8 calls ---- */

#include "firmware/s8_hash.c"

enum { LONG = 90, WIDE = 32, HEADS = 4 }; /* whole vectors of AVX2, and rests */
static mha_s8_affine affine(double scale, int zero) {
  mha_s8_affine a;
  a.scale = (float)scale;
  a.zero = zero;
  return a;
}

/* The constants are made here, which must give the same on every machine. */
static uint32_t codes(int mode, unsigned flags) {
  static mha_s8_quant  no_quant;
  static mha_s8_desc   no_desc;
  static signed char   q8[LONG * WIDE * HEADS], k8[LONG * WIDE], v8[LONG * WIDE], o8[LONG * WIDE * HEADS];
  static unsigned char memory8[MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, LONG, WIDE)];
  static int32_t       table[256];
  mha_s8_quant         z = no_quant;
  mha_s8_desc          d = no_desc;
  mha_s8_consts        consts;
  z.mode = mode;
  z.d_k = WIDE;
  z.kv_len = LONG;
  z.q = z.k = affine(0.0201, 3);
  z.v = affine(0.0203, -8);
  z.o = affine(0.014, -2);
  if (mode == MHA_S8_TFLM) z.logits = affine(0.13, 11);
  must(mha_s8_prepare(&consts, mode == MHA_S8_TFLM ? table : NULL, &z));
  noise_codes(q8, sizeof q8, -128, 127);
  noise_codes(k8, sizeof k8, -128, 127);
  noise_codes(v8, sizeof v8, -128, 127);
  d.q_heads = HEADS;
  d.kv_heads = 1;
  d.q_len = d.kv_len = LONG;
  d.d_k = WIDE;
  d.q = q8;
  d.k = k8;
  d.v = v8;
  d.o = o8;
  d.consts = &consts;
  d.flags = flags;
  must(with_scratch(&d, 0, MHA_ALL, memory8));
  return hash_bytes(HASH_START, o8, sizeof o8);
}
static uint32_t codes_tflm(void) { return codes(MHA_S8_TFLM, 0); }
static uint32_t codes_native(void) { return codes(MHA_S8_NATIVE, MHA_CAUSAL); }

static void large_hash(void) {
  static uint32_t (*const cases[])(void) = { prefill, halves_in_a_window, cache_of_codes, weighed, one_row,
                                             model, codes_tflm, codes_native };
  size_t n;
  for (n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    used = 0;
    noise_seed((uint32_t)n + 100u);
    say_hash("large", "", cases[n]());
  }
}

static void print_hashes(void) {
  uint32_t f, s, l;
  float_hash();
  f = said_all();
  s8_hash();
  s = said_all();
  large_hash();
  l = said_all();
  printf("%s, %s, %08lx %08lx %08lx\n", mha_isa(), mha_numerics(), (unsigned long)f, (unsigned long)s,
         (unsigned long)l);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const char *const isas[] = { "scalar", "sse2", "avx2", "avx512", "neon", "wasm" };
  size_t n;
  (void)argv;
  if (argc > 1) print_hashes();
  for (n = 0; argc == 1 && n < sizeof isas / sizeof isas[0]; n++)
    if (mha__force_isa(isas[n])) print_hashes();
  return 0;
}
