/* int8.c - a fuzz harness: mha_s8_prepare refuses what it is given, or all four ways of attention and every
   division of their rows have the bytes of the literal formulas, on every instruction set.

   Problems, and what they are compared with, are those of the tests of integer attention; the scales and zero
   points are theirs, too, or any. */
#include "fuzz.h"

#include "../test_s8.c"

static float any_scale(void) {
  static const uint32_t often[] = { 0x00000001, 0x007fffff, 0x00800000, 0x33800000, 0x3f800000, 0x45ffffff,
                                    0x46000000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x80000000, 0xbf800000 };
  if (rng_chance(70)) return power(-30.0, 30.0);
  return rng_chance(50) ? from_bits(often[rng_below(12)]) : from_bits((uint32_t)rng());
}
static int any_zero(void) { return rng_chance(90) ? zero_point() : (int)rng_below(700) - 350; }
static mha_s8_affine any_affine(void) {
  mha_s8_affine a;
  a.scale = any_scale();
  a.zero = any_zero();
  return a;
}

/* Replaces some of the numbers by any. */
static void spoil(mha_s8_quant *a) {
  mha_s8_affine *affines[5];
  size_t         n = rng_below(4), which;
  affines[0] = &a->q, affines[1] = &a->k, affines[2] = &a->v, affines[3] = &a->o, affines[4] = &a->logits;
  while (n--) {
    which = rng_below(12);
    if (which < 5) *affines[which] = any_affine();
    else if (which < 8) affines[which - 5]->scale = any_scale();
    else if (which == 8) a->scale = any_scale();
    else if (which == 9) a->map_scale = any_scale();
    else if (which == 10) a->d_k = rng_chance(50) ? rng_below(4) : (size_t)rng() >> rng_below(64);
    else a->kv_len = rng_chance(50) ? rng_below(4) : (size_t)rng() >> rng_below(64);
  }
}

/* Bytes of q, k or v, from the first to behind the last. */
static size_t reach(mha_s8_strides s, size_t heads, size_t len, size_t channels) {
  if (!len) return 0;
  return (size_t)literal_s8_row(s, heads - 1, len - 1, heads, channels) + channels;
}

static int farthest(mha_s8_affine a) { return a.zero < 0 ? 127 : -128; } /* the code farthest from zero */

/* TFLM: a factor with which the largest dot product just fits 31 bits, or just does not; and the codes that
   give it. */
static void stretch(problem *p, mha_s8_quant *a) {
  const mha_s8_desc *d = &p->d;
  const size_t       kv_heads = d->kv_heads ? d->kv_heads : d->q_heads;
  const int          q = farthest(a->q), k = farthest(a->k);
  const double       most = (double)a->d_k * fabs((double)(q - a->q.zero)) * fabs((double)(k - a->k.zero));
  const double       factor = ldexp(2147483648.0 / most, (int)rng_below(4) - 3);
  a->logits.scale = (float)((double)a->q.scale * (double)a->k.scale / factor);
  memset(p->q, q, reach(d->q_stride, d->q_heads, d->q_len, d->d_k));
  memset(p->k, k, reach(d->k_stride, kv_heads, d->kv_len, d->d_k));
}

/* Constants of all heads; 0 where some are refused, which must have left everything alone. */
static int prepare(problem *p, int mode, int near) {
  const size_t heads = p->d.consts_stride ? p->d.q_heads : 1, exact = mode == MHA_S8_NATIVE;
  int          spoiled = rng_chance(50);
  size_t       h;
  for (h = 0; h < heads; h++) {
    mha_s8_quant *a = &p->quant[h];
    mha_status    status;
    random_quant(a, mode, p->d.d_k, !exact && rng_chance(25) ? p->map : NULL, near);
    a->d_k = p->d.d_k + (exact ? 0 : rng_below(3));
    a->kv_len = p->d.kv_len + rng_below(3) + !p->d.kv_len;
    if (spoiled) spoil(a);
    else if (!exact && rng_chance(20)) stretch(p, a);
    status = mha_s8_prepare(&p->consts[h], exact ? NULL : p->tables[h], a);
    prepare_wants(status, a, "once more");
    if (status != MHA_OK) return 0;
    literal_s8_make(&p->literal[h], a);
    if (exact)
      CHECK(literal_s8_take_factors(&p->literal[h], &p->consts[h]),
            "the factors are not those of the scales");
  }
  return 1;
}

