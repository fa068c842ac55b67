/* stack.c - how deep the stack gets: calls without a workspace run on a painted stack of their own.

   Checks the manual: beside MHA_STACK_BYTES the deepest call takes less than 5 KB in optimised builds, and the
   depth does not depend on any length or width.  (At -O0 every vector has a place of its own: up to 70 KB.) */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MHA_IMPLEMENTATION
#include "../mha.h"

#ifdef __OPTIMIZE__
enum { BESIDE = 5 * 1024, SPREAD = 1536 };
#else
enum { BESIDE = 80 * 1024, SPREAD = 32 * 1024 };
#endif
enum { STACK = 256 * 1024, PAINT = 0x5A };

typedef struct {
  mha_desc   d;
  int        idle; /* only what the thread itself takes */
  mha_status status;
} job;

static void *run(void *p) {
  job *j = (job *)p;
  const mha_desc *d = &j->d;
  if (!j->idle) j->status = mha_attend(d, NULL, 0);
  if (!j->idle && d->q_len == d->kv_len) j->status = mha_sdpa(d->o, d->q, d->q, d->q, d->q_len, 1, d->d_k);
  return NULL;
}

/* Bytes of its stack that a thread has touched. */
static size_t depth_of(job *j) {
  static unsigned char *stack;
  pthread_attr_t        attr;
  pthread_t             thread;
  size_t                k;
  if (!stack && posix_memalign((void **)&stack, 4096, STACK)) exit(2);
  memset(stack, PAINT, STACK);
  if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, STACK) ||
      pthread_create(&thread, &attr, run, j) || pthread_join(thread, NULL)) {
    fprintf(stderr, "stack: no thread could be started\n");
    exit(2);
  }
  pthread_attr_destroy(&attr);
  for (k = 0; k < STACK && stack[k] == PAINT; k++) {}
  return STACK - k;
}

int main(void) {
  static const size_t sizes[][3] = { { 1, 1, 1 },      { 2, 300, 64 },  { 70, 1000, 80 },
                                     { 3, 20000, 16 }, { 2, 5, 20000 }, { 60, 60, 64 } };
  size_t              n, k, idle, deepest = 0, least = STACK;
  int                 failed = 0;
  job                 j;
  memset(&j, 0, sizeof j);
  j.idle = 1;
  idle = depth_of(&j);
  for (n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
    const size_t q_len = sizes[n][0], kv_len = sizes[n][1], width = sizes[n][2];
    const size_t most = (q_len > kv_len ? q_len : kv_len) * width;
    float       *x = (float *)malloc(most * sizeof *x), *o = (float *)malloc(q_len * width * sizeof *o);
    size_t       depth;
    if (!x || !o) return 2;
    for (k = 0; k < most; k++) x[k] = (float)(k % 7) * 0.25f;
    memset(&j, 0, sizeof j);
    j.d.batch = j.d.q_heads = 1;
    j.d.q_len = q_len;
    j.d.kv_len = kv_len;
    j.d.d_k = width;
    j.d.q = x;
    j.d.k = j.d.v = x;
    j.d.o = o;
    j.d.softcap = 2.0f;
    if (n == 0) depth_of(&j); /* once for the dynamic linker, which resolves memset on the caller's stack */
    depth = depth_of(&j) - idle;
    if (j.status) failed = 1, printf("stack: %s\n", mha_strerror(j.status));
    if (depth > deepest) deepest = depth;
    if (depth < least) least = depth;
    free(x);
    free(o);
  }
  failed |= deepest > MHA_STACK_BYTES + (size_t)BESIDE || deepest - least > SPREAD;
  printf("  %-6s stack: %zu bytes beside the buffer at most, %zu at least\n", failed ? "FAILED" : "ok",
         deepest - MHA_STACK_BYTES, least - MHA_STACK_BYTES);
  printf("%d passed, %d failed\n", !failed, failed);
  return failed;
}
