/* firmware.h - what the test programs ask of what they run on: an emulated microcontroller or the desktop. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stddef.h>
#include <stdint.h>

/* Of each board: cortexm.c, riscv.c, avr.c, desktop.c. */
void board_text(const char *text);
void board_exit(int status); /* does not return */
void board_start(void);
unsigned long board_cycles(void); /* since board_start; 0 on boards without a counter of use */

/* board.c */

/* One line: what, name and a number, as in "stack float 812". */
void say(const char *what, const char *name, unsigned long n);
void say_hash(const char *what, const char *name, uint32_t hash);
void say_text(const char *what, const char *text);
/* One hash over all hashes said since the start or the last of these. */
uint32_t said_all(void);
void     say_all(const char *what);

/* Runs a call and says "count NAME CYCLES".  Under QEMU a plugin counts instructions between the marks. */
void mark_begin(void);
void mark_end(void);
void count(const char *name, void (*call)(void));

/* Runs a call on painted stack and says "stack NAME BYTES": how deep it got, its return address included. */
void stack(const char *name, void (*call)(void));

/* FNV-1a over n bytes; start with HASH_START. */
#define HASH_START ((uint32_t)2166136261u)
uint32_t hash_bytes(uint32_t h, const void *p, size_t n);
/* The same over floats, low byte first. */
uint32_t hash_floats(uint32_t h, const float *x, size_t n);

/* Pseudo-random: the upper bits are good, the lower ones are not. */
uint32_t noise_bits(void);
void     noise_seed(uint32_t seed);
/* -2 .. 2 in steps of 2^-22, exact in any arithmetic */
void noise_floats(float *x, size_t n);
/* low .. high, both between -128 and 127 */
void noise_codes(signed char *x, size_t n, int low, int high);

#endif
