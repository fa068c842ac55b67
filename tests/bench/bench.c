/* bench.c - how fast mha.h is, beside what this machine can do and the goals.

     make bench                                        every group
     make bench BENCH="--group decode --isa avx2"      see --help

   All that one row compares, its bounds included, is run in turn (race.c), since a machine that others use
   too may be slow for a second at any time; ratios are of best times.  A row counts only if its FMA loop, in
   as many threads, came to 97 % of what the clock and the number of units allow: else something held the
   machine back.  The exit status says nothing about speed. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef BENCH_FLAGS
#  define BENCH_FLAGS ""
#endif

/* The other build, or NULL in a program that has only one. */
#ifdef COMPARE
static const build *const old = &build_old;
#else
static const build *const old = NULL;
#endif

typedef struct {
  const char *json, *group, *isa;
  int         all_isas, list;
  double      seconds; /* per row */
} options;

static const double ENOUGH = 0.97; /* of clock times width, for a row to count */

/* ---- One row ---- */

typedef struct {
  const shape *s;
  const char  *isa;
  double seconds, flops, bytes; /* the last two per second; bytes 0 where they mean nothing */
  double of_bound;              /* 0: no bound */
  double fma_share;             /* of clock times width */
  double error;
  double ratio;                 /* what the goal is about */
  int    base_fails;            /* the float row that this one is compared with misses its own goal */
} row;

static const char *counts_against(const row *r) {
  if (r->base_fails) return "f32 low";
  if (r->fma_share < ENOUGH) return "no count";
  return NULL;
}

/* The goals stand for AVX2; those about vectors hold on AVX-512 once there are keys to fill them. */
static double goal_of(const row *r) {
  const int avx512 = strcmp(r->isa, "avx512") == 0 && (r->s->kv_len >= 128 || r->s->options & EASY);
  return strcmp(r->isa, "avx2") == 0 || avx512 ? r->s->goal : 0.0;
}

static int less_is_better(versus against) { return against >= F32; }

static int meets_goal(const row *r) {
  return less_is_better(r->s->against) ? r->ratio <= r->s->goal : r->ratio >= r->s->goal;
}

/* The goal for the bandwidth of float rows, which the smaller types are measured by. */
static double float_goal(const shape *s) { return s->options & HEAD_MAJOR ? 0.85 : 0.75; }

static contender *enter(contender *c, size_t *n, void (*run)(void *), void *self, size_t threads) {
  const contender entry = { run, self, (int)threads, 0, 0.0 };
  c[*n] = entry;
  return &c[(*n)++];
}

static row measure(const shape *s, const loops *reader, double seconds) {
  loops       *l = loops_for(build_new.isa());
  shape        reference;
  const int    other = shape_reference(s, &reference), decodes = shape_decodes(s);
  const size_t threads = s->threads; /* times of a ratio come from one clock, also the reference's */
  problem      p, q;
  contender    c[8], *own, *read, *theirs = NULL, *their_read = NULL;
  row          r = { s, build_new.isa(), 0, 0, 0, 0, 0, 0, 0, 0 };
  double       bound, ratio;
  size_t       n;
  int          tries;

  problem_new(&p, s, &build_new);
  memset(&q, 0, sizeof q);
  if (other) problem_new(&q, &reference, &build_new);
  p.reader = q.reader = reader;
  n = peak_contenders(c, l, threads);
  own = enter(c, &n, problem_run, &p, threads);
  read = decodes ? enter(c, &n, read_run, &p, threads) : NULL;
  if (other) theirs = enter(c, &n, s->against == NAIVE ? naive_run : problem_run, &q, threads);
  if (s->against == F32) their_read = enter(c, &n, read_run, &q, threads);
  for (tries = 0; tries < 3 && r.fma_share < ENOUGH; tries++) { /* a busy machine gets more chances */
    race(c, n, seconds);
    r.fma_share = peak_share(c, l, threads);
  }
  problem_check(&p);
  problem_check(&q);

  r.seconds = own->best;
  r.flops = shape_flops(s) / r.seconds;
  if (decodes) r.bytes = shape_bytes(s) / r.seconds;
  bound = read ? read->best : shape_flops(s) / (peak_of(c, l) * (double)threads);
  if (!(s->options & EASY)) r.of_bound = bound / r.seconds;
  r.error = problem_error(&p);
  ratio = theirs ? theirs->best / r.seconds : 0.0;
  switch (s->against) {
    case BOUND: r.ratio = r.of_bound; break;
    case NEXT_SIZE: r.ratio = ratio * shape_flops(s) / shape_flops(&reference); break;
    case F32: case NAIVE: r.ratio = 1.0 / ratio; break;
    case NANOSECONDS: r.ratio = r.seconds * 1e9; break;
    default: r.ratio = ratio;
  }
  r.base_fails = their_read && their_read->best / theirs->best < float_goal(s);
  problem_free(&p);
  problem_free(&q);
  return r;
}

