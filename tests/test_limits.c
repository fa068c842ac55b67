/* test_limits.c - sizes and strides at the ends of what their types hold: products that leave the address
   space, 0 and 1 everywhere, a million keys, rows gigabytes apart. */
#if defined(__unix__) || defined(__APPLE__)
#  define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#  define _DARWIN_C_SOURCE
#  include <sys/mman.h>
#endif
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "literal.h"
#include "literal_s8.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MAX          ((size_t)-1)

static const char *const type_name[] = { "f32", "f16", "bf16", "s8" };
static const size_t      type_bytes[] = { 4, 2, 2, 1 };

/* Numbers of a type, and as bytes large enough for any. */
static void fill(void *p, int type, size_t n) {
  static const uint16_t one[] = { 0, 0x3c00, 0x3f80 }; /* 1.0, and with other low bits 1 .. 1.5 */
  size_t                k;
  for (k = 0; k < n; k++) {
    if (type == MHA_F32) ((float *)p)[k] = rng_float(-1.0f, 1.0f);
    else if (type == MHA_S8) ((signed char *)p)[k] = (signed char)((int)rng_below(256) - 128);
    else ((uint16_t *)p)[k] = (uint16_t)(one[type] ^ rng_below(64) ^ rng_below(2) << 15);
  }
}

static mha_s8_quant plain_quant(int mode, size_t d_k, size_t kv_len) {
  mha_s8_quant a;
  memset(&a, 0, sizeof a);
  a.mode = mode, a.d_k = d_k, a.kv_len = kv_len;
  a.q.scale = a.k.scale = a.o.scale = 0.02f, a.v.scale = 0.015f;
  a.q.zero = 3, a.k.zero = -2, a.v.zero = -7, a.o.zero = 11;
  if (mode == MHA_S8_TFLM) a.logits.scale = 0.1f;
  return a;
}

/* Integer attention in the mode of the constants, without scratch the lean way. */
static mha_status attend_codes(const mha_s8_desc *d, size_t first, size_t rows, void *scratch, size_t bytes) {
  if (d->consts->mode == MHA_S8_NATIVE)
    return scratch ? mha_s8_native(d, first, rows, scratch, bytes) : mha_s8_native_lean(d, first, rows);
  return scratch ? mha_s8_tflm(d, first, rows, scratch, bytes) : mha_s8_tflm_lean(d, first, rows);
}

/* ---- Sizes whose products leave the address space, against the same products in double ---- */

/* 1 .. 3, or a power of two or a number beside it */
static size_t any_size(void) {
  if (rng_chance(50)) return rng_between(1, 3);
  return ((size_t)1 << rng_between(2, 8 * sizeof(size_t) - 1)) + rng_below(3) - 1;
}

/* Whether some number was too large, and whether one was too close to that for a double to tell. */
typedef struct {
  int beyond, close;
} verdict;

static void judge(verdict *v, double x, double most) {
  if (fabs(x - most) <= 1e-9 * most) v->close = 1;
  else v->beyond |= x > most;
}

/* Elements from the first to the last of (batch, len, heads, channels), none of them 0. */
static double extent(mha_strides s, size_t batch, size_t heads, size_t len, size_t channels) {
  if (!s.batch && !s.head && !s.row) return (double)batch * (double)heads * (double)len * (double)channels;
  return (double)(batch - 1) * (double)s.batch + (double)(heads - 1) * (double)s.head +
         (double)(len - 1) * (double)s.row + (double)channels;
}

/* An object ends within the address space, and half of that is its most. */
static void judge_memory(verdict *v, const void *p, double bytes) {
  judge(v, bytes, fmin((double)(MAX / 2), (double)(UINTPTR_MAX - (uintptr_t)p)));
}

enum { ROOM = 4096 };
static float room[6][ROOM], room_before[6][ROOM];

static mha_desc any_desc(void) {
  const mha_strides repeat = { 0, 1, 0 };
  mha_desc          d = { 0 };
  size_t            share = any_size();
  d.batch = any_size(), d.q_len = any_size(), d.kv_len = any_size(), d.d_k = any_size();
  d.kv_heads = any_size();
  if (d.kv_heads > MAX / share) share = 1;
  d.q_heads = d.kv_heads * share;
  if (rng_chance(50)) d.d_v = any_size();
  d.k_type = (int)rng_below(3), d.v_type = (int)rng_below(3);
  d.o = room[0], d.q = room[1], d.k = room[2], d.v = room[3];
  if (rng_chance(60)) d.k_stride = d.v_stride = repeat; /* else many keys are always too many */
  if (rng_chance(10)) d.k_stride.row = (ptrdiff_t)(any_size() / 2);
  if (rng_chance(10)) d.q_stride.batch = (ptrdiff_t)(any_size() / 2), d.q_stride.head = 1;
  if (rng_chance(10)) d.weights = room[4];
  if (rng_chance(30)) d.lse = room[5];
  return d;
}

