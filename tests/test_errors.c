/* test_errors.c - every status code, provoked alone: a valid descriptor with one thing changed, through every
   entry point that can refuse it, with nothing written; and what must stay allowed. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../mha.h"
#include "check.h"

#define COUNT(array)  (sizeof(array) / sizeof(array)[0])
#define MAX           ((size_t)-1)
#define STRIDE_MAX    PTRDIFF_MAX
#define POSITION_MAX  (PTRDIFF_MAX / 4)
#define NOT_A_NUMBER  ((float)NAN)
#define OFF_BY(p, n)  ((void *)((char *)(p) + (n))) /* the address n bytes further, aligned or not */
#define LAST(n)       ((void *)(UINTPTR_MAX - (n) + 1)) /* where the last n bytes of all addresses begin */

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, Q_LEN = 3, KV_LEN = 5, D_K = 4, D_V = 3 };
enum { ROWS = BATCH * HEADS * Q_LEN, KEYS = BATCH * KV_HEADS * KV_LEN };

/* ---- Memory: every tensor in a room of its own, with room for another to overlap either end ---- */

enum {
  T_O,
  T_WEIGHTS,
  T_LSE,
  T_WORK,
  T_SHARED,
  T_Q,
  T_K,
  T_V,
  T_K_SCALE,
  T_V_SCALE,
  T_MASK,
  T_BIAS,
  T_SLOPES,
  T_SINKS,
  T_Q_STARTS,
  T_KV_STARTS,
  T_KV_LENS,
  TENSORS
};
enum { ROOM = 16384 };
static union {
  unsigned char bytes[TENSORS][ROOM];
  float         floats[TENSORS][ROOM / 4];
  ptrdiff_t     positions[TENSORS][ROOM / sizeof(ptrdiff_t)];
  size_t        lengths[TENSORS][ROOM / sizeof(size_t)];
} mem, before;

static void *room(int tensor) { return mem.bytes[tensor] + ROOM / 2; }

static void furnish(void) {
  size_t r, k;
  for (r = 0; r < TENSORS; r++)
    for (k = 0; k < ROOM / 4; k++) mem.floats[r][k] = rng_float(0.1f, 1.0f);
  for (k = 0; k < BATCH; k++) {
    ((ptrdiff_t *)room(T_Q_STARTS))[k] = 2 + (ptrdiff_t)k;
    ((ptrdiff_t *)room(T_KV_STARTS))[k] = -(ptrdiff_t)k;
    ((size_t *)room(T_KV_LENS))[k] = KV_LEN - 1 + k;
  }
}
static void remember(void) { memcpy(&before, &mem, sizeof mem); }
static int  unchanged(void) { return memcmp(&before, &mem, sizeof mem) == 0; }

/* ---- Valid descriptors ---- */

static mha_desc plain(void) {
  mha_desc d = { 0 };
  d.batch = BATCH, d.q_heads = HEADS, d.kv_heads = KV_HEADS, d.q_len = Q_LEN, d.kv_len = KV_LEN, d.d_k = D_K,
  d.d_v = D_V;
  d.o = (float *)room(T_O), d.q = (const float *)room(T_Q), d.k = room(T_K), d.v = room(T_V);
  return d;
}

/* All that goes together, but for weights, which a split by keys refuses. */
static mha_desc rich(void) {
  mha_desc d = plain();
  d.flags = MHA_CAUSAL | MHA_USE_WINDOW, d.window_left = 3, d.window_right = MHA_OPEN, d.keep_first = 1;
  d.scale = 0.4f, d.softcap = 20.0f;
  d.q_starts = (const ptrdiff_t *)room(T_Q_STARTS), d.kv_starts = (const ptrdiff_t *)room(T_KV_STARTS);
  d.kv_lens = (const size_t *)room(T_KV_LENS);
  d.mask = (const unsigned char *)room(T_MASK), d.bias = (const float *)room(T_BIAS);
  d.mask_stride.batch = HEADS * Q_LEN * KV_LEN, d.mask_stride.head = Q_LEN * KV_LEN,
  d.mask_stride.row = KV_LEN;
  d.bias_stride = d.mask_stride;
  d.alibi_slopes = (const float *)room(T_SLOPES), d.sinks = (const float *)room(T_SINKS);
  d.lse = (float *)room(T_LSE);
  return d;
}

/* The same with int8 keys and values, and a scale for each. */
static mha_desc coded(void) {
  mha_desc d = rich();
  d.k_type = d.v_type = MHA_S8;
  d.k_scale = (const float *)room(T_K_SCALE), d.v_scale = (const float *)room(T_V_SCALE);
  d.k_scale_stride.batch = KV_LEN * KV_HEADS, d.k_scale_stride.row = KV_HEADS, d.k_scale_stride.head = 1;
  d.v_scale_stride = d.k_scale_stride;
  return d;
}
static mha_desc weighed(void) {
  mha_desc d = coded();
  d.weights = (float *)room(T_WEIGHTS);
  return d;
}

/* ---- Refused by all that take a descriptor, or by none ---- */

static void status_at(int line, mha_status got, mha_status want, const char *call, const char *what) {
  check_that(got == want, __FILE__, line, "%s: %s gives \"%s\", want \"%s\"", what, call, mha_strerror(got),
             mha_strerror(want));
}
static void calls_at(int line, const mha_desc *d, mha_status want, const char *what) {
  unsigned char *work = (unsigned char *)room(T_WORK), *shared = (unsigned char *)room(T_SHARED);
  remember();
  status_at(line, mha_check(d), want, "mha_check", what);
  status_at(line, mha_attend(d, NULL, 0), want, "mha_attend", what);
  status_at(line, mha_attend(d, work, 100), want, "mha_attend with a workspace", what);
  status_at(line, mha_attend_part(d, 0, 1, NULL, 0), want, "mha_attend_part", what);
  status_at(line, mha_attend_part(d, 2, 3, work, ROOM / 2), want, "mha_attend_part with a workspace", what);
  if (want != MHA_OK) {
    size_t bytes = mha_work_bytes(d);
    check_that(bytes == 0, __FILE__, line, "%s: mha_work_bytes gives %lu, want 0", what,
               (unsigned long)bytes);
  }
  if (d && d->weights) { /* a split by keys would refuse these */
    if (want != MHA_OK) check_that(unchanged(), __FILE__, line, "%s: memory was written", what);
    return;
  }
  status_at(line, mha_attend_keys(d, 0, 1, shared, ROOM / 2), want, "mha_attend_keys", what);
  status_at(line, mha_attend_keys(d, 1, 2, shared, ROOM / 2), want, "mha_attend_keys, second share", what);
  status_at(line, mha_attend_join(d, shared, ROOM / 2), want, "mha_attend_join", what);
  if (want != MHA_OK) {
    size_t bytes = mha_keys_bytes(d);
    check_that(bytes == 0, __FILE__, line, "%s: mha_keys_bytes gives %lu, want 0", what,
               (unsigned long)bytes);
    check_that(unchanged(), __FILE__, line, "%s: memory was written", what);
  }
}

/* BAD(base, status, change): the descriptor `d`, made by base and changed, is refused with this status.
   GOOD(base, change): it is accepted. */
