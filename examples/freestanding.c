/* freestanding.c - attention without a C library: no headers, no start-up code, no malloc, no printf.

   cc -O2 -ffreestanding -nostdlib -static examples/freestanding.c && ./a.out     (Linux, x86-64 or aarch64)

   This is hello.c again, started by its own _start and printing with one system call.
   Elsewhere call main_without_libc from your reset handler or a task, and let write_text feed your UART.
   Where the stack is small, define MHA_STACK_BYTES too: see OPTIONS in mha.h.

   Expect 2.321 3.321 4.321 5.321 and 3.679 4.679 5.679 6.679. */
#define MHA_IMPLEMENTATION
#include "../mha.h"

/* Even a freestanding compiler may call these for its own ends, and expects to find them. */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);

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

/* The kernel jumps to _start with an aligned stack; the call makes that look like any other function's. */
#if defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__)
static long system_call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
enum { WRITE = 1, EXIT = 231 };
__asm__(".globl _start\n_start:\n  xorl %ebp, %ebp\n  call main_without_libc\n");
#elif defined(__linux__) && defined(__aarch64__)
static long system_call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
enum { WRITE = 64, EXIT = 94 };
__asm__(".globl _start\n_start:\n  bl main_without_libc\n");
#else
#error "system_call and _start are written for Linux on x86-64 and aarch64: put those of your system here"
#endif

static int write_text(const char *text, long n) {
  return system_call(WRITE, 1, (long)(intptr_t)text, n) == n;
}

/* Three decimals of 0 <= x < 10, to nearest; returns the thousandths. */
static int put_number(char *text, float x) {
  int n = (int)(x * 1000.0f + 0.5f);
  text[0] = (char)('0' + n / 1000 % 10);
  text[1] = '.';
  text[2] = (char)('0' + n / 100 % 10);
  text[3] = (char)('0' + n / 10 % 10);
  text[4] = (char)('0' + n % 10);
  return n;
}

void main_without_libc(void);
void main_without_libc(void) {
  static const float qk[8] = { 1, 0, 0, 1,   0, 1, 1, 0 }; /* as in hello.c */
  static const float v[8]  = { 1, 2, 3, 4,   5, 6, 7, 8 };
  static const int   want[8] = { 2321, 3321, 4321, 5321, 3679, 4679, 5679, 6679 };
  float              out[8];
  char               text[8 * 6];
  int                i, wrong = mha_multi_head_attention(out, qk, qk, v, 2, 4, 2) != MHA_OK;
  for (i = 0; i < 8 && !wrong; i++) {
    wrong = put_number(text + i * 6, out[i]) != want[i];
    text[i * 6 + 5] = i % 4 == 3 ? '\n' : ' ';
  }
  if (!wrong) wrong = !write_text(text, (long)sizeof text);
  for (;;) system_call(EXIT, wrong, 0, 0);
}
