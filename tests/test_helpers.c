/* test_helpers.c - conversions, the quantiser, slopes, the default scale, and what the library says about
   itself. The references work on integers and doubles and share nothing with mha.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../mha.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Half precision: 1 + 5 + 10 bits, and the upper half of a float: 1 + 8 + 7 bits ---- */

/* The exact value, from its bits, of a finite number with `mantissa` stored bits and this lowest exponent. */
static double value_of(unsigned bits, int mantissa, int lowest, unsigned exponents) {
  unsigned exponent = bits >> mantissa & exponents, fraction = bits & ((1u << mantissa) - 1u);
  double   sign = bits >> 15 ? -1.0 : 1.0;
  if (!exponent) return sign * ldexp((double)fraction, lowest - mantissa);
  return sign * ldexp((double)(fraction + (1u << mantissa)), lowest - mantissa + (int)exponent - 1);
}

/* The nearest such number to x, ties to even: count steps of the size they have at x. */
static unsigned nearest(float x, int mantissa, int lowest, unsigned exponents) {
  unsigned sign = bits_of(x) >> 31 << 15, steps, infinity = exponents << mantissa, bits;
  double   a = fabs((double)x), quotient, rest;
  int      e;
  if (a == 0.0) return sign;
  if (a > 3.5e38) return sign | infinity;
  (void)frexp(a, &e); /* a = [1/2, 1) 2^e */
  e = e - 1 < lowest ? lowest : e - 1;
  quotient = ldexp(a, mantissa - e); /* exact, below 2^(mantissa + 1) */
  steps = (unsigned)quotient;
  rest = quotient - (double)steps;
  if (rest > 0.5 || (rest == 0.5 && steps % 2)) steps++;
  bits = ((unsigned)(e - lowest) << mantissa) + steps; /* a carry into the exponent is right as it is */
  return sign | (bits > infinity ? infinity : bits);
}

typedef struct {
  const char *name;
  mha_status (*narrow)(uint16_t *, const float *, size_t);
  mha_status (*widen)(float *, const uint16_t *, size_t);
  int      mantissa, lowest;
  unsigned exponents;
} half_type;
static const half_type half_types[] = {
  { "f16", mha_f16_from_f32, mha_f32_from_f16, 10, -14, 31 },
  { "bf16", mha_bf16_from_f32, mha_f32_from_bf16, 7, -126, 255 },
};

static int is_nan_half(const half_type *h, unsigned bits) {
  return (bits & 0x7fffu) > h->exponents << h->mantissa;
}

static void halves_to_floats(void) {
  static uint16_t in[65536], back[65536];
  static float    out[65536];
  size_t          t, k;
  for (t = 0; t < COUNT(half_types); t++) {
    const half_type *h = half_types + t;
    for (k = 0; k < 65536; k++) in[k] = (uint16_t)k;
    CHECK(h->widen(out, in, 65536) == MHA_OK, "not OK");
    CHECK(h->narrow(back, out, 65536) == MHA_OK, "not OK");
    for (k = 0; k < 65536; k++) {
      unsigned bits = (unsigned)k;
      if (is_nan_half(h, bits)) {
        CHECK(out[k] != out[k], "%s %04x becomes %g, not NaN", h->name, bits, (double)out[k]);
        CHECK(is_nan_half(h, back[k]), "%s %04x comes back as %04x", h->name, bits, back[k]);
      } else if ((bits & 0x7fffu) == h->exponents << h->mantissa) {
        CHECK(bits_of(out[k]) == (bits >> 15 ? 0xff800000u : 0x7f800000u), "%s %04x becomes %g", h->name,
              bits, (double)out[k]);
        CHECK(back[k] == bits, "%s %04x comes back as %04x", h->name, bits, back[k]);
      } else {
        double want = value_of(bits, h->mantissa, h->lowest, h->exponents);
        CHECK(bits_of(out[k]) == bits_of((float)want), "%s %04x becomes %.9g, want %.9g", h->name, bits,
              (double)out[k], want);
        CHECK(back[k] == bits, "%s %04x comes back as %04x", h->name, bits, back[k]);
      }
    }
  }
}

