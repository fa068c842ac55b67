/* shapes.c - what is measured, and a shape with its memory, ready to run. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle.h"

/* ---- The table ---- */

/* Goals are for AVX2, and for AVX-512 from 128 keys on. */
#define SQUARE(S) S, S
const shape shapes[] = {
  /* group     q, keys        heads  d_k, d_v  options            threads  against      goal */
  { "prefill", SQUARE(512),   12, 12, 64, 64,    0,                     1, BOUND,       0.74 },
  { "prefill", SQUARE(1024),  12, 12, 64, 64,    0,                     1, BOUND,       0.74 },
  { "prefill", SQUARE(2048),  12, 12, 64, 64,    0,                     1, BOUND,       0.74 },
  { "prefill", SQUARE(512),   12, 12, 128, 128,  0,                     1, BOUND,       0.78 },
  { "prefill", SQUARE(1024),  12, 12, 128, 128,  0,                     1, BOUND,       0.78 },
  { "prefill", SQUARE(2048),  12, 12, 128, 128,  0,                     1, BOUND,       0.78 },

  { "short",   SQUARE(16),    12, 12, 64, 64,    0,                     1, BOUND,       0.56 },
  { "short",   SQUARE(32),    12, 12, 64, 64,    0,                     1, BOUND,       0.64 },
  { "short",   SQUARE(64),    12, 12, 64, 64,    0,                     1, BOUND,       0.70 },
  { "short",   SQUARE(128),   12, 12, 64, 64,    0,                     1, BOUND,       0.76 },
  { "short",   SQUARE(16),    12, 12, 128, 128,  0,                     1, BOUND,       0.56 },
  { "short",   SQUARE(32),    12, 12, 128, 128,  0,                     1, BOUND,       0.62 },
  { "short",   SQUARE(64),    12, 12, 128, 128,  0,                     1, BOUND,       0.72 },
  { "short",   SQUARE(128),   12, 12, 128, 128,  0,                     1, BOUND,       0.75 },

  { "causal",  SQUARE(64),    12, 12, 64, 64,    CAUSAL,                1, BOUND,       0.60 },
  { "causal",  SQUARE(128),   12, 12, 64, 64,    CAUSAL,                1, BOUND,       0.66 },
  { "causal",  SQUARE(512),   12, 12, 64, 64,    CAUSAL,                1, BOUND,       0.71 },
  { "causal",  SQUARE(1024),  12, 12, 64, 64,    CAUSAL,                1, BOUND,       0.70 },
  { "causal",  SQUARE(64),    12, 12, 128, 128,  CAUSAL,                1, BOUND,       0.58 },
  { "causal",  SQUARE(128),   12, 12, 128, 128,  CAUSAL,                1, BOUND,       0.65 },
  { "causal",  SQUARE(512),   12, 12, 128, 128,  CAUSAL,                1, BOUND,       0.72 },
  { "causal",  SQUARE(1024),  12, 12, 128, 128,  CAUSAL,                1, BOUND,       0.72 },

  { "long",    SQUARE(8192),  2, 2,   64, 64,    0,                     1, BOUND,       0.62 },
  { "long",    SQUARE(8192),  2, 2,   64, 64,    CAUSAL,                1, BOUND,       0.62 },
  { "long",    SQUARE(8192),  1, 1,   128, 128,  0,                     1, BOUND,       0.62 },
  { "long",    SQUARE(8192),  1, 1,   128, 128,  CAUSAL,                1, BOUND,       0.62 },

  { "sizes",   SQUARE(128),   12, 12, 32, 32,    0,                     1, BOUND,       0.64 },
  { "sizes",   SQUARE(128),   12, 12, 80, 80,    0,                     1, NEXT_SIZE,   0.85 },
  { "sizes",   SQUARE(128),   12, 12, 96, 96,    0,                     1, NEXT_SIZE,   0.85 },
  { "sizes",   SQUARE(128),   12, 12, 48, 48,    0,                     1, NEXT_SIZE,   0.85 },
  { "sizes",   SQUARE(128),   12, 12, 17, 17,    0,                     1, NEXT_SIZE,   0.85 },
  { "sizes",   SQUARE(128),   12, 12, 40, 72,    0,                     1, NEXT_SIZE,   0.85 },
  { "sizes",   SQUARE(197),   12, 12, 64, 64,    0,                     1, NEXT_SIZE,   0.85 },

  { "stack",   SQUARE(512),   12, 12, 64, 64,    STACK,                 1, WORKSPACE,   0.60 },
  { "stack",   SQUARE(512),   12, 12, 128, 128,  STACK,                 1, WORKSPACE,   0.60 },
  { "stack",   SQUARE(1024),  12, 12, 64, 64,    STACK | CAUSAL,        1, WORKSPACE,   0.60 },

  { "threads", SQUARE(512),   12, 12, 64, 64,    0,                     2, ONE_THREAD,  1.80 },
  { "threads", SQUARE(2048),  12, 12, 64, 64,    0,                     2, ONE_THREAD,  1.80 },
  { "threads", SQUARE(512),   12, 12, 128, 128,  0,                     2, ONE_THREAD,  1.80 },
  { "threads", SQUARE(2048),  12, 12, 64, 64,    CAUSAL,                2, ONE_THREAD,  1.80 },

  { "decode",  1, 8192,       32, 8,  128, 128,  HEAD_MAJOR,            1, BOUND,       0.85 },
  { "decode",  1, 8192,       32, 8,  128, 128,  HEAD_MAJOR | F16,      1, F32,         0.58 },
  { "decode",  1, 8192,       32, 8,  128, 128,  HEAD_MAJOR | BF16,     1, F32,         0.58 },
  { "decode",  1, 8192,       32, 8,  128, 128,  HEAD_MAJOR | INT8,     1, F32,         0.46 },
  { "decode",  1, 8192,       32, 8,  128, 128,  0,                     1, BOUND,       0.75 },
  { "decode",  1, 8192,       32, 8,  128, 128,  F16,                   1, F32,         0.58 },
  { "decode",  1, 8192,       32, 8,  128, 128,  BF16,                  1, F32,         0.58 },
  { "decode",  1, 8192,       32, 8,  128, 128,  INT8,                  1, F32,         0.46 },
  { "decode",  1, 8192,       12, 12, 64, 64,    HEAD_MAJOR,            1, BOUND,       0.85 },
  { "decode",  1, 8192,       12, 12, 64, 64,    HEAD_MAJOR | F16,      1, F32,         0.50 },
  { "decode",  1, 8192,       12, 12, 64, 64,    HEAD_MAJOR | BF16,     1, F32,         0.50 },
  { "decode",  1, 8192,       12, 12, 64, 64,    HEAD_MAJOR | INT8,     1, F32,         0.28 },
  { "decode",  1, 8192,       12, 12, 64, 64,    0,                     1, BOUND,       0.75 },
  { "decode",  1, 8192,       12, 12, 64, 64,    F16,                   1, F32,         0.50 },
  { "decode",  1, 8192,       12, 12, 64, 64,    BF16,                  1, F32,         0.50 },
  { "decode",  1, 8192,       12, 12, 64, 64,    INT8,                  1, F32,         0.28 },

  { "keys",    1, 8192,       32, 8,  128, 128,  KEYS | HEAD_MAJOR,     1, BOUND,       0.85 },
  { "keys",    1, 8192,       32, 8,  128, 128,  KEYS | HEAD_MAJOR,     1, WHOLE_CALL,  0.95 },
  { "keys",    1, 8192,       32, 8,  128, 128,  KEYS | HEAD_MAJOR,     2, BOUND,       0.85 },
  { "keys",    1, 8192,       12, 12, 64, 64,    KEYS,                  1, BOUND,       0.75 },
  { "keys",    1, 8192,       12, 12, 64, 64,    KEYS,                  2, BOUND,       0.75 },

  { "tiny",    SQUARE(2),     2, 2,   2, 2,      EASY,                  1, NANOSECONDS, 150 },
  { "tiny",    SQUARE(2),     2, 2,   2, 2,      EASY,                  1, NAIVE,       1.50 },

  { "isas",    SQUARE(2),     2, 2,   2, 2,      EASY,                  1, NAIVE,       0 },
  { "isas",    SQUARE(16),    12, 12, 64, 64,    0,                     1, BOUND,       0 },
  { "isas",    SQUARE(128),   12, 12, 64, 64,    0,                     1, BOUND,       0 },
  { "isas",    SQUARE(512),   12, 12, 64, 64,    0,                     1, BOUND,       0 },
  { "isas",    SQUARE(512),   12, 12, 128, 128,  CAUSAL,                1, BOUND,       0 },
  { "isas",    1, 8192,       12, 12, 64, 64,    HEAD_MAJOR,            1, BOUND,       0 },
  { "isas",    1, 8192,       32, 8,  128, 128,  0,                     1, BOUND,       0 },
  { "isas",    1, 8192,       32, 8,  128, 128,  INT8,                  1, F32,         0 },
};
const size_t shape_count = sizeof shapes / sizeof shapes[0];