static verdict verdict_on(const mha_desc *d) {
  const mha_strides packed = { 0, 0, 0 };
  const size_t      d_v = d->d_v ? d->d_v : d->d_k;
  const double      rows = (double)d->batch * (double)d->q_heads * (double)d->q_len;
  verdict           v = { 0, 0 };
  v.beyond = d->q_len > MAX / 8 || d->kv_len > MAX / 8; /* positions */
  judge_memory(&v, d->o, 4.0 * extent(packed, d->batch, d->q_heads, d->q_len, d_v));
  judge_memory(&v, d->q, 4.0 * extent(d->q_stride, d->batch, d->q_heads, d->q_len, d->d_k));
  judge_memory(&v, d->k, (double)type_bytes[d->k_type] *
                             extent(d->k_stride, d->batch, d->kv_heads, d->kv_len, d->d_k));
  judge_memory(&v, d->v, (double)type_bytes[d->v_type] *
                             extent(d->v_stride, d->batch, d->kv_heads, d->kv_len, d_v));
  if (d->weights) judge_memory(&v, d->weights, 4.0 * rows * (double)d->kv_len);
  if (d->lse) judge_memory(&v, d->lse, 4.0 * rows);
  judge(&v, rows * (2.0 * (double)d->kv_len + 16.0), 18446744073709551615.0); /* what work is counted in */
  return v;
}

/* Of a descriptor that is fine: a workspace no larger than an object, memory for sharing keys exact or 0. */
static void check_bytes(const mha_desc *d) {
  const size_t work = mha_work_bytes(d), keys = mha_keys_bytes(d);
  const double rows = (double)d->batch * (double)d->q_heads * (double)d->q_len;
  const double want =
      rows * (double)(d->kv_len / 128 + 2) * ((double)(d->d_v ? d->d_v : d->d_k) + 2.0) * 4.0 + 3.0;
  verdict      v = { 0, 0 };
  CHECK(work > 0 && work <= MAX / 2, "a workspace of %lu", (unsigned long)work);
  if (d->weights) return;
  judge(&v, want, (double)(MAX / 2));
  if (v.close) return;
  CHECK(v.beyond ? keys == 0 : fabs((double)keys - want) <= 1e-9 * want, "%g bytes for keys, want %g",
        (double)keys, want);
}

static void sizes_of_floats(void) {
  size_t n, fine = 0, large = 0;
  memcpy(room_before, room, sizeof room);
  for (n = 0; n < 30000; n++) {
    const mha_desc   d = any_desc();
    const verdict    v = verdict_on(&d);
    const mha_status status = mha_check(&d);
    if (v.close && !v.beyond) continue;
    CHECK(v.beyond ? status == MHA_ERR_RANGE : status == MHA_OK || status == MHA_ERR_OVERLAP,
          "batch %zu heads %zu/%zu lens %zu %zu channels %zu %zu: %s, but %s", d.batch, d.q_heads, d.kv_heads,
          d.q_len, d.kv_len, d.d_k, d.d_v, mha_strerror(status), v.beyond ? "too large" : "not");
    if (status == MHA_OK) check_bytes(&d), fine++;
    if (status != MHA_ERR_RANGE) continue;
    large++;
    CHECK(mha_attend(&d, NULL, 0) == status && mha_attend_part(&d, 1, 2, NULL, 0) == status,
          "mha_attend does not refuse what mha_check does");
    CHECK(mha_work_bytes(&d) == 0 && mha_keys_bytes(&d) == 0, "bytes for what is refused");
  }
  CHECK(memcmp(room_before, room, sizeof room) == 0, "refused, but written");
  CHECK(fine > 100 && large > 1000, "only %zu fine and %zu too large", fine, large);
}

/* int8: with constants forged to be good for everything.  What o overlaps may be refused for that first. */
static void sizes_of_codes(void) {
  static const uint64_t most = 0xffffffffu; /* what constants can be good for */
  static int32_t        table[256];
  mha_s8_consts         consts;
  size_t                n, refused[2] = { 0, 0 };
  memset(&consts, 0, sizeof consts);
  consts.max_d_k = consts.max_kv_len = (uint32_t)most, consts.exp_table = table, table[0] = 1;
  memcpy(room_before, room, sizeof room);
  for (n = 0; n < 30000; n++) {
    const int         native = rng_chance(50);
    const mha_strides packed = { 0, 0, 0 };
    const mha_desc    f = any_desc();
    const size_t      d_v = f.d_v ? f.d_v : f.d_k;
    mha_s8_desc       d;
    verdict           size = { 0, 0 };
    mha_status        status, want;
    memset(&d, 0, sizeof d);
    consts.mode = (int16_t)(native ? MHA_S8_NATIVE : MHA_S8_TFLM);
    d.q_heads = f.q_heads, d.kv_heads = f.kv_heads, d.q_len = f.q_len, d.kv_len = f.kv_len, d.d_k = f.d_k,
    d.d_v = f.d_v, d.consts = &consts;
    d.o = (signed char *)room[0], d.q = (signed char *)room[1], d.k = (signed char *)room[2];
    d.v = (signed char *)room[3];
    d.k_stride.head = f.k_stride.head, d.k_stride.row = f.k_stride.row;
    judge_memory(&size, d.o, extent(packed, 1, d.q_heads, d.q_len, d_v));
    judge_memory(&size, d.q, extent(packed, 1, d.q_heads, d.q_len, d.d_k));
    judge_memory(&size, d.k, extent(f.k_stride, 1, d.kv_heads, d.kv_len, d.d_k));
    judge_memory(&size, d.v, extent(packed, 1, d.kv_heads, d.kv_len, d_v));
    if (size.close) continue;
    status = mha_s8_check(&d);
    if (d.q_len > MAX / 8 || d.kv_len > MAX / 8) want = MHA_ERR_RANGE; /* positions */
    else if ((uint64_t)d.d_k > most || (uint64_t)d.kv_len > most) want = MHA_ERR_LENGTH;
    else want = size.beyond ? MHA_ERR_RANGE : MHA_OK;
    CHECK(status == want || (want != MHA_ERR_LENGTH && status == MHA_ERR_OVERLAP),
          "heads %zu/%zu lens %zu %zu channels %zu %zu: %s", d.q_heads, d.kv_heads, d.q_len, d.kv_len, d.d_k,
          d.d_v, mha_strerror(status));
    if (status == MHA_OK) continue;
    refused[native]++;
    CHECK(attend_codes(&d, MAX, MAX, NULL, 0) == status, "lean does not refuse it");
    status = attend_codes(&d, 0, MHA_ALL, room[4], ROOM);
    CHECK(status < 0, "nor that with scratch: %s", mha_strerror(status)); /* o may overlap that first */
  }
  CHECK(memcmp(room_before, room, sizeof room) == 0, "refused, but written");
  CHECK(refused[0] > 1000 && refused[1] > 1000, "only %zu and %zu refused", refused[0], refused[1]);
}