/* One float, alone and so through whatever handles a tail. */
static void narrow_one(const half_type *h, float x) {
  uint16_t got = 0x5555;
  unsigned want = nearest(x, h->mantissa, h->lowest, h->exponents);
  if (h->narrow(&got, &x, 1) != MHA_OK) got = 0x5555;
  CHECK(got == want, "%s of %.9g (%08lx) is %04x, want %04x", h->name, (double)x, (unsigned long)bits_of(x),
        got, want);
}

/* Every exponent and sign, with every choice of kept bits' ends, and the bits that go at, beside and between
   ties. */
static void floats_to_halves(void) {
  static const uint32_t kept_ends[] = { 0, 1, 2, 3, 0x1fe, 0x1ff, 0x200, 0x3fd, 0x3fe, 0x3ff };
  size_t                t, k, j;
  uint32_t              exponent, sign;
  for (t = 0; t < COUNT(half_types); t++) {
    const half_type *h = half_types + t;
    for (exponent = 0; exponent < 255; exponent++)
      for (k = 0; k < COUNT(kept_ends); k++)
        for (j = 0; j < 24; j++) { /* where a tie is depends on the type and, below normal, on exponents */
          uint32_t tie = j < 23 ? (uint32_t)1 << j : 0, kept = kept_ends[k] << (j < 22 ? j + 1 : 13);
          for (sign = 0; sign < 2; sign++) {
            uint32_t u = sign << 31 | exponent << 23 | ((kept | tie) & 0x7fffffu);
            narrow_one(h, from_bits(u));
            narrow_one(h, from_bits((u & 0x7fffffffu) != 0 ? u - 1 : u));
            if ((u & 0x7fffffffu) < 0x7f7fffffu) narrow_one(h, from_bits(u + 1));
          }
        }
  }
}

static void limits_of_halves(void) {
  static const float    f16_in[] = { 65504.0f,      65519.99f,     65520.0f,      65536.0f,      3e38f,
                                     5.9604645e-8f, 2.9802322e-8f, 2.9802326e-8f, 6.0975552e-5f,
                                     6.1035156e-5f, 6.1005354e-5f, 1e-45f,        8.940697e-8f };
  static const unsigned f16_out[] = { 0x7bff, 0x7bff, 0x7c00, 0x7c00, 0x7c00, 0x0001, 0x0000,
                                      0x0001, 0x03ff, 0x0400, 0x0400, 0x0000, 0x0002 };
  static const float bf16_in[] = { 1.0f, 1.00390625f, 1.01171875f, 3.38953139e38f, 3.40282347e38f, 1e-45f };
  static const unsigned bf16_out[] = { 0x3f80, 0x3f80, 0x3f82, 0x7f7f, 0x7f80, 0x0000 };
  uint16_t              got = 0;
  mha_status            status;
  size_t                k, n;
  uint32_t              u;
  for (k = 0; k < COUNT(f16_in); k++) {
    status = mha_f16_from_f32(&got, f16_in + k, 1);
    CHECK(status == MHA_OK && got == f16_out[k], "f16 of %.9g is %04x, want %04x",
          (double)f16_in[k], got, f16_out[k]);
  }
  for (k = 0; k < COUNT(bf16_in); k++) {
    status = mha_bf16_from_f32(&got, bf16_in + k, 1);
    CHECK(status == MHA_OK && got == bf16_out[k], "bf16 of %.9g is %04x, want %04x",
          (double)bf16_in[k], got, bf16_out[k]);
  }
  for (k = 0; k < COUNT(half_types); k++) {
    const half_type *h = half_types + k;
    unsigned         infinity = h->exponents << h->mantissa, quiet = 1u << (h->mantissa - 1);
    for (u = 0; u < 2; u++) {
      float inf = from_bits(u << 31 | 0x7f800000u);
      status = h->narrow(&got, &inf, 1);
      CHECK(status == MHA_OK && got == (u << 15 | infinity), "%s of %g is %04x", h->name, (double)inf, got);
    }
    for (n = 0; n < 2 * 23; n++) { /* NaN with one bit of payload: low ones must not be lost, nor carry */
      float nan = from_bits((uint32_t)(n % 2) << 31 | 0x7f800000u | (uint32_t)1 << n / 2);
      status = h->narrow(&got, &nan, 1);
      CHECK(status == MHA_OK && is_nan_half(h, got) && (got & quiet),
            "%s of NaN %08lx is %04x, want a quiet NaN", h->name, (unsigned long)bits_of(nan), got);
    }
    for (n = 0; n < 2; n++) {
      float nan = from_bits((uint32_t)n << 31 | 0x7fffffffu);
      status = h->narrow(&got, &nan, 1);
      CHECK(status == MHA_OK && is_nan_half(h, got), "%s of NaN %08lx is %04x", h->name,
            (unsigned long)bits_of(nan), got);
    }
  }
}