/* ---- The table ---- */

static const char *compared_with(versus against) {
  switch (against) {
    case ONE_THREAD: return "x one thread";
    case WORKSPACE: return "of workspace";
    case NEXT_SIZE: return "of next size";
    case WHOLE_CALL: return "of mha_attend";
    case F32: return "of f32's time";
    case NAIVE: return "of naive loop";
    default: return "";
  }
}

static void print_share(double x) {
  if (x > 0.0) printf(" %5.1f%%", 100.0 * x);
  else printf("      -");
}

static void print_head(void) {
  printf("\n%-8s %-38s %-6s %2s %12s %8s %7s %6s %7s %8s  %-20s %-9s %s\n", "group", "shape", "ISA", "th",
         "time", "GFLOP/s", "bound", "GB/s", "FMA", "error", "compared", "goal", "");
}

static void print_time(double t) {
  if (t < 1e-6) printf(" %9.1f ns", t * 1e9);
  else if (t < 1e-3) printf(" %9.2f us", t * 1e6);
  else printf(" %9.3f ms", t * 1e3);
}

static void print_row(const row *r) {
  const versus against = r->s->against;
  const double goal = goal_of(r);
  char         name[64], compared[32] = "", wanted[16] = "-";
  const char  *verdict = "";
  shape_name(r->s, name, sizeof name);
  printf("%-8s %-38s %-6s %2zu", r->s->group, name, r->isa, r->s->threads);
  print_time(r->seconds);
  printf(" %8.2f", r->flops * 1e-9);
  print_share(r->of_bound);
  if (r->bytes > 0.0) printf(" %6.2f", r->bytes * 1e-9);
  else printf("      -");
  print_share(r->fma_share);
  if (against == BOUND || against == NANOSECONDS) snprintf(compared, sizeof compared, "-");
  else snprintf(compared, sizeof compared, "%.3f %s", r->ratio, compared_with(against));
  if (goal > 0.0) {
    const char *relation = less_is_better(against) ? "<=" : ">=";
    if (against == BOUND) snprintf(wanted, sizeof wanted, "%s %.0f%%", relation, 100.0 * goal);
    else if (against == NANOSECONDS) snprintf(wanted, sizeof wanted, "%s %.0f ns", relation, goal);
    else snprintf(wanted, sizeof wanted, "%s %.2f", relation, goal);
    verdict = counts_against(r) ? counts_against(r) : meets_goal(r) ? "met" : "not met";
  }
  printf(" %8.1e  %-20s %-9s %s\n", r->error, compared, wanted, verdict);
  fflush(stdout);
}

/* ---- JSON ---- */

