/* build.c - one build of mha.h, the one that -I finds, as a struct named BUILD.

   Static functions: the two builds that compare.c links do not see each other. */
#define MHA_STATIC
#define MHA_TEST_HOOKS
#include "mha.h"

#include "bench.h"

#ifndef BUILD
#  define BUILD build_new
#endif

static int force_isa(const char *name) { return mha__force_isa(name); }

const build BUILD = { mha_attend,         mha_attend_part,   mha_attend_keys, mha_attend_join,
                      mha_multi_head_attention, mha_f16_from_f32, mha_bf16_from_f32, mha_s8_from_f32,
                      mha_work_bytes,     mha_keys_bytes,    mha_desc_bytes,  mha_isa,
                      mha_numerics,       force_isa };