/* Random floats of all magnitudes, and of those that matter to f16, in runs of every small length. */
static void random_floats_to_halves(void) {
  size_t t, n, k, round;
  for (t = 0; t < COUNT(half_types); t++) {
    const half_type *h = half_types + t;
    for (round = 0; round < 4; round++)
      for (n = 0; n < 130; n++) {
        float    *in = (float *)guard_new(n * 4, 4 * (n % 16));
        uint16_t *out = (uint16_t *)guard_new(n * 2, 2 * (n % 32));
        for (k = 0; k < n; k++) {
          uint32_t u = (uint32_t)rng();
          if (k % 2) u = (u & 0x87ffffffu) | ((uint32_t)rng_between(12, 18) << 27);
          if ((u & 0x7fffffffu) > 0x7f800000u) u &= 0x80000000u;
          in[k] = from_bits(u);
        }
        CHECK(h->narrow(out, in, n) == MHA_OK, "not OK");
        for (k = 0; k < n; k++) {
          unsigned want = nearest(in[k], h->mantissa, h->lowest, h->exponents);
          CHECK(out[k] == want, "%s of %.9g is %04x, want %04x", h->name, (double)in[k], out[k], want);
        }
        CHECK(h->widen(in, out, n) == MHA_OK, "not OK");
        for (k = 0; k < n; k++)
          if ((out[k] & 0x7fffu) < h->exponents << h->mantissa) {
            double want = value_of(out[k], h->mantissa, h->lowest, h->exponents);
            CHECK((double)in[k] == want, "%s %04x becomes %.9g, want %.9g", h->name, out[k], (double)in[k],
                  want);
          }
        guard_free(in, "floats");
        guard_free(out, "halves");
      }
    CHECK(h->narrow(NULL, NULL, 0) == MHA_OK && h->widen(NULL, NULL, 0) == MHA_OK, "%s: nothing to do is OK",
          h->name);
  }
}

/* ---- Quantising ---- */

/* The code nearest to x / scale, ties to even: |x / scale| <= 127.00001, and a double holds enough of the
   quotient, since floats that make a tie exactly make it exactly in double, too. */
static int code_of(float x, float scale) {
  double q = (double)x / (double)scale, f = floor(q), rest = q - f;
  int    code = (int)f;
  if (rest > 0.5 || (rest == 0.5 && code % 2 != 0)) code++;
  return code > 127 ? 127 : code < -127 ? -127 : code;
}

