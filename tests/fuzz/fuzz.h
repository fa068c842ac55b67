/* fuzz.h - what the harnesses share.  Each is one program: it takes an input of any bytes, lets them choose
   what to call mha.h with, and ends itself where a check fails.  libFuzzer and AFL++ make inputs; main.c
   replays files with any compiler.  The implementation is compiled apart, in mha.c: it alone counts for the
   fuzzer's coverage. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../mha.h"
#include "../check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All calls run the n-th instruction set from now on; 0 and nothing changes where there is none. */
enum { FUZZ_ISAS = 5 };
int fuzz_isa(size_t n);

int check_that(int ok, const char *file, int line, const char *format, ...) {
  va_list list;
  if (ok) return 1;
  fprintf(stderr, "%s:%d: %s: ", file, line, mha_isa());
  va_start(list, format);
  vfprintf(stderr, format, list);
  va_end(list);
  fprintf(stderr, "\n");
  abort();
}

#endif
