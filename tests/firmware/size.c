/* size.c - a program that does nothing but one call, or not even that: what the call brings along. */
#include "firmware.h"

#if defined CALL_FLOAT
#  include "../../mha.h"
#  define CALL mha_multi_head_attention(floats, floats, floats, floats, 1, 1, 1)
#else
#  define CALL 0
#endif

extern float floats[];
float        floats[1];

int main(void);
int main(void) { return CALL; }
