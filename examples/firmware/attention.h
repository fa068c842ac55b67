/* Printed by examples/quantize.c for
   native
   d_k=8
   kv_len=25
   q=0.0603618,0
   k=0.0604491,0
   v=0.243275,0
   o=0.198226,0 */
#ifndef ATTENTION_SCRATCH_BYTES
#include "mha.h"

/* d.consts = attention; */
static const mha_s8_consts attention[1] = {
  { MHA_S8_NATIVE, 0, 0, 0, 0, 0, 8u, 25u,
    { 2046356923, 0, 0 }, { 1317761230, 0, 45 }, 0, 0,
    NULL, NULL }
};

#define ATTENTION_SCRATCH_BYTES MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, 25, 8)
#endif
