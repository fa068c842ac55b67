/* compose.h - random attention problems: a valid descriptor of any combination of options, with all its data
   in guarded memory of exactly the size that may be touched.

   Everything follows from the seed by integer arithmetic: the same seed gives the same bits on every platform
   (with PROBLEM_PORTABLE also where ptrdiff_t has another size). */
#ifndef COMPOSE_H
#define COMPOSE_H

#include "../mha.h"
#include "check.h"

enum { /* what a problem may or must have, or-ed */
  PROBLEM_NAN      = 1,   /* may: a few NaN in the inputs */
  PROBLEM_INFINITE = 2,   /* may: a few infinities in the inputs */
  PROBLEM_EXTREME  = 4,   /* may: numbers of any size, so that logits overflow and results are subnormal */
  PROBLEM_PORTABLE = 8,   /* must: positions that every platform can hold */
  PROBLEM_CAUSAL   = 16,  /* must: MHA_CAUSAL, queries among the keys */
  PROBLEM_IN_PLACE = 32,  /* must: q and o of the same shape and layout, so that o may be q */
  PROBLEM_SMALL    = 64,  /* must: small shapes */
  PROBLEM_OUTPUTS  = 128, /* must: weights and lse */
  PROBLEM_WIDE     = 256  /* must: so many channels that a small workspace can't hold a row */
};

enum {
  BLOCK_Q, BLOCK_K, BLOCK_V, BLOCK_K_SCALE, BLOCK_V_SCALE, BLOCK_MASK, BLOCK_BIAS, /* these can be poisoned */
  BLOCK_SLOPES, BLOCK_SINKS, BLOCK_Q_STARTS, BLOCK_KV_STARTS, BLOCK_KV_LENS,
  BLOCK_O, BLOCK_WEIGHTS, BLOCK_LSE,
  BLOCKS
};

enum { BLOCK_BYTES = MHA_S8 + 1 }; /* a type beside those of mha_type: unsigned char */

typedef struct {
  void  *data;     /* from guard_new, or NULL */
  size_t elements; /* ... of this type */
  int    type;     /* an mha_type or BLOCK_BYTES; of no meaning from BLOCK_Q_STARTS to BLOCK_KV_LENS */
} problem_block;

typedef struct {
  mha_desc      d;
  uint64_t      seed;
  unsigned      flags;
  const char   *made;           /* how, if not by problem_new */
  problem_block block[BLOCKS];
  int           k_in, v_in;     /* the blocks that hold k and v: their own, or one that they share */
  char          text[640];
} problem;

#define ANY ((size_t)-1)
typedef struct {
  size_t q_len, kv_len, d_k, d_v; /* or ANY */
} problem_shape;

problem *problem_new(uint64_t seed, unsigned flags);
problem *problem_new_shaped(uint64_t seed, unsigned flags, problem_shape shape);
/* From bytes, as long as there are any, instead of a seed: for fuzzing. */
problem *problem_new_from(const unsigned char *bytes, size_t n, unsigned flags, problem_shape shape);
void     problem_free(problem *p); /* checks all guards */

/* The descriptor in words, for messages. */
const char *problem_text(problem *p);

/* Overwrites with NaN whatever no result may depend on: keys and values that no query sees, slots at or
   beyond kv_lens, padding between rows, scales and biases of hidden keys, queries that see nothing. */
void problem_poison(problem *p);

/* The same problem with `extra` keys behind the others, all NaN, that no query sees, and with k, v, their
   scales, mask and bias copied into another layout.  Where one way does not fit, another is taken. */
typedef enum { GROW_BEYOND_LENGTH, GROW_MASKED, GROW_BIASED, GROW_FUTURE, GROW_WAYS } grow_way;
problem *problem_grow(const problem *p, size_t extra, grow_way way);

/* Results, packed: o (batch, q_len, q_heads, d_v), weights and lse as in mha_desc, NULL where d has none. */
typedef struct {
  float *o, *weights, *lse;
  size_t o_count, weights_count, lse_count;
} result;

result result_new(const mha_desc *d);
void   result_free(result *r);

/* Fills o, with its padding, weights and lse with an odd number. */
void problem_clear(problem *p);
/* Copies the outputs into r, and checks that memory between the rows of o still holds the odd number. */
void problem_take(problem *p, result *r);
/* 1 where a number in a taken result is not the odd one. */
int result_written(float x);

/* problem_clear, mha_attend (which must succeed) and problem_take. */
void problem_run(problem *p, void *work, size_t work_bytes, result *r);

/* CHECKs that results are the same, NaN like NaN (where no bits are promised: only which are NaN).  `what`
   names the run. */
int result_same(const result *got, const result *want, const char *what, problem *p);

/* How far an element of o is from d->o. */
size_t o_offset(const mha_desc *d, size_t b, size_t i, size_t h);
/* d with strides where it has zeros for "packed". */
mha_desc desc_with_strides(const mha_desc *d);
/* The offset of element (b, row, h) in any tensor of a descriptor from desc_with_strides. */
ptrdiff_t stride_offset(mha_strides s, size_t b, size_t row, size_t h);

#endif
