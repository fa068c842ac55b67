/* s8.h - the constants that s8_consts.c prints: by arithmetic and channels of a head, and two odd ones. */
#ifndef S8_H
#define S8_H

#include "../../mha.h"

extern const mha_s8_consts tflm_2, tflm_8, tflm_32, tflm_map, native_2, native_8, native_32, native_steep;

#endif
