/* riscv.c - start-up for RV32 on QEMU's machine virt: output by its UART, exit by its test device. */
#include "bare.h"

/* Symbols of sections.ld; the FPU is on (mstatus.FS = 1) where there is one; traps end the program. */
__asm__(
  ".option push\n"
  ".option arch, +zicsr\n"
  ".section .vectors, \"ax\"\n"
  ".globl reset\n"
  "reset:\n"
  "  la sp, stack_top\n"
  "  la t0, trap\n"
  "  csrw mtvec, t0\n"
#ifdef __riscv_flen
  "  li t0, 1 << 13\n"
  "  csrs mstatus, t0\n"
#endif
  "  call bare_main\n"
  ".option pop\n"
  ".text\n");

void board_text(const char *text) {
  while (*text) *(volatile uint8_t *)0x10000000u = (uint8_t)*text++;
}

void board_exit(int status) {
  for (;;) *(volatile uint32_t *)0x100000u = status ? (uint32_t)status << 16 | 0x3333u : 0x5555u;
}

void board_start(void) {}
unsigned long board_cycles(void) { return 0; }

void trap(void);
__attribute__((aligned(4))) void trap(void) {
  board_text("fault\n");
  board_exit(STATUS_FAULT);
}
