/* growth.c - cost against length: time per visible pair, and memory besides inputs and outputs. */
#define _DEFAULT_SOURCE /* POSIX, and getrusage's page faults */
#include "bench.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORTEST = 16, LONGEST = 16384, WIDTH = 64 };

static shape shape_of(size_t len, unsigned options) {
  shape s = { "growth", 0, 0, 1, 1, WIDTH, WIDTH, 0, 1, NOTHING, 0.0 };
  s.q_len = s.kv_len = len;
  s.options = options;
  return s;
}

static double seconds_per_pair(const shape *s, double seconds) {
  problem   p;
  contender c = { problem_run, NULL, 1, 0, 0.0 };
  problem_new(&p, s, &build_new);
  c.self = &p;
  race(&c, 1, seconds);
  problem_check(&p);
  problem_free(&p);
  return c.best / shape_pairs(s);
}

/* KiB that one call writes beside its output: pages that a new process, whose memory is all still shared with
   this one, gets a copy of.  More than what is in use at any time, and exact to the page; -1: unknown. */
static long written_kib(const shape *s) {
  const shape   small = shape_of(SHORTEST, s->options);
  struct rusage before, after;
  problem       p, warm;
  long          pages = 0;
  int           ends[2];
  pid_t         child;
  problem_new(&p, s, &build_new);
  problem_new(&warm, &small, &build_new);
  if (pipe(ends)) return -1;
  fflush(NULL);
  child = fork();
  if (child == 0) {
    size_t sent;
    problem_run(&warm); /* maps the code */
    memset(p.d.o, 0, p.o_bytes);
    getrusage(RUSAGE_SELF, &before);
    problem_run(&p);
    getrusage(RUSAGE_SELF, &after);
    pages = after.ru_minflt - before.ru_minflt;
    sent = (size_t)write(ends[1], &pages, sizeof pages);
    _exit(sent != sizeof pages);
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &pages, sizeof pages) != (ssize_t)sizeof pages) pages = 0;
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  problem_free(&p);
  problem_free(&warm);
  return pages > 0 ? pages * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

static size_t work_bytes(const shape *s) {
  problem p;
  size_t  bytes;
  problem_new(&p, s, &build_new);
  bytes = p.work_bytes;
  problem_free(&p);
  return bytes;
}

void growth(FILE *json, double seconds) {
  size_t len;
  printf("\n1 head x %d; memory for full attention\n%8s %15s %15s %16s %14s %16s\n", WIDTH, "tokens",
         "full ns/pair", "causal ns/pair", "tensors KiB", "written KiB", "workspace KiB");
  if (json) fprintf(json, ",\n\"growth\": [");
  for (len = SHORTEST; len <= LONGEST; len *= 2) {
    const shape  full = shape_of(len, 0), causal = shape_of(len, CAUSAL);
    const double tensors = 4.0 * (double)(len * WIDTH * sizeof(float)) / 1024.0;
    const double work = (double)work_bytes(&full) / 1024.0;
    const long   written = written_kib(&full);
    double       t, t_causal;
    progress("timing");
    t = seconds_per_pair(&full, seconds) * 1e9;
    t_causal = seconds_per_pair(&causal, seconds) * 1e9;
    progress("");
    printf("%8zu %15.3f %15.3f %16.0f", len, t, t_causal, tensors);
    if (written < 0) printf(" %14s %16.1f\n", "unknown", work);
    else printf(" %14ld %16.1f\n", written, work);
    fflush(stdout);
    if (json)
      fprintf(json, "%s\n  {\"tokens\": %zu, \"full_ns\": %.6g, \"causal_ns\": %.6g, \"tensors_kib\": %.6g, "
                    "\"written_kib\": %ld, \"workspace_kib\": %.6g}",
              len > SHORTEST ? "," : "", len, t, t_causal, tensors, written, work);
  }
  if (json) fprintf(json, "\n]");
  printf("written: whole pages, beside the output, by one call: workspace and stack\n");
}