#define BAD(base, want, ...)                    \
  do {                                          \
    mha_desc d = base();                        \
    __VA_ARGS__;                                \
    calls_at(__LINE__, &d, want, #__VA_ARGS__); \
  } while (0)
#define GOOD(base, ...) BAD(base, MHA_OK, __VA_ARGS__)

/* CALL(status, call): this one call. */
static void after_at(int line, mha_status got, mha_status want, const char *call) {
  status_at(line, got, want, "it", call);
  if (want != MHA_OK) check_that(unchanged(), __FILE__, line, "%s: memory was written", call);
}
#define CALL(want, ...) (remember(), after_at(__LINE__, __VA_ARGS__, want, #__VA_ARGS__))

static void bases_are_valid(void) {
  furnish();
  GOOD(plain, (void)d);
  GOOD(rich, (void)d);
  GOOD(coded, (void)d);
  GOOD(weighed, (void)d);
  {
    mha_desc d = weighed();
    CHECK(mha_work_bytes(&d) > 0, "no workspace helps");
    d.weights = NULL;
    CHECK(mha_keys_bytes(&d) > 0 && mha_keys_bytes(&d) <= ROOM / 2, "%lu bytes",
          (unsigned long)mha_keys_bytes(&d));
  }
}

static void null_pointers(void) {
  furnish();
  calls_at(__LINE__, NULL, MHA_ERR_NULL, "no descriptor");
  BAD(plain, MHA_ERR_NULL, d.o = NULL);
  BAD(plain, MHA_ERR_NULL, d.q = NULL);
  BAD(plain, MHA_ERR_NULL, d.k = NULL);
  BAD(plain, MHA_ERR_NULL, d.v = NULL);
  BAD(coded, MHA_ERR_NULL, d.k_scale = NULL);
  BAD(coded, MHA_ERR_NULL, d.v_scale = NULL);
  BAD(weighed, MHA_ERR_NULL, d.o = NULL);
  /* no elements, no memory; and whatever has no pointer may have any stride */
  GOOD(plain, d.batch = 0, d.o = NULL, d.q = NULL, d.k = d.v = NULL);
  GOOD(plain, d.q_len = 0, d.o = NULL, d.q = NULL);
  GOOD(plain, d.kv_len = 0, d.k = d.v = NULL);
  GOOD(coded, d.kv_len = 0, d.k = d.v = NULL, d.k_scale = d.v_scale = NULL, d.kv_lens = NULL);
  GOOD(plain, d.mask_stride.row = -1, d.bias_stride.batch = STRIDE_MAX, d.k_scale_stride.head = -7,
       d.v_scale_stride.row = -STRIDE_MAX);
  GOOD(plain, d.k = d.v = d.q, d.kv_heads = HEADS, d.kv_len = Q_LEN, d.d_v = D_K);
}

static void sizes_and_heads(void) {
  furnish();
  BAD(plain, MHA_ERR_SHAPE, d.q_heads = 0);
  BAD(plain, MHA_ERR_SHAPE, d.q_heads = d.kv_heads = 0);
  BAD(plain, MHA_ERR_SHAPE, d.d_k = 0);
  BAD(plain, MHA_ERR_SHAPE, d.d_k = d.d_v = 0);
  BAD(weighed, MHA_ERR_SHAPE, d.d_k = 0);
  GOOD(plain, d.kv_heads = 0);
  GOOD(plain, d.d_v = 0);
  GOOD(plain, d.batch = 0);
  GOOD(plain, d.q_len = 0);
  GOOD(plain, d.kv_len = 0);
  BAD(plain, MHA_ERR_HEADS, d.q_heads = 5);
  BAD(plain, MHA_ERR_HEADS, d.kv_heads = 3);
  BAD(plain, MHA_ERR_HEADS, d.kv_heads = 8); /* more than there are */
  BAD(plain, MHA_ERR_HEADS, d.kv_heads = MAX);
  BAD(weighed, MHA_ERR_HEADS, d.kv_heads = 3);
}

/* The strides that packed tensors have, spelt out. */
static mha_desc strided(void) {
  mha_desc d = coded();
  d.o_stride.batch = Q_LEN * HEADS * D_V, d.o_stride.row = HEADS * D_V, d.o_stride.head = D_V;
  d.q_stride.batch = Q_LEN * HEADS * D_K, d.q_stride.row = HEADS * D_K, d.q_stride.head = D_K;
  d.k_stride.batch = KV_LEN * KV_HEADS * D_K, d.k_stride.row = KV_HEADS * D_K, d.k_stride.head = D_K;
  d.v_stride.batch = KV_LEN * KV_HEADS * D_V, d.v_stride.row = KV_HEADS * D_V, d.v_stride.head = D_V;
  return d;
}

/* check(stride) for every stride of the descriptor */
#define WITH_EVERY_STRIDE(check)                                                                 \
  check(o_stride); check(q_stride); check(k_stride); check(v_stride);                            \
  check(k_scale_stride); check(v_scale_stride); check(mask_stride); check(bias_stride)

static void strides(void) {
  furnish();
  GOOD(strided, (void)d);
#define EACH_STRIDE(name)                                 \
  BAD(strided, MHA_ERR_STRIDE, d.name.batch = -1);        \
  BAD(strided, MHA_ERR_STRIDE, d.name.head = -1);         \
  BAD(strided, MHA_ERR_STRIDE, d.name.row = -1);          \
  BAD(strided, MHA_ERR_STRIDE, d.name.row = PTRDIFF_MIN); \
  BAD(strided, MHA_ERR_STRIDE, d.kv_len = 1, d.kv_lens = NULL, d.name.row = -1)
  WITH_EVERY_STRIDE(EACH_STRIDE);
#undef EACH_STRIDE
  /* elements of o that coincide: whole rows, or one channel of neighbours */
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.batch = 0);
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.head = 0);
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.row = 0);
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.head = D_V - 1);
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.row = HEADS * D_V - 1);
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.batch = Q_LEN * HEADS * D_V - 1);
  BAD(strided, MHA_ERR_STRIDE, d.o_stride.row = D_V, d.o_stride.head = 2 * D_V); /* (2, 0) is (0, 1) */
  /* any order of dimensions, gaps, and inputs that repeat are fine */
  GOOD(strided, d.o_stride.head = Q_LEN * D_V, d.o_stride.row = D_V);
  GOOD(strided, d.o_stride.batch = D_V, d.o_stride.head = BATCH * D_V, d.o_stride.row = BATCH * HEADS * D_V);
  GOOD(strided, d.o_stride.head = D_V + 1, d.o_stride.row = HEADS * (D_V + 1) + 5, d.o_stride.batch = 300);
  GOOD(strided, d.q_stride.row = 0, d.k_stride.head = 0, d.v_stride.row = 0, d.mask_stride.head = 0,
       d.bias_stride.batch = 0, d.k_scale_stride.row = 0, d.v_scale_stride.head = 0);
  GOOD(strided, d.batch = 1, d.o_stride.batch = 0);
  GOOD(strided, d.batch = 1,
       d.o_stride.batch = d.q_stride.batch = d.k_stride.batch = d.v_stride.batch = STRIDE_MAX);
  GOOD(strided, d.q_len = 1, d.o_stride.row = 0);
}

/* Sizes whose products, or strides whose extents, leave the address space. */
static void ranges(void) {
  static const size_t huge[] = { MAX, MAX - 1, MAX / 2 + 1, MAX / 2, MAX / 4 + 1, MAX / 4, MAX / 8 };
  size_t              k;
  furnish();
  for (k = 0; k < COUNT(huge); k++) {
    size_t n = huge[k];
    BAD(plain, MHA_ERR_RANGE, d.batch = n);
    BAD(plain, MHA_ERR_RANGE, d.q_len = n);
    BAD(plain, MHA_ERR_RANGE, d.kv_len = n);
    BAD(plain, MHA_ERR_RANGE, d.d_k = n);
    BAD(plain, MHA_ERR_RANGE, d.d_v = n);
    BAD(plain, MHA_ERR_RANGE, d.q_heads = d.kv_heads = n);
    BAD(plain, MHA_ERR_RANGE, d.q_heads = n, d.kv_heads = 1);
    BAD(plain, MHA_ERR_RANGE, d.q_heads = n, d.kv_heads = 0);
  }
  BAD(plain, MHA_ERR_RANGE, d.d_k = MAX / (BATCH * Q_LEN * HEADS) + 1);     /* elements wrap */
  BAD(plain, MHA_ERR_RANGE, d.d_k = MAX / (BATCH * Q_LEN * HEADS) / 4 + 1); /* bytes wrap */
  BAD(plain, MHA_ERR_RANGE, d.d_k = MAX / (BATCH * Q_LEN * HEADS) / 4);     /* bytes are no object's */
  BAD(plain, MHA_ERR_RANGE, d.d_v = MAX / (BATCH * KV_LEN * KV_HEADS) + 1);
  BAD(plain, MHA_ERR_RANGE, d.d_v = MAX / (BATCH * Q_LEN * HEADS) / 4 + 1);
  BAD(plain, MHA_ERR_RANGE, d.q_heads = d.kv_heads = MAX / (BATCH * KV_LEN * D_K) / 4 + 1);
  /* halves of a product that only together wrap */
  BAD(plain, MHA_ERR_RANGE, d.q_heads = d.kv_heads = (size_t)1 << (sizeof(size_t) * 4),
      d.d_k = (size_t)1 << (sizeof(size_t) * 4));
  BAD(plain, MHA_ERR_RANGE, d.q_len = (size_t)1 << (sizeof(size_t) * 4),
      d.d_v = (size_t)1 << (sizeof(size_t) * 4));
  BAD(plain, MHA_ERR_RANGE, d.kv_len = (size_t)1 << (sizeof(size_t) * 4),
      d.d_v = (size_t)1 << (sizeof(size_t) * 4));
#define EACH_STRIDE(name)                                      \
  BAD(strided, MHA_ERR_RANGE, d.name.batch = STRIDE_MAX);      \
  BAD(strided, MHA_ERR_RANGE, d.name.head = STRIDE_MAX);       \
  BAD(strided, MHA_ERR_RANGE, d.name.row = STRIDE_MAX);        \
  BAD(strided, MHA_ERR_RANGE, d.name.row = STRIDE_MAX / 2 + 1)
  WITH_EVERY_STRIDE(EACH_STRIDE);
#undef EACH_STRIDE
  BAD(strided, MHA_ERR_RANGE, d.q_stride.row = STRIDE_MAX / 4); /* as bytes */
  /* Many keys in little memory are no error, unless their weights or positions are. */
  {
    const mha_strides by_default = { 0, 0, 0 };
    mha_desc          d = strided();
    double            least;
    size_t            bytes;
    d.batch = 1, d.kv_lens = NULL, d.kv_starts = NULL, d.kv_len = (size_t)POSITION_MAX / 8;
    d.k_stride.row = d.v_stride.row = d.k_scale_stride.row = d.v_scale_stride.row = 0, d.mask = NULL,
    d.bias = NULL;
    CHECK(mha_check(&d) == MHA_OK, "%s", mha_strerror(mha_check(&d)));
    bytes = mha_keys_bytes(&d), least = (double)d.kv_len / 128 * HEADS * Q_LEN * 4;
    CHECK(bytes == 0 || (double)bytes >= least, "%g bytes for the results of %g keys", (double)bytes,
          (double)d.kv_len);
    d.d_v = 100, d.o_stride = by_default, d.v_stride.head = 1; /* 102 floats a block are too many */
    CHECK(mha_check(&d) == MHA_OK, "%s", mha_strerror(mha_check(&d)));
    CHECK(mha_keys_bytes(&d) == 0, "%g bytes", (double)mha_keys_bytes(&d));
    CALL(MHA_ERR_RANGE, mha_attend_keys(&d, 0, 1, room(T_SHARED), ROOM / 2));
    CALL(MHA_ERR_RANGE, mha_attend_join(&d, room(T_SHARED), ROOM / 2));
    d.weights = (float *)room(T_WEIGHTS);
    CHECK(mha_check(&d) == MHA_ERR_RANGE, "%s", mha_strerror(mha_check(&d)));
    d.weights = NULL, d.kv_len = (size_t)POSITION_MAX; /* times rows, more than 64 bits count */
    CHECK(mha_check(&d) == (sizeof(size_t) < 8 ? MHA_OK : MHA_ERR_RANGE), "%s", mha_strerror(mha_check(&d)));
    d.kv_len = (size_t)POSITION_MAX + 2;
    CHECK(mha_check(&d) == MHA_ERR_RANGE, "%s", mha_strerror(mha_check(&d)));
  }
}

