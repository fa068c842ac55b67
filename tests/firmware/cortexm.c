/* cortexm.c - start-up for Cortex-M0 to M55 under QEMU: vectors, FPU and MVE on, faults that end the program,
   output and exit by semihosting (the debugger's, or QEMU's, BKPT 0xAB). */
#include "bare.h"

extern uint32_t stack_top[]; /* sections.ld */

static int32_t semihosting(int32_t operation, const void *argument) {
  register int32_t     r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_text(const char *text) { semihosting(0x04, text); } /* SYS_WRITE0 */

void board_exit(int status) {
  uint32_t block[2];
  block[0] = 0x20026u; /* "the application exited", and with what: */
  block[1] = (uint32_t)status;
  for (;;) semihosting(0x20, block); /* SYS_EXIT_EXTENDED */
}

void board_start(void) {}
unsigned long board_cycles(void) { return 0; } /* QEMU knows no cycles, but a plugin counts instructions */

static void fault(void) {
  board_text("fault\n");
  board_exit(STATUS_FAULT);
}

void reset(void);
void reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: CP10 and CP11 are ours */
  __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
  bare_main();
}

typedef union {
  void  *stack;
  void (*code)(void);
} vector;

extern const vector vectors[16];
__attribute__((section(".vectors"), used)) const vector vectors[16] = {
  { stack_top }, /* then reset, NMI, HardFault, MemManage, BusFault, UsageFault, SecureFault */
  { .code = reset }, { .code = fault }, { .code = fault }, { .code = fault }, { .code = fault },
  { .code = fault }, { .code = fault }, { NULL }, { NULL }, { NULL }, /* SVCall and later: */
  { .code = fault }, { .code = fault }, { NULL }, { .code = fault }, { .code = fault }
};