static void sizes_of_helpers(void) {
  float        *out = room[0];
  const float  *in = room[1];
  mha_s8_affine unit = { 1.0f, 0 };
  size_t        n, k;
  memcpy(room_before, room, sizeof room);
  for (n = 0; n < 10000; n++) {
    const size_t a = any_size(), b = any_size(), c = any_size();
    const size_t each[2] = { 4, 12 }, more[2] = { 71, 207 };
    verdict      v = { 0, 0 }, width = { 0, 0 };
    for (k = 0; k < 2; k++) {
      const size_t bytes = mha_s8_scratch_bytes(k ? MHA_S8_NATIVE : MHA_S8_TFLM, a, b);
      const double want = (double)each[k] * (double)a + 4.0 * (double)b + (double)more[k];
      CHECK(want > (double)MAX ? bytes == MAX : fabs((double)bytes - want) <= 1e-9 * want,
            "scratch for %zu keys of %zu: %zu bytes", a, b, bytes);
    }
    judge_memory(&v, room, 4.0 * (double)a * (double)b * (double)c);
    judge(&width, (double)b * (double)c, (double)MAX);
    if (v.close || !v.beyond) continue;
    CHECK(mha_split_heads(out, in, a, b, c) == MHA_ERR_RANGE, "split %zu %zu %zu", a, b, c);
    CHECK(mha_merge_heads(out, in, a, b, c) == MHA_ERR_RANGE, "merge %zu %zu %zu", a, b, c);
    CHECK(mha_sdpa(out, in, in, in, a, b, c) == MHA_ERR_RANGE, "mha_sdpa %zu %zu %zu", a, b, c);
    if (!width.close && !width.beyond)
      CHECK(mha_multi_head_attention(out, in, in, in, a, b * c, b) == MHA_ERR_RANGE, "heads %zu %zu %zu", a,
            b, c);
    if (c == 1)
      CHECK(mha_s8_from_f32((signed char *)room[2], out, in, a, b) == MHA_ERR_RANGE, "to int8 %zu %zu", a, b);
  }
  for (n = 1; n <= 4; n *= 2)
    CHECK(mha_s8_quantize((signed char *)out, in, MAX / n, unit) == MHA_ERR_RANGE, "MAX / %zu numbers", n);
  CHECK(memcmp(room_before, room, sizeof room) == 0, "refused, but written");
}

/* ---- Every size 0 or 1, crossed with every option ---- */

enum { UNTOUCHED = 77 }; /* around and in what is not written */

/* The one element of an array of three, or nothing. */
static void *one(void *three, size_t bytes, int there) {
  return there || rng_chance(50) ? (void *)((char *)three + bytes) : NULL;
}

static void untouched(float x[3]) { x[0] = x[1] = x[2] = (float)UNTOUCHED; }
static int  only(const float x[3], float want, int written) {
  return same_float(x[0], (float)UNTOUCHED) && same_float(x[2], (float)UNTOUCHED) &&
         same_float(x[1], written ? want : (float)UNTOUCHED);
}