static void positions(void) {
  ptrdiff_t starts[BATCH] = { 0, 0 };
  size_t    lens[BATCH] = { 1, KV_LEN }, b;
  furnish();
  GOOD(plain, d.q_start = POSITION_MAX - (Q_LEN - 1));
  GOOD(plain, d.q_start = -POSITION_MAX);
  GOOD(plain, d.kv_start = POSITION_MAX - (KV_LEN - 1));
  GOOD(plain, d.kv_start = -POSITION_MAX);
  GOOD(plain, d.kv_start = -POSITION_MAX, d.q_start = POSITION_MAX - (Q_LEN - 1), d.flags = MHA_CAUSAL);
  BAD(plain, MHA_ERR_RANGE, d.q_start = POSITION_MAX - (Q_LEN - 1) + 1);
  BAD(plain, MHA_ERR_RANGE, d.q_start = -POSITION_MAX - 1);
  BAD(plain, MHA_ERR_RANGE, d.q_start = PTRDIFF_MAX);
  BAD(plain, MHA_ERR_RANGE, d.q_start = PTRDIFF_MIN);
  BAD(plain, MHA_ERR_RANGE, d.kv_start = POSITION_MAX - (KV_LEN - 1) + 1);
  BAD(plain, MHA_ERR_RANGE, d.kv_start = -POSITION_MAX - 1);
  BAD(plain, MHA_ERR_RANGE, d.kv_start = PTRDIFF_MAX);
  BAD(plain, MHA_ERR_RANGE, d.kv_start = PTRDIFF_MIN);
  for (b = 0; b < BATCH; b++) {
    starts[b] = POSITION_MAX + 1;
    BAD(plain, MHA_ERR_RANGE, d.q_starts = starts);
    BAD(plain, MHA_ERR_RANGE, d.kv_starts = starts);
    starts[b] = PTRDIFF_MIN;
    BAD(plain, MHA_ERR_RANGE, d.q_starts = starts);
    BAD(plain, MHA_ERR_RANGE, d.kv_starts = starts);
    starts[b] = -POSITION_MAX;
    GOOD(plain, d.q_starts = starts);
    GOOD(plain, d.kv_starts = starts);
    starts[b] = 0;
  }
  /* the last query on the last of few keys puts the first one below */
  BAD(plain, MHA_ERR_RANGE, d.kv_start = -POSITION_MAX, d.kv_len = 1, d.flags = MHA_Q_LAST);
  BAD(plain, MHA_ERR_RANGE, d.kv_start = -POSITION_MAX, d.kv_lens = lens, d.flags = MHA_Q_LAST);
  GOOD(plain, d.kv_start = -POSITION_MAX, d.flags = MHA_Q_LAST);
}

static void values(void) {
  const float inf = (float)INFINITY;
  furnish();
  BAD(plain, MHA_ERR_VALUE, d.scale = NOT_A_NUMBER);
  BAD(plain, MHA_ERR_VALUE, d.scale = inf);
  BAD(plain, MHA_ERR_VALUE, d.scale = -inf);
  BAD(plain, MHA_ERR_VALUE, d.scale = 2.4e38f); /* times log2(e) it is infinite */
  BAD(plain, MHA_ERR_VALUE, d.scale = -2.4e38f);
  BAD(plain, MHA_ERR_VALUE, d.scale = inf, d.flags = MHA_USE_SCALE);
  BAD(plain, MHA_ERR_VALUE, d.scale = NOT_A_NUMBER, d.flags = MHA_USE_SCALE);
  BAD(plain, MHA_ERR_VALUE, d.softcap = -1.0f);
  BAD(plain, MHA_ERR_VALUE, d.softcap = -1e-40f);
  BAD(plain, MHA_ERR_VALUE, d.softcap = NOT_A_NUMBER);
  BAD(plain, MHA_ERR_VALUE, d.softcap = inf);
  BAD(plain, MHA_ERR_VALUE, d.softcap = -inf);
  BAD(plain, MHA_ERR_VALUE, d.scale = 1e30f, d.softcap = 1e-20f);
  BAD(plain, MHA_ERR_VALUE, d.scale = inf, d.softcap = 1.0f);
  BAD(plain, MHA_ERR_VALUE, d.softcap = 1e-39f);                 /* the default scale over it is infinite */
  BAD(plain, MHA_ERR_VALUE, d.scale = 2e38f, d.softcap = 1.0f);  /* times 2 log2(e) */
  BAD(plain, MHA_ERR_VALUE, d.softcap = 3e38f);                  /* times log2(e) */
  BAD(weighed, MHA_ERR_VALUE, d.softcap = -1.0f);
  GOOD(plain, d.scale = 2.3e38f);
  GOOD(plain, d.scale = -2.3e38f);
  GOOD(plain, d.scale = 1e-44f);
  GOOD(plain, d.scale = -0.0f);
  GOOD(plain, d.flags = MHA_USE_SCALE);
  GOOD(plain, d.softcap = -0.0f);
  GOOD(plain, d.softcap = 1e-36f);
  GOOD(plain, d.softcap = 2.3e38f);
}

static void flags_and_types(void) {
  unsigned bit;
  furnish();
  for (bit = MHA_USE_SCALE * 2u; bit; bit <<= 1) {
    BAD(plain, MHA_ERR_FLAG, d.flags = bit);
    BAD(weighed, MHA_ERR_FLAG, d.flags |= bit);
  }
  BAD(plain, MHA_ERR_TYPE, d.k_type = MHA_S8 + 1);
  BAD(plain, MHA_ERR_TYPE, d.k_type = -1);
  BAD(plain, MHA_ERR_TYPE, d.k_type = INT_MAX);
  BAD(plain, MHA_ERR_TYPE, d.v_type = MHA_S8 + 1);
  BAD(plain, MHA_ERR_TYPE, d.v_type = -1);
  BAD(plain, MHA_ERR_TYPE, d.v_type = INT_MIN);
  BAD(weighed, MHA_ERR_TYPE, d.v_type = 99);
  GOOD(plain, d.k_type = MHA_F16, d.v_type = MHA_BF16); /* K and V may differ */
  GOOD(coded, d.k_type = MHA_F16, d.k_scale = NULL);
  GOOD(coded, d.v_type = MHA_F32, d.v_scale = NULL);
}