static void json_string(FILE *f, const char *key, const char *value) {
  fprintf(f, "\"%s\": \"", key);
  for (; *value; value++)
    if ((unsigned char)*value >= 32) fprintf(f, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
  fprintf(f, "\"");
}

static void json_number(FILE *f, const char *key, double x) {
  if (isfinite(x)) fprintf(f, ", \"%s\": %.9g", key, x);
  else fprintf(f, ", \"%s\": null", key);
}

static void json_machine(FILE *f) {
  size_t       n, k;
  const loops *l = loops_all(&n);
  fprintf(f, "{\n");
  json_string(f, "cpu", machine_name());
  fprintf(f, ",\n");
  json_string(f, "compiler", machine_compiler());
  fprintf(f, ",\n");
  json_string(f, "flags", BENCH_FLAGS);
  fprintf(f, ",\n");
  json_string(f, "version", MHA_VERSION_STRING);
  fprintf(f, ",\n");
  json_string(f, "numerics", build_new.numerics());
  fprintf(f, ",\n\"vectors\": [");
  for (k = 0; k < n; k++) {
    fprintf(f, k ? ",\n  {" : "\n  {");
    json_string(f, "isa", l[k].isa);
    json_number(f, "peak", l[k].peak);
    json_number(f, "clock", l[k].clock);
    json_number(f, "flops_per_cycle", l[k].per_cycle);
    json_number(f, "read", l[k].read_rate);
    fprintf(f, "}");
  }
  fprintf(f, "\n]");
}

static void json_row(FILE *f, const row *r, int first) {
  const shape *s = r->s;
  char         name[64];
  shape_name(s, name, sizeof name);
  fprintf(f, first ? "\n  {" : ",\n  {");
  json_string(f, "group", s->group);
  fprintf(f, ", ");
  json_string(f, "shape", name);
  fprintf(f, ", ");
  json_string(f, "isa", r->isa);
  fprintf(f, ", \"threads\": %zu, \"q_len\": %zu, \"kv_len\": %zu, \"heads\": %zu, \"kv_heads\": %zu, "
             "\"d_k\": %zu, \"d_v\": %zu",
          s->threads, s->q_len, s->kv_len, s->heads, s->kv_heads, s->d_k, s->d_v);
  json_number(f, "seconds", r->seconds);
  json_number(f, "flops", r->flops);
  json_number(f, "of_bound", r->of_bound > 0.0 ? r->of_bound : (double)NAN);
  json_number(f, "bytes", r->bytes > 0.0 ? r->bytes : (double)NAN);
  json_number(f, "fma_share", r->fma_share);
  json_number(f, "error", r->error);
  json_number(f, "ratio", r->ratio);
  fprintf(f, ", ");
  json_string(f, "compared", s->against == BOUND ? "of bound" : compared_with(s->against));
  json_number(f, "goal", goal_of(r) > 0.0 ? goal_of(r) : (double)NAN);
  fprintf(f, ", \"counts\": %s, \"met\": %s}", counts_against(r) ? "false" : "true",
          goal_of(r) > 0.0 ? meets_goal(r) ? "true" : "false" : "null");
}

/* ---- Runs ---- */

static void print_machine(const loops *reader) {
  size_t       n, k;
  const loops *l = loops_all(&n);
  printf("CPU       %s\ncompiler  %s %s\n", machine_name(), machine_compiler(), BENCH_FLAGS);
  printf("mha.h     %s, %s, %s\n", MHA_VERSION_STRING, build_new.isa(), build_new.numerics());
  printf("timed by  %s (one thread), time of day (several)\n", clock_name());
  for (k = 0; k < n; k++)
    printf("%-8s  peak %7.2f GFLOP/s, %5.1f%% of %2.0f flops a cycle at %.2f GHz; reads %5.2f GB/s%s\n",
           l[k].isa, l[k].peak * 1e-9, 100.0 * l[k].peak / (l[k].per_cycle * l[k].clock), l[k].per_cycle,
           l[k].clock * 1e-9, l[k].read_rate * 1e-9, &l[k] == reader ? " (the bound for decoding)" : "");
}

/* A plain run leaves out `isas`, which --all-isas is for. */
static int is_wanted(const shape *s, const options *o) {
  const char *group = o->group ? o->group : o->all_isas ? "isas" : NULL;
  return group ? strcmp(s->group, group) == 0 : strcmp(s->group, "isas") != 0;
}

/* Returns how many rows have been done by then. */
static size_t run_rows(const options *o, const loops *reader, FILE *json, size_t done) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  size_t     k;
  for (k = 0; k < shape_count; k++) {
    const shape *s = &shapes[k];
    char         name[64];
    if (!is_wanted(s, o)) continue;
    shape_name(s, name, sizeof name);
    if (cpus < (long)s->threads) {
      printf("%-8s %-38s skipped: it takes %zu CPUs\n", s->group, name, s->threads);
      continue;
    }
    progress(name);
    if (old) {
      compare_row(old, s, json, done == 0, o->seconds);
    } else {
      const row r = measure(s, reader, o->seconds);
      progress("");
      print_row(&r);
      if (json) json_row(json, &r, done == 0);
    }
    done++;
  }
  return done;
}