/* What a descriptor of nothing or one row must give, by every way of calling. */
static void check_one(mha_desc *d, float o[3], float weights[3], float lse[3], unsigned bits) {
  const int rows = d->batch && d->q_len, fused = numerics_fused();
  float     want = 0.0f, want_weight = 0.0f, want_lse = 0.0f, shared[64];
  int       way;
  if (fused >= 0)
    literal_attend(d, fused, &want, d->weights ? &want_weight : NULL, d->lse ? &want_lse : NULL);
  for (way = 0; way < (d->weights ? 3 : 4); way++) {
    mha_status status;
    untouched(o), untouched(weights), untouched(lse);
    switch (way) {
      case 0: status = mha_attend(d, NULL, 0); break;
      case 1: status = mha_attend(d, shared, 1); break;
      case 2:
        status = mha_attend_part(d, 1, 2, NULL, 0);
        if (!status) status = mha_attend_part(d, 0, 2, NULL, 0);
        break;
      default:
        status = mha_attend_keys(d, 0, 1, shared, sizeof shared);
        if (!status) status = mha_attend_join(d, shared, sizeof shared);
    }
    CHECK(status == MHA_OK, "%x, way %d: %s", bits, way, mha_strerror(status));
    if (fused < 0) continue;
    CHECK(only(o, want, rows), "%x, way %d: o is %g, want %g", bits, way, (double)o[1], (double)want);
    CHECK(only(weights, want_weight, rows && d->kv_len && d->weights), "%x, way %d: weight %g, want %g", bits,
          way, (double)weights[1], (double)want_weight);
    CHECK(only(lse, want_lse, rows && d->lse), "%x, way %d: LSE %g, want %g", bits, way, (double)lse[1],
          (double)want_lse);
  }
}

static void zeros_and_ones_of_floats(void) {
  static const mha_strides far_off = { PTRDIFF_MAX, PTRDIFF_MAX, PTRDIFF_MAX }; /* of no use, so of no harm */
  unsigned                 bits, b;
  for (bits = 0; bits < 1u << 15; bits++) {
    mha_desc      d = { 0 };
    float         q[3], k[3], v[3], k_scale[3], v_scale[3], bias[3], sink[3], slope[3];
    float         o[3], weights[3], lse[3];
    size_t        lens[1];
    ptrdiff_t     starts[1];
    unsigned char mask[3] = { 0, 0, 0 };
    int           keys, windowed, far;
    mha_status    want;
    for (b = 0; b < 3; b++) {
      k_scale[b] = rng_float(0.1f, 1.0f), v_scale[b] = rng_float(0.1f, 1.0f);
      slope[b] = rng_float(0.1f, 1.0f), bias[b] = rng_float(-1.0f, 1.0f), sink[b] = rng_float(-1.0f, 1.0f);
    }
    d.batch = bits & 1, d.q_heads = bits >> 1 & 1, d.kv_heads = bits >> 2 & 1, d.q_len = bits >> 3 & 1;
    d.kv_len = bits >> 4 & 1, d.d_k = bits >> 5 & 1, d.d_v = bits >> 6 & 1;
    d.flags = (bits >> 7 & 1 ? MHA_CAUSAL : 0u) | (bits >> 8 & 1 ? MHA_USE_WINDOW : 0u);
    d.window_left = bits >> 9 & 1, d.window_right = bits >> 10 & 1, d.keep_first = bits >> 11 & 1;
    keys = d.batch && d.kv_len;
    d.k_type = (int)rng_below(4), d.v_type = (int)rng_below(4);
    fill(q, MHA_F32, 3), fill(k, d.k_type, 3), fill(v, d.v_type, 3);
    if (bits >> 12 & 1) mask[1] = (unsigned char)rng_below(2), d.mask = (unsigned char *)one(mask, 1, keys);
    if (bits >> 13 & 1) d.bias = (float *)one(bias, 4, keys);
    if (bits >> 14 & 1) d.sinks = sink + 1;
    if (rng_chance(50)) d.alibi_slopes = slope + 1;
    if (rng_chance(50)) d.weights = (float *)one(weights, 4, 0);
    if (rng_chance(50)) d.lse = (float *)one(lse, 4, 0);
    lens[0] = d.kv_len && rng_chance(50), starts[0] = (ptrdiff_t)rng_below(3) - 1;
    if (rng_chance(50)) d.kv_lens = lens;
    if (rng_chance(30)) d.flags |= MHA_Q_LAST;
    else if (rng_chance(50)) d.q_starts = starts;
    else d.q_start = (ptrdiff_t)rng_below(3) - 1;
    d.kv_start = (ptrdiff_t)rng_below(3) - 1;
    d.o = (float *)one(o, 4, d.batch && d.q_len), d.q = (float *)one(q, 4, d.batch && d.q_len);
    d.k = one(k, type_bytes[d.k_type], keys), d.v = one(v, type_bytes[d.v_type], keys);
    if (d.k_type == MHA_S8) d.k_scale = (float *)one(k_scale, 4, keys);
    if (d.v_type == MHA_S8) d.v_scale = (float *)one(v_scale, 4, keys);
    far = rng_chance(30);
    if (far)
      d.o_stride = d.q_stride = d.k_stride = d.v_stride = d.k_scale_stride = d.v_scale_stride =
          d.mask_stride = d.bias_stride = far_off;
    windowed = d.window_left || d.window_right || d.keep_first;
    want = !d.q_heads || !d.d_k ? MHA_ERR_SHAPE
           : windowed && !(d.flags & MHA_USE_WINDOW) ? MHA_ERR_OPTION : MHA_OK;
    CHECK(mha_check(&d) == want, "%x: %s, want %s", bits, mha_strerror(mha_check(&d)), mha_strerror(want));
    if (want == MHA_OK) check_one(&d, o, weights, lse, bits);
    else {
      untouched(o);
      CHECK(mha_attend(&d, NULL, 0) == want && only(o, 0.0f, 0), "%x: not refused, or written", bits);
    }
  }
}