/* What would be ignored, or says two things. */
static void contradictions(void) {
  furnish();
  BAD(plain, MHA_ERR_OPTION, d.window_left = 1);
  BAD(plain, MHA_ERR_OPTION, d.window_right = 1);
  BAD(plain, MHA_ERR_OPTION, d.window_left = MHA_OPEN);
  BAD(plain, MHA_ERR_OPTION, d.keep_first = 1);
  BAD(plain, MHA_ERR_OPTION, d.keep_first = 1, d.flags = MHA_CAUSAL);
  BAD(plain, MHA_ERR_OPTION, d.k_scale = (const float *)room(T_K_SCALE));
  BAD(plain, MHA_ERR_OPTION, d.v_scale = (const float *)room(T_V_SCALE));
  BAD(coded, MHA_ERR_OPTION, d.k_type = MHA_F32);
  BAD(coded, MHA_ERR_OPTION, d.k_type = MHA_F16);
  BAD(coded, MHA_ERR_OPTION, d.v_type = MHA_BF16);
  BAD(coded, MHA_ERR_OPTION, d.v_type = MHA_F32);
  BAD(rich, MHA_ERR_OPTION, d.q_start = 1);
  BAD(rich, MHA_ERR_OPTION, d.q_start = -1);
  BAD(rich, MHA_ERR_OPTION, d.kv_start = 1);
  BAD(rich, MHA_ERR_OPTION, d.kv_start = -1);
  BAD(plain, MHA_ERR_OPTION, d.q_start = 1, d.flags = MHA_Q_LAST);
  BAD(rich, MHA_ERR_OPTION, d.flags |= MHA_Q_LAST);
  BAD(weighed, MHA_ERR_OPTION, d.q_start = 1);
  GOOD(plain, d.flags = MHA_USE_WINDOW);
  GOOD(plain, d.flags = MHA_USE_WINDOW, d.window_left = 1, d.window_right = 2, d.keep_first = 3);
  GOOD(plain, d.flags = MHA_USE_WINDOW, d.window_left = d.window_right = d.keep_first = MHA_OPEN);
  GOOD(rich, d.q_starts = NULL, d.flags |= MHA_Q_LAST);
  GOOD(rich, d.q_starts = NULL, d.q_start = 1);
  GOOD(rich, d.kv_starts = NULL, d.kv_start = 1);
  GOOD(plain, d.flags = MHA_Q_LAST, d.kv_start = 1);
  { /* sharing the keys gives no weights */
    mha_desc d = weighed();
    CALL(MHA_ERR_OPTION, mha_attend_keys(&d, 0, 1, room(T_SHARED), ROOM / 2));
    CALL(MHA_ERR_OPTION, mha_attend_join(&d, room(T_SHARED), ROOM / 2));
    CHECK(mha_keys_bytes(&d) == 0, "a size for what is refused");
    CHECK(mha_check(&d) == MHA_OK && mha_work_bytes(&d) > 0, "weights are fine elsewhere");
  }
}

static void lengths(void) {
  size_t lens[BATCH], b;
  furnish();
  for (b = 0; b < BATCH; b++) {
    lens[0] = lens[1] = KV_LEN;
    GOOD(plain, d.kv_lens = lens);
    lens[b] = KV_LEN + 1;
    BAD(plain, MHA_ERR_LENGTH, d.kv_lens = lens);
    lens[b] = MAX;
    BAD(plain, MHA_ERR_LENGTH, d.kv_lens = lens);
    BAD(weighed, MHA_ERR_LENGTH, d.kv_lens = lens);
    lens[b] = 0;
    GOOD(plain, d.kv_lens = lens);
  }
}

static void parts(void) {
  static const size_t wrong[][2] = { { 0, 0 }, { 1, 0 },   { 1, 1 },    { 3, 3 },
                                     { 4, 3 }, { MAX, 1 }, { MAX, MAX } };
  size_t              k, bytes;
  mha_desc            d = rich();
  furnish();
  for (k = 0; k < COUNT(wrong); k++) {
    CALL(MHA_ERR_PART, mha_attend_part(&d, wrong[k][0], wrong[k][1], NULL, 0));
    CALL(MHA_ERR_PART, mha_attend_part(&d, wrong[k][0], wrong[k][1], room(T_WORK), 64));
    CALL(MHA_ERR_PART, mha_attend_keys(&d, wrong[k][0], wrong[k][1], room(T_SHARED), ROOM / 2));
  }
  bytes = mha_keys_bytes(&d);
  CALL(MHA_OK, mha_attend_part(&d, 0, 1, NULL, 0));
  CALL(MHA_OK, mha_attend_part(&d, MAX - 1, MAX, NULL, 0)); /* and the shares of so many do not wrap */
  CALL(MHA_OK, mha_attend_part(&d, MAX / 2, MAX, NULL, 0));
  CALL(MHA_OK, mha_attend_keys(&d, MAX - 1, MAX, room(T_SHARED), bytes));
  /* surplus shares write nothing */
  for (k = ROWS; k < 4 * ROWS; k += ROWS + 1) {
    size_t share, busy = 0;
    for (share = 0; share < k; share++) {
      memset(room(T_O), 0xEE, ROWS * D_V * 4);
      CALL(MHA_OK, mha_attend_part(&d, share, k, NULL, 0));
      busy += !unchanged();
    }
    CHECK(busy > 0 && busy <= ROWS, "%lu of %lu shares wrote", (unsigned long)busy, (unsigned long)k);
  }
}

static void workspaces(void) {
  mha_desc d = rich();
  size_t   bytes = mha_keys_bytes(&d), k;
  furnish();
  CALL(MHA_ERR_WORK, mha_attend(&d, NULL, 1));
  CALL(MHA_ERR_WORK, mha_attend(&d, NULL, MAX));
  CALL(MHA_ERR_WORK, mha_attend(&d, room(T_WORK), MAX)); /* longer than any object, or than what follows */
  CALL(MHA_ERR_WORK, mha_attend(&d, room(T_WORK), MAX / 2 + 1));
  CALL(MHA_ERR_WORK, mha_attend(&d, LAST(64), 65));
  CALL(MHA_ERR_WORK, mha_attend_part(&d, 0, 1, NULL, 1));
  CALL(MHA_ERR_WORK, mha_attend_keys(&d, 0, 1, NULL, 0));
  CALL(MHA_ERR_WORK, mha_attend_keys(&d, 0, 1, NULL, bytes));
  CALL(MHA_ERR_WORK, mha_attend_keys(&d, 0, 1, LAST(bytes - 1), bytes));
  CALL(MHA_ERR_WORK, mha_attend_join(&d, NULL, bytes));
  CALL(MHA_ERR_WORK, mha_attend_join(&d, LAST(bytes - 1), bytes));
  for (k = 0; k < bytes; k += k + 8 < bytes ? 8 : 1) {
    CALL(MHA_ERR_WORK, mha_attend_keys(&d, 0, 1, room(T_SHARED), k));
    CALL(MHA_ERR_WORK, mha_attend_join(&d, room(T_SHARED), k));
  }
  for (k = 0; k < 300; k++) CALL(MHA_OK, mha_attend(&d, room(T_WORK), k)); /* none is too small */
  CALL(MHA_OK, mha_attend_part(&d, 0, 1, room(T_WORK), 0));
  CALL(MHA_OK, mha_attend(&d, OFF_BY(room(T_Q), 5), 0)); /* 0 bytes overlap nothing */
  CALL(MHA_OK, mha_attend_keys(&d, 0, 1, OFF_BY(room(T_SHARED), 1), bytes)); /* nor need it be aligned */
  CALL(MHA_OK, mha_attend_join(&d, OFF_BY(room(T_SHARED), 1), bytes));
}

static void alignment(void) {
  furnish();
  BAD(coded, MHA_ERR_ALIGN, d.o = (float *)OFF_BY(d.o, 1));
  BAD(coded, MHA_ERR_ALIGN, d.o = (float *)OFF_BY(d.o, 2));
  BAD(coded, MHA_ERR_ALIGN, d.o = (float *)OFF_BY(d.o, 3));
  BAD(coded, MHA_ERR_ALIGN, d.q = (const float *)OFF_BY(d.q, 2));
  BAD(plain, MHA_ERR_ALIGN, d.k = OFF_BY(d.k, 1));
  BAD(plain, MHA_ERR_ALIGN, d.k = OFF_BY(d.k, 2));
  BAD(plain, MHA_ERR_ALIGN, d.v = OFF_BY(d.v, 3));
  BAD(plain, MHA_ERR_ALIGN, d.k_type = MHA_F16, d.k = OFF_BY(d.k, 1));
  BAD(plain, MHA_ERR_ALIGN, d.v_type = MHA_BF16, d.v = OFF_BY(d.v, 3));
  BAD(coded, MHA_ERR_ALIGN, d.k_scale = (const float *)OFF_BY(d.k_scale, 1));
  BAD(coded, MHA_ERR_ALIGN, d.v_scale = (const float *)OFF_BY(d.v_scale, 2));
  BAD(coded, MHA_ERR_ALIGN, d.bias = (const float *)OFF_BY(d.bias, 2));
  BAD(coded, MHA_ERR_ALIGN, d.alibi_slopes = (const float *)OFF_BY(d.alibi_slopes, 3));
  BAD(coded, MHA_ERR_ALIGN, d.sinks = (const float *)OFF_BY(d.sinks, 2));
  BAD(coded, MHA_ERR_ALIGN, d.lse = (float *)OFF_BY(d.lse, 2));
  BAD(weighed, MHA_ERR_ALIGN, d.weights = (float *)OFF_BY(d.weights, 1));
  BAD(coded, MHA_ERR_ALIGN, d.q_starts = (const ptrdiff_t *)OFF_BY(d.q_starts, 1));
  BAD(coded, MHA_ERR_ALIGN, d.kv_starts = (const ptrdiff_t *)OFF_BY(d.kv_starts, 1));
  BAD(coded, MHA_ERR_ALIGN, d.kv_lens = (const size_t *)OFF_BY(d.kv_lens, 1));
  GOOD(coded, d.k = OFF_BY(d.k, 1), d.v = OFF_BY(d.v, 3), d.mask = (const unsigned char *)OFF_BY(d.mask, 1));
  GOOD(plain, d.k_type = MHA_F16, d.k = OFF_BY(d.k, 2));
  GOOD(coded, d.o = (float *)OFF_BY(d.o, 4), d.q = (const float *)OFF_BY(d.q, 12));
}