/* The rows on one instance, or on each in turn. */
static void run_tables(const options *o, const loops *reader, FILE *json) {
  size_t done = 0, k;
  if (json) fprintf(json, ",\n\"rows\": [");
  if (old) compare_head();
  else print_head();
  if (!o->all_isas) run_rows(o, reader, json, 0);
  for (k = 0; o->all_isas && isas[k]; k++)
    if (build_new.force_isa(isas[k]) && (!old || old->force_isa(isas[k])))
      done = run_rows(o, reader, json, done);
  if (json) fprintf(json, "\n]");
}

static const char usage[] =
    "usage: bench [--group NAME] [--isa NAME | --all-isas] [--seconds S] [--json FILE] [--list]\n"
    "  --group NAME   only that group; growth only so\n"
    "  --isa NAME     that instance of mha.h instead of the fastest\n"
    "  --all-isas     a short table (group isas, or the one named) for every instance\n"
    "  --seconds S    time per row, 0.4 unless you say otherwise\n"
    "  --json FILE    everything into a file as well\n"
    "  --list         all groups and shapes\n"
    "Columns: th = threads; bound = useful flops over the FMA peak or, decoding, bytes of K and V per\n"
    "second over those of a loop that only reads them; FMA = that peak over clock x width x threads (below\n"
    "97 % a row does not count); error = largest |o - exact| of the rows looked at; f32 low = this row does\n"
    "not count, as float misses its own goal.\n";

static int fail(const char *what, const char *name) {
  fprintf(stderr, "bench: %s%s\n%s", what, name, usage);
  return 2;
}

/* 0, or the exit status plus one */
static int read_options(options *o, int argc, char **argv) {
  int n;
  o->seconds = 0.4;
  for (n = 1; n < argc; n++) {
    const char *a = argv[n], *value = n + 1 < argc ? argv[n + 1] : NULL;
    char       *end;
    if (strcmp(a, "--help") == 0) return printf("%s", usage), 1;
    if (strcmp(a, "--list") == 0) o->list = 1;
    else if (strcmp(a, "--all-isas") == 0) o->all_isas = 1;
    else if (!value) return fail("no such option, or its value is missing: ", a) + 1;
    else if (strcmp(a, "--json") == 0) o->json = value, n++;
    else if (strcmp(a, "--group") == 0) o->group = value, n++;
    else if (strcmp(a, "--isa") == 0) o->isa = value, n++;
    else if (strcmp(a, "--seconds") == 0) {
      o->seconds = strtod(value, &end), n++;
      if (end == value || *end || !(o->seconds >= 0.0)) return fail("not a number of seconds: ", value) + 1;
    } else return fail("no such option: ", a) + 1;
  }
  return 0;
}

static void list(void) {
  size_t k;
  char   name[64];
  for (k = 0; k < shape_count; k++) {
    shape_name(&shapes[k], name, sizeof name);
    printf("%-8s %s%s\n", shapes[k].group, name, shapes[k].threads > 1 ? ", 2 threads" : "");
  }
  printf("%-8s time per visible pair and memory for 16 .. 16384 tokens\n", "growth");
}

static int known_group(const char *group) {
  size_t k;
  for (k = 0; k < shape_count; k++)
    if (strcmp(shapes[k].group, group) == 0) return 1;
  return strcmp(group, "growth") == 0;
}

int main(int argc, char **argv) {
  options      o = { NULL, NULL, NULL, 0, 0, 0.0 };
  FILE        *json = NULL;
  const loops *reader;
    int          status = read_options(&o, argc, argv);
  if (status) return status - 1;
  if (o.list) return list(), 0;
  if (o.group && !known_group(o.group)) return fail("no such group (--list shows them): ", o.group);
  if (o.isa && !build_new.force_isa(o.isa)) return fail("this machine or build has no instance ", o.isa);
  if (o.json && !(json = fopen(o.json, "w"))) return fail("cannot write ", o.json);

  if (old && !old->force_isa(build_new.isa())) return fail("the old build lacks ", build_new.isa());
  if (old && old->desc_bytes() != sizeof(mha_desc)) return fail("the old build has another mha_desc", "");
  progress("measuring the machine");
  reader = machine_measure(o.seconds / 2);
  progress("");
  print_machine(reader);
  if (json) json_machine(json);
  if (o.group && strcmp(o.group, "growth") == 0) growth(json, o.seconds);
  else run_tables(&o, reader, json);
  if (json && (fprintf(json, "\n}\n") < 0 || fclose(json))) return fail("cannot write ", o.json);
  return old ? compare_end() : 0;
}
