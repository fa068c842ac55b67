/* mha.c - the implementation, in an object of its own. */
#define MHA_IMPLEMENTATION
#include "../../mha.h"
