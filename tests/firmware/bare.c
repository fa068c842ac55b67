/* bare.c - without a C library: memory as C expects it before main, and what compilers call on their own. */
#include <stddef.h>
#include <stdint.h>

#include "bare.h"

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[]; /* sections.ld */

void bare_main(void) {
  uint32_t       *to;
  const uint32_t *from = data_load;
  for (to = data_start; to < data_end; to++) *to = *from++;
  for (to = bss_start; to < bss_end; to++) *to = 0;
  board_exit(main());
}

/* volatile: lest the compiler sees memcpy in the loop and calls the function from within itself */
void *memcpy(void *to, const void *from, size_t n) {
  volatile unsigned char       *t = (volatile unsigned char *)to;
  const volatile unsigned char *f = (const volatile unsigned char *)from;
  while (n--) *t++ = *f++;
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  volatile unsigned char       *t = (volatile unsigned char *)to;
  const volatile unsigned char *f = (const volatile unsigned char *)from;
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, n);
  while (n--) t[n] = f[n];
  return to;
}

void *memset(void *to, int byte, size_t n) {
  volatile unsigned char *t = (volatile unsigned char *)to;
  while (n--) *t++ = (unsigned char)byte;
  return to;
}
