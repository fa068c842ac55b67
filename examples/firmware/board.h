/* board.h - all that sort.c wants from where it runs: lines of text. */
#ifndef BOARD_H
#define BOARD_H

void put(const char *text);

/* At least width wide, filled with spaces on the left; n >= 0 */
static inline void put_number(unsigned long n, int width) {
  char  digits[24], *p = digits + sizeof digits;
  *--p = '\0';
  do *--p = (char)('0' + n % 10), width--; while (n /= 10);
  for (; width > 0; width--) *--p = ' ';
  put(p);
}

#endif
