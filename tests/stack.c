/* stack.c - how deep the stack gets: calls run on a painted stack of their own.

   Checks the manual: in optimised builds the deepest float call without a workspace takes less than 5 KB
   beside MHA_STACK_BYTES and the deepest integer call less than 1 KB, and the depth does not depend on any
   length or width.  (At -O0 every vector has a place of its own: up to 70 KB.) */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MHA_IMPLEMENTATION
#include "../mha.h"

#ifdef __OPTIMIZE__
enum { FLOATS = 5 * 1024, CODES = 1024, SPREAD = 1536 };
#else
enum { FLOATS = 80 * 1024, CODES = 8 * 1024, SPREAD = 32 * 1024 };
#endif
enum { STACK = 256 * 1024, PAINT = 0x5A };

/* ---- A call on a painted stack ---- */

static mha_desc    floats;
static mha_s8_desc codes;
static void       *scratch; /* NULL: the lean calls */
static mha_status  status;

static void *run_nothing(void *p) { return p; }

static void *run_floats(void *p) {
  const mha_desc *d = &floats;
  status = mha_attend(d, NULL, 0);
  if (d->q_len == d->kv_len && !status) status = mha_sdpa(d->o, d->q, d->q, d->q, d->q_len, 1, d->d_k);
  return p;
}

static void *run_codes(void *p) {
  const mha_s8_desc *d = &codes;
  const size_t       bytes = mha_s8_scratch_bytes(d->consts->mode, d->kv_len, d->d_k);
  if (d->consts->mode == MHA_S8_NATIVE)
    status = scratch ? mha_s8_native(d, 0, MHA_ALL, scratch, bytes) : mha_s8_native_lean(d, 0, MHA_ALL);
  else status = scratch ? mha_s8_tflm(d, 0, MHA_ALL, scratch, bytes) : mha_s8_tflm_lean(d, 0, MHA_ALL);
  if (status == MHA_WARN_SUM) status = MHA_OK; /* the same work */
  return p;
}

/* Bytes of its stack that a thread has touched. */
static size_t depth_of(void *(*run)(void *)) {
  static unsigned char *stack;
  pthread_attr_t        attr;
  pthread_t             thread;
  size_t                k;
  if (!stack && posix_memalign((void **)&stack, 4096, STACK)) exit(2);
  memset(stack, PAINT, STACK);
  if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, STACK) ||
      pthread_create(&thread, &attr, run, NULL) || pthread_join(thread, NULL)) {
    fprintf(stderr, "stack: no thread could be started\n");
    exit(2);
  }
  pthread_attr_destroy(&attr);
  for (k = 0; k < STACK && stack[k] == PAINT; k++) {}
  return STACK - k;
}

/* ---- Every size ---- */

static const size_t sizes[][3] = { { 1, 1, 1 },      { 2, 300, 64 },  { 70, 1000, 80 },
                                   { 3, 20000, 16 }, { 2, 5, 5000 }, { 60, 60, 64 } };

typedef struct {
  size_t deepest, least;
  int    failed;
} depths;

static void include(depths *seen, void *(*run)(void *)) {
  const size_t depth = depth_of(run) - depth_of(run_nothing);
  if (status) seen->failed = 1, printf("stack: %s\n", mha_strerror(status));
  if (depth > seen->deepest) seen->deepest = depth;
  if (depth < seen->least) seen->least = depth;
}

static void *some(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) exit(2);
  return p;
}

static void float_call(depths *seen, size_t q_len, size_t kv_len, size_t width) {
  const size_t most = (q_len > kv_len ? q_len : kv_len) * width;
  float       *x = (float *)some(most * sizeof *x);
  size_t       k;
  for (k = 0; k < most; k++) x[k] = (float)(k % 7) * 0.25f;
  memset(&floats, 0, sizeof floats);
  floats.batch = floats.q_heads = 1, floats.q_len = q_len, floats.kv_len = kv_len, floats.d_k = width;
  floats.q = x, floats.k = floats.v = x, floats.softcap = 2.0f;
  floats.o = (float *)some(q_len * width * sizeof *x);
  include(seen, run_floats);
  free(floats.o);
  free(x);
}

static void code_call(depths *seen, size_t q_len, size_t kv_len, size_t width, int mode, int lean) {
  const size_t  most = (q_len > kv_len ? q_len : kv_len) * width;
  signed char  *x = (signed char *)some(most), *o = (signed char *)some(q_len * width);
  int32_t       table[256];
  mha_s8_quant  quant;
  mha_s8_consts consts;
  size_t        k;
  for (k = 0; k < most; k++) x[k] = (signed char)(k % 7);
  memset(&quant, 0, sizeof quant);
  quant.mode = mode, quant.d_k = width, quant.kv_len = kv_len;
  quant.q.scale = quant.k.scale = quant.v.scale = quant.o.scale = 0.1f;
  if (mode == MHA_S8_TFLM) quant.logits.scale = 1.0f;
  status = mha_s8_prepare(&consts, mode == MHA_S8_TFLM ? table : NULL, &quant);
  if (status) seen->failed = 1, printf("stack: prepare: %s\n", mha_strerror(status));
  memset(&codes, 0, sizeof codes);
  codes.q_heads = 1, codes.q_len = q_len, codes.kv_len = kv_len, codes.d_k = width;
  codes.q = codes.k = codes.v = x, codes.o = o, codes.consts = &consts;
  scratch = lean ? NULL : some(mha_s8_scratch_bytes(mode, kv_len, width));
  include(seen, run_codes);
  free(scratch);
  free(o);
  free(x);
}

static int report(const char *what, depths seen, size_t buffer, size_t allowed) {
  const int failed = seen.failed || seen.deepest > buffer + allowed || seen.deepest - seen.least > SPREAD;
  printf("  %-6s stack: %s: %zu bytes%s at most, %zu at least\n", failed ? "FAILED" : "ok", what,
         seen.deepest - buffer, buffer ? " beside the buffer" : "", seen.least - buffer);
  return failed;
}

int main(void) {
  static const char *const names[] = { "tflm", "tflm, lean", "native", "native, lean" };
  const size_t             count = sizeof sizes / sizeof sizes[0];
  depths                   seen = { 0, STACK, 0 };
  size_t                   n;
  int                      way, failed = 0;
  float_call(&seen, 1, 1, 1); /* once for the dynamic linker, which resolves memset on the caller's stack */
  code_call(&seen, 1, 1, 1, MHA_S8_TFLM, 0);
  seen.deepest = 0, seen.least = STACK;
  for (n = 0; n < count; n++) float_call(&seen, sizes[n][0], sizes[n][1], sizes[n][2]);
  failed += report("floats", seen, MHA_STACK_BYTES, FLOATS);
  for (way = 0; way < 4; way++) {
    seen.deepest = 0, seen.least = STACK;
    for (n = 0; n < count; n++)
      code_call(&seen, sizes[n][0], sizes[n][1], sizes[n][2], way < 2 ? MHA_S8_TFLM : MHA_S8_NATIVE, way & 1);
    failed += report(names[way], seen, 0, CODES);
  }
  printf("%d passed, %d failed\n", 5 - failed, failed);
  return failed != 0;
}