/* The same of int8, and rows from the first or behind it. */
static void zeros_and_ones_of_codes(void) {
  static const mha_s8_strides far_off = { PTRDIFF_MAX, PTRDIFF_MAX };
  unsigned                    bits;
  for (bits = 0; bits < 1u << 13; bits++) {
    const int     native = bits >> 11 & 1, lean = bits >> 12 & 1;
    signed char   q[3], k[3], v[3], o[3] = { UNTOUCHED, UNTOUCHED, UNTOUCHED }, result = UNTOUCHED;
    unsigned char mask[3] = { 0, 0, 0 };
    int32_t       table[256];
    mha_s8_quant  quant;
    mha_s8_consts consts;
    literal_s8    literal;
    mha_s8_desc   d;
    mha_status    want, got;
    size_t        first = rng_below(2), rows = rng_chance(30) ? MHA_ALL : rng_below(2);
    unsigned char scratch[256];
    fill(q, MHA_S8, 3), fill(k, MHA_S8, 3), fill(v, MHA_S8, 3);
    memset(&d, 0, sizeof d);
    quant = plain_quant(native ? MHA_S8_NATIVE : MHA_S8_TFLM, 1, 1);
    if (!CHECK(!mha_s8_prepare(&consts, native ? NULL : table, &quant), "prepare")) return;
    literal_s8_make(&literal, &quant);
    if (native) CHECK(literal_s8_take_factors(&literal, &consts), "the factors are not those of the scales");
    d.q_heads = bits & 1, d.kv_heads = bits >> 1 & 1, d.q_len = bits >> 2 & 1, d.kv_len = bits >> 3 & 1;
    d.d_k = bits >> 4 & 1, d.d_v = bits >> 5 & 1;
    d.flags = (bits >> 6 & 1 ? MHA_CAUSAL : 0u) | (bits >> 7 & 1 ? MHA_USE_WINDOW : 0u);
    d.window_left = bits >> 8 & 1, d.window_right = bits >> 9 & 1;
    if (bits >> 10 & 1) mask[1] = (unsigned char)rng_below(2), d.mask = mask + 1;
    d.q_start = (ptrdiff_t)rng_below(3) - 1;
    d.consts = &consts, d.consts_stride = rng_below(2);
    if (rng_chance(30)) d.o_stride = d.q_stride = d.k_stride = d.v_stride = d.mask_stride = far_off;
    d.o = (signed char *)one(o, 1, d.q_len != 0), d.q = (signed char *)one(q, 1, d.q_len != 0);
    d.k = (signed char *)one(k, 1, d.kv_len != 0), d.v = (signed char *)one(v, 1, d.kv_len != 0);
    want = !d.q_heads || !d.d_k ? MHA_ERR_SHAPE
           : (d.window_left || d.window_right) && !(d.flags & MHA_USE_WINDOW) ? MHA_ERR_OPTION : MHA_OK;
    if (want == MHA_OK && d.q_len) literal_s8_attend(&d, &literal, &result);
    if (!rows || first) result = UNTOUCHED;
    CHECK(mha_s8_check(&d) == want, "%x: %s", bits, mha_strerror(mha_s8_check(&d)));
    got = attend_codes(&d, first, rows, lean ? NULL : scratch, sizeof scratch);
    CHECK(got == want, "%x: %s, want %s", bits, mha_strerror(got), mha_strerror(want));
    CHECK(o[0] == UNTOUCHED && o[1] == result && o[2] == UNTOUCHED, "%x: o is %d, want %d", bits, o[1],
          result);
  }
}

static void zeros_and_ones_of_helpers(void) {
  unsigned bits;
  for (bits = 0; bits < 8; bits++) {
    const size_t     len = bits & 1, heads = bits >> 1 & 1, width = bits >> 2 & 1;
    const mha_status want = heads && width ? MHA_OK : MHA_ERR_SHAPE;
    const int        written = want == MHA_OK && len, cells = len && heads;
    const float      in = rng_float(-1.0f, 1.0f), *from = len ? &in : NULL;
    float            out[3], scale[3];
    uint16_t         half = 0;
    signed char      code = UNTOUCHED;
    untouched(out);
    CHECK(mha_split_heads(out + 1, from, len, heads, width) == want && only(out, in, written), "split %x",
          bits);
    untouched(out);
    CHECK(mha_merge_heads(out + 1, from, len, heads, width) == want && only(out, in, written), "merge %x",
          bits);
    untouched(out);
    CHECK(mha_sdpa(out + 1, from, from, from, len, heads, width) == want && only(out, in, written), "sdpa %x",
          bits);
    untouched(out);
    CHECK(mha_multi_head_attention(out + 1, from, from, from, len, width, heads) == want &&
              only(out, in, written),
          "heads %x", bits);
    untouched(scale); /* rows len, columns heads */
    CHECK(mha_s8_from_f32(&code, scale + 1, cells ? &in : NULL, len, heads) == MHA_OK, "quantise %x", bits);
    CHECK((code == UNTOUCHED) == !cells && only(scale, scale[1], 1) &&
              (len ? scale[1] > 0.0f : same_float(scale[1], (float)UNTOUCHED)),
          "quantise %x: code %d, scale %g", bits, code, (double)scale[1]);
    untouched(out);
    CHECK(mha_f16_from_f32(&half, from, len) == MHA_OK && (half != 0) == (len != 0), "to f16");
    CHECK(mha_f32_from_f16(out + 1, len ? &half : NULL, len) == MHA_OK && only(out, out[1], 1), "from f16");
    untouched(out);
    CHECK(mha_bf16_from_f32(&half, from, len) == MHA_OK && (half != 0) == (len != 0), "to bf16");
    CHECK(mha_f32_from_bf16(out + 1, len ? &half : NULL, len) == MHA_OK && only(out, out[1], 1), "from bf16");
    untouched(out);
    CHECK(mha_alibi_slopes(out + 1, heads) == (heads ? MHA_OK : MHA_ERR_SHAPE) &&
              only(out, 0.00390625f, heads != 0),
          "slope %g", (double)out[1]);
  }
}