const char *const isas[] = { "avx512", "avx2", "sse2", "neon", "wasm", "scalar", NULL };

/* ---- Facts ---- */

static size_t next_16(size_t n) { return n / 16 * 16 + 16; }

int shape_reference(const shape *s, shape *reference) {
  *reference = *s;
  switch (s->against) {
    case ONE_THREAD: reference->threads = 1; return 1;
    case WORKSPACE: reference->options &= ~(unsigned)STACK; return 1;
    case WHOLE_CALL: reference->options &= ~(unsigned)KEYS; return 1;
    case F32: reference->options &= ~(unsigned)(F16 | BF16 | INT8); return 1;
    case NAIVE: return 1;
    case NEXT_SIZE:
      if (s->kv_len % 16) {
        reference->q_len = reference->kv_len = next_16(s->kv_len);
      } else {
        reference->d_k = next_16(s->d_k);
        reference->d_v = next_16(s->d_v);
      }
      return 1;
    default: return 0;
  }
}

static const char *element_name(unsigned options) {
  return options & F16 ? " f16" : options & BF16 ? " bf16" : options & INT8 ? " int8" : "";
}

void shape_name(const shape *s, char *name, size_t bytes) {
  char heads[32], width[32];
  snprintf(heads, sizeof heads, s->heads == s->kv_heads ? "%zu" : "%zu/%zu", s->heads, s->kv_heads);
  snprintf(width, sizeof width, s->d_k == s->d_v ? "%zu" : "%zu/%zu", s->d_k, s->d_v);
  snprintf(name, bytes, "%s %zu, %s x %s%s%s%s%s",
           shape_decodes(s) ? "decode" : s->options & CAUSAL ? "causal" : "full", s->kv_len, heads, width,
           element_name(s->options), s->options & HEAD_MAJOR ? " by head" : "",
           s->options & STACK ? ", stack" : "", s->options & KEYS ? ", keys" : "");
}