/* ---- Overlaps ---- */

static const char *const names[TENSORS] = {
  "o",       "weights", "lse",  "work",         "shared", "q",        "k",         "v",      "k_scale",
  "v_scale", "mask",    "bias", "alibi_slopes", "sinks",  "q_starts", "kv_starts", "kv_lens"
};

static size_t bytes_of(int tensor) {
  switch (tensor) {
  case T_O: return ROWS * D_V * 4;
  case T_WEIGHTS: return ROWS * KV_LEN * 4;
  case T_LSE: return ROWS * 4;
  case T_WORK: return 240;
  case T_Q: return ROWS * D_K * 4;
  case T_K: return KEYS * D_K;
  case T_V: return KEYS * D_V;
  case T_K_SCALE: case T_V_SCALE: return KEYS * 4;
  case T_MASK: return ROWS * KV_LEN;
  case T_BIAS: return ROWS * KV_LEN * 4;
  case T_SLOPES: case T_SINKS: return HEADS * 4;
  case T_Q_STARTS: case T_KV_STARTS: return BATCH * sizeof(ptrdiff_t);
  case T_KV_LENS: return BATCH * sizeof(size_t);
  default: return 0;
  }
}

static void *place(mha_desc *d, int output, unsigned char *p) {
  if (output == T_O) d->o = (float *)(void *)p;
  if (output == T_WEIGHTS) d->weights = (float *)(void *)p;
  if (output == T_LSE) d->lse = (float *)(void *)p;
  return output == T_WORK ? p : room(T_WORK);
}

/* Puts each output, and the workspace, on every other tensor: at its start, last element on its first, first
   element on its last, and just before and behind it, which is allowed. */
static void overlaps(void) {
  static const char *const places[] = { "starts with",           "ends in",     "starts in the end of",
                                        "lies inside or around", "ends before", "starts behind" };
  int    x, y;
  size_t where;
  furnish();
  for (x = T_O; x <= T_WORK; x++)
    for (y = 0; y < TENSORS; y++)
      for (where = 0; where < COUNT(places); where++) {
        size_t         unit = x == T_WORK ? 1 : 4, xn = bytes_of(x), yn = bytes_of(y);
        unsigned char *at = (unsigned char *)room(y);
        mha_desc       d = weighed(), e;
        mha_status     want = where < 4 ? MHA_ERR_OVERLAP : MHA_OK, got;
        void          *work;
        if (x == y || y == T_SHARED) continue;
        switch (where) {
        case 1: at = at + unit - xn; break;
        case 2: at = at + (yn - 1) / unit * unit; break;
        case 3: at = xn < yn ? at + (yn - xn) / 2 / unit * unit : at - (xn - yn) / 2 / unit * unit; break;
        case 4: at = at - xn; break;
        case 5: at = at + (yn + unit - 1) / unit * unit; break;
        default: break;
        }
        furnish();
        work = place(&d, x, at);
        remember();
        got = mha_attend(&d, work, bytes_of(T_WORK));
        CHECK(got == want, "%s %s %s: mha_attend gives \"%s\"", names[x], places[where], names[y],
              mha_strerror(got));
        if (want) CHECK(unchanged(), "%s %s %s: memory was written", names[x], places[where], names[y]);
        furnish();
        remember();
        got = mha_attend_part(&d, 0, 2, work, bytes_of(T_WORK));
        CHECK(got == want, "%s %s %s: mha_attend_part gives \"%s\"", names[x], places[where], names[y],
              mha_strerror(got));
        if (want) CHECK(unchanged(), "%s %s %s: memory was written", names[x], places[where], names[y]);
        if (x == T_WORK || y == T_WORK) continue;
        got = mha_check(&d);
        CHECK(got == want, "%s %s %s: mha_check gives \"%s\"", names[x], places[where], names[y],
              mha_strerror(got));
        if (want)
          CHECK(mha_work_bytes(&d) == 0, "%s %s %s: mha_work_bytes is not 0", names[x], places[where],
                names[y]);
        if (x == T_WEIGHTS || y == T_WEIGHTS) continue;
        e = d, e.weights = NULL;
        furnish();
        remember();
        got = mha_attend_keys(&e, 0, 1, room(T_SHARED), ROOM / 2);
        CHECK(got == want, "%s %s %s: mha_attend_keys gives \"%s\"", names[x], places[where], names[y],
              mha_strerror(got));
        if (want)
          CHECK(mha_keys_bytes(&e) == 0, "%s %s %s: mha_keys_bytes is not 0", names[x], places[where],
                names[y]);
        got = mha_attend_join(&e, room(T_SHARED), ROOM / 2);
        CHECK(got == want, "%s %s %s: mha_attend_join gives \"%s\"", names[x], places[where], names[y],
              mha_strerror(got));
        if (want) CHECK(unchanged(), "%s %s %s: memory was written", names[x], places[where], names[y]);
      }
}

/* The memory that shares of keys leave their results in: apart from all outputs and inputs, by the byte. */
static void shared_memory_overlaps(void) {
  static const int tensors[] = { T_O,       T_LSE,  T_Q,    T_K,      T_V,    T_K_SCALE,
                                 T_V_SCALE, T_MASK, T_BIAS, T_SLOPES, T_SINKS };
  mha_desc         d = coded();
  size_t           bytes = mha_keys_bytes(&d), k, end;
  for (k = 0; k < COUNT(tensors); k++)
    for (end = 0; end < 2; end++) {
      unsigned char *y = (unsigned char *)room(tensors[k]);
      size_t         yn = bytes_of(tensors[k]);
      furnish();
      CALL(MHA_ERR_OVERLAP, mha_attend_keys(&d, 0, 1, end ? y + yn - 1 : y - bytes + 1, bytes));
      CALL(MHA_ERR_OVERLAP, mha_attend_join(&d, end ? y + yn - 1 : y - bytes + 1, bytes));
      CALL(MHA_OK, mha_attend_keys(&d, 0, 1, end ? y + yn : y - bytes, bytes));
      CALL(MHA_OK, mha_attend_join(&d, end ? y + yn : y - bytes, bytes));
    }
}

static void overlaps_that_strides_make(void) {
  size_t lens[BATCH] = { 1, KV_LEN - 1 }, reverse[BATCH] = { KV_LEN - 1, 1 };
  furnish();
  /* o as a fourth column of a packed (len, q k v) buffer meets the byte range of all three */
  BAD(plain, MHA_ERR_OVERLAP, d.batch = 1, d.kv_heads = HEADS, d.kv_len = Q_LEN, d.d_v = D_K,
      d.q_stride.row = d.k_stride.row = d.v_stride.row = d.o_stride.row = 4 * HEADS * D_K,
      d.q_stride.head = d.k_stride.head = d.v_stride.head = d.o_stride.head = D_K,
      d.k = d.q + HEADS * D_K, d.v = d.q + 2 * HEADS * D_K, d.o = (float *)room(T_Q) + 3 * HEADS * D_K);
  /* rows beyond the longest length are not read, so o may lie there */
  GOOD(plain, d.kv_lens = lens, d.o = (float *)d.k + (2 * KV_LEN - 1) * KV_HEADS * D_K);
  BAD(plain, MHA_ERR_OVERLAP, d.kv_lens = lens, d.o = (float *)d.k + (2 * KV_LEN - 1) * KV_HEADS * D_K - 1);
  BAD(plain, MHA_ERR_OVERLAP, d.kv_lens = reverse,
      d.o = (float *)d.k + (2 * KV_LEN - 1) * KV_HEADS * D_K - 1);
  BAD(plain, MHA_ERR_OVERLAP, d.o = (float *)d.k + (2 * KV_LEN - 1) * KV_HEADS * D_K);
  /* a tensor that repeats is as short as its memory */
  GOOD(rich, d.mask_stride.batch = d.mask_stride.head = d.mask_stride.row = 0,
       d.o = (float *)OFF_BY(d.mask, 8));
  BAD(rich, MHA_ERR_OVERLAP, d.mask_stride.batch = d.mask_stride.head = d.mask_stride.row = 0,
      d.o = (float *)OFF_BY(d.mask, 4));
  { /* the descriptor itself is an input, too */
    union {
      mha_desc d;
      float    o[ROWS * D_V + sizeof(mha_desc)];
    } both;
    mha_desc copy;
    memset(&both, 0, sizeof both);
    both.d = plain();
    both.d.o = both.o + sizeof both.d / 4 - 1;
    memcpy(&copy, &both.d, sizeof copy);
    CHECK(mha_attend(&both.d, NULL, 0) == MHA_ERR_OVERLAP && mha_check(&both.d) == MHA_ERR_OVERLAP,
          "o on the descriptor");
    CHECK(!memcmp(&copy, &both.d, sizeof copy), "the descriptor was written");
    both.d.o = both.o + sizeof both.d / 4;
    CHECK(mha_attend(&both.d, NULL, 0) == MHA_OK, "o behind the descriptor");
  }
  /* all inputs may be one memory */
  GOOD(rich, d.k = d.v = d.q, d.bias = d.q, d.sinks = d.alibi_slopes = d.q);
}