static void quantised_rows(void) {
  enum { MOST = 80 };
  size_t round, r, c, rows, cols;
  for (round = 0; round < 600; round++) {
    float       *x, *scales;
    signed char *out;
    rows = rng_between(1, 5), cols = rng_between(1, MOST);
    x = (float *)guard_new(rows * cols * 4, 4), scales = (float *)guard_new(rows * 4, 8);
    out = (signed char *)guard_new(rows * cols, rng_below(16));
    for (r = 0; r < rows; r++) {
      float size = ldexpf(1.0f, (int)rng_below(250) - 126);
      int   kind = (int)rng_below(8);
      for (c = 0; c < cols; c++) {
        float *at = x + r * cols + c;
        *at = size * rng_float(-1, 1);
        if (kind == 1) *at = 0.0f;
        if (kind == 2)
          *at = from_bits((uint32_t)rng_below(0x800000) | (uint32_t)rng_below(2) << 31); /* subnormal */
        if (kind == 3)
          *at = (c ? (float)((int)rng_below(255) - 127) + 0.5f : 127.0f) * (size / 128.0f); /* ties */
        if (kind == 4) *at = rng_chance(50) ? size : -size;
        if (kind == 5) *at = 3.402823466e+38f * rng_float(-1, 1);
        if (kind == 6) *at = c == cols / 2 ? size : 0.0f;
      }
      if (kind == 3)
        for (c = 1; c < cols; c++)
          if (fabsf(x[r * cols + c]) > x[r * cols]) x[r * cols + c] = 0.5f * (size / 128.0f);
    }
    CHECK(mha_s8_from_f32(out, scales, x, rows, cols) == MHA_OK, "not OK");
    for (r = 0; r < rows; r++) {
      float largest = 0.0f, want;
      for (c = 0; c < cols; c++) largest = fmaxf(largest, fabsf(x[r * cols + c]));
      want = (float)((double)largest / 127.0); /* by way of double, a quotient of floats rounds the same */
      if (want < 1.17549435e-38f) want = 1.17549435e-38f;
      CHECK(bits_of(scales[r]) == bits_of(want), "scale of a row up to %.9g is %.9g, want %.9g",
            (double)largest, (double)scales[r], (double)want);
      for (c = 0; c < cols; c++) {
        float  in = x[r * cols + c];
        int    code = out[r * cols + c];
        double off = fabs((double)in - (double)code * (double)scales[r]);
        CHECK(off <= 0.5001 * (double)scales[r], "%.9g becomes %d * %.9g, off by %g of it", (double)in, code,
              (double)scales[r], off / (double)scales[r]);
        CHECK(code >= -127, "%.9g becomes %d", (double)in, code);
        if (fabs(fabs((double)in / (double)scales[r] - floor((double)in / (double)scales[r])) - 0.5) > 1e-4)
          CHECK(code == code_of(in, scales[r]), "%.9g becomes %d * %.9g, want %d", (double)in, code,
                (double)scales[r], code_of(in, scales[r]));
        if (fabsf(in) == largest && largest > 1.5e-36f)
          CHECK(code == (in > 0 ? 127 : -127), "the largest of a row becomes %d", code);
      }
    }
    guard_free(x, "x"), guard_free(scales, "scales"), guard_free(out, "codes");
  }
}

static void quantised_examples(void) {
  static const float       ties[9] = { 127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -126.5f };
  static const signed char even[9] = { 127, 0, 2, 2, 0, -2, -2, 126, -126 };
  static const float       small[6] = { 1.17549435e-38f, -1.17549435e-38f, 8.8162076e-39f,
                                        5.87747176e-39f, 1e-45f,           0 };
  static const signed char few[6] = { 1, -1, 1, 0, 0, 0 };
  float                    zeros[3] = { 0.0f, -0.0f, 0.0f }, scale = 0.0f, scales[2];
  mha_status               status;
  signed char              out[9];
  int                      c;
  status = mha_s8_from_f32(out, &scale, ties, 1, 9);
  CHECK(status == MHA_OK && bits_of(scale) == bits_of(1.0f), "scale %g", (double)scale);
  for (c = 0; c < 9; c++)
    CHECK(out[c] == even[c], "%g becomes %d, want %d", (double)ties[c], out[c], even[c]);
  status = mha_s8_from_f32(out, &scale, small, 1, 6);
  CHECK(status == MHA_OK && bits_of(scale) == 0x00800000u, "scale %g", (double)scale);
  for (c = 0; c < 6; c++) CHECK(out[c] == few[c], "%g becomes %d, want %d", (double)small[c], out[c], few[c]);
  status = mha_s8_from_f32(out, &scale, zeros, 1, 3);
  CHECK(status == MHA_OK && bits_of(scale) == 0x00800000u, "scale %g", (double)scale);
  for (c = 0; c < 3; c++) CHECK(out[c] == 0, "%g becomes %d", (double)zeros[c], out[c]);
  /* rows without elements have a scale all the same; no rows, nothing */
  scales[0] = scales[1] = 9.0f;
  CHECK(mha_s8_from_f32(NULL, scales, NULL, 2, 0) == MHA_OK, "rows of no elements");
  CHECK(bits_of(scales[0]) == 0x00800000u && bits_of(scales[1]) == 0x00800000u, "scales %g and %g",
        (double)scales[0], (double)scales[1]);
  CHECK(mha_s8_from_f32(NULL, NULL, NULL, 0, 5) == MHA_OK, "no rows");
}

