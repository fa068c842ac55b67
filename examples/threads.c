/* threads.c - shares one call among threads: the same bits, sooner.

   cc -O2 -pthread examples/threads.c && ./a.out [threads]          (2 unless you say otherwise)

   mha.h starts no threads.  mha_attend_part does one of `parts` shares of about equal work; shares may run at
   once or one after another, in any order, each with a workspace of its own, on whatever threads you have.

   Expect: 0 of 131072 outputs differ, and nearly twice the speed on two idle cores. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOKENS = 512, HEADS = 4, CHANNELS = 64, N = TOKENS * HEADS * CHANNELS, MOST_THREADS = 64 };

static float q[N], k[N], v[N], alone[N], together[N];

typedef struct {
  const mha_desc *d;
  size_t          part, parts, work_bytes;
  void           *work; /* each thread has its own */
  mha_status      status;
} share;

static void *run_share(void *p) {
  share *s = (share *)p;
  s->status = mha_attend_part(s->d, s->part, s->parts, s->work, s->work_bytes);
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float noise(void) { /* -2 .. 2 */
  static unsigned long state = 1;
  state = (state * 1664525UL + 1013904223UL) & 0xffffffffUL;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

int main(int argc, char **argv) {
  int       threads = argc > 1 ? atoi(argv[1]) : 2, n, started, differ = 0;
  mha_desc  d = { 0 };
  share     s[MOST_THREADS];
  pthread_t thread[MOST_THREADS];
  double    time_alone, time_together;
  if (threads < 1 || threads > MOST_THREADS) {
    printf("1 to %d threads\n", MOST_THREADS);
    return 1;
  }
  for (n = 0; n < N; n++) q[n] = noise(), k[n] = noise(), v[n] = noise();

  d.batch = 1;
  d.q_heads = HEADS;
  d.q_len = d.kv_len = TOKENS;
  d.d_k = CHANNELS;
  d.flags = MHA_CAUSAL;
  d.q = q, d.k = k, d.v = v;
  d.o = alone; /* before mha_work_bytes, which knows no size for what it would refuse */

  for (n = 0; n < threads; n++) {
    s[n].d = &d, s[n].part = (size_t)n, s[n].parts = (size_t)threads;
    s[n].work_bytes = mha_work_bytes(&d);
    s[n].work = malloc(s[n].work_bytes);
    if (!s[n].work) s[n].work_bytes = 0; /* without a workspace it is slower, no more */
  }

  time_alone = now();
  s[0].status = mha_attend(&d, s[0].work, s[0].work_bytes);
  time_alone = now() - time_alone;
  if (s[0].status != MHA_OK) {
    printf("%s\n", mha_strerror(s[0].status));
    return 1;
  }

  d.o = together;
  time_together = now();
  for (started = 0; started < threads; started++)
    if (pthread_create(&thread[started], NULL, run_share, &s[started]) != 0) break;
  for (n = started; n < threads; n++) run_share(&s[n]); /* no thread to be had: do its share here */
  for (n = 0; n < started; n++) pthread_join(thread[n], NULL);
  time_together = now() - time_together;

  for (n = 0; n < threads; n++) {
    if (s[n].status != MHA_OK) {
      printf("share %d: %s\n", n, mha_strerror(s[n].status));
      return 1;
    }
    free(s[n].work);
  }
  for (n = 0; n < N; n++) differ += memcmp(&alone[n], &together[n], sizeof(float)) != 0;
  printf("alone %.1f ms, shared by %d %.1f ms: %.2f times as fast\n", time_alone * 1e3, threads,
         time_together * 1e3, time_alone / time_together);
  printf("%d of %d outputs differ\n", differ, N);
  return differ != 0;
}