/* ---- In place ---- */

static void in_place_equals_out_of_place(void) {
  enum { D = 12, SPAN = BATCH * Q_LEN * (HEADS * (D + 2) + 6) };
  size_t layout, way, bytes;
  for (layout = 0; layout < 4; layout++)
    for (way = 0; way < 4; way++) {
      mha_desc d = plain(), e;
      furnish();
      d.d_k = d.d_v = D, d.lse = (float *)room(T_LSE), d.flags = MHA_CAUSAL | MHA_Q_LAST;
      if (layout == 1) { /* rows and heads with gaps */
        d.q_stride.head = D + 2, d.q_stride.row = HEADS * (D + 2) + 6;
        d.q_stride.batch = d.q_stride.row * Q_LEN;
        d.o_stride = d.q_stride;
      }
      if (layout == 2) { /* heads outside */
        d.q_stride.head = Q_LEN * D, d.q_stride.row = D, d.q_stride.batch = HEADS * Q_LEN * D;
        d.o_stride = d.q_stride;
      }
      if (layout == 3) /* packed, said and unsaid */
        d.o_stride.head = D, d.o_stride.row = HEADS * D, d.o_stride.batch = Q_LEN * HEADS * D;
      memcpy(d.o, d.q, SPAN * 4); /* and what lies between the rows of q */
      CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "not OK");
      e = d;
      e.o = (float *)room(T_Q), e.lse = (float *)room(T_WEIGHTS);
      switch (way) {
      case 0: CHECK(mha_attend(&e, NULL, 0) == MHA_OK, "layout %lu", (unsigned long)layout); break;
      case 1:
        CHECK(mha_attend(&e, room(T_WORK), mha_work_bytes(&e) < ROOM / 2 ? mha_work_bytes(&e) : ROOM / 2) ==
                  MHA_OK,
              "layout %lu with a workspace", (unsigned long)layout);
        break;
      case 2:
        CHECK(mha_attend_part(&e, 1, 3, NULL, 0) == MHA_OK && mha_attend_part(&e, 0, 3, NULL, 0) == MHA_OK &&
                  mha_attend_part(&e, 2, 3, NULL, 0) == MHA_OK,
              "layout %lu in shares", (unsigned long)layout);
        break;
      default:
        bytes = mha_keys_bytes(&e);
        CHECK(bytes && bytes <= ROOM / 2 && mha_attend_keys(&e, 0, 1, room(T_SHARED), bytes) == MHA_OK &&
                  mha_attend_join(&e, room(T_SHARED), bytes) == MHA_OK,
              "layout %lu by keys", (unsigned long)layout);
      }
      if (numerics_fused() >= 0) {
        CHECK(!memcmp(e.o, d.o, SPAN * 4), "layout %lu, way %lu: other bits in place", (unsigned long)layout,
              (unsigned long)way);
        CHECK(!memcmp(e.lse, d.lse, ROWS * 4), "layout %lu, way %lu: other lse in place",
              (unsigned long)layout, (unsigned long)way);
      } else {
        size_t k;
        for (k = 0; k < SPAN && fabsf(e.o[k] - d.o[k]) <= 1e-5f; k++) {}
        CHECK(k == SPAN, "layout %lu, way %lu: element %lu differs", (unsigned long)layout,
              (unsigned long)way, (unsigned long)k);
      }
    }
}

static void in_place_refused(void) {
  furnish();
  BAD(plain, MHA_ERR_OVERLAP, d.o = (float *)room(T_Q)); /* d_v is not d_k */
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K - 1, d.o = (float *)room(T_Q), d.q_stride.head = D_K,
      d.q_stride.row = HEADS * D_K, d.q_stride.batch = Q_LEN * HEADS * D_K, d.o_stride = d.q_stride);
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q), d.o_stride.head = D_K,
      d.o_stride.row = HEADS * D_K, d.o_stride.batch = Q_LEN * HEADS * D_K + 1); /* other strides */
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q), d.q_stride.head = D_K,
      d.q_stride.row = 0, d.q_stride.batch = Q_LEN * HEADS * D_K); /* a query that repeats */
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q), d.q_stride.head = 0,
      d.q_stride.row = HEADS * D_K, d.q_stride.batch = Q_LEN * HEADS * D_K);
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q) + 1); /* not quite */
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q) - 1);
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_K));
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q), d.k = room(T_Q));
  BAD(plain, MHA_ERR_OVERLAP, d.d_v = D_K, d.o = (float *)room(T_Q), d.v = room(T_Q));
  GOOD(plain, d.d_v = D_K, d.o = (float *)room(T_Q));
}

/* In place needs room for one scaled query. */
static void in_place_with_long_rows(void) {
  enum { D = 100000, N = 3 * D };
  float *q = (float *)guard_new(N * 4, 0), *k = (float *)guard_new(N * 4, 0),
        *v = (float *)guard_new(N * 4, 0);
  float   *o = (float *)guard_new(N * 4, 0), *copy = (float *)guard_new(N * 4, 0);
  void    *work = guard_new(D * 4, 0), *shared;
  mha_desc d = { 0 }, e;
  size_t   c, bytes;
  for (c = 0; c < N; c++) copy[c] = q[c] = rng_float(-1, 1), k[c] = rng_float(-1, 1), v[c] = rng_float(-1, 1);
  d.batch = d.q_heads = 1, d.q_len = d.kv_len = 3, d.d_k = D, d.q = q, d.k = k, d.v = v, d.o = o;
  CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "out of place");
  e = d, e.o = q;
  CHECK(mha_check(&e) == MHA_OK, "in place, as far as is known without a workspace");
  CHECK(mha_attend(&e, NULL, 0) == MHA_ERR_OVERLAP, "a row of %d in place, no workspace", D);
  CHECK(mha_attend(&e, work, 4000) == MHA_ERR_OVERLAP, "a row of %d in place, a workspace of 4000", D);
  CHECK(mha_attend_part(&e, 0, 1, NULL, 0) == MHA_ERR_OVERLAP, "a row of %d in place, no workspace", D);
  CHECK(mha_attend_part(&e, 2, 3, work, 4000) == MHA_ERR_OVERLAP, "a row of %d in place, a workspace of 4000",
        D);
  CHECK(mha_sdpa(q, q, k, v, 3, 1, D) == MHA_ERR_OVERLAP, "a row of %d in place, no workspace", D);
  CHECK(mha_multi_head_attention(q, q, k, v, 3, D, 1) == MHA_ERR_OVERLAP,
        "a row of %d in place, no workspace", D);
  CHECK(!memcmp(q, copy, N * 4), "refused, but written");
  CHECK(mha_attend(&e, work, D * 4) == MHA_OK, "a workspace of one row");
  if (numerics_fused() >= 0) CHECK(!memcmp(q, o, N * 4), "other bits in place");
  memcpy(q, copy, N * 4);
  CHECK(mha_attend_part(&e, 1, 2, work, D * 4) == MHA_OK && mha_attend_part(&e, 0, 2, work, D * 4) == MHA_OK,
        "in shares");
  if (numerics_fused() >= 0) CHECK(!memcmp(q, o, N * 4), "other bits in place, in shares");
  memcpy(q, copy, N * 4);
  bytes = mha_keys_bytes(&e), shared = guard_new(bytes, 0); /* no query is overwritten before it is read */
  CHECK(mha_attend_keys(&e, 0, 1, shared, bytes) == MHA_OK && mha_attend_join(&e, shared, bytes) == MHA_OK,
        "by keys");
  if (numerics_fused() >= 0) CHECK(!memcmp(q, o, N * 4), "other bits in place, by keys");
  guard_free(shared, "shared");
  guard_free(q, "q"), guard_free(k, "k"), guard_free(v, "v"), guard_free(o, "o"), guard_free(copy, "copy");
  guard_free(work, "work");
}