/* Quantise, attend, and compare with the double answer for the very numbers the codes stand for; one scale
   for each token and head, then one for all. */
static void attend_to_codes(void) {
  enum { S = 37, H = 2, D = 16, ROWS = S * H };
  static float       q[ROWS * D], k[ROWS * D], v[ROWS * D], o[ROWS * D];
  static signed char k8[ROWS * D], v8[ROWS * D];
  float              k_scale[ROWS], v_scale[ROWS];
  size_t             c, h, i, j, one;
  for (c = 0; c < ROWS * D; c++) q[c] = rng_float(-1, 1), k[c] = rng_float(-1, 1), v[c] = rng_float(-1, 1);
  for (one = 0; one < 2; one++) {
    mha_desc d = { 0 };
    d.batch = 1, d.q_heads = H, d.q_len = d.kv_len = S, d.d_k = D;
    d.q = q, d.k = k8, d.v = v8, d.o = o, d.k_type = d.v_type = MHA_S8, d.k_scale = k_scale,
    d.v_scale = v_scale;
    if (one) {
      CHECK(mha_s8_from_f32(k8, k_scale, k, 1, ROWS * D) == MHA_OK, "not OK");
      CHECK(mha_s8_from_f32(v8, v_scale, v, 1, ROWS * D) == MHA_OK, "not OK");
    } else {
      CHECK(mha_s8_from_f32(k8, k_scale, k, ROWS, D) == MHA_OK, "not OK");
      CHECK(mha_s8_from_f32(v8, v_scale, v, ROWS, D) == MHA_OK, "not OK");
      d.k_scale_stride.row = d.v_scale_stride.row = H, d.k_scale_stride.head = d.v_scale_stride.head = 1;
    }
    CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
    for (h = 0; h < H; h++)
      for (i = 0; i < S; i++) {
        double p[S], sum = 0.0, out[D] = { 0 }, plain[D] = { 0 }, plain_sum = 0.0;
        for (j = 0; j < S; j++) {
          double coded = 0.0, dot = 0.0;
          for (c = 0; c < D; c++) {
            double qc = (double)q[(i * H + h) * D + c];
            coded += qc * (double)k8[(j * H + h) * D + c] * (double)k_scale[one ? 0 : j * H + h];
            dot += qc * (double)k[(j * H + h) * D + c];
          }
          p[j] = exp(coded / sqrt((double)D)), sum += p[j];
          dot = exp(dot / sqrt((double)D)), plain_sum += dot;
          for (c = 0; c < D; c++) {
            out[c] += p[j] * (double)v8[(j * H + h) * D + c] * (double)v_scale[one ? 0 : j * H + h];
            plain[c] += dot * (double)v[(j * H + h) * D + c];
          }
        }
        for (c = 0; c < D; c++) {
          double got = (double)o[(i * H + h) * D + c];
          /* |logits| <= 4, so that D = 2^-24 * 2 * (2 * 16 + 20) * 4 covers the dot products, and 40 keys the
           * sums */
          CHECK(fabs(got - out[c] / sum) <= 6e-8 * (2 * 52 * 4 + 2 * 40 + 60), "%.9g, want %.9g of codes",
                got, out[c] / sum);
          /* half a step of 1/127 in V; in K it moves a logit by less than 16 * 1/254 / 4 = 0.016, a weight by
           * twice that */
          CHECK(fabs(got - plain[c] / plain_sum) <= 0.5 / 127 + 2 * 0.016, "%.9g, want about %.9g", got,
                plain[c] / plain_sum);
        }
      }
  }
}

/* ---- Slopes and the default scale ---- */

