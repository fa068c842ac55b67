/* board.c - everything between reset and main on a Cortex-M, and text by semihosting: the debugger, or QEMU,
   prints what the program hands over with the instruction bkpt 0xab.  On a board without a debugger it would
   stop there: let put feed your UART instead. */
#include "board.h"
#include <stddef.h>
#include <stdint.h>

int main(void);

/* Their addresses, which the linker script sets, are what counts. */
extern uint32_t text_end[], const_end[], data_in_flash[], data_start[], data_end[], bss_start[], bss_end[];
extern uint32_t stack_limit[], stack_top[];

/* ---- Semihosting ---- */

enum { SYS_WRITE0 = 4, SYS_EXIT_EXTENDED = 32, APPLICATION_EXIT = 0x20026 };

static void semihost(int operation, const void *argument) {
  register int         r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void put(const char *text) { semihost(SYS_WRITE0, text); }

static void end(int status) {
  const uint32_t block[2] = { APPLICATION_EXIT, (uint32_t)status };
  semihost(SYS_EXIT_EXTENDED, block);
  for (;;) {}
}

/* ---- What a compiler may call even if nobody wrote it; leave them out beside a C library ---- */

/* volatile: lest they are recognised as what they are, and call themselves; used: lest -flto drops them */
__attribute__((used)) void *memcpy(void *to, const void *from, size_t n);
void *memcpy(void *to, const void *from, size_t n) {
  volatile unsigned char *t = (volatile unsigned char *)to;
  const unsigned char    *f = (const unsigned char *)from;
  for (; n; n--) *t++ = *f++;
  return to;
}

__attribute__((used)) void *memset(void *to, int byte, size_t n);
void *memset(void *to, int byte, size_t n) {
  volatile unsigned char *t = (volatile unsigned char *)to;
  for (; n; n--) *t++ = (unsigned char)byte;
  return to;
}

/* ---- The memory map ---- */

static const uint32_t PAINT = 0xC5C5C5C5u;

static void put_line(const char *what, const uint32_t *from, const uint32_t *to) {
  put(what);
  put_number((unsigned long)((uintptr_t)to - (uintptr_t)from), 6);
  put(" bytes\n");
}

static void put_map(void) {
  const uint32_t *used = stack_limit;
  while (used < stack_top && *used == PAINT) used++;
  put("flash  code           ");
  put_line("", NULL, text_end); /* flash begins at 0 here, with the vectors */
  put_line("       constants      ", text_end, const_end);
  put_line("       copy of data   ", data_start, data_end);
  put_line("RAM    data           ", data_start, data_end);
  put_line("       bss            ", bss_start, bss_end);
  put_line("       deepest stack  ", used, stack_top);
  put_line("       of a stack of  ", stack_limit, stack_top);
}

/* ---- Start ---- */

void reset(void);
void reset(void) {
  const uint32_t    *from = data_in_flash;
  volatile uint32_t *to;
#ifdef __ARM_FP /* -mfloat-abi=hard or softfp: the FPU is off until CPACR says otherwise */
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
  __asm__ volatile("dsb\n isb");
#endif
  for (to = data_start; to < data_end;) *to++ = *from++;
  for (to = bss_start; to < bss_end;) *to++ = 0;
  /* Paint the stack below this function's frame, so as to see later how deep it went. */
  for (to = stack_limit; to < (uint32_t *)__builtin_frame_address(0) - 16;) *to++ = PAINT;
  {
    const int status = main();
    put_map();
    if (stack_limit[0] != PAINT) put("the stack was too small\n"), end(3);
    end(status);
  }
}

void fault(void);
__attribute__((used)) void fault(void) {
  put("fault, perhaps for want of stack\n");
  end(4);
}

/* The stack lies at the beginning of RAM, so that one too small faults instead of overwriting data.  The
   handler then begins at its top again, as the first vector has it. */
__attribute__((naked)) static void on_fault(void) { __asm__("movs r0, #0\n ldr sp, [r0]\n b fault"); }

/* Initial stack pointer, reset, then NMI and the faults; interrupts would follow from entry 16 on. */
typedef union {
  uint32_t *stack;
  void (*handler)(void);
} vector;

extern const vector vectors[16];
__attribute__((section(".vectors"), used)) const vector vectors[16] = {
  { stack_top },           { .handler = reset },    { .handler = on_fault }, { .handler = on_fault },
  { .handler = on_fault }, { .handler = on_fault }, { .handler = on_fault }
};
