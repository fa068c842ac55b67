/* team.c - times calls for bench_peers.py outside Python, and runs mha.h on several threads.  Built together
   with tests/shared.c.

   The threads stay for the life of the process.  After a job each of them spins for about a millisecond, in
   case the next one comes soon, and then sleeps, as the thread pools of the peers do. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "../../mha.h"
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

enum { MOST_THREADS = 64, SPINS = 20000 };

/* Part `part` of `parts` of a job; 0 when all went well.  Calls have any two pointers, as ggml's do. */
typedef int share_fn(void *job, size_t part, size_t parts);
typedef int call_fn(void *a, void *b);

typedef struct {
  share_fn *share;
  void     *job;
  size_t    parts;
} crew;

typedef struct {
  const mha_desc *d;
  unsigned char  *work; /* one workspace of work_bytes a thread; for keys_share one for all */
  size_t          work_bytes;
} attention;

extern int         team_call(void *a, void *b);
extern int         keys_call(void *a, void *b);
extern int         one_call(void *a, void *b);
extern int         simple_call(void *a, void *b);
extern int         rows_share(void *job, size_t part, size_t parts);
extern int         keys_share(void *job, size_t part, size_t parts);
extern double      time_calls(call_fn *f, void *a, void *b, int n);
extern const char *compiler(void);

/* ---- Threads ---- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t  wake;
  crew            now;
  unsigned        turn; /* one more with each job */
  size_t          threads, running;
  int             failed;
} team = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { NULL, NULL, 0 }, 0, 0, 0, 0 };

typedef struct {
  size_t   part;
  unsigned turn; /* the last one it has seen */
} member;

static member members[MOST_THREADS];

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static unsigned turn_now(void) { return __atomic_load_n(&team.turn, __ATOMIC_ACQUIRE); }

static void await_turn_after(unsigned seen) {
  int n;
  for (n = 0; n < SPINS; n++) {
    if (turn_now() != seen) return;
    pause_briefly();
  }
  pthread_mutex_lock(&team.lock);
  while (turn_now() == seen) pthread_cond_wait(&team.wake, &team.lock);
  pthread_mutex_unlock(&team.lock);
}

static void *work_forever(void *self) {
  member *m = (member *)self;
  for (;; m->turn++) { /* nobody misses a turn: the next begins when all are through */
    await_turn_after(m->turn);
    if (m->part < team.now.parts && team.now.share(team.now.job, m->part, team.now.parts) != 0)
      __atomic_store_n(&team.failed, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&team.running, 1, __ATOMIC_ACQ_REL);
  }
  return NULL;
}

/* a: crew.  All its parts, the first one here. */
int team_call(void *a, void *b) {
  const crew *c = (const crew *)a;
  int         failed;
  (void)b;
  if (c->parts == 1) return c->share(c->job, 0, 1);
  if (c->parts > MOST_THREADS) return 1;
  for (; team.threads + 1 < c->parts; team.threads++) {
    pthread_t thread;
    member   *m = &members[team.threads];
    m->part = team.threads + 1, m->turn = team.turn;
    if (pthread_create(&thread, NULL, work_forever, m) != 0) return 1;
    pthread_detach(thread);
  }
  team.now = *c;
  team.failed = 0;
  team.running = team.threads;
  pthread_mutex_lock(&team.lock);
  __atomic_add_fetch(&team.turn, 1, __ATOMIC_RELEASE);
  pthread_cond_broadcast(&team.wake);
  pthread_mutex_unlock(&team.lock);
  failed = c->share(c->job, 0, c->parts);
  while (__atomic_load_n(&team.running, __ATOMIC_ACQUIRE) != 0) pause_briefly();
  return failed | team.failed;
}

/* ---- mha.h ---- */

int rows_share(void *job, size_t part, size_t parts) {
  const attention *a = (const attention *)job;
  return mha_attend_part(a->d, part, parts, a->work + part * a->work_bytes, a->work_bytes);
}

int keys_share(void *job, size_t part, size_t parts) {
  const attention *a = (const attention *)job;
  return mha_attend_keys(a->d, part, parts, a->work, a->work_bytes);
}

/* a: crew with keys_share */
int keys_call(void *a, void *b) {
  const attention *job = (const attention *)((const crew *)a)->job;
  return team_call(a, b) | mha_attend_join(job->d, job->work, job->work_bytes);
}

/* a: attention */
int one_call(void *a, void *b) {
  const attention *job = (const attention *)a;
  (void)b;
  return mha_attend(job->d, job->work, job->work_bytes);
}

/* a: attention whose descriptor mha_multi_head_attention can do too */
int simple_call(void *a, void *b) {
  const mha_desc *d = ((const attention *)a)->d;
  (void)b;
  return mha_multi_head_attention(d->o, d->q, (const float *)d->k, (const float *)d->v, d->q_len,
                                  d->q_heads * d->d_k, d->q_heads);
}

/* ---- Time ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The seconds that n calls take together, negative when one fails. */
double time_calls(call_fn *f, void *a, void *b, int n) {
  const double start = now();
  int          failed = 0;
  for (; n > 0; n--) failed |= f(a, b);
  return failed ? -1 : now() - start;
}

const char *compiler(void) {
#if defined(__clang__)
  return __VERSION__; /* names itself */
#else
  return "gcc " __VERSION__;
#endif
}
