/* race.c - many threads make the first call at once: all must choose the same instance and get the same bits.
   For ThreadSanitizer, which sees a data race even where it does no harm. */
#define _XOPEN_SOURCE 600 /* for rwlock */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MHA_IMPLEMENTATION
#include "../mha.h"

enum { THREADS = 16 };

static const float      x[8] = { 1, 0, 0, 1, 0, 1, 1, 0 };
static float            out[THREADS][8];
static pthread_rwlock_t start = PTHREAD_RWLOCK_INITIALIZER; /* readers run at once when the writer lets go */

static void *run(void *number) {
  const size_t n = *(const size_t *)number;
  pthread_rwlock_rdlock(&start);
  if (mha_multi_head_attention(out[n], x, x, x, 2, 4, 2) != MHA_OK) out[n][0] = -1.0f;
  pthread_rwlock_unlock(&start);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  size_t    number[THREADS], n, wrong = 0;
  pthread_rwlock_wrlock(&start);
  for (n = 0; n < THREADS; n++) {
    number[n] = n;
    if (pthread_create(&threads[n], NULL, run, &number[n])) return 2;
  }
  pthread_rwlock_unlock(&start);
  for (n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
  for (n = 1; n < THREADS; n++) wrong += memcmp(out[n], out[0], sizeof out[0]) != 0;
  printf("%d threads, %lu of them with other bits, %s\n", THREADS, (unsigned long)wrong, mha_isa());
  return wrong != 0 || !(out[0][0] > 0.0f);
}
