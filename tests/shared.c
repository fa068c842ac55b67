/* mha.h as a shared object, for Python (tests/mha.py).  Every public function is exported as it is.

   cc -O2 -shared -fPIC -o build/shared.so tests/shared.c */
#define MHA_IMPLEMENTATION
#define MHA_TEST_HOOKS
#include "../mha.h"

/* 1 when the instance of that name runs from now on, 0 when this machine lacks it. */
extern int shared_force_isa(const char *name);
int shared_force_isa(const char *name) { return mha__force_isa(name); }
