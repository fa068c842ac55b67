/* avr.c - for an ATmega1284P in simavr: output by the first UART, cycles by timer 1.  The start-up code is
   avr-libc's; simavr ends when the CPU sleeps with interrupts off, always with status 0, so that the last
   line says which it was. */
#include <avr/io.h>
#include <avr/interrupt.h>
#include <avr/sleep.h>

#include "firmware.h"

static void put(char c) {
  UCSR0B = 1 << TXEN0;
  while (!(UCSR0A & (1 << UDRE0))) {}
  UDR0 = (uint8_t)c;
}

void board_text(const char *text) {
  while (*text) put(*text++);
}

void board_exit(int status) {
  say("exit", "status", (unsigned long)status);
  cli();
  for (;;) sleep_mode();
}

/* Where avr-libc's start-up code goes after main. */
void exit(int status);
void exit(int status) { board_exit(status); }

/* Timer 1 counts 1024 cycles a tick; an interrupt every 2^26 cycles counts its overflows. */
static volatile unsigned overflows;
ISR(TIMER1_OVF_vect) { overflows++; }

void board_start(void) {
  TCCR1A = 0;
  TCCR1B = 1 << CS12 | 1 << CS10;
  TIMSK1 = 1 << TOIE1;
  TIFR1 = 1 << TOV1;
  overflows = 0;
  TCNT1 = 0;
  sei();
}

unsigned long board_cycles(void) {
  cli();
  return (unsigned long)overflows << 26 | (unsigned long)TCNT1 << 10;
}