/* ---- A million keys for one row ---- */

enum { KEYS = 1000003, WIDTH = 2 };

static void million_keys(int type) {
  size_t   bytes = KEYS * WIDTH * type_bytes[type], shared_bytes, n;
  void    *k = guard_new(bytes, 0), *v = guard_new(bytes, 0), *shared;
  float   *scales = (float *)guard_new(KEYS * 4, 0), q[WIDTH] = { 1.5f, -0.75f }, o[WIDTH], again[WIDTH];
  float    lse, want[WIDTH], want_lse;
  double   exact[WIDTH], bound[WIDTH];
  mha_desc d = { 0 };
  fill(k, type, KEYS * WIDTH), fill(v, type, KEYS * WIDTH);
  for (n = 0; n < KEYS; n++) scales[n] = rng_float(0.001f, 0.01f);
  d.batch = d.q_heads = d.q_len = 1, d.kv_len = KEYS, d.d_k = WIDTH, d.flags = MHA_CAUSAL | MHA_Q_LAST;
  d.q = q, d.k = k, d.v = v, d.o = o, d.lse = &lse, d.k_type = d.v_type = type;
  if (type == MHA_S8) {
    d.k_scale = d.v_scale = scales;
    d.k_scale_stride.row = d.v_scale_stride.row = 1;
  }
  CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "%s", type_name[type]);
  oracle_run(&d, numerics_fused() == 1, exact, NULL, NULL, bound, NULL, NULL);
  for (n = 0; n < WIDTH; n++)
    CHECK(fabs((double)o[n] - exact[n]) <= bound[n], "%s: o is %.9g, exactly %.9g, allowed %.3g",
          type_name[type], (double)o[n], exact[n], bound[n]);
  if (numerics_fused() >= 0) {
    literal_attend(&d, numerics_fused(), want, NULL, &want_lse);
    CHECK(first_difference(o, want, WIDTH) == WIDTH && same_float(lse, want_lse), "%s: other bits",
          type_name[type]);
    shared_bytes = mha_keys_bytes(&d);
    shared = guard_new(shared_bytes, 0);
    d.o = again, d.lse = NULL;
    for (n = 0; n < 3; n++) CHECK(mha_attend_keys(&d, n, 3, shared, shared_bytes) == MHA_OK, "keys");
    CHECK(mha_attend_join(&d, shared, shared_bytes) == MHA_OK && first_difference(o, again, WIDTH) == WIDTH,
          "%s: other bits in parts", type_name[type]);
    guard_free(shared, "shared memory");
  }
  guard_free(k, "k"), guard_free(v, "v"), guard_free(scales, "the scales");
}

/* Integer attention stops at 65,535 keys, of which test_s8.c has a row. */
static void million_codes(void) {
  static signed char codes[KEYS];
  signed char        o = UNTOUCHED;
  int32_t            table[256];
  int                native;
  for (native = 0; native < 2; native++) {
    mha_s8_quant  quant;
    mha_s8_consts consts;
    mha_s8_desc   d;
    memset(&d, 0, sizeof d);
    quant = plain_quant(native ? MHA_S8_NATIVE : MHA_S8_TFLM, 1, 65535);
    CHECK(mha_s8_prepare(&consts, native ? NULL : table, &quant) == MHA_OK, "65,535 keys");
    d.q_heads = d.q_len = d.d_k = 1, d.kv_len = KEYS, d.q = d.k = d.v = codes, d.o = &o, d.consts = &consts;
    CHECK(attend_codes(&d, 0, MHA_ALL, NULL, 0) == MHA_ERR_LENGTH, "a million keys");
    d.kv_len = 65536;
    CHECK(attend_codes(&d, 0, MHA_ALL, NULL, 0) == MHA_ERR_LENGTH, "65,536 keys");
    CHECK(o == UNTOUCHED, "refused, but written");
  }
}

static void a_million_keys(void) {
  million_keys(MHA_F32);
  million_keys(MHA_S8);
  million_codes();
}

/* ---- Rows gigabytes apart: the same bits as side by side ---- */

#if !defined(MAP_ANONYMOUS) || !defined(MAP_NORESERVE) || PTRDIFF_MAX <= 0x7fffffff
#  define FAR_SKIPPED "no 64-bit mmap"
#elif defined(__SANITIZE_THREAD__)
#  define FAR_SKIPPED "the sanitizer keeps a shadow"
#elif defined(__has_feature)
#  if __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#    define FAR_SKIPPED "the sanitizer keeps a shadow"
#  endif
#endif

