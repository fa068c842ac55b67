/* bench.h - what the files of the benchmark share.

     machine.c   clock, FMA and read loops of this machine: the bounds
     shapes.c    the table of shapes and goals; a shape with its memory, ready to run; its error
     race.c      what is compared runs in turn, and the best time of each counts
     build.c     one build of mha.h behind a struct of functions, so that two fit one program
     growth.c    cost against length
     compare.c   the same shapes on two builds
     bench.c     options, table and JSON

   All are compiled as a user compiles; a build of mha.h is chosen by -I. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

#include "mha.h"

/* ---- build.c ---- */

typedef struct {
  mha_status (*attend)(const mha_desc *, void *, size_t);
  mha_status (*part)(const mha_desc *, size_t, size_t, void *, size_t);
  mha_status (*keys)(const mha_desc *, size_t, size_t, void *, size_t);
  mha_status (*join)(const mha_desc *, void *, size_t);
  mha_status (*easy)(float *, const float *, const float *, const float *, size_t, size_t, size_t);
  mha_status (*to_f16)(uint16_t *, const float *, size_t);
  mha_status (*to_bf16)(uint16_t *, const float *, size_t);
  mha_status (*to_s8)(signed char *, float *, const float *, size_t, size_t);
  size_t (*work_bytes)(const mha_desc *);
  size_t (*keys_bytes)(const mha_desc *);
  size_t (*desc_bytes)(void);
  const char *(*isa)(void);
  const char *(*numerics)(void);
  int (*force_isa)(const char *); /* 1 if there is such an instance; it runs from now on */
} build;

extern const build build_new, build_old;
extern const char *const isas[]; /* every instance mha.h may have, fastest first, then NULL */

/* ---- race.c ---- */

/* One of several pieces of code to compare. */
typedef struct {
  void (*run)(void *self);
  void  *self;
  int    threads; /* 1: timed by processor time, else by the time of day */
  size_t calls;   /* of run in one sample; 0 until the first race */
  double best;    /* seconds per call */
} contender;

/* Samples of all contenders in turn, for that many seconds and at least three times.  Again: goes on. */
void race(contender *c, size_t n, double seconds);

const char *clock_name(void);    /* what one thread is timed by */

/* work(self, part, parts) for every part at once, each in its own thread. */
void share_out(void (*work)(void *self, size_t part, size_t parts), void *self, size_t parts);

/* Replaces the last line, on a terminal only. */
void progress(const char *what);

/* Memory that begins a cache line, or the end of the program. */
void *line_alloc(size_t bytes);

/* ---- machine.c ---- */

/* What one kind of vector can do. */
typedef struct {
  const char *isa;
  size_t      lanes;
  void (*fma)(void *unused);                 /* multiply-adds that do not wait for each other */
  void (*read)(const void *p, size_t bytes); /* adds everything up, in one pass from front to back */
  double peak;                               /* most flops per second seen */
  double clock;                              /* cycles per second meanwhile */
  double per_cycle;                          /* flops per cycle that the peak stands for */
  double read_rate;                          /* bytes per second */
} loops;

loops *loops_all(size_t *n);       /* those that this CPU has, widest first */
loops *loops_for(const char *isa); /* the bounds of that instance of mha.h */
const loops *machine_measure(double seconds); /* fills in the rates; returns whose read loop is best */
const char  *machine_name(void);
const char  *machine_compiler(void);

/* Contenders (two, three for several threads) that tell the peak during a race.  After it: the flops per
   second of one thread, and the share of all threads together in clock x width x threads. */
size_t peak_contenders(contender *c, loops *l, size_t threads);
double peak_of(const contender *c, const loops *l);
double peak_share(const contender *c, const loops *l, size_t threads);

/* ---- shapes.c ---- */

enum { /* options of a shape */
  CAUSAL = 1, HEAD_MAJOR = 2, /* K and V as (head, token, dim) instead of (token, head, dim) */
  F16 = 4, BF16 = 8, INT8 = 16,
  STACK = 32, /* no workspace */
  KEYS  = 64, /* mha_attend_keys and mha_attend_join */
  EASY  = 128 /* mha_multi_head_attention */
};

typedef enum { /* what a row is measured against, and how the goal reads */
  NOTHING,
  BOUND,       /* share of the FMA peak or, for one query row, of the read loop's rate: at least */
  ONE_THREAD,  /* times as fast: at least */
  WORKSPACE,   /* speed with the stack buffer only over speed with a workspace: at least */
  NEXT_SIZE,   /* useful flops per second over those of the next multiple of 16: at least */
  WHOLE_CALL,  /* speed over that of mha_attend: at least */
  F32,         /* time over that with float K and V: at most */
  NAIVE,       /* time over that of a naive loop: at most */
  NANOSECONDS  /* time: at most */
} versus;

typedef struct {
  const char *group;
  size_t      q_len, kv_len, heads, kv_heads, d_k, d_v;
  unsigned    options;
  size_t      threads;
  versus      against;
  double      goal; /* 0: none */
} shape;

extern const shape shapes[];
extern const size_t shape_count;

int    shape_reference(const shape *s, shape *reference); /* 0 if it is measured against no other shape */
void   shape_name(const shape *s, char *name, size_t bytes);
double shape_pairs(const shape *s); /* query and key that sees it, per head */
double shape_flops(const shape *s); /* useful ones: visible pairs only */
double shape_bytes(const shape *s); /* of K and V */
int    shape_decodes(const shape *s); /* bound by reading K and V */

/* A shape with its inputs, run by one build. */
typedef struct {
  const shape *s;
  const build *b;
  mha_desc     d;
  void        *k, *v, *work, *shared;
  float       *q, *scales;
  size_t       k_bytes, v_bytes, o_bytes, work_bytes, shared_bytes;
  const loops *reader;
  mha_status   status[2]; /* first errors, of the first and of other threads */
} problem;

void   problem_new(problem *p, const shape *s, const build *b);
void   problem_free(problem *p);
void   problem_check(const problem *p); /* ends the program if a call failed */
double problem_error(const problem *p); /* largest |o - exact|, over a sample of rows if there are many */
void   problem_run(void *p);            /* for a contender */
void   naive_run(void *p);              /* the same by the loops one would write first */
void   read_run(void *p);               /* reads K and V, in as many threads */

/* ---- growth.c, compare.c ---- */

void growth(FILE *json, double seconds); /* of build_new, as is everything but compare.c */

void compare_head(void);
void compare_row(const build *old, const shape *s, FILE *json, int first, double seconds);
int  compare_end(void); /* prints the sum; the exit status: 1 if any bits differ */

#endif
