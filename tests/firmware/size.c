/* size.c - a program that does nothing but one call, or not even that: what the call brings along. */
#include "../../mha.h"
#include "firmware.h"

#if defined CALL_FLOAT
#  define CALL mha_multi_head_attention(floats, floats, floats, floats, 1, 1, 1)
#elif defined CALL_TFLM
#  define CALL mha_s8_tflm(&d, 0, MHA_ALL, floats, sizeof floats)
#elif defined CALL_NATIVE
#  define CALL mha_s8_native(&d, 0, MHA_ALL, floats, sizeof floats)
#elif defined CALL_TFLM_LEAN
#  define CALL mha_s8_tflm_lean(&d, 0, MHA_ALL)
#elif defined CALL_NATIVE_LEAN
#  define CALL mha_s8_native_lean(&d, 0, MHA_ALL)
#else
#  define CALL 0
#endif

extern float       floats[]; /* not static: the compiler must not know what lies there */
extern mha_s8_desc d;
float              floats[1];
mha_s8_desc        d;

int main(void);
int main(void) { return CALL; }