static void slopes(void) {
  size_t n, h, most;
  for (n = 1; n <= 1000; n = n < 64     ? n + 1
                             : n == 64  ? 100
                             : n == 100 ? 112
                             : n == 112 ? 128
                             : n == 128 ? 1000
                                        : 1001) {
    float *out = (float *)guard_new(n * 4, 0);
    for (most = 1; most * 2 <= n; most *= 2) {}
    CHECK(mha_alibi_slopes(out, n) == MHA_OK, "%lu heads", (unsigned long)n);
    for (h = 0; h < n; h++) {
      double exact = h < most ? pow(2.0, -8.0 * (double)(h + 1) / (double)most)
                              : pow(2.0, -8.0 * (double)(2 * (h - most) + 1) / (double)(2 * most));
      /* the double is off by a few 2^-53 at most, and the answer clear unless it is that close to a tie */
      double low = exact * (1 - 1e-15), high = exact * (1 + 1e-15);
      CHECK((float)low == (float)high, "slope %lu of %lu is too close to a tie for this test",
            (unsigned long)h, (unsigned long)n);
      CHECK(bits_of(out[h]) == bits_of((float)exact), "slope %lu of %lu is %.9g, want %.17g",
            (unsigned long)h, (unsigned long)n, (double)out[h], exact);
    }
    guard_free(out, "slopes");
  }
}

/* Whether s is the float nearest to 1/sqrt(d): the midpoints to its neighbours lie on either side of it.  A
   midpoint is m / 2^e with m < 2^26, and m^2 d is compared with 2^(2e) in two words of 64 bits. */
static int below_or_above(uint64_t m, int e, uint64_t d) { /* sign of m^2 d - 2^(2e) */
  uint64_t square = m * m, low = (square & 0xffffffffu) * d, high = (square >> 32) * d + (low >> 32),
           one_high, one_low;
  low &= 0xffffffffu; /* the product is high * 2^32 + low, d < 2^32 */
  one_high = 2 * e >= 32 ? (uint64_t)1 << (2 * e - 32) : 0;
  one_low = 2 * e >= 32 ? 0 : (uint64_t)1 << 2 * e;
  return high != one_high ? (high > one_high ? 1 : -1) : low != one_low ? (low > one_low ? 1 : -1) : 0;
}
static int is_nearest_to_inverse_root(float s, size_t d) {
  uint32_t u = bits_of(s);
  int      exponent = (int)(u >> 23) - 127, e = 23 - exponent + 2; /* s = mantissa / 2^(23 - exponent) */
  uint64_t mantissa = (u & 0x7fffffu) | 0x800000u, above = 4 * mantissa + 2;
  uint64_t below = 4 * mantissa - (mantissa == 0x800000u ? 1u : 2u); /* below a power of two, half a step */
  return below_or_above(below, e, d) < 0 && below_or_above(above, e, d) > 0;
}

/* One key that is e_0, like the query: the lse is the scale, by way of products with log2(e) and ln(2). */
static float lse_of_scale(size_t d_k, float scale, const float *unit) {
  float    out, lse = 0.0f;
  mha_desc d = { 0 };
  d.batch = d.q_heads = d.q_len = d.kv_len = d.d_v = 1, d.d_k = d_k, d.scale = scale;
  d.o = &out, d.q = unit, d.k = unit, d.v = unit, d.lse = &lse;
  CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "d_k %lu", (unsigned long)d_k);
  return lse;
}

static void default_scale(void) {
  static const size_t large[] = { 4097,  5000,  8191,  8192,   10000,   16384,  20011,
                                  65535, 65536, 65537, 100003, 1048576, 1000003 };
  size_t d, k, seen = 0, all = 0;
  float *unit = (float *)calloc(1048576 + 1, sizeof *unit);
  if (!unit) {
    CHECK(0, "out of memory");
    return;
  }
  unit[0] = 1.0f;
  for (k = 1; k <= 4096 + COUNT(large); k++) {
    float near, got;
    d = k <= 4096 ? k : large[k - 4097];
    near = (float)(1.0 / sqrt((double)d));
    CHECK(is_nearest_to_inverse_root(near, d), "%.9g is not the float nearest to 1/sqrt(%lu)", (double)near,
          (unsigned long)d);
    got = lse_of_scale(d, 0.0f, unit);
    CHECK(bits_of(got) == bits_of(lse_of_scale(d, near, unit)), "the default scale for d_k %lu is not %.9g",
          (unsigned long)d, (double)near);
    CHECK(fabs((double)got * sqrt((double)d) - 1.0) < 4e-7, "lse %.9g for d_k %lu", (double)got,
          (unsigned long)d);
    if (k % 7 == 0) { /* would the neighbours have shown? */
      seen += got != lse_of_scale(d, from_bits(bits_of(near) + 1), unit);
      seen += got != lse_of_scale(d, from_bits(bits_of(near) - 1), unit);
      all += 2;
    }
  }
  CHECK(seen * 10 > all * 5, "only %lu of %lu wrong scales would show", (unsigned long)seen,
        (unsigned long)all);
  free(unit);
}