/* Workspaces around the size of one scaled query, of rows that the stack buffer may or may not hold: the same
   bits, in place if it is accepted at all, and at the documented size it is. */
static void workspaces_near_a_long_row(void) {
  static const size_t widths[] = { 300, 500, 900, 1100, 2500 };
  enum { D = 2500, R = 3 };
  static float q[R * D], k[R * D], v[R * D], o[R * D];
  size_t       w, c, n, extra, place;
  for (w = 0; w < COUNT(widths); w++) {
    mha_desc d = { 0 };
    n = R * widths[w];
    for (c = 0; c < n; c++) q[c] = rng_float(-1, 1), k[c] = rng_float(-1, 1), v[c] = rng_float(-1, 1);
    d.batch = d.q_heads = 1, d.q_len = d.kv_len = R, d.d_k = widths[w], d.q = q, d.k = k, d.v = v, d.o = o;
    CHECK(mha_attend(&d, NULL, 0) == MHA_OK, "out of place");
    for (extra = 0; extra < 16000; extra += extra < 64 ? 4 : 1000)
      for (place = 0; place < 2; place++) {
        size_t   bytes = widths[w] * 4 + extra;
        float   *out = (float *)guard_new(n * 4, 0);
        void    *work = guard_new(bytes, 0);
        mha_desc e = d;
        e.o = out;
        if (place) memcpy(out, q, n * 4), e.q = out;
        CHECK(mha_attend(&e, work, bytes) == MHA_OK, "d_k %lu, workspace %lu", (unsigned long)widths[w],
              (unsigned long)bytes);
        if (numerics_fused() >= 0)
          CHECK(first_difference(out, o, n) == n, "d_k %lu, workspace %lu%s: other bits",
                (unsigned long)widths[w], (unsigned long)bytes, place ? ", in place" : "");
        guard_free(work, "work"), guard_free(out, "o");
      }
  }
}

static void in_place(void) {
  in_place_equals_out_of_place();
  in_place_refused();
  in_place_with_long_rows();
  workspaces_near_a_long_row();
}

/* ---- Level 1 ---- */

static void level_1(void) {
  enum { S = 3, H = 2, D = 4, N = S * H * D };
  float *out = (float *)room(T_O), *q = (float *)room(T_Q), *k = (float *)room(T_K), *v = (float *)room(T_V);
  size_t half = (size_t)1 << (sizeof(size_t) * 4), n;
  furnish();
  for (n = 0; n < 2; n++) { /* splitting and merging have the same rules */
    mha_status (*move)(float *, const float *, size_t, size_t, size_t) =
        n ? mha_merge_heads : mha_split_heads;
    CALL(MHA_OK, move(out, q, S, H, D));
    CALL(MHA_OK, move(NULL, NULL, 0, H, D));
    CALL(MHA_OK, move(NULL, NULL, 0, MAX, MAX)); /* and at once */
    CALL(MHA_ERR_NULL, move(NULL, q, S, H, D));
    CALL(MHA_ERR_NULL, move(out, NULL, S, H, D));
    CALL(MHA_ERR_SHAPE, move(out, q, S, 0, D));
    CALL(MHA_ERR_SHAPE, move(out, q, S, H, 0));
    CALL(MHA_ERR_RANGE, move(out, q, MAX, H, D));
    CALL(MHA_ERR_RANGE, move(out, q, S, MAX, D));
    CALL(MHA_ERR_RANGE, move(out, q, S, H, MAX));
    CALL(MHA_ERR_RANGE, move(out, q, MAX / 2 + 1, 2, 1));
    CALL(MHA_ERR_RANGE, move(out, q, 1, half, half));
    CALL(MHA_ERR_RANGE, move(out, q, half, 1, half));
    CALL(MHA_ERR_RANGE, move(out, q, MAX / 4 + 1, 1, 1));
    CALL(MHA_ERR_RANGE, move(out, q, MAX / 4, 1, 1));
    CALL(MHA_ERR_OVERLAP, move(q, q, S, H, D));
    CALL(MHA_ERR_OVERLAP, move(q + N - 1, q, S, H, D));
    CALL(MHA_ERR_OVERLAP, move(q - N + 1, q, S, H, D));
    CALL(MHA_OK, move(q + N, q, S, H, D));
    CALL(MHA_OK, move(q - N, q, S, H, D));
    CALL(MHA_ERR_ALIGN, move((float *)OFF_BY(out, 2), q, S, H, D));
    CALL(MHA_ERR_ALIGN, move(out, (float *)OFF_BY(q, 1), S, H, D));
  }
  for (n = 0; n < 2; n++) { /* (seq_len, num_heads, d_k), and (seq_len, d_model, num_heads) */
    mha_status (*attend)(float *, const float *, const float *, const float *, size_t, size_t, size_t) =
      n ? mha_multi_head_attention : mha_sdpa;
    size_t a = n ? H * D : H, b = n ? H : D;
    CALL(MHA_OK, attend(out, q, k, v, S, a, b));
    CALL(MHA_OK, attend(out, q, q, q, S, a, b));
    CALL(MHA_OK, attend(NULL, NULL, NULL, NULL, 0, a, b));
    CALL(MHA_ERR_NULL, attend(NULL, q, k, v, S, a, b));
    CALL(MHA_ERR_NULL, attend(out, NULL, k, v, S, a, b));
    CALL(MHA_ERR_NULL, attend(out, q, NULL, v, S, a, b));
    CALL(MHA_ERR_NULL, attend(out, q, k, NULL, S, a, b));
    CALL(MHA_ERR_SHAPE, attend(out, q, k, v, S, 0, b));
    CALL(MHA_ERR_SHAPE, attend(out, q, k, v, S, a, 0));
    CALL(MHA_ERR_RANGE, attend(out, q, k, v, MAX, a, b));
    CALL(MHA_ERR_RANGE, attend(out, q, k, v, S, MAX, 1));
    CALL(MHA_ERR_RANGE, attend(out, q, k, v, half, half, 1));
    CALL(MHA_ERR_RANGE, attend(out, q, k, v, 1, MAX / 4 + 1, 1));
    CALL(MHA_ERR_RANGE, attend(out, q, k, v, 1, MAX / 4, 1));
    CALL(MHA_ERR_RANGE, attend(NULL, q, k, v, POSITION_MAX + (size_t)1, a, b)); /* before NULL */
    CALL(MHA_ERR_NULL, attend(NULL, q, k, v, POSITION_MAX, a, b));
    CALL(MHA_ERR_OVERLAP, attend(k, q, k, v, S, a, b));
    CALL(MHA_ERR_OVERLAP, attend(v, q, k, v, S, a, b));
    CALL(MHA_ERR_OVERLAP, attend(q + 1, q, k, v, S, a, b));
    CALL(MHA_ERR_OVERLAP, attend(q + N - 1, q, k, v, S, a, b));
    CALL(MHA_ERR_OVERLAP, attend(k - N + 1, q, k, v, S, a, b));
    CALL(MHA_ERR_OVERLAP, attend(v + N - 1, q, k, v, S, a, b));
    CALL(MHA_ERR_OVERLAP, attend(q, q, q, v, S, a, b));
    CALL(MHA_OK, attend(v + N, q, k, v, S, a, b));
    CALL(MHA_OK, attend(q - N, q, k, v, S, a, b));
    CALL(MHA_ERR_ALIGN, attend((float *)OFF_BY(out, 1), q, k, v, S, a, b));
    CALL(MHA_ERR_ALIGN, attend(out, (float *)OFF_BY(q, 2), k, v, S, a, b));
    CALL(MHA_ERR_ALIGN, attend(out, q, (float *)OFF_BY(k, 3), v, S, a, b));
    CALL(MHA_ERR_ALIGN, attend(out, q, k, (float *)OFF_BY(v, 1), S, a, b));
    CALL(MHA_OK, attend(out, q, k, v, S, a, b));
    CALL(MHA_OK, attend(q, q, k, v, S, a, b)); /* in place */
    CHECK(numerics_fused() < 0 || !memcmp(q, out, N * 4), "other bits in place");
    furnish();
  }
  CALL(MHA_ERR_RANGE, mha_sdpa(out, q, k, v, S, H, MAX));
  CALL(MHA_ERR_RANGE, mha_sdpa(out, q, k, v, 1, half, half));
  CALL(MHA_ERR_HEADS, mha_multi_head_attention(out, q, k, v, S, 8, 3));
  CALL(MHA_ERR_HEADS, mha_multi_head_attention(out, q, k, v, S, 2, 3));
  CALL(MHA_ERR_HEADS, mha_multi_head_attention(out, q, k, v, S, 8, MAX));
}

