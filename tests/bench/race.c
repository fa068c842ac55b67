/* race.c - timing: samples in turn, the best counts.

   One thread is timed by the processor time it takes, several by the time of day.  Where another process
   shares the core, a call longer than a time slice never runs alone: in a trial, the best of twelve calls of
   47 ms took 92 ms of the day and 47 ms of processor time.  Reading that clock costs about 0.25 us each time,
   0.1 % of the shortest sample. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, TURNS = 4 };
static const double SAMPLE = 200e-6, SHORT = 1e-3; /* seconds */

static double read_clock(clockid_t id) {
  struct timespec t;
  if (clock_gettime(id, &t)) return 0.0;
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Some systems count processor time in ticks of milliseconds. */
static int has_fine_clock(void) {
  struct timespec t;
  return clock_getres(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 && t.tv_sec == 0 && t.tv_nsec <= 1000;
}

const char *clock_name(void) { return has_fine_clock() ? "processor time" : "time of day"; }

static double now(const contender *c, int fine) {
  return read_clock(c->threads == 1 && fine ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

static double sample(const contender *c) {
  const int    fine = has_fine_clock();
  const double start = now(c, fine);
  size_t       n;
  for (n = 0; n < c->calls; n++) c->run(c->self);
  return (now(c, fine) - start) / (double)c->calls;
}

static void keep_best(contender *c) {
  const double t = sample(c);
  if (t < c->best) c->best = t;
}

/* How often to call in one sample: doubled until it is long enough, by when the caches are warm. */
static void calibrate(contender *c) {
  c->calls = 1;
  c->best = sample(c);
  while (c->best * (double)c->calls < SAMPLE && c->calls < (size_t)1 << 20) {
    c->calls *= 2;
    c->best = sample(c);
  }
}

void race(contender *c, size_t n, double seconds) {
  const double start = read_clock(CLOCK_MONOTONIC);
  size_t       k, round, turn;
  for (k = 0; k < n; k++)
    if (!c[k].calls) calibrate(&c[k]);
  for (round = 0; round < 3 || read_clock(CLOCK_MONOTONIC) - start < seconds; round++)
    for (k = 0; k < n; k++) { /* short ones more often: beside a call of a second they get few chances */
      const size_t turns = c[k].best * (double)c[k].calls < SHORT ? TURNS : 1;
      for (turn = 0; turn < turns; turn++) keep_best(&c[k]);
    }
}

typedef struct {
  void (*work)(void *self, size_t part, size_t parts);
  void  *self;
  size_t part, parts;
} share;

static void *run_share(void *p) {
  const share *s = (const share *)p;
  s->work(s->self, s->part, s->parts);
  return NULL;
}

/* Threads start anew each time: some 30 us on the machines we know, to be seen only in short calls. */
void share_out(void (*work)(void *self, size_t part, size_t parts), void *self, size_t parts) {
  share     s[MOST_THREADS];
  pthread_t thread[MOST_THREADS];
  size_t    n;
  if (parts > MOST_THREADS) parts = MOST_THREADS;
  for (n = 1; n < parts; n++) {
    s[n].work = work, s[n].self = self, s[n].part = n, s[n].parts = parts;
    if (!pthread_create(&thread[n], NULL, run_share, &s[n])) continue;
    fprintf(stderr, "bench: no thread could be started\n");
    exit(2);
  }
  work(self, 0, parts);
  for (n = 1; n < parts; n++) pthread_join(thread[n], NULL);
}

void *line_alloc(size_t bytes) {
  void *p;
  if (posix_memalign(&p, 64, bytes ? bytes : 1)) {
    fprintf(stderr, "bench: out of memory\n");
    exit(2);
  }
  return p;
}

void progress(const char *what) {
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K%s", what);
}
