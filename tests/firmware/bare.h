/* bare.h - between the start-up code and bare.c. */
#ifndef BARE_H
#define BARE_H

#include "firmware.h"

enum { STATUS_FAULT = 120 };

int  main(void);
void bare_main(void); /* fills .data, clears .bss, runs main and exits with its value */

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);

#endif