/* ---- Conversions, quantising, slopes ---- */

static void conversions(void) {
  enum { N = 9 };
  float    *f = (float *)room(T_Q);
  uint16_t *h = (uint16_t *)room(T_K);
  int       bf16;
  furnish();
  for (bf16 = 0; bf16 < 2; bf16++) {
    mha_status (*narrow)(uint16_t *, const float *, size_t) = bf16 ? mha_bf16_from_f32 : mha_f16_from_f32;
    mha_status (*widen)(float *, const uint16_t *, size_t) = bf16 ? mha_f32_from_bf16 : mha_f32_from_f16;
    CALL(MHA_OK, narrow(h, f, N));
    CALL(MHA_OK, widen(f, h, N));
    CALL(MHA_OK, narrow(NULL, NULL, 0));
    CALL(MHA_OK, widen(NULL, NULL, 0));
    CALL(MHA_ERR_NULL, narrow(NULL, f, N));
    CALL(MHA_ERR_NULL, narrow(h, NULL, N));
    CALL(MHA_ERR_NULL, widen(NULL, h, N));
    CALL(MHA_ERR_NULL, widen(f, NULL, N));
    CALL(MHA_ERR_RANGE, narrow(h, f, MAX));
    CALL(MHA_ERR_RANGE, narrow(h, f, MAX / 4 + 1));
    CALL(MHA_ERR_RANGE, widen(f, h, MAX));
    CALL(MHA_ERR_RANGE, widen(f, h, MAX / 4 + 1));
    CALL(MHA_ERR_OVERLAP, narrow((uint16_t *)(void *)f, f, N));
    CALL(MHA_ERR_OVERLAP, narrow((uint16_t *)OFF_BY(f, N * 4 - 2), f, N));
    CALL(MHA_ERR_OVERLAP, narrow((uint16_t *)OFF_BY(f, 2 - N * 2), f, N));
    CALL(MHA_ERR_OVERLAP, widen((float *)(void *)h, h, N));
    CALL(MHA_ERR_OVERLAP, widen((float *)OFF_BY(h, N * 2 - 2), h, N));
    CALL(MHA_ERR_OVERLAP, widen((float *)OFF_BY(h, 4 - N * 4), h, N));
    CALL(MHA_OK, narrow((uint16_t *)OFF_BY(f, N * 4), f, N));
    CALL(MHA_OK, widen((float *)OFF_BY(h, 20), h, N));
    CALL(MHA_ERR_ALIGN, narrow((uint16_t *)OFF_BY(h, 1), f, N));
    CALL(MHA_ERR_ALIGN, narrow(h, (float *)OFF_BY(f, 2), N));
    CALL(MHA_ERR_ALIGN, widen((float *)OFF_BY(f, 2), h, N));
    CALL(MHA_ERR_ALIGN, widen(f, (uint16_t *)OFF_BY(h, 1), N));
  }
}

static void quantising(void) {
  enum { R = 3, C = 5, N = R * C };
  float       *x = (float *)room(T_Q), *scales = (float *)room(T_K_SCALE);
  signed char *out = (signed char *)room(T_K);
  size_t       half = (size_t)1 << (sizeof(size_t) * 4), k;
  furnish();
  CALL(MHA_OK, mha_s8_from_f32(out, scales, x, R, C));
  CALL(MHA_OK, mha_s8_from_f32(NULL, NULL, NULL, 0, C));
  CALL(MHA_ERR_NULL, mha_s8_from_f32(NULL, scales, x, R, C));
  CALL(MHA_ERR_NULL, mha_s8_from_f32(out, NULL, x, R, C));
  CALL(MHA_ERR_NULL, mha_s8_from_f32(out, scales, NULL, R, C));
  CALL(MHA_ERR_RANGE, mha_s8_from_f32(out, scales, x, MAX, C));
  CALL(MHA_ERR_RANGE, mha_s8_from_f32(out, scales, x, R, MAX));
  CALL(MHA_ERR_RANGE, mha_s8_from_f32(out, scales, x, half, half));
  CALL(MHA_ERR_RANGE, mha_s8_from_f32(out, scales, x, MAX / 4 + 1, 1));
  CALL(MHA_ERR_RANGE, mha_s8_from_f32(out, scales, x, MAX, 0)); /* so many scales */
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32((signed char *)(void *)x, scales, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32((signed char *)OFF_BY(x, N * 4 - 1), scales, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32((signed char *)OFF_BY(x, 1 - N), scales, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32(out, x, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32(out, x + N - 1, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32(out, x - R + 1, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32((signed char *)OFF_BY(scales, 4 * R - 1), scales, x, R, C));
  CALL(MHA_ERR_OVERLAP, mha_s8_from_f32((signed char *)OFF_BY(scales, 1 - N), scales, x, R, C));
  CALL(MHA_OK, mha_s8_from_f32((signed char *)OFF_BY(scales, 4 * R), scales, x, R, C));
  CALL(MHA_OK, mha_s8_from_f32((signed char *)OFF_BY(scales, -N), scales, x, R, C));
  CALL(MHA_ERR_ALIGN, mha_s8_from_f32(out, (float *)OFF_BY(scales, 1), x, R, C));
  CALL(MHA_ERR_ALIGN, mha_s8_from_f32(out, scales, (float *)OFF_BY(x, 2), R, C));
  CALL(MHA_ERR_ALIGN, mha_s8_from_f32(out, (float *)OFF_BY(scales, 2), x, R, 0));
  for (k = 0; k < N; k++) {
    float was;
    furnish(); /* else the rows before the bad one stand in out already */
    was = x[k];
    x[k] = NOT_A_NUMBER;
    CALL(MHA_ERR_VALUE, mha_s8_from_f32(out, scales, x, R, C));
    x[k] = (float)INFINITY;
    CALL(MHA_ERR_VALUE, mha_s8_from_f32(out, scales, x, R, C));
    x[k] = -(float)INFINITY;
    CALL(MHA_ERR_VALUE, mha_s8_from_f32(out, scales, x, R, C));
    x[k] = was;
  }
  CALL(MHA_OK, mha_s8_from_f32(out, scales, x, R, C));
}

static void slopes(void) {
  float *out = (float *)room(T_SLOPES);
  furnish();
  CALL(MHA_OK, mha_alibi_slopes(out, 8));
  CALL(MHA_ERR_NULL, mha_alibi_slopes(NULL, 8));
  CALL(MHA_ERR_SHAPE, mha_alibi_slopes(out, 0));
  CALL(MHA_ERR_RANGE, mha_alibi_slopes(out, MAX));
  CALL(MHA_ERR_RANGE, mha_alibi_slopes(out, MAX / 4 + 1));
  CALL(MHA_ERR_ALIGN, mha_alibi_slopes((float *)OFF_BY(out, 2), 8));
}

static void texts(void) {
  int a, b;
  CHECK(MHA_OK == 0, "MHA_OK is %d", (int)MHA_OK);
  for (a = MHA_ERR_ALIGN; a <= MHA_OK; a++) {
    const char *text = mha_strerror((mha_status)a);
    CHECK(text && *text, "status %d has no text", a);
    for (b = MHA_ERR_ALIGN - 1; b < a; b++) /* the first one is unknown */
      CHECK(strcmp(text, mha_strerror((mha_status)b)) != 0, "status %d and %d are both \"%s\"", a, b, text);
  }
  for (a = -1000; a <= 1000; a++)
    CHECK(mha_strerror((mha_status)a) && *mha_strerror((mha_status)a), "status %d", a);
  CHECK(mha_strerror((mha_status)INT_MAX) && mha_strerror((mha_status)INT_MIN),
        "an unknown status has no text");
}

const group errors_groups[] = {
  { "errors: bases are valid", bases_are_valid },
  { "errors: null pointers", null_pointers },
  { "errors: sizes and heads", sizes_and_heads },
  { "errors: strides", strides },
  { "errors: ranges", ranges },
  { "errors: positions", positions },
  { "errors: values", values },
  { "errors: flags and types", flags_and_types },
  { "errors: contradictions", contradictions },
  { "errors: lengths", lengths },
  { "errors: parts", parts },
  { "errors: workspaces", workspaces },
  { "errors: alignment", alignment },
  { "errors: overlaps", overlaps },
  { "errors: shared memory overlaps", shared_memory_overlaps },
  { "errors: overlaps by strides", overlaps_that_strides_make },
  { "in place", in_place },
  { "errors: level 1", level_1 },
  { "errors: conversions", conversions },
  { "errors: quantising", quantising },
  { "errors: slopes", slopes },
  { "errors: texts", texts },
  { NULL, NULL }
};
