/* mha.h as a shared object, for Python (tests/mha.py).  Every public function is exported as it is.

   cc -O2 -shared -fPIC -o build/shared.so tests/shared.c */
#define MHA_IMPLEMENTATION
#define MHA_TEST_HOOKS
#include "../mha.h"

/* 1 when the instance of that name runs from now on, 0 when this machine lacks it. */
extern int shared_force_isa(const char *name);
int shared_force_isa(const char *name) { return mha__force_isa(name); }

/* The sizes of the descriptor, of the input of mha_s8_prepare and of its output. */
extern size_t shared_s8_sizes(int which);
size_t shared_s8_sizes(int which) {
  return which == 0 ? sizeof(mha_s8_desc) : which == 1 ? sizeof(mha_s8_quant) : sizeof(mha_s8_consts);
}

/* What a program without the structs of mha.h wants of native constants: qk m, left, right; pv m, right. */
extern void shared_s8_factors(const mha_s8_consts *c, int64_t *out);
void shared_s8_factors(const mha_s8_consts *c, int64_t *out) {
  out[0] = c->qk.multiplier, out[1] = c->qk.left, out[2] = c->qk.right;
  out[3] = c->pv.multiplier, out[4] = c->pv.right;
}
