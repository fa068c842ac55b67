/* main.c - replays files as inputs of a harness, where no fuzzer brings a main of its own.  `-` is the
   standard input, for afl-fuzz. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  static uint8_t data[1 << 16];
  int            n;
  for (n = 1; n < argc; n++) {
    FILE    *file = strcmp(argv[n], "-") == 0 ? stdin : fopen(argv[n], "rb");
    size_t   size;
    uint8_t *input; /* of just that size, so that reading beyond it shows */
    if (!file) {
      perror(argv[n]);
      return 2;
    }
    size = fread(data, 1, sizeof data, file);
    if (file != stdin) fclose(file);
    input = (uint8_t *)malloc(size ? size : 1);
    if (!input) return 2;
    memcpy(input, data, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
  }
  printf("%d inputs\n", argc - 1);
  return 0;
}