/* That status, and nothing written */
static void unwritten(problem *p, mha_status want, mha_status got, const char *what) {
  CHECK(got == want, "%s: %s, wanted %s %s", what, mha_strerror(got), mha_strerror(want), problem_text(p));
  CHECK(memcmp(p->o, p->want, p->o_bytes) == 0, "%s: o was written %s", what, problem_text(p));
}

/* Constants that are good for less; scratch that is too small; constants of the other mode. */
static void refused(problem *p) {
  const mha_s8_desc *d = &p->d;
  const int          tflm = d->consts->mode == MHA_S8_TFLM;
  const size_t       bytes = mha_s8_scratch_bytes(d->consts->mode, d->kv_len, d->d_k);
  void              *scratch = guard_new_unset(bytes, rng_below(9));
  memset(p->want, 0xA5, p->o_bytes);
  if (mha_s8_check(d) != MHA_OK) refuses(p, MHA_ERR_LENGTH, "constants that are good for less");
  else {
    unwritten(p, MHA_ERR_WORK, attend_fast(d, 0, MHA_ALL, scratch, bytes - 1), "small scratch");
    unwritten(p, MHA_ERR_WORK, attend_fast(d, 0, MHA_ALL, NULL, bytes), "no scratch");
    unwritten(p, MHA_ERR_TYPE,
              tflm ? mha_s8_native(d, 0, MHA_ALL, scratch, bytes)
                   : mha_s8_tflm(d, 0, MHA_ALL, scratch, bytes),
              "the other mode");
    unwritten(p, MHA_ERR_TYPE, tflm ? mha_s8_native_lean(d, 0, 1) : mha_s8_tflm_lean(d, 0, 1),
              "the other mode, lean");
  }
  guard_free(scratch, "the scratch");
}

/* Changes all keys and values that no row sees. */
static void change_hidden(problem *p, size_t k_bytes, size_t v_bytes) {
  const mha_s8_desc *d = &p->d;
  const size_t       kv_heads = d->kv_heads ? d->kv_heads : d->q_heads, d_v = d->d_v ? d->d_v : d->d_k;
  unsigned char     *k_seen = (unsigned char *)calloc(k_bytes + 1, 1);
  unsigned char     *v_seen = (unsigned char *)calloc(v_bytes + 1, 1);
  size_t             h, i, j, n;
  if (!k_seen || !v_seen) exit(2);
  for (h = 0; h < d->q_heads; h++)
    for (i = 0; i < d->q_len; i++)
      for (j = 0; j < d->kv_len; j++) {
        const size_t kv_head = h / (d->q_heads / kv_heads);
        if (!literal_s8_sees(d, h, i, j)) continue;
        memset(k_seen + literal_s8_row(d->k_stride, kv_head, j, kv_heads, d->d_k), 1, d->d_k);
        memset(v_seen + literal_s8_row(d->v_stride, kv_head, j, kv_heads, d_v), 1, d_v);
      }
  for (n = 0; n < k_bytes; n++)
    if (!k_seen[n]) p->k[n] = (signed char)~p->k[n];
  for (n = 0; n < v_bytes; n++)
    if (!v_seen[n]) p->v[n] = (signed char)~p->v[n];
  free(k_seen);
  free(v_seen);
}

static void attend(void) {
  const int    mode = modes[rng_below(2)], near = rng_chance(20);
  const size_t q_len = rng_below(6), kv_len = rng_chance(95) ? rng_below(24) : rng_between(490, 600);
  problem     *p = problem_draw(q_len, kv_len, rng_chance(80) ? rng_between(1, 12) : 0,
                                rng_chance(60) ? rng_between(1, 12) : 0, near);
  const size_t kv_heads = p->d.kv_heads ? p->d.kv_heads : p->d.q_heads;
  size_t       n;
  int          flags;
  if (prepare(p, mode, near)) {
    if (mha_s8_check(&p->d) != MHA_OK || rng_chance(10)) refused(p);
    else
      for (n = 0; n < FUZZ_ISAS; n += 3) { /* scalar or the best: of integer kernels there is no more */
        if (!fuzz_isa(n)) continue;
        against_literal(p, &flags);
        CHECK(!(flags & LITERAL_S8_OVERFLOWS), "prepare lets 32 bits overflow %s", problem_text(p));
        if (n) continue;
        change_hidden(p, reach(p->d.k_stride, kv_heads, kv_len, p->d.d_k),
                      reach(p->d.v_stride, kv_heads, kv_len, p->d.d_v ? p->d.d_v : p->d.d_k));
        both_as_literal(p, flags, "hidden keys changed");
      }
  }
  problem_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rng_start(1, data, size);
  attend();
  return 0;
}