#ifdef FAR_SKIPPED
static void strides_of_gigabytes(void) { skip_that("strides above 2^32: " FAR_SKIPPED); }
#else

enum { FAR_BATCH = 2, FAR_HEADS = 2, FAR_Q = 13, FAR_KV = 37, FAR_WIDTH = 9 }; /* 13 rows: panels, too */
enum { FAR_ROWS = FAR_BATCH * FAR_HEADS * FAR_Q, FAR_KEYS = FAR_BATCH * FAR_HEADS * FAR_KV };
enum { FAR_O, FAR_QUERY, FAR_KEY, FAR_VALUE, FAR_SCALE, FAR_MASK, FAR_BIAS, FAR_TENSORS };

/* A tensor (batch, len, heads, n), packed; and a copy of it with far strides. */
typedef struct {
  size_t      len, n, element;
  mha_strides near_s, far_s;
  char       *near_p, *far_p;
  size_t      bytes; /* of the copy; most of it never exists */
} far_tensor;

static float far_room[FAR_TENSORS][FAR_ROWS * FAR_KV + FAR_KEYS * FAR_WIDTH];

static size_t far_at(const far_tensor *t, int far, size_t b, size_t h, size_t i) {
  const mha_strides s = far ? t->far_s : t->near_s;
  return t->element * (b * (size_t)s.batch + h * (size_t)s.head + i * (size_t)s.row);
}

/* Strides above 2^32 in every dimension: cut to 32 bits they lead elsewhere. */
static void far_begin(far_tensor *t, int which, int type, size_t len, size_t n) {
  const size_t row = ((size_t)1 << 31) * 2 + 24, head = row * len + 4096;
  t->len = len, t->n = n, t->element = type_bytes[type];
  t->near_s.head = (ptrdiff_t)n, t->near_s.row = (ptrdiff_t)(FAR_HEADS * n);
  t->near_s.batch = t->near_s.row * (ptrdiff_t)len;
  t->far_s.row = (ptrdiff_t)row, t->far_s.head = (ptrdiff_t)head;
  t->far_s.batch = (ptrdiff_t)(FAR_HEADS * head + 4096);
  t->near_p = (char *)far_room[which];
  t->far_p = NULL;
  fill(t->near_p, type, FAR_BATCH * FAR_HEADS * len * n);
}

/* Makes the copy; 0 where there are no such addresses. */
static int far_copy(far_tensor *t) {
  size_t b, h, i;
  void  *p;
  t->bytes = (size_t)t->far_s.batch * FAR_BATCH * t->element;
  p = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return 0;
  t->far_p = (char *)p;
  for (b = 0; b < FAR_BATCH; b++)
    for (h = 0; h < FAR_HEADS; h++)
      for (i = 0; i < t->len; i++)
        memcpy(t->far_p + far_at(t, 1, b, h, i), t->near_p + far_at(t, 0, b, h, i), t->n * t->element);
  return 1;
}

static void far_ends(far_tensor *t) {
  int n;
  for (n = 0; n < FAR_TENSORS; n++)
    if (t[n].far_p) munmap(t[n].far_p, t[n].bytes);
}

/* Is the copy of o what o is?  Then it is overwritten. */
static void far_same(const far_tensor *o, const char *what) {
  const size_t bytes = o->n * o->element;
  size_t       b, h, i;
  for (b = 0; b < FAR_BATCH; b++)
    for (h = 0; h < FAR_HEADS; h++)
      for (i = 0; i < o->len; i++) {
        char *row = o->far_p + far_at(o, 1, b, h, i);
        CHECK(!memcmp(row, o->near_p + far_at(o, 0, b, h, i), bytes),
              "%s: row %zu of head %zu of batch %zu differs", what, i, h, b);
        memset(row, 0x5A, bytes);
      }
}

/* The tensors of keys and values of that type; returns whether there are addresses for their copies. */
static int far_new(far_tensor *t, int q_type, int type) {
  int n, there = 1;
  far_begin(&t[FAR_O], FAR_O, q_type, FAR_Q, FAR_WIDTH);
  far_begin(&t[FAR_QUERY], FAR_QUERY, q_type, FAR_Q, FAR_WIDTH);
  far_begin(&t[FAR_KEY], FAR_KEY, type, FAR_KV, FAR_WIDTH);
  far_begin(&t[FAR_VALUE], FAR_VALUE, type, FAR_KV, FAR_WIDTH);
  far_begin(&t[FAR_SCALE], FAR_SCALE, MHA_F32, FAR_KV, 1);
  far_begin(&t[FAR_MASK], FAR_MASK, MHA_S8, FAR_Q, FAR_KV);
  far_begin(&t[FAR_BIAS], FAR_BIAS, MHA_F32, FAR_Q, FAR_KV);
  for (n = 0; n < FAR_ROWS * FAR_KV; n++) t[FAR_MASK].near_p[n] = (char)rng_chance(80);
  for (n = 0; n < FAR_TENSORS; n++) there &= far_copy(&t[n]);
  if (!there) skip_that("strides above 2^32: too few addresses");
  return there;
}

