/* naive.h - the loop of naive.c. */
#ifndef NAIVE_H
#define NAIVE_H

#include <stddef.h>

/* Packed (batch, len, heads, d).  p: kv_len scores for each part. */
typedef struct {
  const float *q, *k, *v;
  float       *o, *p;
  size_t       batch, q_heads, kv_heads, q_len, kv_len, d;
  int          causal;
} naive;

/* The heads of all batches are shared out evenly.  job: a naive */
extern int naive_share(void *job, size_t part, size_t parts);

#endif