/* ---- What the library says about itself ---- */

static int is_one_of(const char *text, const char *const *list, size_t n) {
  size_t k;
  for (k = 0; text && k < n; k++)
    if (!strcmp(text, list[k])) return 1;
  return 0;
}

static void about_itself(void) {
  static const char *const isas[] = { "scalar", "sse2", "avx2", "avx512", "neon", "wasm" };
  static const char *const numerics[] = { "hardware fma", "software fma", "multiply then add",
                                          "excess precision" };
  char version[40];
  CHECK(mha_desc_bytes() == sizeof(mha_desc), "%lu bytes, want %lu", (unsigned long)mha_desc_bytes(),
        (unsigned long)sizeof(mha_desc));
  CHECK(is_one_of(mha_isa(), isas, COUNT(isas)), "instructions \"%s\"", mha_isa());
  CHECK(is_one_of(mha_numerics(), numerics, COUNT(numerics)), "numerics \"%s\"", mha_numerics());
  snprintf(version, sizeof version, "%d.%d.%d", MHA_VERSION / 10000, MHA_VERSION / 100 % 100,
           MHA_VERSION % 100);
  CHECK(!strcmp(version, MHA_VERSION_STRING), "version %d is \"%s\"", MHA_VERSION, MHA_VERSION_STRING);
}

static void checking_writes_nothing(void) {
  float    o[24], q[24], k[24], v[24], w[36], lse[12], copies[24];
  mha_desc d = { 0 }, before;
  size_t   bytes, c;
  for (c = 0; c < 24; c++) o[c] = q[c] = k[c] = v[c] = copies[c] = (float)c;
  for (c = 0; c < 36; c++) w[c] = 7.0f;
  for (c = 0; c < 12; c++) lse[c] = 7.0f;
  d.batch = 2, d.q_heads = 2, d.q_len = d.kv_len = 3, d.d_k = 2, d.o = o, d.q = q, d.k = k, d.v = v,
  d.weights = w, d.lse = lse;
  memcpy(&before, &d, sizeof d);
  CHECK(mha_check(&d) == MHA_OK, "not OK");
  bytes = mha_work_bytes(&d);
  CHECK(bytes > 0 && bytes == mha_work_bytes(&d), "%lu bytes", (unsigned long)bytes);
  (void)mha_keys_bytes(&d);
  CHECK(!memcmp(&before, &d, sizeof d), "the descriptor changed");
  CHECK(!memcmp(o, copies, sizeof o) && !memcmp(q, copies, sizeof q) && !memcmp(k, copies, sizeof k) &&
            !memcmp(v, copies, sizeof v), "a tensor changed");
  for (c = 0; c < 36 && bits_of(w[c]) == bits_of(7.0f); c++) {}
  CHECK(c == 36, "weights changed");
  for (c = 0; c < 12 && bits_of(lse[c]) == bits_of(7.0f); c++) {}
  CHECK(c == 12, "lse changed");
  CHECK(mha_attend(&d, NULL, 0) == MHA_OK && !memcmp(&before, &d, sizeof d),
        "attending changed the descriptor");
}

const group helpers_groups[] = {
  { "halves to floats", halves_to_floats },
  { "floats to halves", floats_to_halves },
  { "limits of halves", limits_of_halves },
  { "random floats to halves", random_floats_to_halves },
  { "quantised rows", quantised_rows },
  { "quantised examples", quantised_examples },
  { "attend to codes", attend_to_codes },
  { "alibi slopes", slopes },
  { "default scale", default_scale },
  { "about itself", about_itself },
  { "checking writes nothing", checking_writes_nothing },
  { NULL, NULL }
};
