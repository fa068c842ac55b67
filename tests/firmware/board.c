/* board.c - what is the same on every board: output, marks for counting, painted stack, hashes, noise. */
#include "firmware.h"

void say_text(const char *what, const char *text) {
  board_text(what);
  board_text(" ");
  board_text(text);
  board_text("\n");
}

void say(const char *what, const char *name, unsigned long n) {
  char digits[24], *p = digits + sizeof digits;
  *--p = '\0';
  do *--p = (char)('0' + n % 10u); while (n /= 10u);
  board_text(what);
  board_text(" ");
  say_text(name, p);
}

static uint32_t all = HASH_START;

void say_hash(const char *what, const char *name, uint32_t hash) {
  char text[9];
  int  k;
  for (k = 0; k < 8; k++) text[k] = "0123456789abcdef"[hash >> (28 - 4 * k) & 15u];
  text[8] = '\0';
  board_text("hash ");
  board_text(what);
  board_text(" ");
  say_text(name, text);
  for (k = 24; k >= 0; k -= 8) all = (all ^ (hash >> k & 255u)) * 16777619u;
}

uint32_t said_all(void) {
  const uint32_t hash = all;
  all = HASH_START;
  return hash;
}

void say_all(const char *what) { say_hash(what, "all", said_all()); }

/* ---- Counting ---- */

/* Nothing may move across a mark, and no two functions may become one. */
__attribute__((noinline)) void mark_begin(void) { __asm__ volatile("nop" ::: "memory"); }
__attribute__((noinline)) void mark_end(void) { __asm__ volatile("nop\n\tnop" ::: "memory"); }

void count(const char *name, void (*call)(void)) {
  unsigned long cycles;
  board_start();
  mark_begin();
  call();
  mark_end();
  cycles = board_cycles();
  say("count", name, cycles);
}

/* ---- Stack ---- */

#if defined(__arm__) && !defined(__linux__)
#  define STACK_POINTER(p) __asm__ volatile("mov %0, sp" : "=r"(p))
#elif defined(__riscv) && !defined(__linux__)
#  define STACK_POINTER(p) __asm__ volatile("mv %0, sp" : "=r"(p))
#elif defined(__AVR__)
#  define STACK_POINTER(p) __asm__ volatile("in %A0, 0x3d\n\tin %B0, 0x3e" : "=r"(p))
#endif

#ifdef STACK_POINTER
enum { PAINT = 0xC5 };
extern unsigned char stack_limit[]; /* its lowest byte, from the linker script */

void stack(const char *name, void (*call)(void)) {
  volatile unsigned char *p, *sp; /* volatile: lest the loop becomes a call of memset, which has a frame */
  STACK_POINTER(sp);
  for (p = stack_limit; p < sp; p++) *p = PAINT;
  call();
  for (p = stack_limit; p < sp && *p == PAINT; p++) {}
  if (p == stack_limit) {
    say_text("the stack overflows:", name);
    board_exit(3);
  }
  say("stack", name, (unsigned long)(sp - p));
}
#else
void stack(const char *name, void (*call)(void)) {
  (void)name;
  call();
}
#endif

/* ---- Hashes and noise ---- */

uint32_t hash_bytes(uint32_t h, const void *p, size_t n) {
  const unsigned char *bytes = (const unsigned char *)p;
  size_t               k;
  for (k = 0; k < n; k++) h = (h ^ bytes[k]) * 16777619u;
  return h;
}

uint32_t hash_floats(uint32_t h, const float *x, size_t n) {
  size_t k;
  int    shift;
  for (k = 0; k < n; k++) {
    union { float x; uint32_t u; } bits;
    bits.x = x[k];
    for (shift = 0; shift < 32; shift += 8) h = (h ^ (bits.u >> shift & 255u)) * 16777619u;
  }
  return h;
}

static uint32_t noise_state;
void     noise_seed(uint32_t seed) { noise_state = seed; }
uint32_t noise_bits(void) { return noise_state = noise_state * 1664525u + 1013904223u; }

void noise_floats(float *x, size_t n) {
  size_t k;
  for (k = 0; k < n; k++) x[k] = (float)(noise_bits() >> 8) / 4194304.0f - 2.0f;
}

void noise_codes(signed char *x, size_t n, int low, int high) {
  size_t         k;
  const uint32_t values = (uint32_t)(high - low + 1);
  for (k = 0; k < n; k++) x[k] = (signed char)(low + (int)((noise_bits() >> 16) * values >> 16));
}