static mha_desc far_desc(const far_tensor *t, int far, int type) {
  mha_desc d = { 0 };
#define FAR_P(which) (void *)(far ? t[which].far_p : t[which].near_p)
#define FAR_S(which) (far ? t[which].far_s : t[which].near_s)
  d.batch = FAR_BATCH, d.q_heads = FAR_HEADS, d.q_len = FAR_Q, d.kv_len = FAR_KV, d.d_k = FAR_WIDTH;
  d.k_type = d.v_type = type;
  d.o = (float *)FAR_P(FAR_O), d.o_stride = FAR_S(FAR_O);
  d.q = (float *)FAR_P(FAR_QUERY), d.q_stride = FAR_S(FAR_QUERY);
  d.k = FAR_P(FAR_KEY), d.k_stride = FAR_S(FAR_KEY);
  d.v = FAR_P(FAR_VALUE), d.v_stride = FAR_S(FAR_VALUE);
  d.mask = (unsigned char *)FAR_P(FAR_MASK), d.mask_stride = FAR_S(FAR_MASK);
  d.bias = (float *)FAR_P(FAR_BIAS), d.bias_stride = FAR_S(FAR_BIAS);
  if (type != MHA_S8) return d;
  d.k_scale = d.v_scale = (float *)FAR_P(FAR_SCALE), d.k_scale_stride = d.v_scale_stride = FAR_S(FAR_SCALE);
  return d;
}

static void far_floats(int type) {
  far_tensor t[FAR_TENSORS];
  if (far_new(t, MHA_F32, type)) {
    const mha_desc near = far_desc(t, 0, type), d = far_desc(t, 1, type);
    size_t         bytes = mha_work_bytes(&d);
    void          *work = guard_new(bytes, 0);
    CHECK(mha_attend(&near, NULL, 0) == MHA_OK, "side by side");
    CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "far");
    far_same(&t[FAR_O], type_name[type]);
    CHECK(mha_attend(&d, work, bytes) == MHA_OK, "far, with a workspace");
    far_same(&t[FAR_O], "with a workspace");
    guard_free(work, "the workspace");
    bytes = mha_keys_bytes(&d), work = guard_new(bytes, 0);
    CHECK(!mha_attend_keys(&d, 0, 1, work, bytes) && !mha_attend_join(&d, work, bytes), "far, by keys");
    far_same(&t[FAR_O], "by keys");
    guard_free(work, "shared memory");
  }
  far_ends(t);
}

static mha_s8_desc far_s8_desc(const far_tensor *t, int far, size_t b, const mha_s8_consts *consts) {
  mha_s8_desc d;
#define FAR_SET(name, type, which)                                    \
  d.name = (type *)FAR_P(which) + b * (size_t)FAR_S(which).batch;     \
  d.name##_stride.head = FAR_S(which).head, d.name##_stride.row = FAR_S(which).row
  memset(&d, 0, sizeof d);
  d.q_heads = FAR_HEADS, d.q_len = FAR_Q, d.kv_len = FAR_KV, d.d_k = FAR_WIDTH, d.consts = consts;
  FAR_SET(o, signed char, FAR_O);
  FAR_SET(q, signed char, FAR_QUERY);
  FAR_SET(k, signed char, FAR_KEY);
  FAR_SET(v, signed char, FAR_VALUE);
  FAR_SET(mask, unsigned char, FAR_MASK);
  return d;
}

static void far_codes(int mode) {
  static unsigned char scratch[4096];
  far_tensor           t[FAR_TENSORS];
  int32_t              table[256];
  mha_s8_quant         quant = plain_quant(mode, FAR_WIDTH, FAR_KV);
  mha_s8_consts        consts;
  if (!CHECK(!mha_s8_prepare(&consts, mode == MHA_S8_TFLM ? table : NULL, &quant), "prepare")) return;
  if (far_new(t, MHA_S8, MHA_S8)) {
    int    far, lean;
    size_t b;
    for (lean = 0; lean < 2; lean++) {
      for (b = 0; b < FAR_BATCH; b++) /* one call each */
        for (far = 0; far < 2; far++) {
          const mha_s8_desc d = far_s8_desc(t, far, b, &consts);
          void             *work = lean ? NULL : scratch;
          CHECK(attend_codes(&d, 0, MHA_ALL, work, sizeof scratch) == MHA_OK, "mode %d", mode);
        }
      far_same(&t[FAR_O], mode == MHA_S8_TFLM ? "tflm" : "native");
    }
  }
  far_ends(t);
}

static void strides_of_gigabytes(void) {
  int type;
  for (type = MHA_F32; type <= MHA_S8; type++) far_floats(type);
  far_codes(MHA_S8_TFLM);
  far_codes(MHA_S8_NATIVE);
}

#endif

const group limits_groups[] = {
  { "limits: sizes of floats", sizes_of_floats },
  { "limits: sizes of codes", sizes_of_codes },
  { "limits: sizes for helpers", sizes_of_helpers },
  { "limits: 0 and 1, floats", zeros_and_ones_of_floats },
  { "limits: 0 and 1, codes", zeros_and_ones_of_codes },
  { "limits: 0 and 1, helpers", zeros_and_ones_of_helpers },
  { "limits: a million keys", a_million_keys },
  { "limits: strides of gigabytes", strides_of_gigabytes },
  { NULL, NULL }
};