int shape_decodes(const shape *s) { return s->q_len == 1; }

double shape_pairs(const shape *s) {
  const double q = (double)s->q_len, keys = (double)s->kv_len;
  return s->options & CAUSAL ? q * (q + 1.0) / 2.0 : q * keys;
}

double shape_flops(const shape *s) {
  return 2.0 * (double)(s->d_k + s->d_v) * shape_pairs(s) * (double)s->heads;
}

static size_t element_bytes(unsigned options) { return options & INT8 ? 1 : options & (F16 | BF16) ? 2 : 4; }

double shape_bytes(const shape *s) {
  return (double)(s->kv_len * s->kv_heads * (s->d_k + s->d_v) * element_bytes(s->options));
}

/* ---- A shape with its memory ---- */

static float next_input(void) { /* -2 .. 2 */
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

/* n floats from the generator, stored in the shape's type.  One scale per row for int8. */
static void *new_tensor(const problem *p, size_t rows, size_t cols, unsigned options, float *scales) {
  const size_t n = rows * cols;
  float       *x = (float *)line_alloc(n * sizeof *x);
  void        *out;
  size_t       k;
  for (k = 0; k < n; k++) x[k] = next_input();
  if (element_bytes(options) == sizeof *x) return x;
  out = line_alloc(n * element_bytes(options));
  if (options & INT8) p->b->to_s8((signed char *)out, scales, x, rows, cols);
  else if (options & F16) p->b->to_f16((uint16_t *)out, x, n);
  else p->b->to_bf16((uint16_t *)out, x, n);
  free(x);
  return out;
}

/* (kv_heads, kv_len, width) instead of (kv_len, kv_heads, width), which is the default */
static void by_head(mha_strides *stride, const shape *s, size_t width) {
  stride->row = (ptrdiff_t)width;
  stride->head = (ptrdiff_t)(s->kv_len * width);
}

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

void problem_new(problem *p, const shape *s, const build *b) {
  const size_t kv_rows = s->kv_len * s->kv_heads;
  const int    int8 = (s->options & INT8) != 0;
  mha_desc    *d = &p->d;
  memset(p, 0, sizeof *p);
  p->s = s;
  p->b = b;
  if (int8) p->scales = (float *)line_alloc(2 * kv_rows * sizeof(float));
  p->q = (float *)new_tensor(p, s->q_len * s->heads, s->d_k, 0, NULL);
  p->k = new_tensor(p, kv_rows, s->d_k, s->options, p->scales);
  p->v = new_tensor(p, kv_rows, s->d_v, s->options, int8 ? p->scales + kv_rows : NULL);
  p->k_bytes = kv_rows * s->d_k * element_bytes(s->options);
  p->v_bytes = kv_rows * s->d_v * element_bytes(s->options);
  p->o_bytes = s->q_len * s->heads * s->d_v * sizeof(float);

  d->batch = 1;
  d->q_heads = s->heads, d->kv_heads = s->kv_heads;
  d->q_len = s->q_len, d->kv_len = s->kv_len;
  d->d_k = s->d_k, d->d_v = s->d_v;
  d->o = (float *)line_alloc(p->o_bytes);
  memset(d->o, 0, p->o_bytes);
  d->q = p->q, d->k = p->k, d->v = p->v;
  d->k_type = d->v_type = int8                ? MHA_S8
                          : s->options & F16  ? MHA_F16
                          : s->options & BF16 ? MHA_BF16
                                              : MHA_F32;
  if (int8) {
    d->k_scale = p->scales, d->v_scale = p->scales + kv_rows;
    d->k_scale_stride.row = (ptrdiff_t)s->kv_heads, d->k_scale_stride.head = 1;
  }
  if (s->options & CAUSAL) d->flags = MHA_CAUSAL;
  if (s->options & HEAD_MAJOR) {
    by_head(&d->k_stride, s, s->d_k);
    by_head(&d->v_stride, s, s->d_v);
    if (int8) by_head(&d->k_scale_stride, s, 1);
  }
  d->v_scale_stride = d->k_scale_stride;

  if (!(s->options & STACK)) p->work_bytes = b->work_bytes(d);
  if (p->work_bytes) p->work = line_alloc(whole_lines(p->work_bytes) * s->threads);
  if (s->options & KEYS) p->shared_bytes = b->keys_bytes(d);
  if (p->shared_bytes) p->shared = line_alloc(p->shared_bytes);
}

void problem_free(problem *p) {
  free(p->q);
  free(p->k);
  free(p->v);
  free(p->scales);
  free(p->d.o);
  free(p->work);
  free(p->shared);
}

void problem_check(const problem *p) {
  const mha_status status = p->status[0] ? p->status[0] : p->status[1];
  if (!status) return;
  fprintf(stderr, "bench: a call failed with status %d\n", (int)status);
  exit(2);
}

/* ---- Runs ---- */

static void run_part(void *self, size_t part, size_t parts) {
  problem   *p = (problem *)self;
  mha_status status;
  char      *work = (char *)p->work;
  if (p->s->options & KEYS) status = p->b->keys(&p->d, part, parts, p->shared, p->shared_bytes);
  else {
    if (work) work += part * whole_lines(p->work_bytes);
    status = p->b->part(&p->d, part, parts, work, p->work_bytes);
  }
  if (status) p->status[part != 0] = status;
}

void problem_run(void *self) {
  problem     *p = (problem *)self;
  const shape *s = p->s;
  mha_status   status = MHA_OK;
  if (s->options & EASY)
    status = p->b->easy(p->d.o, p->d.q, (const float *)p->d.k, (const float *)p->d.v, s->q_len,
                        s->heads * s->d_k, s->heads);
  else if (s->options & KEYS || s->threads > 1) share_out(run_part, p, s->threads);
  else status = p->b->attend(&p->d, p->work, p->work_bytes);
  if (s->options & KEYS && !status) status = p->b->join(&p->d, p->shared, p->shared_bytes);
  if (status) p->status[0] = status;
}

void naive_run(void *self) {
  enum { MOST = 64 };
  const problem *p = (const problem *)self;
  const size_t   n = p->s->q_len, heads = p->s->heads, width = p->s->d_k, row = heads * width;
  const float   *q = p->d.q, *k = (const float *)p->d.k, *v = (const float *)p->d.v;
  const float    scale = 1.0f / sqrtf((float)width);
  float          score[MOST];
  size_t         h, i, j, c;
  for (h = 0; h < heads; h++)
    for (i = 0; i < n && n <= MOST; i++) {
      float most = -INFINITY, sum = 0.0f;
      for (j = 0; j < n; j++) {
        score[j] = 0.0f;
        for (c = 0; c < width; c++) score[j] += q[i * row + h * width + c] * k[j * row + h * width + c];
        score[j] *= scale;
        if (score[j] > most) most = score[j];
      }
      for (j = 0; j < n; j++) sum += score[j] = expf(score[j] - most);
      for (c = 0; c < width; c++) {
        float total = 0.0f;
        for (j = 0; j < n; j++) total += score[j] * v[j * row + h * width + c];
        p->d.o[i * row + h * width + c] = total / sum;
      }
    }
}

/* In whole lines; each thread its share of K, then of V. */
static void read_part(void *self, size_t part, size_t parts) {
  const problem *p = (const problem *)self;
  const size_t   k = p->k_bytes / parts / 64 * 64, v = p->v_bytes / parts / 64 * 64;
  p->reader->read((const char *)p->k + part * k, k);
  p->reader->read((const char *)p->v + part * v, v);
}

void read_run(void *self) {
  const problem *p = (const problem *)self;
  if (p->s->threads == 1) read_part(self, 0, 1);
  else share_out(read_part, self, p->s->threads);
}

/* ---- Error ---- */

/* Row i of head h as a problem of its own, which is also what visibility by position wants. */
static mha_desc one_row(const problem *p, size_t i, size_t h) {
  const shape *s = p->s;
  const size_t kv_head = h / (s->heads / s->kv_heads), element = element_bytes(s->options);
  const int    head_major = (s->options & HEAD_MAJOR) != 0;
  mha_desc     d = p->d;
  const size_t k_at = kv_head * s->d_k * (head_major ? s->kv_len : 1);
  const size_t v_at = kv_head * s->d_v * (head_major ? s->kv_len : 1);
  d.q_heads = d.kv_heads = d.q_len = 1;
  d.q_start = (ptrdiff_t)i;
  d.q += (i * s->heads + h) * s->d_k;
  d.k = (const char *)d.k + k_at * element;
  d.v = (const char *)d.v + v_at * element;
  d.k_stride.row = (ptrdiff_t)(head_major ? s->d_k : s->kv_heads * s->d_k);
  d.v_stride.row = (ptrdiff_t)(head_major ? s->d_v : s->kv_heads * s->d_v);
  if (d.k_scale) {
    d.k_scale += kv_head * (size_t)d.k_scale_stride.head;
    d.v_scale += kv_head * (size_t)d.v_scale_stride.head;
  }
  return d;
}

double problem_error(const problem *p) {
  const shape *s = p->s;
  const size_t rows = s->q_len * s->heads, cost = s->kv_len * (s->d_k + s->d_v);
  const size_t wanted = 4 + ((size_t)4 << 20) / cost, samples = wanted < rows ? wanted : rows;
  double      *exact = oracle_new(s->d_v), worst = 0.0;
  size_t       n, c;
  for (n = 0; n < samples; n++) { /* spread evenly, the first and the last row among them */
    const size_t   r = samples > 1 ? n * (rows - 1) / (samples - 1) : 0, i = r / s->heads, h = r % s->heads;
    const mha_desc d = one_row(p, i, h);
    oracle_attend(&d, exact, NULL, NULL);
    for (c = 0; c < s->d_v; c++) {
      const double e = fabs((double)p->d.o[r * s->d_v + c] - exact[c]);
      if (!(e <= worst)) worst = e; /* NaN stays */
    }
  }
  free(exact);
  return worst;
}
