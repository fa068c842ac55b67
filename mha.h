/* mha.h - v0.4.1 - multi-head attention, one C header without dependencies - licence at the end

   CONTENTS (search for the headings)

      QUICK START   LAYOUT   SEMANTICS   ARITHMETIC   ACCURACY   INTEGER ATTENTION   MEMORY AND THREADS
      OPTIONS   LIMITS   REVISIONS
      == API ==   == Implementation ==   == Kernels ==   == Licence ==


   QUICK START

   Copy mha.h beside your sources.  In exactly one C or C++ file:

      #define MHA_IMPLEMENTATION
      #include "mha.h"

   and include it without the #define wherever else you need it.  This is a whole program, hello.c; cc -O2
   hello.c builds it:

      #include <stdio.h>
      #define MHA_IMPLEMENTATION
      #include "mha.h"

      int main(void) {
        const float qk[8] = { 1, 0, 0, 1,   0, 1, 1, 0 }; // one row per token, two columns per head
        const float v[8]  = { 1, 2, 3, 4,   5, 6, 7, 8 };
        float       out[8];
        int         i;
        mha_status  status = mha_multi_head_attention(out, qk, qk, v, 2, 4, 2); // 2 tokens, 4 channels,
                                                                                 // 2 heads
        if (status != MHA_OK) {
          printf("%s\n", mha_strerror(status));
          return 1;
        }
        for (i = 0; i < 8; i++) printf("%.3f%c", (double)out[i], i % 4 == 3 ? '\n' : ' ');
        return 0;
      }

   It prints

      2.321 3.321 4.321 5.321
      3.679 4.679 5.679 6.679

   Everything else goes through one zero-initialised struct.  Decoding one token with grouped heads from a
   cache of (token, kv head, channel):

      mha_desc d = { 0 };                  // in C++: mha_desc d = {};
      d.batch = 1, d.q_heads = 32, d.kv_heads = 8, d.q_len = 1, d.kv_len = tokens_so_far, d.d_k = 128;
      d.o = out, d.q = query, d.k = key_cache, d.v = value_cache;
      status = mha_attend(&d, NULL, 0);


   LAYOUT

   The model dimension is cut into heads: head h is columns h * d_k .. (h + 1) * d_k - 1 of each row.

                 head 0     head 1                     (num_heads, seq_len, d_k), where a head is contiguous:
      row 0    a  b | c  d        mha_split_heads
      row 1    e  f | g  h       ---------------->     head 0: a b / e f / i j      head 1: c d / g h / k l
      row 2    i  j | k  l       <----------------
                                  mha_merge_heads      (reading that memory as 3 rows of 4 is not merging)

   A row-major (seq_len, d_model) matrix therefore is (len, heads, channels) already, and
   mha_multi_head_attention and the default of mha_desc, packed (batch, len, heads, channels), split and
   merge for free.  Any other order is a matter of strides, in elements.  Once any stride of a tensor is set,
   set all three: one left at 0 repeats that index.

      head-major (batch, heads, len, channels)     row = channels, head = len * channels,
                                                   batch = heads * len * channels
      q, k and v in one buffer of packed rows      row = 3 * d_model, head = d_k, batch = len * 3 * d_model
      k_scale, v_scale as mha_s8_from_f32 writes   row = kv_heads, head = 1, batch = kv_len * kv_heads
      them for a packed cache                      (all zero would be one scale for the whole tensor)

   The channels of a row are contiguous.  A pointer needs the alignment of its element type, no more.


   SEMANTICS

   For query row i of a head and each key row j that it may see:

      score_ij  = scale * sum over c of q_ic k_jc              scale = 1/sqrt(d_k) by default
      score_ij  = softcap * tanh(score_ij / softcap)           if there is a soft cap
      score_ij += bias_ij - slope * |position_i - position_j|  if there are biases, ALiBi slopes
      weight_ij = exp(score_ij) / (sum over j of exp(score_ij) + exp(sink))     the sink if there is one
      o_ic      = sum over j of weight_ij v_jc
      lse_i     = natural logarithm of the denominator of weight_ij

   Visibility.  A key is visible if every rule that is given admits it: j < kv_lens[b]; with MHA_CAUSAL
   position_j <= position_i; with MHA_USE_WINDOW position_i - window_left <= position_j <= position_i +
   window_right (so that the last W tokens are window_left = W - 1), or 0 <= position_j < keep_first; a
   nonzero mask byte; a bias other than -inf.  A very negative finite bias hides nothing.

   Positions.  q_start = number of keys already cached is what decoding with MHA_CAUSAL wants; MHA_Q_LAST says
   it without a number, per batch member.  Nothing is guessed from q_len and kv_len.  A prompt padded on the
   right (kv_lens, q_len = kv_len) wants q_start = 0, not MHA_Q_LAST; its padded query rows are computed like
   any other.

   A row that sees no key gets output +0, weights 0, LSE -inf (the sink, where there is one) and no error;
   kv_len 0 is legal.  A row that sees keys whose scores all overflow to -inf, and has no sink, is NaN.

   Hidden keys are not used: NaN or garbage behind a mask, in the future, outside the window or in unused
   slots changes no bit of the output, and memory at or beyond kv_lens is not read.  (Hidden rows below
   kv_lens may be read, though not used: memory checkers may report uninitialised ones.)  What a query sees
   propagates: NaN in q, k or v always, even where the weight underflows to 0, infinities as arithmetic has
   it (a score of -inf is weight 0).

   Grouped queries.  Query head h reads kv head h / (q_heads / kv_heads).

   In place.  o may be q itself, with the same strides and d_v = d_k, if one row's scaled query, 4 * d_k
   bytes, fits the workspace from its first multiple of 4 on; without one surely up to d_k = 512 (with
   MHA_STACK_BYTES 4096), where mha_check, which knows no workspace, accepts more.  Every other overlap of an
   output with anything is refused, also an o interleaved with a packed Q, K, V buffer.

   Errors.  Each call first checks everything; after an error nothing has been written.  Options that would be
   ignored or contradict each other are errors: a window or keep_first without MHA_USE_WINDOW, scales without
   MHA_S8, q_start beside q_starts or MHA_Q_LAST, kv_start beside kv_starts, weights with mha_attend_keys.
   Strides of an absent array are allowed, and so are positions that no rule looks at, within the LIMITS.


   ARITHMETIC

   Results do not depend on the instruction set, the compiler, its optimisation, the number of parts or
   threads, the workspace, or the company of a row: row i of a causal prefill and decoding step i have the
   same bits.  This holds between builds for which mha_numerics() names the same roundings, because their
   order is fixed ("numerics 1"):

   Everything is float32, one rounding to nearest even per line; fma rounds once or, in builds that multiply
   then add, twice.  c = scale * log2e; with a soft cap c = (scale / softcap) * 2 log2e.
      1. q'_c = q_c * c; s_j = fma(q'_c, k_jc, s_j) from +0, c ascending; then, for int8 keys,
         s_j = fma(s_j, k_scale_j, +0).
      2. Soft cap: s_j = fma(T(s_j), softcap * log2e, +0).  Bias: s_j = fma(bias_j, log2e, s_j), or -FLT_MAX
         where that overflows from a finite s_j.  ALiBi: s_j = fma(slope * log2e, -|distance|, s_j).
      3. Keys form blocks of 128 by position, floor(position / 128).  In a block m_b is the largest visible
         s_j, p_j = E(s_j - m_b), and l_b the sum of p_j in 16 lanes (position mod 16), ascending, after which
         lanes 8, 4, 2, 1 apart are added; o_b = fma(p_j, v_j, o_b) from +0, j ascending, with p_j * v_scale_j
         for p_j where values are int8.
      4. Blocks fold in ascending order, from m = -FLT_MAX, l = o = 0.  If m_b > m: e = E(m - m_b),
         l = fma(l, e, l_b), o = fma(o, e, o_b), m = m_b; else e = E(m_b - m), l = fma(l_b, e, l),
         o = fma(o_b, e, o).  A sink is one more block: m_b = fma(sink, log2e, +0), l_b = 1, o_b = 0.
      5. o = fma(o, 1/l, +0); weights fma(E(s_j - m), 1/l, +0); LSE fma(m, ln2, ln(l)).
   E (2^x), T (a tanh), ln and every constant stand in the Kernels section, where they are the same for all.

   Not part of it: NaN payloads, subnormals flushed by the machine's mode, rounding modes other than to
   nearest, flags.


   ACCURACY

   With u = 2^-24, n = visible keys + 1, T = the largest over visible keys of |scale| sum_c |q_c k_c| +
   |bias| + |slope| distance, and D = u (d_k + 16) T:

      |o - exact|       <= max|v| (e^(2D) - 1 + u (min(n,128) + n/20 + 2 ln n + 30)) + 2^-126 sum|v|
                           + (n + 4) 2^-149
      |weight - exact|  <= weight (e^(2D) - 1 + u (n/20 + 2 ln n + 2 |sink| + 100)) + 2^-125
      |lse - exact|     <= D + u (2 |lse| + 2 |sink| + n/20 + 4 ln n + 20)

   and where mha_numerics() says "multiply then add" D = u (2 d_k + 20) T, min(n,128) doubled and n/12 for
   n/20.  The stored inputs count as exact.  It holds while c, softcap * log2e, |bias| log2e, |sink| log2e,
   sum|q'k| and sum|v| stay below 2^127, c and each q' are 0 or at least 2^-126, and each v_scale is 0 or at
   least 2^-100.  There is no bound in the logits alone: a dot product that cancels loses it.

   Measured, the worst share of the bound in o, weights, lse (make accuracy; it also draws how errors grow
   with keys and logits beside those of the naive loop):

                               float32, inputs   float32,      keys, values
                               made to reach it  others        of f16        bf16          int8
      hardware, software fma   .35 .91 .91       .18 .22 .25   .07 .08 .22   .06 .08 .23   .08 .09 .22
      multiply then add        .19 .47 .47       .18 .17 .24   .06 .06 .20   .06 .07 .22   .07 .08 .21


   INTEGER ATTENTION   the mha_s8_ functions

   int8 in, int8 out, as quantised models have it: real number = scale * (code - zero), with a scale and a
   zero point for each of q, k, v, o.  mha_s8_prepare makes plain integers of these once, on any machine, and
   proves on the way that no sum can overflow; the calls then use integers only, and MHA_NO_FLOAT leaves
   floating point out of the object altogether.  There are two arithmetics, both exact to the bit on every
   machine and for every division of the work:

   MHA_S8_TFLM   what TensorFlow Lite for Microcontrollers computes for BATCH_MATMUL, SOFTMAX, BATCH_MATMUL:
                 every logit an int8 code, every weight a multiple of 1/256, double rounding, its table of
                 exponentials.  For models that were trained or tested with that.  Where the exponentials of a
                 row add up to 512 or more (as for 512 keys that are alike), which that library refuses, the
                 row becomes o.zero and the call returns MHA_WARN_SUM.
   MHA_S8_NATIVE no codes in between: needs no scale for logits, no calibration of them and no table, loses
                 nothing on long rows, and is the more exact one.  For everything else.

   The native result, for a row that sees at least one key; >> rounds down, the integers do not overflow, f is
   the constants' factor multiplier * 2^left / 2^(32 + right):

      acc_j = sum over c of (q_c - q.zero) (k_jc - k.zero)         M = the largest acc_j of a visible key
      t_j   = floor((M - acc_j) * f(qk) + 1/2)                      distance below M, in 256ths of an octave
      e_j   = 0 if t_j >= 4096; else, with n = t_j >> 8, a = t_j >> 4 & 15, b = t_j & 15,
              x = (A_a B_b + 2^14) >> 15,  e_j = (x + (2^n >> 1)) >> n                2^-(t_j / 256) in Q0.15
              A_a = 32767 * 2^(-a/16) and B_b = 32768 * 2^(-b/256), to the nearest integer
      L     = sum over j of e_j             S_c = sum over j of e_j (v_jc - v.zero)
      z     = leading zeros of L in 32 bits            R = 2^62 / (L 2^z), as mha__s8_reciprocal has it
      F     = (R * pv.multiplier + 2^30) >> 31
      o_c   = o.zero + ((((S_c 2^z) >> 16) * F + 2^(pv.right - 1)) >> pv.right), clamped to -128 .. 127

   mha_s8_tflm and mha_s8_native take scratch for two rows of scores, the lean ones none.  Visibility works as
   above: MHA_CAUSAL, MHA_Q_LAST, windows, q_start, mask; key j is at position j.  Since sums of integers have
   no order, a ring buffer of keys may be read as it lies, as long as no rule looks at positions.

   With MHA_NO_FLOAT the constants come from elsewhere: examples/quantize.c prints them as C source.


   MEMORY AND THREADS

   Nothing is allocated.  Without a workspace a stack buffer of MHA_STACK_BYTES serves, whatever the sizes;
   the deepest call takes less than 5 KB beside it in optimised builds, and one of integer attention less than
   1 KB in all.  (Where the scalar instance is the only one, as on microcontrollers, level 1 takes less than
   1 KB in all; in place, of more than 128 tokens, MHA_STACK_BYTES more.)  A workspace makes many query rows
   up to three times as fast, up to mha_work_bytes(); any size will do.  Set o, q, k and v before asking for
   it.

   All functions are safe in many threads.  The only mutable global is the cached choice of the instruction
   set.  To share a call, run mha_attend_part(&d, part, parts, work, work_bytes) for part = 0 .. parts - 1, in
   any threads and order, each with a workspace of its own.  Where there are fewer query rows than threads,
   share the keys:

      bytes = mha_keys_bytes(&d), shared = malloc(bytes);      // does not depend on parts
      mha_attend_keys(&d, part, parts, shared, bytes);         // in each thread; the same parts everywhere
      mha_attend_join(&d, shared, bytes);                      // once, after all of them


   OPTIONS   macros; where the implementation is compiled, unless it says otherwise

      MHA_IMPLEMENTATION    compile the implementation here
      MHA_STATIC            the same with all functions static: several files may each have their own
      MHADEF                what stands before each function (wherever you include), as dllexport would
      MHA_FILE              ["mha.h"] the name under which this file includes itself: set it if you rename it
      MHA_STACK_BYTES       [4096] size of the stack buffer, at least 1536
      MHA_NO_SIMD           only the scalar instance (on x86-64 without -mfma: multiply then add, other bits)
      MHA_EXACT_FMA         where the machine has no fma, compute it in software: slower, but the bits of
                            machines that have it
      MHA_NO_FMA            multiply then add everywhere, for comparing with machines without fma; compile
                            with -ffp-contract=off then, or the compiler may fuse after all, unknown to
                            mha_numerics()
      MHA_ALLOW_FAST_MATH   do not refuse -ffast-math and its parts; all promises about NaN, -inf and bits
                            end.  (Clang tells a header only of the whole, not of parts such as
                            -funsafe-math-optimizations: never use those.)
      MHA_NO_FLOAT          only integer attention, without a float or double anywhere (wherever you include)
      MHA_NO_S8             no integer attention (wherever you include)
      MHA_S8_UNCHECKED      integer attention trusts its arguments, for the sake of flash: make every call of
                            your program in a build without it first
      MHA_S8_ROWS           [2, with -Os on microcontrollers 1] query rows that integer attention takes at
                            once: 2 is several times faster, 1 takes the least flash
      MHA_TEST_HOOKS        adds mha__force_isa for the tests


   LIMITS

   float32 or int8 queries and outputs; no dropout, no training; no masks other than bytes, biases and the
   rules above.  Float kernels: scalar, SSE2, AVX2 with FMA and AVX-512F (chosen at run time), NEON (AArch64),
   SIMD128 in WebAssembly (compiled with -msimd128).  Integer kernels, all with the same bits: scalar, AVX2
   (chosen at run time), NEON (AArch64), DSP and Helium (microcontrollers).  Positions lie within
   +-PTRDIFF_MAX/4.  Compilers may call memcpy, memset and memmove.


   REVISIONS

      0.4.1  2026-11-30  found by fuzzing and breaking: gcc's -mavx512f and -fsingle-precision-constant, huge
                         d_k in mha_s8_prepare, fused sums in mha_s8_calibrate, pointers beside empty tensors,
                         macros named like attributes; the same bits
      0.4.0  2026-11-30  integer kernels for AVX2, NEON and Helium, MHA_S8_ROWS; the same bits
      0.3.0  2026-11-30  integer attention, microcontrollers
      0.2.0  2026-11-30  faster throughout, SIMD128 in WebAssembly; the same bits
      0.1.0  2026-11-29  first version
*/
#if defined(MHA_VERSION) && MHA_VERSION != 401
#  error "two different copies of mha.h in one file (a renamed header needs MHA_FILE)"
#endif

#ifndef MHA__ISA /* the ordinary pass; the #else far below is the kernel template */

/* == API == */
#ifndef MHA_H
#define MHA_H

#include <stddef.h>
#include <stdint.h>

#define MHA_VERSION        401 /* 0.4.1 = 0 * 10000 + 4 * 100 + 1 */
#define MHA_VERSION_STRING "0.4.1"
#define MHA_NUMERICS       1   /* the order of roundings, see ARITHMETIC; another number, other bits */

#ifndef MHADEF
#  if defined(MHA_STATIC) && defined(__GNUC__)
#    define MHADEF static __attribute__((__unused__))
#  elif defined(MHA_STATIC)
#    define MHADEF static
#  elif defined(__cplusplus)
#    define MHADEF extern "C"
#  else
#    define MHADEF extern
#  endif
#endif

/* What every call returns.  After an error, which is less than 0, nothing was written (but for the o of
   mha_s8_calibrate). */
typedef enum {
  MHA_OK          = 0,
  MHA_WARN_SUM    = 1,   /* mha_s8_tflm: exponentials of a row added up to 512 or more */
  MHA_ERR_NULL    = -1,  /* a required pointer is NULL: o, q, k, v, a scale of MHA_S8, d, consts, exp_table */
  MHA_ERR_SHAPE   = -2,  /* a size that must be at least 1 is 0 */
  MHA_ERR_HEADS   = -3,  /* num_heads does not divide d_model, or kv_heads does not divide q_heads */
  MHA_ERR_STRIDE  = -4,  /* a stride is negative, rows of o coincide or interleave, consts_stride exceeds 1 */
  MHA_ERR_RANGE   = -5,  /* sizes or strides overflow the address space, or positions leave +-PTRDIFF_MAX/4 */
  MHA_ERR_VALUE   = -6,  /* scale, softcap, zero point out of range; a number not finite; exp_table empty */
  MHA_ERR_FLAG    = -7,  /* an unknown bit in flags; often memory that was never zero-initialised */
  MHA_ERR_TYPE    = -8,  /* an unknown k_type or v_type, or constants of the other mode or of none */
  MHA_ERR_OPTION  = -9,  /* an option that would be ignored or contradicts another one */
  MHA_ERR_LENGTH  = -10, /* a kv_lens entry exceeds kv_len; kv_len or d_k, what consts were prepared for */
  MHA_ERR_PART    = -11, /* parts is 0, or part is not below parts */
  MHA_ERR_WORK    = -12, /* a workspace is NULL but has a size; scratch, shared memory: NULL or too small */
  MHA_ERR_OVERLAP = -13, /* an output overlaps an input, another output or the workspace */
  MHA_ERR_ALIGN   = -14  /* a pointer is not aligned for its element type */
} mha_status;

/* A lower-case phrase for a status; never NULL, static storage. */
MHADEF const char *mha_strerror(mha_status status);

/* bits of flags in the descriptors below */
enum {
  MHA_CAUSAL     = 1, /* a key is visible only at or before the query's position */
  MHA_Q_LAST     = 2, /* the last query stands on the last key: query 0 is at kv_start + its kv_len - q_len */
  MHA_USE_WINDOW = 4, /* window_left, window_right and keep_first count */
  MHA_USE_SCALE  = 8  /* scale counts even if it is 0 */
};
#define MHA_OPEN ((size_t)-1) /* a window side without a bound */

#ifndef MHA_NO_FLOAT

/* ---- Level 1: the three steps, and all three at once.  Dense row-major float32. ----

   Outputs may not overlap inputs, with one exception: the out of mha_sdpa and mha_multi_head_attention may
   be q itself up to d_k = 512 (In place, under SEMANTICS).  Inputs may overlap each other.  With seq_len 0
   each call is OK and writes nothing. */

/* heads[h][i][c] = x[i][h * d_k + c]      x: (seq_len, num_heads * d_k)   heads: (num_heads, seq_len, d_k) */
MHADEF mha_status mha_split_heads(float *heads, const float *x, size_t seq_len, size_t num_heads, size_t d_k);

/* out[h] = softmax(q[h] k[h]^T / sqrt(d_k)) v[h]        all (num_heads, seq_len, d_k) */
MHADEF mha_status mha_sdpa(float *out, const float *q, const float *k, const float *v, size_t seq_len,
                           size_t num_heads, size_t d_k);

/* x[i][h * d_k + c] = heads[h][i][c]: the inverse of mha_split_heads, and not a mere reshape of heads */
MHADEF mha_status mha_merge_heads(float *x, const float *heads, size_t seq_len, size_t num_heads, size_t d_k);

/* Split, attend in every head, merge, without a copy of any head: head h is columns h * d_k .. (h + 1) * d_k.
   All (seq_len, d_model); d_k = d_model / num_heads.  The same bits as the three steps above. */
MHADEF mha_status mha_multi_head_attention(float *out, const float *q, const float *k, const float *v,
                                           size_t seq_len, size_t d_model, size_t num_heads);

/* ---- Level 2: one descriptor, zero-initialised (mha_desc d = {0}; in C++ {}), and one call ---- */

typedef enum { MHA_F32 = 0, MHA_F16, MHA_BF16, MHA_S8 } mha_type; /* float, uint16_t, uint16_t, signed char */

typedef struct { ptrdiff_t batch, head, row; } mha_strides; /* in elements, from one index to the next */

/* Sizes are required, everything else may stay 0, which means what stands in [brackets].
   Options that would be ignored or contradict each other are errors (Errors, under SEMANTICS). */
typedef struct mha_desc {
  size_t batch, q_heads, q_len, kv_len, d_k; /* required; with batch or q_len 0 there is no row */
  size_t kv_heads; /* [q_heads] must divide q_heads; query head h reads kv head h / (q_heads / kv_heads) */
  size_t d_v;      /* [d_k] channels of a value and of an output row */

  /* (batch, len, heads, channels).  All three strides zero: packed in that order.  Otherwise as given,
     each >= 0; an input's stride of 0 repeats the same memory.  Channels are contiguous. */
  float *o;       mha_strides o_stride; /* (batch, q_len, q_heads, d_v)    written in full */
  const float *q; mha_strides q_stride; /* (batch, q_len, q_heads, d_k) */
  const void *k;  mha_strides k_stride; /* (batch, kv_len, kv_heads, d_k)  rows from kv_lens on: not read */
  const void *v;  mha_strides v_stride; /* (batch, kv_len, kv_heads, d_v)  likewise */
  int k_type, v_type;                   /* [MHA_F32] an mha_type each */
  const float *k_scale, *v_scale;       /* for MHA_S8: element = code * scale; (batch, kv_len, kv_heads) */
  mha_strides k_scale_stride, v_scale_stride; /* a zero stride repeats: all zero is one scale for all */

  unsigned flags;   /* MHA_CAUSAL and so on, or-ed */
  float    scale;   /* [1/sqrt(d_k)] any finite value, negative too; with MHA_USE_SCALE 0 too */
  float    softcap; /* [none] score = softcap * tanh(score / softcap) */

  /* Positions: query i is at q_start + i, key j at kv_start + j; or per batch from q_starts, kv_starts. */
  ptrdiff_t        q_start, kv_start;         /* [0] */
  const ptrdiff_t *q_starts, *kv_starts;      /* [NULL] (batch) */
  const size_t    *kv_lens;                   /* [NULL] (batch) keys that exist, each <= kv_len */
  size_t           window_left, window_right; /* from that many before the query to that many behind it */
  size_t           keep_first;                /* keys at positions 0 .. keep_first - 1 are always inside */

  /* (batch, q_heads, q_len, kv_len); a zero stride repeats; keys are contiguous */
  const unsigned char *mask; mha_strides mask_stride; /* [NULL] nonzero = visible */
  const float         *bias; mha_strides bias_stride; /* [NULL] added to the score; -inf hides */
  const float *alibi_slopes; /* [NULL] (q_heads) score -= slope * |query position - key position| */
  const float *sinks;        /* [NULL] (q_heads) a logit that takes part in the softmax and has no value */

  float *weights; /* [NULL] out (batch, q_heads, q_len, kv_len) packed: the softmax itself */
  float *lse;     /* [NULL] out (batch, q_heads, q_len) packed: natural log of the sum of exponentials */
} mha_desc;

/* Attention as described by d.

   work  any memory of any alignment, of any size, its contents do not matter; NULL (and 0): a stack buffer of
         MHA_STACK_BYTES serves.  More is faster, up to mha_work_bytes(d).  The result has the same bits.

   Safe to call from many threads at once with disjoint outputs and workspaces. */
MHADEF mha_status mha_attend(const mha_desc *d, void *work, size_t work_bytes);

/* Share `part` of `parts` shares of about equal work, 0 <= part < parts: disjoint query rows of o, weights
   and lse. After all parts, in any order or at once in as many threads, each with its own workspace,
   everything is written. Surplus parts do nothing.  The same bits as mha_attend. */
MHADEF mha_status mha_attend_part(const mha_desc *d, size_t part, size_t parts, void *work,
                                  size_t work_bytes);

/* What the calls above refuse in d, except for what hangs on the workspace.  Does nothing else. */
MHADEF mha_status mha_check(const mha_desc *d);

/* The workspace beyond which more does not help; 0 for a descriptor that mha_check refuses, as it does one
   whose o, q, k or v is not set yet. */
MHADEF size_t mha_work_bytes(const mha_desc *d);

/* Few query rows, many keys, several threads: share the keys instead of the rows.

   Every mha_attend_keys(d, part, parts, shared, bytes) computes its share of the key blocks into `shared`,
   which has at least mha_keys_bytes(d) bytes, any alignment, the same for all.  When all are done one
   mha_attend_join(d, shared, bytes) writes o and lse.  weights must be NULL (MHA_ERR_OPTION).  The same bits
   as mha_attend. */
MHADEF size_t     mha_keys_bytes(const mha_desc *d); /* 0 for a descriptor that mha_attend_keys refuses */
MHADEF mha_status mha_attend_keys(const mha_desc *d, size_t part, size_t parts, void *shared,
                                  size_t shared_bytes);
MHADEF mha_status mha_attend_join(const mha_desc *d, void *shared, size_t shared_bytes);

/* ---- Helpers ---- */

/* The standard ALiBi slopes: 2^(-8 (h + 1) / n) for a power of two n, and for other counts those of the
   power of two below, then every second one of the power of two above.  Each is the nearest float. */
MHADEF mha_status mha_alibi_slopes(float *slopes, size_t q_heads);

/* n numbers from one storage type to another: to nearest, ties to even, overflow to infinity, NaN stays NaN.
   f16 is IEEE binary16, bf16 the upper half of a float. */
MHADEF mha_status mha_f16_from_f32(uint16_t *out, const float *in, size_t n);
MHADEF mha_status mha_f32_from_f16(float *out, const uint16_t *in, size_t n);
MHADEF mha_status mha_bf16_from_f32(uint16_t *out, const float *in, size_t n);
MHADEF mha_status mha_f32_from_bf16(float *out, const uint16_t *in, size_t n);

/* Quantise rows for MHA_S8: scales[r] = max(max_c |x[r][c]| / 127, 2^-126), out[r][c] = x[r][c] / scales[r],
   to nearest even, so that |x - out * scale| <= 0.5001 scale.    x, out: (rows, cols)   scales: (rows)
   A row with NaN or infinity is refused (MHA_ERR_VALUE) before anything is written. */
MHADEF mha_status mha_s8_from_f32(signed char *out, float *scales, const float *x, size_t rows, size_t cols);

MHADEF size_t mha_desc_bytes(void); /* sizeof(mha_desc), for callers in other languages */

/* Which instructions run: "scalar", "sse2", "avx2", "avx512", "neon", "wasm". */
MHADEF const char *mha_isa(void);

/* Which roundings run: "hardware fma" and "software fma" have the same bits on every machine, "multiply then
   add" has other bits, the same on every such machine, and "excess precision" (x87 and its like) promises
   none. */
MHADEF const char *mha_numerics(void);

#endif /* MHA_NO_FLOAT */

/* ---- Integer attention: int8 in, int8 out, by integers alone (see INTEGER ATTENTION) ---- */

#ifndef MHA_NO_S8

/* The two arithmetics */
enum { MHA_S8_TFLM = 1, MHA_S8_NATIVE = 2 };

/* A multiplication by multiplier * 2^left / 2^(32 + right). */
typedef struct {
  int32_t multiplier;  /* 0 or 2^30 .. 2^31 - 1 */
  int16_t left, right; /* one of them 0 */
} mha_s8_factor;

/* What the scales and zero points of a layer or head come to.  Plain numbers, made by mha_s8_prepare on any
   machine; may be const, in flash.  Change none of them: the bounds that were proven for them end then. */
typedef struct mha_s8_consts {
  int16_t            mode; /* MHA_S8_TFLM or MHA_S8_NATIVE */
  int16_t            q_zero, k_zero, v_zero, o_zero, logit_zero;
  uint32_t           max_d_k, max_kv_len; /* what they are good for */
  mha_s8_factor      qk;                  /* from q k^T to logits or, native, to 256ths of an octave */
  mha_s8_factor      pv;                  /* from weights times v to o */
  int32_t            exp_multiplier;      /* for mha_s8_exp_table, as is exp_shift */
  int32_t            exp_shift;
  const int32_t     *exp_table; /* MHA_S8_TFLM: 256 entries, see mha_s8_exp_table; else NULL */
  const signed char *logit_map; /* MHA_S8_TFLM: NULL, or 256 entries */
} mha_s8_consts;

typedef struct { ptrdiff_t head, row; } mha_s8_strides; /* in elements, from one index to the next */

/* One call.  Zero-initialise it; sizes, pointers and consts are required, everything else may stay 0, which
   means what stands in [brackets]. */
typedef struct mha_s8_desc {
  size_t q_heads, q_len, kv_len, d_k; /* q_len and kv_len may be 0 */
  size_t kv_heads;                    /* [q_heads] query head h reads kv head h / (q_heads / kv_heads) */
  size_t d_v;                         /* [d_k] */

  /* (len, heads, channels).  Both strides zero: packed in that order.  Otherwise as given, each >= 0; an
     input's stride of 0 repeats the same memory.  Channels are contiguous. */
  signed char       *o; mha_s8_strides o_stride;  /* (q_len, q_heads, d_v) */
  const signed char *q; mha_s8_strides q_stride;  /* (q_len, q_heads, d_k) */
  const signed char *k; mha_s8_strides k_stride;  /* (kv_len, kv_heads, d_k) */
  const signed char *v; mha_s8_strides v_stride;  /* (kv_len, kv_heads, d_v) */

  const mha_s8_consts *consts;        /* one for all heads or, */
  size_t               consts_stride; /* with 1 here, one per query head */

  unsigned  flags;                     /* MHA_CAUSAL, MHA_Q_LAST, MHA_USE_WINDOW */
  ptrdiff_t q_start;                   /* position of query 0; key j is at position j */
  size_t    window_left, window_right; /* from that many keys before the query to that many behind it */

  /* (q_heads, q_len, kv_len); a zero stride repeats; keys are contiguous */
  const unsigned char *mask; mha_s8_strides mask_stride; /* [NULL] nonzero = visible */
} mha_s8_desc;

#define MHA_ALL ((size_t)-1) /* all rows from the first on */

/* Integer attention.  Rows are numbered head * q_len + i; first_row .. first_row + rows - 1 are computed, as
   far as there are so many: any division of the q_heads * q_len rows among calls, in any order or at once,
   each with scratch of its own, gives the same bytes.  A row that sees no key becomes o_zero.

   scratch  at least MHA_S8_SCRATCH_BYTES of any alignment; neither it nor o may overlap anything else
            (overlaps with q, k, v, mask and each other are refused, those with d and constants are not seen)

   mha_s8_tflm takes constants of mode MHA_S8_TFLM, mha_s8_native those of MHA_S8_NATIVE.  The lean ones need
   no scratch: they compute each logit anew for every use, which takes 2 to 12 times as long, the longer the
   wider the heads, and give the same bytes.  What is not called is not linked, where the linker drops unused
   functions.

   MHA_ERR_TYPE for constants of the other mode, MHA_ERR_LENGTH where kv_len or d_k exceeds what they are good
   for, MHA_ERR_WORK for scratch that is NULL or too small, MHA_ERR_VALUE for an exp_table that was never
   filled; as for mha_attend: NULL, SHAPE, HEADS, STRIDE, RANGE, FLAG, OPTION, OVERLAP.  q_len 0, or a
   first_row beyond the last row, is MHA_OK and writes nothing. */
MHADEF mha_status mha_s8_tflm(const mha_s8_desc *d, size_t first_row, size_t rows, void *scratch,
                              size_t scratch_bytes);
MHADEF mha_status mha_s8_native(const mha_s8_desc *d, size_t first_row, size_t rows, void *scratch,
                                size_t scratch_bytes);
MHADEF mha_status mha_s8_tflm_lean(const mha_s8_desc *d, size_t first_row, size_t rows);
MHADEF mha_status mha_s8_native_lean(const mha_s8_desc *d, size_t first_row, size_t rows);

/* What the calls above refuse in d, whatever the scratch and for constants of either mode.  Does nothing
   else. */
MHADEF mha_status mha_s8_check(const mha_s8_desc *d);

/* Bytes of scratch for up to kv_len keys: two rows of scores and two of queries.  A constant expression:
   static uint8_t scratch[MHA_S8_SCRATCH_BYTES(MHA_S8_TFLM, 81, 32)]; and the same as a function, which stops
   at SIZE_MAX. */
#define MHA_S8_SCRATCH_BYTES(mode, kv_len, d_k) \
  ((mode) == MHA_S8_TFLM ? (size_t)(kv_len) * 4 + (size_t)(d_k) * 4 + 71 \
                         : (size_t)(kv_len) * 12 + (size_t)(d_k) * 4 + 207)
MHADEF size_t mha_s8_scratch_bytes(int mode, size_t kv_len, size_t d_k);

/* The table of a softmax, 256 entries, from consts.exp_multiplier and exp_shift; for constants in flash whose
   table is to be made in RAM.  table[d] = exp(-d * scale of the logits) in Q0.31. */
MHADEF mha_status mha_s8_exp_table(int32_t *table, int32_t exp_multiplier, int exp_shift);

#ifndef MHA_NO_FLOAT

typedef struct {
  float scale;
  int   zero;
} mha_s8_affine; /* real number = scale * (code - zero), -128 <= code, zero <= 127 */

/* The quantisation of a layer or head, as a converter gives it.  Zero-initialise it. */
typedef struct mha_s8_quant {
  int                mode;        /* MHA_S8_TFLM or MHA_S8_NATIVE */
  size_t             d_k, kv_len; /* the largest there will be */
  mha_s8_affine      q, k, v, o;
  mha_s8_affine      logits;    /* MHA_S8_TFLM: of the tensor between BATCH_MATMUL and SOFTMAX */
  float              scale;     /* MHA_S8_NATIVE: factor of q k^T [1/sqrt(d_k)]; else SOFTMAX's beta [1] */
  const signed char *logit_map; /* MHA_S8_TFLM: [none] logit code x becomes logit_map[x + 128], */
  float              map_scale; /* on this scale; for what a converter puts between the two */
} mha_s8_quant;

/* Constants from scales, once, here or on another machine.

   consts     is written in full
   exp_table  MHA_S8_TFLM: room for 256 entries, which are written and pointed to; MHA_S8_NATIVE: NULL

   MHA_ERR_VALUE for a scale that is no positive number, a zero point or a ratio of scales out of range;
   MHA_ERR_RANGE where d_k or kv_len could make a sum overflow: d_k <= 33,025 is always in range (more, up to
   131,071, with zero points near 0), kv_len <= 65,535, and, for factors q.scale * k.scale / logits.scale of
   1/2 and more, d_k so small that the product fits 31 bits; MHA_ERR_OPTION for fields of the other mode that
   are not 0. */
MHADEF mha_status mha_s8_prepare(mha_s8_consts *consts, int32_t *exp_table, const mha_s8_quant *quant);

/* out[k] = x[k] / scale + zero, to the nearest code, halves away from zero (before zero is added). */
MHADEF mha_status mha_s8_quantize(signed char *out, const float *x, size_t n, mha_s8_affine affine);

/* Everything of quant but the mode, which is read, from a float attention: the affine maps that just cover
   q, k, v, o and (MHA_S8_TFLM) q k^T, its scale, as beta there, d_k and kv_len; no logit_map.

   d     float q, k and v of a calibration set, with its samples as batch, and o, which is written as by
         mha_attend; no softcap, bias, ALiBi or sinks (MHA_ERR_OPTION).  All keys below kv_lens count, also
         those that no query sees.  MHA_ERR_VALUE where a number is not finite; if it is one of o, then o was
         written.
   head  the query head to look at, or MHA_ALL for one map for all heads */
MHADEF mha_status mha_s8_calibrate(mha_s8_quant *quant, const mha_desc *d, size_t head);

#endif /* MHA_NO_FLOAT */
#endif /* MHA_NO_S8 */

#endif /* MHA_H */

/* == Stop here if you only want to call the library ==

   Below are the implementation, the kernels and, last, the licence. */

/* == Implementation == */
#if (defined(MHA_IMPLEMENTATION) || defined(MHA_STATIC)) && !defined(MHA_IMPLEMENTED)
#define MHA_IMPLEMENTED

#include <float.h>

/* ---- Platform ---- */

#ifndef MHA_FILE
#  define MHA_FILE "mha.h"
#endif

#if defined(MHA_NO_FLOAT) && defined(MHA_NO_S8)
#  error "MHA_NO_FLOAT and MHA_NO_S8 together leave nothing of mha.h"
#endif

#ifndef MHA_STACK_BYTES
#  define MHA_STACK_BYTES 4096
#endif
#if MHA_STACK_BYTES < 1536
#  error "MHA_STACK_BYTES must be at least 1536: one row's scores, a small panel and some channels"
#endif

/* Each of these lets the compiler reorder sums or drop the NaN and infinity tests that results rest on. */
#ifndef MHA_ALLOW_FAST_MATH
#  if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__NO_SIGNED_ZEROS__) || \
      defined(__RECIPROCAL_MATH__) || defined(_M_FP_FAST) || \
      (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ + 0)
#    error "mha.h needs IEEE arithmetic: compile it without -ffast-math (or define MHA_ALLOW_FAST_MATH)"
#  endif
#endif

/* Are floats computed in a wider type (x87, s390x in -std=c99)?  16 means that only _Float16 is. */
#if defined(__FLT_EVAL_METHOD__)
#  define MHA__EVAL_METHOD __FLT_EVAL_METHOD__
#elif defined(FLT_EVAL_METHOD)
#  define MHA__EVAL_METHOD FLT_EVAL_METHOD
#else
#  define MHA__EVAL_METHOD 0
#endif
#if MHA__EVAL_METHOD != 0 && MHA__EVAL_METHOD != 16
#  define MHA__EXCESS
#endif

/* Where the compiler may emit fma in this file, every instance must use it. */
#if !defined(MHA_NO_FMA) && (defined(__GNUC__) || defined(__clang__)) && \
    (defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen) || \
     defined(__VSX__) || defined(__s390x__))
#  define MHA__HARDWARE_FMA
#elif defined(MHA_EXACT_FMA) && DBL_MANT_DIG != 53
#  error "MHA_EXACT_FMA needs a 64-bit double"
#endif

#if !defined(MHA_NO_SIMD) && !defined(__TINYC__) && !defined(MHA__EXCESS)
#  if (defined(__x86_64__) && defined(__SSE2__)) || defined(_M_X64)
#    define MHA__X86
#    if defined(MHA__HARDWARE_FMA) ? defined(__FMA__) : !defined(MHA_EXACT_FMA)
#      define MHA__SSE2 /* has an fma of FMA3 or none; a software one would not be quicker than scalar code */
#    endif
#    include <immintrin.h>
#    if defined(_MSC_VER) && defined(__clang__) /* whose immintrin.h leaves these out without /arch:AVX2 */
#      include <smmintrin.h>
#      include <avxintrin.h>
#      include <avx2intrin.h>
#      include <fmaintrin.h>
#      include <f16cintrin.h>
#      include <avx512fintrin.h>
#    elif defined(_MSC_VER)
#      include <intrin.h>
#    endif
#  elif (defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)) || defined(_M_ARM64)
#    define MHA__NEON
#    include <arm_neon.h>
#  elif defined(__wasm_simd128__) && !defined(MHA_EXACT_FMA) /* no fma here either, see MHA__SSE2 */
#    define MHA__WASM
#    include <wasm_simd128.h>
#  endif
#endif

/* Is the scalar instance the only one?  Then level 1 has a core of its own, with so many channels at once:
   eight, or one where floats are computed by functions, which would be called from everywhere in a tile. */
#if !defined(MHA__X86) && !defined(MHA__NEON) && !defined(MHA__WASM)
#  define MHA__ALONE
#  if defined(__SOFTFP__) || defined(__AVR__) || (defined(__riscv) && !defined(__riscv_flen))
#    define MHA__TILE 1
#  else
#    define MHA__TILE 8
#  endif
#endif

/* GCC and Clang refuse an intrinsic in a function that is not compiled for it; MSVC accepts any. */
#if defined(__GNUC__) || defined(__clang__)
#  define MHA__TARGET(isa) __attribute__((__target__(isa)))
#  define MHA__INLINE      static __inline__ __attribute__((__always_inline__))
#  define MHA__NOINLINE    static __attribute__((__noinline__))
#elif defined(_MSC_VER)
#  define MHA__TARGET(isa)
#  define MHA__INLINE      static __forceinline
#  define MHA__NOINLINE    static __declspec(noinline)
#else
#  define MHA__TARGET(isa)
#  define MHA__INLINE      static inline
#  define MHA__NOINLINE    static
#endif

#ifdef __OPTIMIZE_SIZE__ /* inline, unless size counts */
#  define MHA__SMALL MHA__NOINLINE
#else
#  define MHA__SMALL MHA__INLINE
#endif

#if defined(__GNUC__) || defined(__clang__)
#  define mha__likely(x) __builtin_expect(x, 1)
#else
#  define mha__likely(x) (x)
#endif

#define MHA__CAT2(a, b) a##b
#define MHA__CAT(a, b)  MHA__CAT2(a, b)
#define MHA__FN(name)   MHA__CAT(mha__##name, MHA__ISA) /* mha__softmax -> mha__softmax_avx2 */

MHA__INLINE size_t    mha__min(size_t a, size_t b) { return a < b ? a : b; }
MHA__INLINE size_t    mha__max(size_t a, size_t b) { return a > b ? a : b; }
MHA__INLINE size_t    mha__round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }
MHA__INLINE ptrdiff_t mha__min_pos(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
MHA__INLINE ptrdiff_t mha__max_pos(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* Sums and products of sizes that stop at SIZE_MAX instead of wrapping, so that one comparison at the end
   finds any overflow on the way.  The division is for the rare large operand only. */
static size_t mha__plus(size_t a, size_t b) { return a > (size_t)-1 - b ? (size_t)-1 : a + b; }
static size_t mha__times(size_t a, size_t b) {
  if ((a | b) >> (4 * sizeof(size_t)) == 0) return a * b;
  return a && b > (size_t)-1 / a ? (size_t)-1 : a * b;
}

#define MHA__SIZE_LIMIT ((size_t)-1 / 2) /* PTRDIFF_MAX as a size: no object is larger */

static int mha__overlap(const void *p, size_t p_bytes, const void *q, size_t q_bytes) {
  return p_bytes && q_bytes && (uintptr_t)p < (uintptr_t)q + q_bytes && (uintptr_t)q < (uintptr_t)p + p_bytes;
}

/* Do rows of `span` elements coincide or interleave, n[k] of them step[k] apart in each of some dimensions?
   From the smallest step up, each must step over all before it.  Sorts the arrays. */
static int mha__interleave(size_t *n, size_t *step, size_t dimensions, size_t span) {
  size_t k, m, t;
  for (k = 0; k < dimensions; k++) {
    for (m = k + 1; m < dimensions; m++)
      if (step[m] < step[k]) {
        t = step[k], step[k] = step[m], step[m] = t;
        t = n[k], n[k] = n[m], n[m] = t;
      }
    if (n[k] < 2) continue;
    if (step[k] < span) return 1;
    span += (n[k] - 1) * step[k];
  }
  return 0;
}

/* Are the positions start .. start + len - 1 within +-PTRDIFF_MAX/4? */
static int mha__in_reach(ptrdiff_t start, size_t len) {
  const ptrdiff_t most = (ptrdiff_t)(MHA__SIZE_LIMIT / 4);
  if (start < -most || start > most || len > (size_t)most) return 0;
  return len == 0 || start <= most - (ptrdiff_t)(len - 1);
}

/* Threads may race to choose an instance, but they store the same pointer; the relaxed atomics say so to the
   compiler. */
#if defined(__GNUC__) || defined(__clang__)
#  define MHA__LOAD(p)     __atomic_load_n(&(p), __ATOMIC_RELAXED)
#  define MHA__STORE(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELAXED)
#else
#  define MHA__LOAD(p)     (p)
#  define MHA__STORE(p, v) ((p) = (v))
#endif

#ifdef MHA__X86
static void mha__cpuid(unsigned leaf, unsigned r[4]) {
#  if defined(_MSC_VER) && !defined(__clang__)
  int t[4], k;
  __cpuidex(t, (int)leaf, 0);
  for (k = 0; k < 4; k++) r[k] = (unsigned)t[k];
#  else
  __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(0));
#  endif
}

/* The register state that the operating system saves; valid only where cpuid says OSXSAVE. */
static unsigned mha__xcr0(void) {
#  if defined(_MSC_VER) && !defined(__clang__)
  return (unsigned)_xgetbv(0);
#  else
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (void)high, low;
#  endif
}

/* What the processor and the operating system have of AVX2 with FMA and F16C (1), and AVX-512F (2). */
static int mha__x86_features(void) {
  const unsigned fma_osxsave_f16c = 1u << 12 | 1u << 27 | 1u << 29;
  unsigned       r[4], saved;
  mha__cpuid(0, r);
  if (r[0] < 7) return 0;
  mha__cpuid(1, r);
  if ((r[2] & fma_osxsave_f16c) != fma_osxsave_f16c) return 0;
  saved = mha__xcr0();
  mha__cpuid(7, r);
  if ((saved & 0x06) != 0x06 || !(r[1] & 1u << 5)) return 0;
  return (saved & 0xe6) == 0xe6 && r[1] & 1u << 16 ? 3 : 1;
}
#endif

MHADEF const char *mha_strerror(mha_status status) {
  switch (status) {
    case MHA_OK: return "success";
    case MHA_WARN_SUM: return "the exponentials of a row add up to 512 or more";
    case MHA_ERR_NULL: return "a required pointer is NULL";
    case MHA_ERR_SHAPE: return "a size that must be at least 1 is 0";
    case MHA_ERR_HEADS: return "num_heads must divide d_model, and kv_heads must divide q_heads";
    case MHA_ERR_STRIDE:
      return "a stride is negative, rows of the output coincide or interleave, or consts_stride exceeds 1";
    case MHA_ERR_RANGE: return "sizes, strides or positions are too large";
    case MHA_ERR_VALUE:
      return "a scale, soft cap or zero point is out of range, a number is not finite, or exp_table is empty";
    case MHA_ERR_FLAG: return "an unknown flag: was the descriptor zero-initialised?";
    case MHA_ERR_TYPE: return "an unknown storage type, or constants of the other mode";
    case MHA_ERR_OPTION: return "an option that would be ignored or that contradicts another";
    case MHA_ERR_LENGTH:
      return "a length exceeds kv_len, or kv_len or d_k what the constants were prepared for";
    case MHA_ERR_PART: return "part must be below parts";
    case MHA_ERR_WORK: return "a workspace, scratch or shared memory is NULL or too small";
    case MHA_ERR_OVERLAP: return "an output overlaps an input, another output or the workspace";
    case MHA_ERR_ALIGN: return "a pointer is not aligned for its element type";
  }
  return "unknown mha_status";
}

#ifndef MHA_NO_FLOAT

/* ---- Floats ---- */

#define MHA__BLOCK   128 /* keys, aligned to position 0: part of the contract of bits, see ARITHMETIC */
#define MHA__PANEL   16  /* lanes of a block's sum: contract, too; what narrow panels hold of K and V */
#define MHA__ROWS    256 /* most query rows per tile: with d_k = 64 its scratch is 206 KB, inside most L2 */
#define MHA__STRIPE  48  /* rows scored at once: multiple of every kernel's height; 36 KB with d_k = 64 */
#define MHA__MANY    12  /* rows from which packing a whole block pays */
#define MHA__FEW     64  /* most rows at once where it does not */
#define MHA__OWN     4   /* rows for which no workspace is needed */
#define MHA__FLT_MAX 3.402823466e+38f
#define MHA__LOG2E   1.44269502f
#define MHA__INF     mha__from_bits(0x7f800000u)

/* Unions, not memcpy: there is no libc to rely on, and C99 and every C++ compiler we know define this. */
typedef union {
  float    f;
  uint32_t u;
  int32_t  i;
} mha__word;

MHA__INLINE uint32_t mha__bits(float x) {
  mha__word w;
  w.f = x;
  return w.u;
}

MHA__INLINE float mha__from_bits(uint32_t u) {
  mha__word w;
  w.u = u;
  return w.f;
}

MHA__INLINE int mha__is_finite(float x) { return (mha__bits(x) & 0x7f800000u) != 0x7f800000u; }

/* Ask for memory before it is needed, line by line. */
MHA__INLINE void mha__prefetch(const void *p, size_t bytes) {
#if defined(__GNUC__) && (defined(MHA__X86) || defined(MHA__NEON))
  size_t k;
  for (k = 0; k < bytes; k += 64) __builtin_prefetch((const char *)p + k);
#else
  (void)p, (void)bytes;
#endif
}

/* What will be needed next, to be asked for little by little while something else is worked on: so many rows
   of `width` bytes, `step` bytes apart, of which `done` bytes of the first are asked for.  NULL: nothing. */
typedef struct {
  const char *row;
  size_t      rows, step, width, done, element; /* element: bytes of one number */
} mha__ahead;

MHA__INLINE void mha__ask(mha__ahead *next, size_t numbers) {
  size_t bytes = next ? numbers * next->element : 0;
  while (bytes && next->rows) {
    const size_t some = mha__min(bytes, next->width - next->done);
    mha__prefetch(next->row + next->done, some);
    bytes -= some;
    next->done += some;
    if (next->done < next->width) return;
    next->done = 0;
    if (--next->rows) next->row += next->step;
  }
}

static void mha__clear(void *p, size_t bytes) {
  unsigned char *to = (unsigned char *)p;
  while (bytes--) *to++ = 0;
}

static void mha__fill(float *x, size_t n, float value) {
  size_t k;
  for (k = 0; k < n; k++) x[k] = value;
}

/* ---- Storage types ---- */

/* Bytes and alignment (1 for all on AVR) of the elements, by mha_type; then those of size_t and ptrdiff_t. */
typedef struct {
  char  c;
  float x;
} mha__float_place;
typedef struct {
  char     c;
  uint16_t x;
} mha__half_place;
typedef struct {
  char   c;
  size_t x;
} mha__size_place;
enum { MHA__SIZE_T = 4 };
static const struct {
  size_t bytes, align;
} mha__element[5] = { { sizeof(float), offsetof(mha__float_place, x) },
                      { sizeof(uint16_t), offsetof(mha__half_place, x) },
                      { sizeof(uint16_t), offsetof(mha__half_place, x) },
                      { 1, 1 },
                      { sizeof(size_t), offsetof(mha__size_place, x) } };

static float mha__f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u;
  if (exponent == 31) return mha__from_bits(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0)
    return mha__from_bits(sign | mha__bits((float)fraction * 5.96046448e-8f)); /* times 2^-24, exactly */
  return mha__from_bits(sign | (exponent + 112u) << 23 | fraction << 13);
}

static uint16_t mha__to_f16(float x) {
  const uint32_t u = mha__bits(x), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
  uint32_t       shift, m, half;
  if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (a >> 13 & 0x1ffu)); /* NaN, made quiet */
  if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);                     /* from 65520 on: infinity */
  if (a >= 0x38800000u) {                                                      /* from 2^-14 on: normal */
    m = a - ((uint32_t)112 << 23);
    shift = 13;
  } else { /* a multiple of 2^-24 */
    shift = 126u - (a >> 23);
    if (shift > 24) return (uint16_t)sign; /* below 2^-25 */
    m = (a & 0x7fffffu) | 0x800000u;
  }
  half = (uint32_t)1 << (shift - 1);
  return (uint16_t)(sign | (m + half - 1 + (m >> shift & 1u)) >> shift);
}

static uint16_t mha__to_bf16(float x) {
  const uint32_t u = mha__bits(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Four bytes as they lie in memory, little-endian: of use where vectors are. */
MHA__INLINE int mha__int(const char *p) {
  const unsigned char *b = (const unsigned char *)p;
  return (int)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
}

/* out[c] = x[c] as float, for n elements that begin at element `at` of x */
MHA__NOINLINE void mha__widen(float *out, const void *x, int type, size_t at, size_t n) {
  size_t c;
  switch (type) {
    case MHA_F32:
      for (c = 0; c < n; c++) out[c] = ((const float *)x)[at + c];
      break;
    case MHA_F16:
      for (c = 0; c < n; c++) out[c] = mha__f16(((const uint16_t *)x)[at + c]);
      break;
    case MHA_BF16:
      for (c = 0; c < n; c++) out[c] = mha__from_bits((uint32_t)((const uint16_t *)x)[at + c] << 16);
      break;
    default:
      for (c = 0; c < n; c++) out[c] = (float)((const signed char *)x)[at + c];
  }
}

/* ---- What the kernels and the framework share ---- */

/* A query row on its way: where it is, what it may see, and the running softmax over the blocks folded so
   far. */
typedef struct {
  const float         *q;
  float               *o; /* the sum of p v, unnormalised until the row is finished */
  float               *weights, *lse;
  const unsigned char *mask;
  const float         *bias;
  ptrdiff_t            pos;
  ptrdiff_t            first_lo, first_hi; /* positions first_lo .. first_hi - 1 are visible, */
  ptrdiff_t            lo, hi;             /* and lo .. hi - 1, as far as mask and bias allow */
  size_t               h;
  size_t               x0, x1, visible; /* of the present block it sees so many keys from x0 to x1 - 1, */
  uint32_t             see[4];          /* and if these are not all, those with a bit here */
  float                m, l; /* largest score so far, in units of log2; sum of 2^(score - m) */
  float                e;    /* of the last fold: factor of the older or, if `grew` is 0, the newer part */
  int                  grew, sees, fresh; /* sees: some key so far; fresh: none before the present block */
  int                  normal;            /* is o normalised? */
} mha__row;

/* How the scores of one row in one block become logits.  Pointers are to the entry of key x0. */
typedef struct {
  const float *k_scale; /* or NULL */
  size_t       k_scale_step;
  float        cap_log2e; /* 0: no soft cap */
  const float *bias;      /* or NULL */
  int          alibi;
  float        slope;
  ptrdiff_t    distance; /* query position - position of key x0 */
} mha__shaping;

/* Rows of numbers of a storage type, `step` bytes apart. */
typedef struct {
  const char *p;
  size_t      step;
  int         type;
} mha__rows;

static mha__rows mha__floats(const float *p, size_t row) {
  mha__rows rows;
  rows.p = (const char *)p;
  rows.step = row * sizeof *p;
  rows.type = MHA_F32;
  return rows;
}

/* What two products have in common with the next: out[r][x] (+)= sum over t of a[r][t] b[t][x]. */
typedef struct {
  size_t      out_row, a_row; /* floats from row to row */
  size_t      b_step;         /* bytes from row to row of b, or from key to key */
  int         type;           /* of b, an mha_type */
  size_t      width, terms;   /* x < width, t < terms */
  int         fresh;          /* from +0, or from what is in out? */
  mha__ahead *next;           /* to be asked for meanwhile, or NULL */
} mha__product;

/* A level 1 call, whose four tensors are alike: floats from head to head and from row to row. */
typedef struct {
  float       *out;
  const float *q, *k, *v;
  size_t       len, heads, d_k, head, row;
  float        factor; /* what a query is multiplied by */
} mha__alike;

/* One instance of the kernel template at the end of this file; what each function does stands there. */
typedef struct {
  const char *isa, *numerics;
  size_t      lanes, height; /* floats per vector; rows of the tallest tile of `product` */
  void (*product)(const mha__product *p, float *out, const float *a, const char *b, size_t rows);
  void (*dot)(const mha__product *p, float *out, const float *a, const char *k, size_t rows);
  void (*scale)(float *out, const float *x, size_t n, float factor);
  void (*turn)(float *panel, size_t panel_row, mha__rows k, size_t keys, size_t n);
  int (*pack)(float *panel, size_t panel_row, size_t strip, mha__rows v, size_t rows, size_t n);
  void (*shape)(float *s, size_t x0, size_t x1, const mha__shaping *how);
  void (*softmax)(mha__row *row, float *s, size_t rows, size_t g0, size_t g1);
  void (*fold)(mha__row *row, float m, float l);
  void (*fold_sink)(mha__row *row, float sink);
  void (*fold_values)(mha__row *row, size_t c, const float *block, size_t block_row, size_t rows, size_t n,
                      int last);
  void (*normalise)(float *o, size_t n, float r);
  void (*weigh)(float *w, size_t n, float m, float r);
  float (*log_sum)(float m, float l);
#ifndef MHA__ALONE
  void (*tiny)(float *out, const float *q, const float *k, const float *v, size_t len, size_t heads,
               size_t d_k, size_t head, size_t row, float factor);
#endif
} mha__kernels;

#if defined(MHA_EXACT_FMA) && !defined(MHA__HARDWARE_FMA)
/* a * b + c rounded once, for machines without the instruction.  The product is exact in double; so is the
   error of the sum, by two-sum.  Forcing the last bit of an inexact sum to 1 ("round to odd") keeps enough
   of it for the final rounding to float to be right, subnormals included: S. Boldo, G. Melquiond, "Emulation
   of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 57
   (2008). */
static float mha__soft_fma(float a, float b, float c) {
  union {
    double   f;
    uint64_t u;
  } s;
  double p = (double)a * (double)b, c2 = (double)c, back, error;
  s.f = p + c2;
  back = s.f - p;
  error = (p - (s.f - back)) + (c2 - back);
  if (error != 0.0 && error - error == 0.0 && (s.u & 1) == 0)
    s.u += (error > 0.0) == (s.f > 0.0) ? 1u : (uint64_t)-1;
  return (float)s.f;
}
#endif

/* Each of these compiles the Kernels section once more.  (In a build with MHA_NO_FMA the AVX2 instance is
   compiled without fma, so that no compiler can contract its multiplications.) */
#define MHA__ISA   _scalar
#define MHA__NAME  "scalar"
#define MHA__LANES 1
#define MHA__ATTR
#include MHA_FILE

#ifdef MHA__SSE2
#  define MHA__ISA   _sse2
#  define MHA__NAME  "sse2"
#  define MHA__LANES 4
#  define MHA__ATTR
#  include MHA_FILE
#endif

#ifdef MHA__X86
#  define MHA__ISA   _avx2
#  define MHA__NAME  "avx2"
#  define MHA__LANES 8
#  ifdef MHA_NO_FMA
#    define MHA__ATTR MHA__TARGET("avx2,f16c")
#  else
#    define MHA__ATTR MHA__TARGET("avx2,fma,f16c")
#  endif
#  include MHA_FILE

#  define MHA__ISA   _avx512
#  define MHA__NAME  "avx512"
#  define MHA__LANES 16
#  define MHA__ATTR  MHA__TARGET("avx512f")
#  include MHA_FILE
#endif

#ifdef MHA__NEON
#  define MHA__ISA   _neon
#  define MHA__NAME  "neon"
#  define MHA__LANES 4
#  define MHA__ATTR
#  include MHA_FILE
#endif

#ifdef MHA__WASM
#  define MHA__ISA   _wasm
#  define MHA__NAME  "wasm"
#  define MHA__LANES 4
#  define MHA__ATTR
#  include MHA_FILE
#endif

/* ---- Choosing an instance ---- */

/* The n-th instance that this machine can run, fastest first; NULL after the last. */
static const mha__kernels *mha__instance(size_t n) {
#ifdef MHA__X86
  const int features = mha__x86_features();
  if (features & 2 && n-- == 0) return &mha__kernels_avx512;
  if (features & 1 && n-- == 0) return &mha__kernels_avx2;
#endif
#ifdef MHA__SSE2
  if (n-- == 0) return &mha__kernels_sse2;
#endif
#ifdef MHA__NEON
  if (n-- == 0) return &mha__kernels_neon;
#endif
#ifdef MHA__WASM
  if (n-- == 0) return &mha__kernels_wasm;
#endif
  return n == 0 ? &mha__kernels_scalar : NULL;
}

#if defined(MHA__X86) || defined(MHA__NEON) || defined(MHA__WASM)
static const mha__kernels *volatile mha__chosen;

static const mha__kernels *mha__active(void) {
  const mha__kernels *kernels = MHA__LOAD(mha__chosen);
  if (!kernels) {
    kernels = mha__instance(0);
    MHA__STORE(mha__chosen, kernels);
  }
  return kernels;
}

#  ifdef MHA_TEST_HOOKS
#    define MHA__FORCE(kernels) MHA__STORE(mha__chosen, kernels)
#  endif
#else
static const mha__kernels *mha__active(void) { return mha__instance(0); }
#  define MHA__FORCE(kernels) (void)0
#endif

/* ---- A call, resolved: every default filled in, every rule of the interface checked ---- */

/* The memory of one tensor, from its first to its last element. */
typedef struct {
  const void *p;
  size_t      bytes;
  int         output;
} mha__range;

typedef struct {
  const mha_desc *d;
  size_t          kv_heads, group, d_v; /* group: query heads per kv head */
  size_t          rows;                 /* batch * q_heads * q_len */
  size_t          longest;              /* the largest kv_lens entry, or kv_len */
  mha_strides     o, q, k, v;
  float           q_factor; /* what a query is multiplied by: scale * log2e, or (scale / softcap) * 2 log2e */
  float           cap_log2e;
  int             in_place; /* o is q */
  mha_status      status;   /* the first error found */
  size_t          ranges, o_range, q_range; /* how many, and which are o and q */
  mha__range      range[16];
} mha__call;

/* The float nearest to 1 / sqrt(n), n >= 1, in integers.  Long division gives quotient = floor(2^k / n) with
   49 or 50 bits; its root, floor(2^(k/2) / sqrt(n)), has 25: the 24 of a float and one to round by. */
static float mha__exact_inverse_sqrt(size_t n) {
  uint64_t quotient = n == 1, remainder = n != 1, root = 0, bit;
  unsigned k;
  for (k = 0; quotient >> 48 == 0 || k % 2 != 0; k++) {
    quotient *= 2;
    remainder *= 2;
    if (remainder < n) continue;
    remainder -= n;
    quotient++;
  }
  for (bit = (uint64_t)1 << 24; bit; bit >>= 1)
    if ((root | bit) * (root | bit) <= quotient) root |= bit;
  return (float)(uint32_t)((root + 1) / 2) * mha__from_bits((uint32_t)(128 - k / 2) << 23);
}

/* The float nearest to 1 / sqrt(n), n >= 1. */
static float mha__inverse_sqrt(size_t n) {
#ifdef MHA__X86
  const __m128d x = _mm_set_sd((double)n); /* the two roundings of double do no harm: tried for n < 2^24 */
  if (n < (size_t)1 << 24) return (float)(1.0 / _mm_cvtsd_f64(_mm_sqrt_sd(x, x)));
#endif
  return mha__exact_inverse_sqrt(n);
}

/* Strides as given or, all zero, those of packed (batch, len, heads, channels). */
static mha_strides mha__packed(mha_strides s, size_t len, size_t heads, size_t channels) {
  if (s.batch || s.head || s.row) return s;
  s.head = (ptrdiff_t)mha__min(channels, MHA__SIZE_LIMIT);
  s.row = (ptrdiff_t)mha__min(mha__times(heads, channels), MHA__SIZE_LIMIT);
  s.batch = (ptrdiff_t)mha__min(mha__times(len, (size_t)s.row), MHA__SIZE_LIMIT);
  return s;
}

enum { MHA__INPUT = 0, MHA__REQUIRED = 1, MHA__OUTPUT = 2 };

/* Check a pointer to n elements of a type; without any, nothing can be wrong. */
static mha_status mha__check_array(const void *p, size_t n, int type) {
  const size_t bytes = mha__times(n, mha__element[type].bytes);
  if (n == 0) return MHA_OK;
  if (!p) return MHA_ERR_NULL;
  if (bytes > MHA__SIZE_LIMIT || (uintptr_t)p > (uintptr_t)-1 - bytes) return MHA_ERR_RANGE;
  return (uintptr_t)p % mha__element[type].align ? MHA_ERR_ALIGN : MHA_OK;
}

/* Check an array and note its memory.  The first error stays in a->status. */
static void mha__note(mha__call *a, const void *p, int kind, size_t n, int type) {
  mha__range *range = &a->range[a->ranges];
  if (a->status || n == 0 || (!p && !(kind & MHA__REQUIRED))) return;
  a->status = mha__check_array(p, n, type);
  range->p = p;
  range->bytes = n * mha__element[type].bytes;
  range->output = (kind & MHA__OUTPUT) != 0;
  a->ranges++;
}

/* The same for a tensor with strides.  One that is absent, as it may be without elements, has no wrong
   strides. */
static void mha__note_tensor(mha__call *a, const void *p, int kind, mha_strides s, size_t heads, size_t len,
                             size_t channels, int type) {
  const size_t batch = a->d->batch;
  const int    empty = !batch || !heads || !len || !channels;
  size_t       last = channels;
  if (a->status || (!p && (empty || !(kind & MHA__REQUIRED)))) return;
  if (s.batch < 0 || s.head < 0 || s.row < 0) a->status = MHA_ERR_STRIDE;
  if (empty) return;
  last = mha__plus(last, mha__times(batch - 1, (size_t)s.batch));
  last = mha__plus(last, mha__times(heads - 1, (size_t)s.head));
  last = mha__plus(last, mha__times(len - 1, (size_t)s.row));
  mha__note(a, p, kind, last, type);
}

/* Do rows of o coincide or interleave? */
static int mha__coincide(const mha__call *a) {
  size_t n[3], step[3];
  n[0] = a->d->batch, step[0] = (size_t)a->o.batch;
  n[1] = a->d->q_heads, step[1] = (size_t)a->o.head;
  n[2] = a->d->q_len, step[2] = (size_t)a->o.row;
  return mha__interleave(n, step, 3, a->d_v);
}

/* Does memory that a call will write touch a tensor? */
static int mha__touches(const mha__call *a, const void *p, size_t bytes) {
  size_t n;
  for (n = 0; n < a->ranges; n++)
    if (mha__overlap(p, bytes, a->range[n].p, a->range[n].bytes)) return 1;
  return 0;
}

/* Where a batch member stands, and how many keys it has. */
typedef struct {
  ptrdiff_t q0, kv0; /* positions of query 0 and key 0 */
  size_t    len;
} mha__place;

static mha__place mha__place_of(const mha_desc *d, size_t b) {
  mha__place at;
  at.len = d->kv_lens ? d->kv_lens[b] : d->kv_len;
  at.kv0 = d->kv_starts ? d->kv_starts[b] : d->kv_start;
  at.q0 = d->q_starts ? d->q_starts[b] : d->q_start;
  if (d->flags & MHA_Q_LAST) at.q0 = at.kv0 + (ptrdiff_t)at.len - (ptrdiff_t)d->q_len;
  return at;
}

/* The factor of q k^T, as given or by default. */
static float mha__scale_of(const mha_desc *d) {
  return d->scale != 0.0f || d->flags & MHA_USE_SCALE ? d->scale : mha__inverse_sqrt(d->d_k);
}

/* Sizes, flags, types and options: what needs no look at memory. */
static mha_status mha__resolve_options(mha__call *a) {
  const mha_desc *d = a->d;
  const unsigned  known = MHA_CAUSAL | MHA_Q_LAST | MHA_USE_WINDOW | MHA_USE_SCALE;
  float           scale;
  if (!d->q_heads || !d->d_k) return MHA_ERR_SHAPE;
  if (d->d_k > MHA__SIZE_LIMIT / sizeof(float)) return MHA_ERR_RANGE;
  a->kv_heads = d->kv_heads ? d->kv_heads : d->q_heads;
  if (d->q_heads % a->kv_heads) return MHA_ERR_HEADS;
  a->group = d->q_heads / a->kv_heads;
  a->d_v = d->d_v ? d->d_v : d->d_k;
  if (d->flags & ~known) return MHA_ERR_FLAG;
  if (d->k_type < MHA_F32 || d->k_type > MHA_S8 || d->v_type < MHA_F32 || d->v_type > MHA_S8)
    return MHA_ERR_TYPE;

  if (!(d->flags & MHA_USE_WINDOW) && (d->window_left || d->window_right || d->keep_first))
    return MHA_ERR_OPTION;
  if ((d->k_scale && d->k_type != MHA_S8) || (d->v_scale && d->v_type != MHA_S8)) return MHA_ERR_OPTION;
  if ((d->q_start != 0) + (d->q_starts != NULL) + ((d->flags & MHA_Q_LAST) != 0) > 1) return MHA_ERR_OPTION;
  if (d->kv_start != 0 && d->kv_starts) return MHA_ERR_OPTION;

  scale = mha__scale_of(d);
  if (!mha__is_finite(scale) || !mha__is_finite(d->softcap) || d->softcap < 0.0f) return MHA_ERR_VALUE;
  a->cap_log2e = d->softcap * MHA__LOG2E;
  if (d->softcap != 0.0f) {
    a->q_factor = scale / d->softcap;
    a->q_factor *= 2.88539004f; /* 2 log2(e) */
  } else {
    a->q_factor = scale * MHA__LOG2E;
  }
  return mha__is_finite(a->q_factor) && mha__is_finite(a->cap_log2e) ? MHA_OK : MHA_ERR_VALUE;
}

/* Lengths and positions, per batch member. */
static mha_status mha__resolve_places(mha__call *a) {
  const mha_desc *d = a->d;
  size_t          b, n = d->batch;
  mha__note(a, d->q_starts, MHA__INPUT, n, MHA__SIZE_T);
  mha__note(a, d->kv_starts, MHA__INPUT, n, MHA__SIZE_T);
  mha__note(a, d->kv_lens, MHA__INPUT, n, MHA__SIZE_T);
  if (a->status) return a->status;
  a->longest = d->kv_lens ? 0 : d->kv_len;
  if (!d->q_starts && !d->kv_starts && !d->kv_lens) n = 1; /* all stand alike, even if there are none */
  for (b = 0; b < n; b++) {
    mha__place at;
    if (d->kv_lens && d->kv_lens[b] > d->kv_len) return MHA_ERR_LENGTH;
    if (!mha__in_reach(d->kv_starts ? d->kv_starts[b] : d->kv_start, d->kv_len)) return MHA_ERR_RANGE;
    if (!mha__in_reach(0, d->q_len)) return MHA_ERR_RANGE; /* before Q_LAST subtracts it */
    at = mha__place_of(d, b);
    if (!mha__in_reach(at.q0, d->q_len)) return MHA_ERR_RANGE;
    a->longest = mha__max(a->longest, at.len);
  }
  return MHA_OK;
}

/* Pointers, strides and sizes of all tensors. */
static mha_status mha__resolve_tensors(mha__call *a) {
  const mha_desc *d = a->d;
  const size_t    heads = d->q_heads, kv_heads = a->kv_heads, len = a->longest;
  const int       k_scale = d->k_type == MHA_S8 ? MHA__REQUIRED : MHA__INPUT;
  const int       v_scale = d->v_type == MHA_S8 ? MHA__REQUIRED : MHA__INPUT;
  mha_strides     weights = { 0, 0, 0 }, lse = { 0, 0, 0 };
  a->o = mha__packed(d->o_stride, d->q_len, heads, a->d_v);
  a->q = mha__packed(d->q_stride, d->q_len, heads, d->d_k);
  a->k = mha__packed(d->k_stride, d->kv_len, kv_heads, d->d_k);
  a->v = mha__packed(d->v_stride, d->kv_len, kv_heads, a->d_v);
  weights = mha__packed(weights, heads, d->q_len, d->kv_len); /* (batch, heads, rows): heads for rows */
  lse = mha__packed(lse, heads, d->q_len, 1);
  a->o_range = a->ranges;
  mha__note_tensor(a, d->o, MHA__REQUIRED | MHA__OUTPUT, a->o, heads, d->q_len, a->d_v, MHA_F32);
  mha__note_tensor(a, d->weights, MHA__OUTPUT, weights, d->q_len, heads, d->kv_len, MHA_F32);
  mha__note_tensor(a, d->lse, MHA__OUTPUT, lse, d->q_len, heads, 1, MHA_F32);
  a->q_range = a->ranges;
  mha__note_tensor(a, d->q, MHA__REQUIRED, a->q, heads, d->q_len, d->d_k, MHA_F32);
  mha__note_tensor(a, d->k, MHA__REQUIRED, a->k, kv_heads, len, d->d_k, d->k_type);
  mha__note_tensor(a, d->v, MHA__REQUIRED, a->v, kv_heads, len, a->d_v, d->v_type);
  mha__note_tensor(a, d->k_scale, k_scale, d->k_scale_stride, kv_heads, len, 1, MHA_F32);
  mha__note_tensor(a, d->v_scale, v_scale, d->v_scale_stride, kv_heads, len, 1, MHA_F32);
  mha__note_tensor(a, d->mask, MHA__INPUT, d->mask_stride, heads, d->q_len, len, MHA_S8);
  mha__note_tensor(a, d->bias, MHA__INPUT, d->bias_stride, heads, d->q_len, len, MHA_F32);
  mha__note(a, d->alibi_slopes, MHA__INPUT, heads, MHA_F32);
  mha__note(a, d->sinks, MHA__INPUT, heads, MHA_F32);
  mha__note(a, d, MHA__INPUT, sizeof *d, MHA_S8);
  if (a->status) return a->status;
  if (len < 2) a->k.row = a->v.row = 0; /* as large as it may be, no pointer is to step by it */
  if (!d->batch || !d->q_len) return MHA_OK; /* no rows, nothing to write */
  if (mha__coincide(a)) return MHA_ERR_STRIDE;
  a->rows = d->batch * heads * d->q_len; /* fits: o has at least as many elements */
  /* Work is counted in 64 bits: a row's keys, twice where keep_first and window overlap, and 16. */
  if (2 * (uint64_t)d->kv_len + 16 > (uint64_t)-1 / a->rows) return MHA_ERR_RANGE;
  a->in_place = (const float *)d->o == d->q && a->d_v == d->d_k && a->o.batch == a->q.batch &&
                a->o.head == a->q.head && a->o.row == a->q.row;
  return MHA_OK;
}

/* No output may overlap anything else, but for o that is q. */
static mha_status mha__resolve_overlaps(const mha__call *a) {
  size_t n, m;
  for (n = 0; n < a->ranges; n++) {
    const mha__range *out = &a->range[n], *other = a->range;
    if (!out->output) continue;
    for (m = 0; m < a->ranges; m++, other++) {
      if (m == n || (a->in_place && n == a->o_range && m == a->q_range)) continue;
      if (mha__overlap(out->p, out->bytes, other->p, other->bytes)) return MHA_ERR_OVERLAP;
    }
  }
  return MHA_OK;
}

/* The one check of every entry point, before anything is written. */
static mha_status mha__resolve(mha__call *a, const mha_desc *d) {
  mha_status status;
  if (!d) return MHA_ERR_NULL;
  mha__clear(a, sizeof *a);
  a->d = d;
  if ((status = mha__resolve_options(a)) != MHA_OK) return status;
  if ((status = mha__resolve_places(a)) != MHA_OK) return status;
  if ((status = mha__resolve_tensors(a)) != MHA_OK) return status;
  return mha__resolve_overlaps(a);
}

/* ---- Visibility: which keys a row sees ---- */

/* Into r: the positions that row i may see as far as causality, lengths and the window decide. */
static void mha__span(mha__row *r, const mha_desc *d, const mha__place *at, size_t i) {
  const ptrdiff_t beyond = (ptrdiff_t)MHA__SIZE_LIMIT / 2; /* twice as far as any position lies */
  const ptrdiff_t end = at->kv0 + (ptrdiff_t)at->len;
  ptrdiff_t       causal_end = end;
  r->pos = at->q0 + (ptrdiff_t)i;
  if (d->flags & MHA_CAUSAL) causal_end = mha__min_pos(end, r->pos + 1);
  r->lo = at->kv0;
  r->hi = causal_end;
  r->first_lo = r->first_hi = at->kv0;
  if (d->flags & MHA_USE_WINDOW) {
    const ptrdiff_t left = d->window_left < (size_t)beyond ? (ptrdiff_t)d->window_left : beyond;
    const ptrdiff_t right = d->window_right < (size_t)beyond ? (ptrdiff_t)d->window_right : beyond;
    const ptrdiff_t first = d->keep_first < (size_t)beyond ? (ptrdiff_t)d->keep_first : beyond;
    r->lo = mha__max_pos(r->lo, r->pos - left);
    r->hi = mha__min_pos(r->hi, r->pos + right + 1);
    r->first_lo = mha__max_pos(at->kv0, 0);
    r->first_hi = mha__min_pos(causal_end, first);
  }
}

/* An upper bound of the keys that a row sees, for sharing the work; the first and the other keys may
   overlap. */
static uint64_t mha__span_keys(const mha__row *r) {
  uint64_t n = 0;
  if (r->first_hi > r->first_lo) n += (uint64_t)(r->first_hi - r->first_lo);
  if (r->hi > r->lo) n += (uint64_t)(r->hi - r->lo);
  return n;
}

/* A block holds positions base .. base + 127; inside it a key is known by x = position - base. */
static ptrdiff_t mha__block_base(ptrdiff_t position) {
  ptrdiff_t x = position % MHA__BLOCK;
  return position - (x < 0 ? x + MHA__BLOCK : x);
}

/* Keys x0 .. x1 - 1 of a block. */
typedef struct {
  size_t x0, x1;
} mha__keys;

static mha__keys mha__in_block(ptrdiff_t base, ptrdiff_t lo, ptrdiff_t hi) {
  mha__keys keys = { MHA__BLOCK, 0 };
  lo = mha__max_pos(lo - base, 0);
  hi = mha__min_pos(hi - base, MHA__BLOCK);
  if (lo >= hi) return keys;
  keys.x0 = (size_t)lo;
  keys.x1 = (size_t)hi;
  return keys;
}

/* Does the row see key x of the present block? */
static int mha__sees(const mha__row *r, size_t x) {
  if (x < r->x0 || x >= r->x1) return 0;
  return r->visible == r->x1 - r->x0 || (r->see[x / 32] >> x % 32 & 1);
}

/* Into r, of the block that begins at position base: how many keys the row sees and from which to which; and,
   if it does not see all of these, which. */
static void mha__see(mha__row *r, ptrdiff_t base, ptrdiff_t kv0) {
  const mha__keys other = mha__in_block(base, r->lo, r->hi);
  mha__keys       first;
  size_t          x, x1;
  if (r->first_lo >= r->first_hi && !r->mask && !r->bias) { /* as nearly always */
    r->x0 = other.x0;
    r->x1 = other.x1;
    r->visible = other.x0 < other.x1 ? other.x1 - other.x0 : 0;
    return;
  }
  first = mha__in_block(base, r->first_lo, r->first_hi);
  x = mha__min(first.x0, other.x0);
  x1 = mha__max(first.x1, other.x1);
  r->x0 = MHA__BLOCK;
  r->x1 = r->visible = 0;
  mha__clear(r->see, sizeof r->see);
  for (; x < x1; x++) {
    const size_t j = (size_t)(base - kv0 + (ptrdiff_t)x);
    if ((x < first.x0 || x >= first.x1) && (x < other.x0 || x >= other.x1)) continue;
    if ((r->mask && !r->mask[j]) || (r->bias && mha__bits(r->bias[j]) == 0xff800000u)) continue;
    r->see[x / 32] |= (uint32_t)1 << x % 32;
    if (!r->visible++) r->x0 = x;
    r->x1 = x + 1;
  }
}

/* ---- A tile: query rows taken through the blocks together ----

   Two ways of working, chosen by mha__lay_out:

   whole   many rows of one kv head.  K^T and V of a block are packed once, piece by piece as the rows come to
           see them, and serve all rows of the tile.  Scores are held for a stripe of some rows at a time.
   few     few rows, of one kv head or of several that lie side by side, or little scratch.  The tile is one
           stripe, and K and V are read where they lie. */

typedef struct {
  const mha__call    *a;
  const mha__kernels *kernels;
  int                 whole;
  int                 shapes;  /* do scores pass through stage "shape"? */
  size_t              rows;    /* most rows at once */
  size_t              stripe;  /* most rows whose scores are held at once */
  size_t              heads;   /* most kv heads at once */
  size_t              q_width; /* channels of the scaled queries held at once: d_k if there is room */
  size_t              v_width; /* channels of V mixed at once: likewise d_v */
  size_t              panel;   /* keys at once; whole: in a panel of K^T, and channels in one of V */
  mha__row           *row;     /* (rows) */
  float              *query;   /* (rows, q_width) scaled */
  float              *score;   /* (stripe, 128) then the exponentials */
  float              *mixed;   /* (stripe, v_width) one block's p v */
  float              *k_panel; /* whole: (128 / panel, d_k, panel) */
  float              *v_panel; /* whole: (v_width / panel, 128, panel) */
  mha__row            own[MHA__OWN];

  /* where it stands */
  size_t     b, kv_head, n, per_head; /* n rows, per_head of each kv head from kv_head on */
  mha__place at;
  uint32_t   k_ready, v_ready, v_bad; /* whole: pieces of 16 keys that are packed, and that are not finite */
} mha__tile;

/* Rows of one kv head in one batch member. */
static size_t mha__head_rows(const mha__call *a) { return mha__times(a->d->q_len, a->group); }

/* Kv heads whose rows make one tile in few mode, where they lie side by side. */
static size_t mha__few_heads(const mha__call *a) {
  const size_t per_head = mha__head_rows(a);
  /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): only calls that have rows come here */
  return per_head <= MHA__FEW ? mha__min(a->kv_heads, MHA__FEW / per_head) : 1;
}

static size_t mha__panel(const mha__kernels *kernels) { return mha__max(MHA__PANEL, 2 * kernels->lanes); }

/* Bytes of scratch in whole mode, and how many of these come with each row. */
static size_t mha__whole_row_bytes(size_t d_k) {
  return mha__plus(mha__times(d_k, sizeof(float)), sizeof(mha__row));
}
static size_t mha__whole_bytes(const mha__call *a, size_t panel, size_t rows) {
  const size_t width = mha__round_up(a->d_v, panel), stripe = mha__min(rows, MHA__STRIPE);
  size_t       floats = mha__times(MHA__BLOCK, mha__plus(a->d->d_k, width));
  floats = mha__plus(floats, mha__times(stripe, mha__plus(MHA__BLOCK, width)));
  return mha__plus(mha__times(floats, sizeof(float)), mha__times(rows, mha__whole_row_bytes(a->d->d_k)));
}

/* The same in few mode at full width. */
static size_t mha__few_bytes(const mha__call *a, size_t rows) {
  const size_t width = mha__plus(mha__plus(a->d->d_k, a->d_v), MHA__BLOCK);
  const size_t row = rows > MHA__OWN ? sizeof(mha__row) : 0;
  return mha__times(rows, mha__plus(mha__times(width, sizeof(float)), row));
}

/* Returns 0 if it does not pay or does not fit: a block's panels should serve two stripes at least. */
static int mha__lay_out_whole(mha__tile *t, float *f, size_t bytes) {
  const mha__call *a = t->a;
  const size_t     d_k = a->d->d_k, most = mha__min(mha__head_rows(a), MHA__ROWS);
  const size_t     least = mha__min(most, 2 * MHA__STRIPE), panel = t->panel;
  if (most < MHA__MANY || bytes < mha__whole_bytes(a, panel, least)) return 0;
  t->whole = 1;
  t->heads = 1;
  t->rows = mha__min(most, least + (bytes - mha__whole_bytes(a, panel, least)) / mha__whole_row_bytes(d_k));
  t->stripe = mha__min(t->rows, MHA__STRIPE);
  t->q_width = d_k;
  t->v_width = mha__round_up(a->d_v, panel);
  t->score = f, f += t->stripe * MHA__BLOCK; /* all multiples of 64 bytes, for aligned vectors */
  t->k_panel = f, f += MHA__BLOCK * d_k;
  t->v_panel = f, f += MHA__BLOCK * t->v_width;
  t->mixed = f, f += t->stripe * t->v_width;
  t->row = (mha__row *)(void *)f;
  t->query = (float *)(void *)(t->row + t->rows);
  return 1;
}

/* At full width if four rows fit (or all there are), else four or fewer in pieces of 64 channels or fewer.
   In place a row's query must be held whole.  Several heads are taken together if their rows lie side by
   side, so that memory is read in the order in which it lies. */
static void mha__lay_out_few(mha__tile *t, float *f, size_t bytes) {
  const mha__call *a = t->a;
  const size_t     d_k = a->d->d_k, d_v = a->d_v, per_head = mha__head_rows(a), left = bytes / sizeof *f;
  const int        beside = a->k.head <= a->k.row && a->v.head <= a->v.row;
  const size_t     heads = beside ? mha__few_heads(a) : 1;
  const size_t     most = heads * mha__min(per_head, MHA__FEW);
  size_t           n = mha__min(most, MHA__OWN);
  t->whole = 0;
  t->heads = 1;
  t->q_width = d_k;
  t->v_width = d_v;
  if (mha__few_bytes(a, n) <= bytes) {
    while (n < most && mha__few_bytes(a, n + 1) <= bytes) n++;
    if (n > per_head) t->heads = n / per_head, n = t->heads * per_head;
  } else {
    const size_t least = MHA__BLOCK + mha__min(d_v, 16);
    if (!a->in_place) t->q_width = mha__min(d_k, 64);
    while (n > 1 && n * (least + t->q_width) > left) n--;
    if (least + t->q_width > left) t->q_width = (left - least) / 4 * 4;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): as in mha__few_heads, so that n is not 0 */
    t->v_width = left / n - MHA__BLOCK - t->q_width;
    t->v_width = t->v_width < d_v ? t->v_width / 16 * 16 : d_v;
  }
  t->rows = t->stripe = n;
  t->row = t->own;
  t->score = f, f += n * MHA__BLOCK;
  if (n > MHA__OWN) t->row = (mha__row *)(void *)f, f = (float *)(void *)(t->row + n);
  t->mixed = f, f += n * t->v_width;
  t->query = f;
}

/* What mha__lay_out makes use of. */
static size_t mha__wanted_bytes(const mha__call *a) {
  const size_t per_head = mha__head_rows(a), panel = mha__panel(mha__active());
  return per_head < MHA__MANY ? mha__few_bytes(a, mha__few_heads(a) * per_head)
                              : mha__whole_bytes(a, panel, mha__min(per_head, MHA__ROWS));
}

static void mha__lay_out(mha__tile *t, void *memory, size_t bytes) {
  const mha_desc *d = t->a->d;
  t->panel = mha__panel(t->kernels);
  t->shapes = d->k_scale || d->softcap != 0.0f || d->bias || d->alibi_slopes;
  if (!mha__lay_out_whole(t, (float *)memory, bytes)) mha__lay_out_few(t, (float *)memory, bytes);
}

typedef union {
  void         *align_pointer;
  uint64_t      align_64;
  unsigned char bytes[MHA_STACK_BYTES];
} mha__stack;

enum { MHA__WORK_ALIGN = 64 }; /* the widest vector, a cache line */

static mha_status mha__check_work(const mha__call *a, const void *work, size_t bytes) {
  if (!work && bytes) return MHA_ERR_WORK;
  if (bytes > MHA__SIZE_LIMIT || (uintptr_t)work > (uintptr_t)-1 - bytes) return MHA_ERR_WORK;
  return mha__touches(a, work, bytes) ? MHA_ERR_OVERLAP : MHA_OK;
}

/* Take the workspace, if it is larger, or the stack buffer.  Only in place, neither may be large enough. */
static mha_status mha__begin(mha__tile *t, const mha__call *a, mha__stack *stack, void *work,
                             size_t work_bytes) {
  size_t skip = (MHA__WORK_ALIGN - (uintptr_t)work % MHA__WORK_ALIGN) % MHA__WORK_ALIGN;
  t->a = a;
  t->kernels = mha__active();
  if (work_bytes > skip && work_bytes - skip > sizeof *stack) {
    mha__lay_out(t, (unsigned char *)work + skip, work_bytes - skip);
  } else {
    mha__lay_out(t, stack, sizeof *stack);
  }
  skip %= sizeof(float);
  if (a->in_place && t->q_width < a->d->d_k && work_bytes > skip &&
      (work_bytes - skip) / sizeof(float) >= a->d->d_k) {
    mha__lay_out(t, stack, sizeof *stack); /* a workspace for one query row and little else: just that */
    t->query = (float *)(void *)((unsigned char *)work + skip);
    t->q_width = a->d->d_k;
  }
  return a->in_place && t->q_width < a->d->d_k ? MHA_ERR_OVERLAP : MHA_OK;
}

/* Element index of row j, head h of batch b. */
static size_t mha__at(mha_strides s, size_t b, size_t h, size_t row) {
  return b * (size_t)s.batch + h * (size_t)s.head + row * (size_t)s.row;
}

static size_t mha__key_index(const mha__tile *t, ptrdiff_t base, size_t x) {
  return (size_t)(base - t->at.kv0 + (ptrdiff_t)x);
}

/* K or V of a kv head from key j and channel c on. */
static mha__rows mha__rows_of(const void *p, int type, mha_strides s, size_t b, size_t kv_head, size_t j,
                              size_t c) {
  const size_t bytes = mha__element[type].bytes;
  mha__rows    rows;
  rows.p = (const char *)p + bytes * (mha__at(s, b, kv_head, j) + c);
  rows.step = bytes * (size_t)s.row;
  rows.type = type;
  return rows;
}
static mha__rows mha__k_rows(const mha__tile *t, size_t kv_head, size_t j, size_t c) {
  return mha__rows_of(t->a->d->k, t->a->d->k_type, t->a->k, t->b, kv_head, j, c);
}
static mha__rows mha__v_rows(const mha__tile *t, size_t kv_head, size_t j, size_t c) {
  return mha__rows_of(t->a->d->v, t->a->d->v_type, t->a->v, t->b, kv_head, j, c);
}

/* Rows r0 .. r0 + n - 1 of the tile in the block that begins at position base, and the keys x0 .. x1 - 1 of
   it, from the first to the last that one of them sees. */
typedef struct {
  size_t    r0, n;
  ptrdiff_t base;
  size_t    x0, x1;
  size_t    g0, g1; /* the same in whole groups of 16 */
  int       last;   /* is it the rows' last block, after which they are normalised? */
  int       ragged; /* does a row hide some of these keys, and see others? */
} mha__stripe;

/* Bits of the pieces of 16 keys that make up the keys x0 .. x1 - 1. */
static uint32_t mha__pieces(size_t x0, size_t x1) {
  return ((uint32_t)1 << (x1 + MHA__PANEL - 1) / MHA__PANEL) - ((uint32_t)1 << x0 / MHA__PANEL);
}

/* Of the keys x .. x + n - 1 of a block those that exist. */
static mha__keys mha__existing(const mha__tile *t, ptrdiff_t base, size_t x, size_t n) {
  const mha__keys all = mha__in_block(base, t->at.kv0, t->at.kv0 + (ptrdiff_t)t->at.len);
  const mha__keys some = { mha__max(x, all.x0), mha__min(x + n, all.x1) };
  return some;
}

/* whole: the panel of K^T that begins with key x, packed if it is not yet; lanes of keys that do not exist
   are 0. */
static const float *mha__k_panel(mha__tile *t, ptrdiff_t base, size_t x) {
  const size_t   d_k = t->a->d->d_k;
  float *const   panel = t->k_panel + x * d_k;
  const uint32_t piece = (uint32_t)1 << x / MHA__PANEL;
  if (!(t->k_ready & piece)) {
    const mha__keys keys = mha__existing(t, base, x, t->panel);
    const size_t    n = keys.x1 - keys.x0;
    if (n < t->panel) mha__fill(panel, d_k * t->panel, 0.0f);
    t->kernels->turn(panel + (keys.x0 - x), t->panel,
                     mha__k_rows(t, t->kv_head, mha__key_index(t, base, keys.x0), 0), n, d_k);
    t->k_ready |= piece;
  }
  return panel;
}

/* Stage "dot": score[row][x] = sum over channels of scaled query times key. */
static void mha__dot_whole(mha__tile *t, const mha__stripe *s) {
  const size_t d_k = t->a->d->d_k;
  mha__product p = { MHA__BLOCK, d_k, t->panel * sizeof(float), MHA_F32, 0, d_k, 1, NULL };
  size_t       x;
  for (x = s->g0 / t->panel * t->panel; x < s->g1; x += t->panel) {
    p.width = mha__min(t->panel, s->g1 - x);
    t->kernels->product(&p, t->score + x, t->query + s->r0 * d_k,
                        (const char *)mha__k_panel(t, s->base, x), s->n);
  }
}

/* few: after the keys x .. x + panel - 1 of the tile's h-th head come those of the next head, or the next
   ones of the first head.  Returns how many there are, and into h and j goes where they begin. */
static size_t mha__after(const mha__tile *t, const mha__stripe *s, size_t x, size_t *h, size_t *j) {
  *j = mha__key_index(t, s->base, x);
  if ((++*h) * t->per_head >= t->n) *h = 0, *j += t->panel;
  return *j < t->at.len ? mha__min(t->panel, t->at.len - *j) : 0;
}

/* The first n numbers of so many rows, to be asked for. */
static mha__ahead mha__ahead_of(mha__rows rows, size_t count, size_t n) {
  mha__ahead next;
  next.row = rows.p;
  next.rows = count;
  next.step = rows.step;
  next.element = mha__element[rows.type].bytes;
  next.width = next.element * n;
  next.done = 0;
  return next;
}

/* few: the same for n channels from c on */
static void mha__dot_few(mha__tile *t, const mha__stripe *s, size_t c, size_t n) {
  const float *q = t->q_width < t->a->d->d_k ? t->query : t->query + c;
  mha__product p = { MHA__BLOCK, t->q_width, 0, 0, 0, n, c == 0, NULL };
  size_t       x, h;
  for (x = s->x0; x < s->x1; x += t->panel)
    for (h = 0; h * t->per_head < t->n; h++) {
      const size_t    r = h * t->per_head;
      const mha__rows k = mha__k_rows(t, t->kv_head + h, mha__key_index(t, s->base, x), c);
      size_t          then = h, j, count = mha__after(t, s, x, &then, &j);
      mha__ahead      next = mha__ahead_of(count ? mha__k_rows(t, t->kv_head + then, j, c) : k, count, n);
      p.b_step = k.step;
      p.type = k.type;
      p.width = mha__min(t->panel, s->x1 - x);
      p.next = &next;
      t->kernels->dot(&p, t->score + r * MHA__BLOCK + x, q + r * t->q_width, k.p, t->per_head);
    }
}

static void mha__dot(mha__tile *t, const mha__stripe *s) {
  const size_t d_k = t->a->d->d_k;
  size_t       c, r;
  if (t->whole) {
    mha__dot_whole(t, s);
    return;
  }
  for (c = 0; c < d_k; c += t->q_width) {
    const size_t n = mha__min(t->q_width, d_k - c);
    if (t->q_width < d_k)
      for (r = 0; r < t->n; r++)
        t->kernels->scale(t->query + r * t->q_width, t->row[r].q + c, n, t->a->q_factor);
    mha__dot_few(t, s, c, n);
  }
}

/* Stages "shape" and "hide": scores become logits, hidden ones -inf. */
static void mha__shape_and_hide(const mha__tile *t, const mha__stripe *s, size_t r) {
  const mha_desc *d = t->a->d;
  const mha__row *row = &t->row[s->r0 + r];
  const size_t    kv_head = t->kv_head + (s->r0 + r) / t->per_head, j = mha__key_index(t, s->base, s->x0);
  float          *score = t->score + r * MHA__BLOCK;
  size_t          x;
  if (t->shapes) {
    mha__shaping how;
    mha__fill(score + s->g0, s->x0 - s->g0, 0.0f);
    mha__fill(score + s->x1, s->g1 - s->x1, 0.0f);
    how.k_scale = d->k_scale ? d->k_scale + mha__at(d->k_scale_stride, t->b, kv_head, j) : NULL;
    how.k_scale_step = (size_t)d->k_scale_stride.row;
    how.cap_log2e = t->a->cap_log2e;
    how.bias = row->bias ? row->bias + j : NULL;
    how.alibi = d->alibi_slopes != NULL;
    how.slope = how.alibi ? d->alibi_slopes[row->h] : 0.0f;
    how.distance = row->pos - (s->base + (ptrdiff_t)s->x0);
    t->kernels->shape(score, s->x0, s->x1, &how);
  }
  if (row->visible == s->g1 - s->g0) return;
  for (x = s->g0; x < mha__min(row->x0, s->g1); x++) score[x] = -MHA__INF;
  for (x = mha__max(row->x1, x); x < s->g1; x++) score[x] = -MHA__INF;
  if (row->visible == row->x1 - row->x0) return;
  for (x = row->x0; x < row->x1; x++)
    if (!mha__sees(row, x)) score[x] = -MHA__INF;
}

/* p_j of int8 values take the scale of their token, and a hidden one stays 0 whatever the scale beside it. */
static void mha__scale_weights(const mha__tile *t, const mha__stripe *s, size_t r) {
  const mha_desc *d = t->a->d;
  const mha__row *row = &t->row[s->r0 + r];
  const size_t    kv_head = t->kv_head + (s->r0 + r) / t->per_head;
  const size_t    step = (size_t)d->v_scale_stride.row;
  const float    *scale = d->v_scale + mha__at(d->v_scale_stride, t->b, kv_head, 0);
  float          *p = t->score + r * MHA__BLOCK;
  size_t          x, j = mha__key_index(t, s->base, row->x0) * step;
  for (x = row->x0; x < row->x1; x++, j += step)
    if (mha__sees(row, x)) p[x] *= scale[j];
}

/* Keys x .. x + count - 1 of the block, n of whose channels begin at v, as mixed into the rows r .. r + rows
   - 1 of the stripe. */
typedef struct {
  float    *out;
  size_t    r, rows;
  mha__rows v;
  size_t    x, count, n;
  int       finite, fresh;
} mha__piece;

/* Row by row, and of each only the keys that it sees. */
static void mha__mix_visible(const mha__tile *t, const mha__stripe *s, const mha__piece *m, mha__product *p) {
  const size_t x1 = m->x + m->count;
  size_t       x, end, r;
  p->next = NULL;
  for (r = m->r; r < m->r + m->rows; r++) {
    const mha__row *row = &t->row[s->r0 + r];
    float *const    out = m->out + r * t->v_width;
    if (m->fresh) mha__fill(out, m->n, 0.0f);
    for (x = m->x; x < x1; x = end) {
      const int sees = mha__sees(row, x);
      for (end = x + 1; end < x1 && mha__sees(row, end) == sees; end++) {}
      p->terms = end - x;
      p->fresh = 0;
      if (sees)
        t->kernels->product(p, out, t->score + r * MHA__BLOCK + x, m->v.p + (x - m->x) * m->v.step, 1);
    }
  }
}

/* Stage "mix": mixed[row][c] = sum of p v over the keys of the stripe.

   A hidden key has p = 0 and adds p v = +-0, which cannot be seen in the output: unless v is NaN or
   infinite.  So where a row hides keys V is looked through, while it is packed if it is, and what is not
   finite is mixed row by row. */
static void mha__mix_piece(mha__tile *t, const mha__stripe *s, const mha__piece *m, mha__ahead *next) {
  mha__product p = { 0, MHA__BLOCK, 0, 0, 0, 0, 0, NULL };
  p.out_row = t->v_width;
  p.b_step = m->v.step;
  p.type = m->v.type;
  p.width = m->n;
  p.terms = m->count;
  p.fresh = m->fresh;
  p.next = next;
  if (m->finite)
    t->kernels->product(&p, m->out + m->r * t->v_width, t->score + m->r * MHA__BLOCK + m->x, m->v.p, m->rows);
  else mha__mix_visible(t, s, m, &p);
}

/* whole: pack what the stripe needs of V */
static void mha__pack_values(mha__tile *t, const mha__stripe *s) {
  size_t x;
  for (x = s->g0; x < s->g1; x += MHA__PANEL) {
    const uint32_t  piece = (uint32_t)1 << x / MHA__PANEL;
    const mha__keys keys = mha__existing(t, s->base, x, MHA__PANEL);
    const mha__rows v = mha__v_rows(t, t->kv_head, mha__key_index(t, s->base, keys.x0), 0);
    if (t->v_ready & piece) continue;
    if (!t->kernels->pack(t->v_panel + keys.x0 * t->panel, t->panel, MHA__BLOCK * t->panel, v,
                          keys.x1 - keys.x0, t->a->d_v))
      t->v_bad |= piece;
    t->v_ready |= piece;
  }
}

/* V is packed unless one stripe is all that will read it. */
static void mha__mix_whole(mha__tile *t, const mha__stripe *s) {
  const size_t d_v = t->a->d_v;
  mha__piece   m;
  size_t       c;
  m.r = 0, m.rows = s->n;
  m.x = s->x0, m.count = s->x1 - s->x0;
  m.fresh = m.finite = 1;
  if (t->a->d->v_type == MHA_F32 && t->n == s->n && !s->ragged) {
    m.out = t->mixed;
    m.n = d_v;
    m.v = mha__v_rows(t, t->kv_head, mha__key_index(t, s->base, s->x0), 0);
    mha__mix_piece(t, s, &m, NULL);
    return;
  }
  mha__pack_values(t, s);
  if (s->ragged) m.finite = !(t->v_bad & mha__pieces(s->x0, s->x1));
  for (c = 0; c < d_v; c += t->panel) {
    m.out = t->mixed + c;
    m.n = mha__min(t->panel, mha__round_up(d_v - c, t->kernels->lanes));
    m.v = mha__floats(t->v_panel + c * MHA__BLOCK + s->x0 * t->panel, t->panel);
    mha__mix_piece(t, s, &m, NULL);
  }
}

static int mha__all_finite(mha__rows v, size_t rows, size_t n) {
  int finite = 1;
  for (; rows; rows--, v.p += v.step) {
    size_t c, k;
    for (c = 0; c < n; c += 16) {
      float        some[16];
      const size_t m = mha__min(n - c, 16);
      mha__widen(some, v.p, v.type, c, m);
      for (k = 0; k < m; k++) finite &= mha__is_finite(some[k]);
    }
  }
  return finite;
}

/* few: n channels from c on */
static void mha__mix_few(mha__tile *t, const mha__stripe *s, size_t c, size_t n) {
  mha__piece m;
  size_t     h;
  m.out = t->mixed;
  m.rows = t->per_head;
  m.n = n;
  for (m.x = s->x0; m.x < s->x1; m.x += t->panel)
    for (h = 0; h * t->per_head < t->n; h++) {
      size_t     then = h, j, count = mha__after(t, s, m.x, &then, &j);
      mha__ahead next;
      m.r = h * t->per_head;
      m.count = mha__min(t->panel, s->x1 - m.x);
      m.v = mha__v_rows(t, t->kv_head + h, mha__key_index(t, s->base, m.x), c);
      m.finite = !s->ragged || mha__all_finite(m.v, m.count, n);
      m.fresh = m.x == s->x0;
      next = mha__ahead_of(count ? mha__v_rows(t, t->kv_head + then, j, c) : m.v, count, n);
      mha__mix_piece(t, s, &m, &next);
    }
}

/* Stages "mix" and "fold": o of each row takes in this block's p v. */
static void mha__mix(mha__tile *t, const mha__stripe *s) {
  const size_t d_v = t->a->d_v;
  size_t       c;
  if (t->whole) {
    mha__mix_whole(t, s);
    t->kernels->fold_values(t->row + s->r0, 0, t->mixed, t->v_width, s->n, d_v, s->last);
    return;
  }
  for (c = 0; c < d_v; c += t->v_width) {
    const size_t n = mha__min(t->v_width, d_v - c);
    mha__mix_few(t, s, c, n);
    t->kernels->fold_values(t->row, c, t->mixed, t->v_width, s->n, n, s->last);
  }
}

/* The stripe from row r0 on, and which keys its rows see.  Where that changes from row to row a stripe is one
   tall tile, so that little is computed in vain. */
static void mha__cut_stripe(const mha__tile *t, mha__stripe *s) {
  const mha__row *row = t->row + s->r0, *end;
  size_t          least = MHA__BLOCK;
  s->n = mha__min(t->stripe, t->n - s->r0);
  if (t->whole && (row->x0 != row[s->n - 1].x0 || row->x1 != row[s->n - 1].x1) &&
      s->n > t->kernels->height + 3)
    s->n = t->kernels->height;
  s->x0 = MHA__BLOCK;
  s->x1 = 0;
  for (end = row + s->n; row < end; row++) {
    if (!row->visible) continue;
    s->x0 = mha__min(s->x0, row->x0);
    s->x1 = mha__max(s->x1, row->x1);
    least = mha__min(least, row->visible);
  }
  s->g0 = s->x0 / MHA__PANEL * MHA__PANEL;
  s->g1 = mha__round_up(s->x1, MHA__PANEL);
  s->ragged = least + s->x0 < s->x1;
}

/* Take a stripe through a block. */
static void mha__attend_stripe(mha__tile *t, mha__stripe *s) {
  const mha_desc *d = t->a->d;
  size_t          r, x;
  mha__cut_stripe(t, s);
  if (s->x0 >= s->x1) return; /* hidden from all rows: K and V are not read */
  mha__dot(t, s);
  if (t->shapes || s->ragged || s->x0 > s->g0 || s->x1 < s->g1)
    for (r = 0; r < s->n; r++) mha__shape_and_hide(t, s, r);
  if (d->weights) /* the logits wait there for the rows' final maxima */
    for (r = 0; r < s->n; r++)
      for (x = s->x0; x < s->x1; x++)
        t->row[s->r0 + r].weights[mha__key_index(t, s->base, x)] = t->score[r * MHA__BLOCK + x];
  t->kernels->softmax(t->row + s->r0, t->score, s->n, s->g0, s->g1);
  if (d->v_type == MHA_S8)
    for (r = 0; r < s->n; r++) mha__scale_weights(t, s, r);
  mha__mix(t, s);
}

/* Ask for keys x0 .. x1 - 1 of a block and their values. */
static void mha__prefetch_keys(const mha__tile *t, ptrdiff_t base, size_t x0, size_t x1) {
  const mha__keys keys = mha__existing(t, base, x0, x1 - x0);
  const size_t    j = mha__key_index(t, base, keys.x0);
  mha__rows       k, v;
  size_t          x;
  if (keys.x0 >= keys.x1) return;
  k = mha__k_rows(t, t->kv_head, j, 0);
  v = mha__v_rows(t, t->kv_head, j, 0);
  for (x = keys.x0; x < keys.x1; x++, k.p += k.step, v.p += v.step) {
    mha__prefetch(k.p, mha__element[k.type].bytes * t->a->d->d_k);
    mha__prefetch(v.p, mha__element[v.type].bytes * t->a->d_v);
  }
}

/* Take the rows of the tile through the block of positions base .. base + 127.  Where rows lie some KB apart
   only asking early hides the way to memory: the block after it is asked for meanwhile, unless it is the
   last. */
static void mha__block(mha__tile *t, ptrdiff_t base, ptrdiff_t next, int last) {
  mha__stripe s;
  size_t      r, asked = 0;
  t->k_ready = t->v_ready = t->v_bad = 0;
  s.base = base;
  s.last = last && !t->a->d->sinks;
  for (r = 0; r < t->n; r++) mha__see(&t->row[r], base, t->at.kv0);
  for (s.r0 = 0; s.r0 < t->n; s.r0 += s.n) {
    const size_t before = asked;
    mha__attend_stripe(t, &s);
    asked = MHA__BLOCK * (s.r0 + s.n) / t->n;
    if (t->whole && !last) mha__prefetch_keys(t, next, before, asked);
  }
}

static void mha__enter_batch(mha__tile *t, size_t b) {
  t->b = b;
  t->at = mha__place_of(t->a->d, b);
}

/* Point r at row i of query head h, with nothing folded yet. */
static void mha__begin_row(const mha__tile *t, mha__row *r, size_t h, size_t i) {
  const mha__call *a = t->a;
  const mha_desc  *d = a->d;
  mha__span(r, d, &t->at, i);
  r->h = h;
  r->q = d->q + mha__at(a->q, t->b, h, i);
  r->o = d->o + mha__at(a->o, t->b, h, i);
  r->mask = d->mask && a->longest ? d->mask + mha__at(d->mask_stride, t->b, h, i) : NULL;
  r->bias = d->bias && a->longest ? d->bias + mha__at(d->bias_stride, t->b, h, i) : NULL;
  r->weights = r->lse = NULL;
  if (d->weights || d->lse) {
    const size_t flat = (t->b * d->q_heads + h) * d->q_len + i;
    if (d->weights) r->weights = d->weights + flat * d->kv_len;
    if (d->lse) r->lse = d->lse + flat;
  }
  r->m = -MHA__FLT_MAX;
  r->l = 0.0f;
  r->sees = r->normal = 0;
  r->e = 0.0f; /* read, though not used, in rows that see nothing */
}

/* Rows first .. first + n - 1 of each of so many kv heads, counted as query row * group + head in the group,
   become the tile. */
static void mha__begin_tile(mha__tile *t, size_t kv_head, size_t heads, size_t first, size_t n) {
  const mha__call *a = t->a;
  size_t           h, k, r = 0, i, g;
  t->kv_head = kv_head;
  t->per_head = n;
  t->n = heads * n;
  for (h = kv_head; h < kv_head + heads; h++) {
    i = first / a->group;
    g = first % a->group;
    for (k = 0; k < n; k++, r++) {
      mha__begin_row(t, &t->row[r], h * a->group + g, i);
      if (t->q_width == a->d->d_k)
        t->kernels->scale(t->query + r * t->q_width, t->row[r].q, t->q_width, a->q_factor);
      if (++g == a->group) g = 0, i++;
    }
  }
}

/* Positions lo .. hi - 1 that some row of the tile may see, of those from the first keys or of the others. */
typedef struct {
  ptrdiff_t lo, hi;
} mha__reach;

static void mha__widen_reach(mha__reach *reach, ptrdiff_t lo, ptrdiff_t hi) {
  if (lo >= hi) return;
  if (reach->lo >= reach->hi) {
    reach->lo = lo;
    reach->hi = hi;
    return;
  }
  reach->lo = mha__min_pos(reach->lo, lo);
  reach->hi = mha__max_pos(reach->hi, hi);
}

/* From one block that the tile may see to the next one; returns 0 after the last. */
static int mha__next_block(ptrdiff_t *base, const mha__reach *first, const mha__reach *other) {
  *base += MHA__BLOCK;
  if (*base < first->hi) return 1;
  if (other->lo >= other->hi) return 0;
  *base = mha__max_pos(*base, mha__block_base(other->lo));
  return *base < other->hi;
}

/* All blocks that the tile may see, ascending: two stretches where keep_first lies far before the window. */
static void mha__walk(mha__tile *t) {
  mha__reach first = { 0, 0 }, other = { 0, 0 }, swap;
  ptrdiff_t  base, next;
  size_t     r;
  int        more;
  for (r = 0; r < t->n; r++) {
    mha__widen_reach(&first, t->row[r].first_lo, t->row[r].first_hi);
    mha__widen_reach(&other, t->row[r].lo, t->row[r].hi);
  }
  if (first.lo >= first.hi || (other.lo < other.hi && other.lo < first.lo)) {
    swap = first;
    first = other;
    other = swap;
  }
  if (first.lo >= first.hi) return;
  for (next = mha__block_base(first.lo), more = 1; more;) {
    base = next;
    more = mha__next_block(&next, &first, &other);
    mha__block(t, base, next, !more);
  }
}

/* The logits in the row's weights become its softmax. */
static void mha__finish_weights(const mha__tile *t, mha__row *row, float r) {
  const size_t len = t->at.len, kv_len = t->a->d->kv_len;
  ptrdiff_t    base;
  size_t       x, j = 0;
  for (base = mha__block_base(t->at.kv0); j < len; base += MHA__BLOCK) {
    const size_t end = mha__min(mha__key_index(t, base, MHA__BLOCK), len);
    mha__see(row, base, t->at.kv0);
    if (row->visible)
      t->kernels->weigh(row->weights + mha__key_index(t, base, row->x0), row->x1 - row->x0, row->m, r);
    for (x = j + MHA__BLOCK - mha__key_index(t, base, MHA__BLOCK); j < end; j++, x++)
      if (!mha__sees(row, x)) row->weights[j] = 0.0f;
  }
  mha__fill(row->weights + len, kv_len - len, 0.0f);
}

/* Stage "store": o, LSE and weights of a row whose blocks are all folded. */
static void mha__finish_row(const mha__tile *t, mha__row *row) {
  const mha_desc *d = t->a->d;
  float           r;
  if (!row->sees) {
    mha__fill(row->o, t->a->d_v, 0.0f);
    if (row->lse) *row->lse = d->sinks ? d->sinks[row->h] : -MHA__INF;
    if (row->weights) mha__fill(row->weights, d->kv_len, 0.0f);
    return;
  }
  if (d->sinks) {
    t->kernels->fold_sink(row, d->sinks[row->h]);
    if (row->grew) t->kernels->normalise(row->o, t->a->d_v, row->e); /* o = fma(o, e, +0): it has no values */
  }
  r = 1.0f / row->l;
  if (!row->normal) t->kernels->normalise(row->o, t->a->d_v, r);
  if (row->lse) *row->lse = t->kernels->log_sum(row->m, row->l);
  if (row->weights) mha__finish_weights(t, row, r);
}

static void mha__attend_tile(mha__tile *t, size_t kv_head, size_t heads, size_t first, size_t n) {
  size_t r;
  mha__begin_tile(t, kv_head, heads, first, n);
  mha__walk(t);
  for (r = 0; r < t->n; r++) mha__finish_row(t, &t->row[r]);
}

/* Rows first .. end - 1 of each of so many kv heads: all rows, if there is more than one. */
static void mha__attend_rows(mha__tile *t, size_t kv_head, size_t heads, size_t first, size_t end) {
  if (heads > 1) mha__attend_tile(t, kv_head, heads, first, end - first);
  else
    for (; first < end; first += t->n) mha__attend_tile(t, kv_head, 1, first, mha__min(t->rows, end - first));
}

/* ---- Sharing the work ---- */

/* The first of share `part` when n things are cut into `parts` shares; share `parts` begins at n. */
static uint64_t mha__share(uint64_t n, size_t part, size_t parts) {
  const uint64_t rest = n % parts;
  return n / parts * part + (part < rest ? part : rest);
}

/* What one query row of the batch member costs, in keys: 16 for itself. */
static uint64_t mha__row_cost(const mha__tile *t, size_t i) {
  mha__row r;
  mha__span(&r, t->a->d, &t->at, i);
  return mha__span_keys(&r) + 16;
}

static uint64_t mha__head_cost(const mha__tile *t) {
  uint64_t cost = 0;
  size_t   i;
  for (i = 0; i < t->a->d->q_len; i++) cost += mha__row_cost(t, i);
  return cost;
}

/* How many rows of a kv head (query row * group + head in the group) begin before `limit`, if the first
   begins at 0; limit is at most what all of them cost. */
static size_t mha__rows_before(const mha__tile *t, uint64_t limit) {
  const size_t group = t->a->group;
  size_t       i;
  for (i = 0;; i++) {
    const uint64_t cost = mha__row_cost(t, i);
    if (limit <= cost * group) return i * group + (size_t)((limit + cost - 1) / cost);
    limit -= cost * group;
  }
}

static void mha__attend_share(mha__tile *t, size_t part, size_t parts) {
  const mha__call *a = t->a;
  const size_t     all = a->d->q_len * a->group;
  uint64_t         total = 0, at = 0, from, to;
  size_t           b, h, n;
  for (b = 0; b < a->d->batch; b++) {
    mha__enter_batch(t, b);
    total += mha__head_cost(t) * a->d->q_heads;
  }
  from = mha__share(total, part, parts);
  to = mha__share(total, part + 1, parts);
  for (b = 0; b < a->d->batch; b++) {
    uint64_t cost;
    mha__enter_batch(t, b);
    cost = mha__head_cost(t) * a->group;
    for (h = 0; h < a->kv_heads; h += n, at += cost * n) {
      n = 1;
      if (at >= to || at + cost <= from) continue;
      if (at >= from && at + cost <= to) /* heads that are all ours */
        n = mha__min(t->heads, mha__min(a->kv_heads - h, (size_t)((to - at) / cost)));
      mha__attend_rows(t, h, n, at < from ? mha__rows_before(t, from - at) : 0,
                       at + cost > to ? mha__rows_before(t, to - at) : all);
    }
  }
}

static void mha__attend_all(mha__tile *t) {
  const mha__call *a = t->a;
  size_t           b, h, n;
  for (b = 0; b < a->d->batch; b++) {
    mha__enter_batch(t, b);
    for (h = 0; h < a->kv_heads; h += n) {
      n = mha__min(t->heads, a->kv_heads - h);
      mha__attend_rows(t, h, n, 0, mha__head_rows(a));
    }
  }
}

/* ---- One long row on several threads: block results in shared memory ----

   Of each row and each block (of the longest row) the floats m, l and o (d_v); m is -inf where the row sees
   no key of the block, which no block that it sees can have. */

static size_t mha__blocks_at_most(const mha__call *a) { return a->d->kv_len / MHA__BLOCK + 2; }

static size_t mha__shared_floats(const mha__call *a) {
  return mha__times(mha__times(a->rows, mha__blocks_at_most(a)), mha__plus(a->d_v, 2));
}

static mha_status mha__resolve_keys(mha__call *a, const mha_desc *d, size_t *bytes) {
  mha_status status = mha__resolve(a, d);
  if (status) return status;
  if (d->weights) return MHA_ERR_OPTION;
  *bytes = mha__times(mha__shared_floats(a), sizeof(float));
  if (*bytes) *bytes = mha__plus(*bytes, sizeof(float) - 1); /* room to align */
  return *bytes <= MHA__SIZE_LIMIT ? MHA_OK : MHA_ERR_RANGE;
}

static mha_status mha__check_shared(const mha__call *a, size_t needed, const void *shared,
                                    size_t shared_bytes) {
  if ((!shared && shared_bytes) || shared_bytes < needed) return MHA_ERR_WORK;
  return mha__check_work(a, shared, needed);
}

/* The results of the n-th block of row i of head h. */
static float *mha__shared_block(const mha__tile *t, void *shared, size_t h, size_t i, size_t n) {
  const mha__call *a = t->a;
  const size_t     flat = (t->b * a->d->q_heads + h) * a->d->q_len + i;
  const size_t     skip = (sizeof(float) - (uintptr_t)shared % sizeof(float)) % sizeof(float);
  float *const     first = (float *)(void *)((unsigned char *)shared + skip);
  return first + (flat * mha__blocks_at_most(a) + n) * (a->d_v + 2);
}

/* Blocks of the batch member that some row may see, counted from that of key 0. */
typedef struct {
  size_t first, end;
} mha__blocks;

static mha__blocks mha__blocks_seen(const mha__tile *t) {
  const ptrdiff_t base = mha__block_base(t->at.kv0);
  mha__blocks     blocks = { 0, 0 };
  mha__reach      reach = { 0, 0 };
  mha__row        r;
  size_t          i;
  for (i = 0; i < t->a->d->q_len; i++) {
    mha__span(&r, t->a->d, &t->at, i);
    mha__widen_reach(&reach, r.first_lo, r.first_hi);
    mha__widen_reach(&reach, r.lo, r.hi);
  }
  if (reach.lo >= reach.hi) return blocks;
  blocks.first = (size_t)(reach.lo - base) / MHA__BLOCK;
  blocks.end = ((size_t)(reach.hi - base) + MHA__BLOCK - 1) / MHA__BLOCK;
  return blocks;
}

static void mha__keys_tile(mha__tile *t, size_t kv_head, size_t heads, size_t first, size_t rows,
                           mha__blocks blocks, void *shared) {
  const size_t group = t->a->group;
  size_t       n, r;
  mha__begin_tile(t, kv_head, heads, first, rows);
  for (n = blocks.first; n < blocks.end; n++) {
    for (r = 0; r < t->n; r++) {
      mha__row *row = &t->row[r];
      row->o = mha__shared_block(t, shared, row->h, (first + r % rows) / group, n) + 2;
      row->sees = 0;
    }
    mha__block(t, mha__block_base(t->at.kv0) + (ptrdiff_t)(n * MHA__BLOCK), 0, 0);
    for (r = 0; r < t->n; r++) {
      t->row[r].o[-2] = t->row[r].sees ? t->row[r].m : -MHA__INF;
      t->row[r].o[-1] = t->row[r].l;
    }
  }
}

static void mha__keys_all(mha__tile *t, mha__blocks blocks, void *shared) {
  const mha__call *a = t->a;
  const size_t     all = mha__head_rows(a);
  size_t           h, n, first;
  for (h = 0; h < a->kv_heads; h += n) {
    n = mha__min(t->heads, a->kv_heads - h);
    if (n > 1) mha__keys_tile(t, h, n, 0, all, blocks, shared);
    else
      for (first = 0; first < all; first += t->n)
        mha__keys_tile(t, h, 1, first, mha__min(t->rows, all - first), blocks, shared);
  }
}

static void mha__join_row(mha__tile *t, size_t h, size_t i, mha__blocks blocks, void *shared) {
  mha__row row;
  size_t   n;
  mha__begin_row(t, &row, h, i);
  row.visible = 1;
  for (n = blocks.first; n < blocks.end; n++) {
    const float *block = mha__shared_block(t, shared, h, i, n);
    if (mha__bits(block[0]) == 0xff800000u) continue;
    t->kernels->fold(&row, block[0], block[1]);
    t->kernels->fold_values(&row, 0, block + 2, 0, 1, t->a->d_v, 0);
  }
  mha__finish_row(t, &row);
}

/* ---- Public functions, as declared ---- */

/* n elements from one array to another, disjoint one */
static mha_status mha__check_copy(const void *out, int out_type, const void *in, int in_type, size_t n) {
  mha_status status = mha__check_array(out, n, out_type);
  if (!status) status = mha__check_array(in, n, in_type);
  if (status) return status;
  return mha__overlap(out, n * mha__element[out_type].bytes, in, n * mha__element[in_type].bytes)
             ? MHA_ERR_OVERLAP
             : MHA_OK;
}

MHADEF mha_status mha_split_heads(float *heads, const float *x, size_t seq_len, size_t num_heads,
                                  size_t d_k) {
  size_t     h, i, c;
  mha_status status;
  if (!num_heads || !d_k) return MHA_ERR_SHAPE;
  status = mha__check_copy(heads, MHA_F32, x, MHA_F32, mha__times(seq_len, mha__times(num_heads, d_k)));
  if (status || !seq_len) return status;
  for (h = 0; h < num_heads; h++)
    for (i = 0; i < seq_len; i++)
      for (c = 0; c < d_k; c++) heads[(h * seq_len + i) * d_k + c] = x[(i * num_heads + h) * d_k + c];
  return MHA_OK;
}

#ifdef MHA__ALONE
/* In place the query must outlive the row's first block.  The limit is level 2's without a workspace. */
enum { MHA__IN_PLACE = MHA_STACK_BYTES / 4 - MHA__BLOCK - MHA__PANEL };
MHA__NOINLINE void mha__attend_in_place(const mha__alike *a, float *row) {
  float  q[MHA__IN_PLACE];
  size_t c;
  for (c = 0; c < a->d_k; c++) q[c] = row[c];
  mha__lone_rows_scalar(a, row, q, 1);
}

/* Level 1 attention on its own, after checks in the order of mha__resolve. */
static mha_status mha__attend_alike(mha__alike *a) {
  const size_t n = mha__times(a->len, mha__times(a->heads, a->d_k)), bytes = n * sizeof *a->out;
  const int    in_place = a->out == a->q;
  mha_status   status;
  size_t       i, rows;
  if (!a->len) return MHA_OK;
  if (mha__max(a->len, a->d_k) > MHA__SIZE_LIMIT / 4) return MHA_ERR_RANGE;
  if ((status = mha__check_array(a->out, n, MHA_F32)) != MHA_OK) return status;
  if ((status = mha__check_array(a->q, n, MHA_F32)) != MHA_OK) return status;
  if ((status = mha__check_array(a->k, n, MHA_F32)) != MHA_OK) return status;
  if ((status = mha__check_array(a->v, n, MHA_F32)) != MHA_OK) return status;
  if (in_place ? a->d_k > MHA__IN_PLACE : mha__overlap(a->out, bytes, a->q, bytes)) return MHA_ERR_OVERLAP;
  if (mha__overlap(a->out, bytes, a->k, bytes) || mha__overlap(a->out, bytes, a->v, bytes))
    return MHA_ERR_OVERLAP;
  a->factor = mha__inverse_sqrt(a->d_k) * MHA__LOG2E;
  for (; a->heads; a->heads--, a->out += a->head, a->q += a->head, a->k += a->head, a->v += a->head)
    for (i = 0; i < a->len; i += rows) {
      rows = a->len <= MHA__FEW && a->len - i >= 2 ? 2 : 1;
      if (in_place && a->len > MHA__BLOCK) mha__attend_in_place(a, a->out + i * a->row);
      else mha__lone_rows_scalar(a, a->out + i * a->row, a->q + i * a->row, rows);
    }
  return MHA_OK;
}
#else
/* Can so few numbers be read and written without a further check?  If not, the full one finds out why. */
static int mha__plain(const float *out, const float *q, const float *k, const float *v, size_t n) {
  const uintptr_t o = (uintptr_t)out, end = (uintptr_t)-1 - n * sizeof(float);
  const uintptr_t misaligned = ((uintptr_t)q | (uintptr_t)k | (uintptr_t)v | o) % mha__element[MHA_F32].align;
  if (!out || !q || !k || !v || misaligned) return 0;
  if (o > end || (uintptr_t)q > end || (uintptr_t)k > end || (uintptr_t)v > end) return 0;
  n *= sizeof(float);
  if (q != out && mha__overlap(out, n, q, n)) return 0;
  return !mha__overlap(out, n, k, n) && !mha__overlap(out, n, v, n);
}

/* Level 1 attention: four tensors of the same size and strides, everything else at its default. */
static mha_status mha__attend_alike(const mha__alike *a) {
  mha_desc d;
  if (!a->len) return MHA_OK;
  if (a->len <= MHA__PANEL && a->d_k <= MHA__PANEL && a->heads <= MHA__PANEL && /* the rest would show */
      mha__plain(a->out, a->q, a->k, a->v, a->len * a->heads * a->d_k)) {
    mha__active()->tiny(a->out, a->q, a->k, a->v, a->len, a->heads, a->d_k, a->head, a->row,
                        mha__inverse_sqrt(a->d_k) * MHA__LOG2E);
    return MHA_OK;
  }
  mha__clear(&d, sizeof d);
  d.batch = 1;
  d.q_heads = a->heads;
  d.q_len = d.kv_len = a->len;
  d.d_k = a->d_k;
  d.o_stride.head = (ptrdiff_t)mha__min(a->head, MHA__SIZE_LIMIT);
  d.o_stride.row = (ptrdiff_t)mha__min(a->row, MHA__SIZE_LIMIT);
  d.q_stride = d.k_stride = d.v_stride = d.o_stride;
  d.o = a->out, d.q = a->q, d.k = a->k, d.v = a->v;
  return mha_attend(&d, NULL, 0);
}
#endif

MHADEF mha_status mha_sdpa(float *out, const float *q, const float *k, const float *v, size_t seq_len,
                           size_t num_heads, size_t d_k) {
  mha__alike a;
  if (!num_heads || !d_k) return MHA_ERR_SHAPE;
  a.out = out, a.q = q, a.k = k, a.v = v;
  a.len = seq_len, a.heads = num_heads, a.d_k = a.row = d_k;
  a.head = mha__times(seq_len, d_k);
  return mha__attend_alike(&a);
}

MHADEF mha_status mha_merge_heads(float *x, const float *heads, size_t seq_len, size_t num_heads,
                                  size_t d_k) {
  size_t     h, i, c;
  mha_status status;
  if (!num_heads || !d_k) return MHA_ERR_SHAPE;
  status = mha__check_copy(x, MHA_F32, heads, MHA_F32, mha__times(seq_len, mha__times(num_heads, d_k)));
  if (status || !seq_len) return status;
  for (h = 0; h < num_heads; h++)
    for (i = 0; i < seq_len; i++)
      for (c = 0; c < d_k; c++) x[(i * num_heads + h) * d_k + c] = heads[(h * seq_len + i) * d_k + c];
  return MHA_OK;
}

MHADEF mha_status mha_multi_head_attention(float *out, const float *q, const float *k, const float *v,
                                           size_t seq_len, size_t d_model, size_t num_heads) {
  mha__alike a;
  if (!num_heads || !d_model) return MHA_ERR_SHAPE;
  if (d_model % num_heads) return MHA_ERR_HEADS;
  a.out = out, a.q = q, a.k = k, a.v = v;
  a.len = seq_len, a.heads = num_heads, a.d_k = a.head = d_model / num_heads;
  a.row = d_model;
  return mha__attend_alike(&a);
}

MHADEF mha_status mha_attend(const mha_desc *d, void *work, size_t work_bytes) {
  return mha_attend_part(d, 0, 1, work, work_bytes);
}

MHADEF mha_status mha_attend_part(const mha_desc *d, size_t part, size_t parts, void *work,
                                  size_t work_bytes) {
  mha__stack stack;
  mha__call  a;
  mha__tile  t;
  mha_status status = mha__resolve(&a, d);
  if (status) return status;
  if (part >= parts) return MHA_ERR_PART;
  if ((status = mha__check_work(&a, work, work_bytes)) != MHA_OK || !a.rows) return status;
  if ((status = mha__begin(&t, &a, &stack, work, work_bytes)) != MHA_OK) return status;
  if (parts == 1) mha__attend_all(&t);
  else mha__attend_share(&t, part, parts);
  return MHA_OK;
}

MHADEF mha_status mha_check(const mha_desc *d) {
  mha__call a;
  return mha__resolve(&a, d);
}

MHADEF size_t mha_work_bytes(const mha_desc *d) {
  mha__call a;
  size_t    bytes;
  if (mha__resolve(&a, d) || !a.rows) return 0;
  bytes = mha__wanted_bytes(&a);
  return mha__min(mha__plus(bytes, MHA__WORK_ALIGN), MHA__SIZE_LIMIT);
}

MHADEF size_t mha_keys_bytes(const mha_desc *d) {
  mha__call a;
  size_t    bytes;
  return mha__resolve_keys(&a, d, &bytes) ? 0 : bytes;
}

MHADEF mha_status mha_attend_keys(const mha_desc *d, size_t part, size_t parts, void *shared,
                                  size_t shared_bytes) {
  mha__stack stack;
  mha__call  a;
  mha__tile  t;
  size_t     b, bytes;
  mha_status status = mha__resolve_keys(&a, d, &bytes);
  if (status) return status;
  if (part >= parts) return MHA_ERR_PART;
  if ((status = mha__check_shared(&a, bytes, shared, shared_bytes)) != MHA_OK) return status;
  if (!a.rows) return MHA_OK;
  a.in_place = 0; /* o is not written here, so there is nothing for mha__begin to refuse */
  mha__begin(&t, &a, &stack, NULL, 0);
  for (b = 0; b < d->batch; b++) {
    mha__blocks all, mine;
    mha__enter_batch(&t, b);
    all = mha__blocks_seen(&t);
    mine.first = all.first + (size_t)mha__share(all.end - all.first, part, parts);
    mine.end = all.first + (size_t)mha__share(all.end - all.first, part + 1, parts);
    mha__keys_all(&t, mine, shared);
  }
  return MHA_OK;
}

MHADEF mha_status mha_attend_join(const mha_desc *d, void *shared, size_t shared_bytes) {
  mha__call  a;
  mha__tile  t;
  size_t     b, h, i, bytes;
  mha_status status = mha__resolve_keys(&a, d, &bytes);
  if (status) return status;
  if ((status = mha__check_shared(&a, bytes, shared, shared_bytes)) != MHA_OK) return status;
  if (!a.rows) return MHA_OK;
  t.a = &a;
  t.kernels = mha__active();
  for (b = 0; b < d->batch; b++) {
    mha__blocks blocks;
    mha__enter_batch(&t, b);
    blocks = mha__blocks_seen(&t);
    for (h = 0; h < d->q_heads; h++)
      for (i = 0; i < d->q_len; i++) mha__join_row(&t, h, i, blocks, shared);
  }
  return MHA_OK;
}

/* The upper half of a 128-bit product. */
static uint64_t mha__mul_high(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* The float nearest to 2^-(whole + fraction / 2^64), in integers: exp(-y) = 1 - y + y^2/2! - ... with y =
   fraction ln 2, in units of 2^-63, of which the rounding of 24 terms takes less than 2^5; a float needs
   2^39. */
static float mha__negative_power(unsigned whole, uint64_t fraction) {
  const uint64_t y = mha__mul_high(fraction, ((uint64_t)0xb17217f7u << 32) | 0xd1cf79acu); /* ln 2 * 2^64 */
  uint64_t       term = (uint64_t)1 << 63, sum = term;
  unsigned       k;
  for (k = 1; k <= 24; k++) {
    term = mha__mul_high(term, y) / k;
    sum = k % 2 ? sum - term : sum + term;
  }
  return (float)sum * mha__from_bits((uint32_t)(64 - whole) << 23);
}

MHADEF mha_status mha_alibi_slopes(float *slopes, size_t q_heads) {
  unsigned   t = 0; /* 2^t heads or more */
  size_t     h;
  mha_status status = mha__check_array(slopes, q_heads, MHA_F32);
  if (!q_heads) return MHA_ERR_SHAPE;
  if (status) return status;
  while (q_heads >> t > 1) t++;
  for (h = 0; h < q_heads; h++) {
    const size_t   extra = h >> t; /* 1 beyond the power of two */
    const uint64_t n = extra ? 2 * ((uint64_t)h - ((uint64_t)1 << t)) + 1 : (uint64_t)h + 1;
    const unsigned shift = t + (unsigned)extra; /* the slope is 2^-(8 n / 2^shift) */
    slopes[h] = mha__negative_power((unsigned)(8 * n >> shift), shift ? 8 * n << (64 - shift) : 0);
  }
  return MHA_OK;
}

MHADEF mha_status mha_f16_from_f32(uint16_t *out, const float *in, size_t n) {
  size_t     k;
  mha_status status = mha__check_copy(out, MHA_F16, in, MHA_F32, n);
  if (status) return status;
  for (k = 0; k < n; k++) out[k] = mha__to_f16(in[k]);
  return MHA_OK;
}

MHADEF mha_status mha_bf16_from_f32(uint16_t *out, const float *in, size_t n) {
  size_t     k;
  mha_status status = mha__check_copy(out, MHA_BF16, in, MHA_F32, n);
  if (status) return status;
  for (k = 0; k < n; k++) out[k] = mha__to_bf16(in[k]);
  return MHA_OK;
}

static mha_status mha__widen_all(float *out, const uint16_t *in, int type, size_t n) {
  mha_status status = mha__check_copy(out, MHA_F32, in, type, n);
  if (!status) mha__widen(out, in, type, 0, n);
  return status;
}

MHADEF mha_status mha_f32_from_f16(float *out, const uint16_t *in, size_t n) {
  return mha__widen_all(out, in, MHA_F16, n);
}
MHADEF mha_status mha_f32_from_bf16(float *out, const uint16_t *in, size_t n) {
  return mha__widen_all(out, in, MHA_BF16, n);
}

/* To the nearest integer, ties to even, for |x| <= 2^21: adding 1.5 * 2^23 leaves no bit for a fraction. */
static int mha__round(float x) {
#ifdef MHA__EXCESS
  volatile
#endif
      float t = x + 12582912.0f;
  return (int)((int32_t)(mha__bits(t) & 0x7fffffu) - 0x400000);
}

MHADEF mha_status mha_s8_from_f32(signed char *out, float *scales, const float *x, size_t rows, size_t cols) {
  const size_t n = mha__times(rows, cols), x_bytes = mha__times(n, sizeof *x);
  const size_t scale_bytes = mha__times(rows, sizeof *scales);
  size_t       r, c;
  mha_status   status = mha__check_copy(out, MHA_S8, x, MHA_F32, n);
  if (!status) status = mha__check_array(scales, rows, MHA_F32);
  if (status) return status;
  if (mha__overlap(scales, scale_bytes, x, x_bytes) || mha__overlap(scales, scale_bytes, out, n))
    return MHA_ERR_OVERLAP;
  for (r = 0; r < n; r++)
    if (!mha__is_finite(x[r])) return MHA_ERR_VALUE;
  for (r = 0; r < rows; r++) {
    float most = 0.0f, scale;
    for (c = 0; c < cols; c++) {
      const float size = mha__from_bits(mha__bits(x[r * cols + c]) & 0x7fffffffu);
      most = size > most ? size : most;
    }
    scale = most / 127.0f;
    scale = scale > 1.17549435e-38f ? scale : 1.17549435e-38f; /* 2^-126: no division by 0 */
    for (c = 0; c < cols; c++) out[r * cols + c] = (signed char)mha__round(x[r * cols + c] / scale);
    scales[r] = scale;
  }
  return MHA_OK;
}

MHADEF size_t mha_desc_bytes(void) { return sizeof(mha_desc); }

MHADEF const char *mha_isa(void) { return mha__active()->isa; }

MHADEF const char *mha_numerics(void) { return mha__active()->numerics; }

#endif /* MHA_NO_FLOAT */

#ifndef MHA_NO_S8

/* ---- Integer attention: two query rows at a time ---- */

/* One instance of the integer kernels at the end of this file; what each function does stands there. */
typedef struct {
  const char *isa;
  int32_t (*expand)(int16_t *q2, const signed char *q, size_t n, int zero, size_t r);
  void (*dot)(int32_t *acc, const int16_t *q2, size_t n, const signed char *k, ptrdiff_t k_row, size_t keys);
  void (*mix)(int32_t *sums, const int16_t *w, const signed char *v, ptrdiff_t v_row, size_t keys, size_t n);
  void (*mix_small)(int32_t *sums, const int16_t *w, const signed char *v, ptrdiff_t v_row, size_t keys,
                    size_t n, size_t run);
  size_t (*run)(const int16_t *w, size_t keys); /* NULL: without limit, and mix does what mix_small does */
} mha__s8_kernels;

MHA__INLINE uint32_t mha__s8_wrap(int32_t x) { return (uint32_t)x; } /* modulo 2^32 */

#ifndef MHA_S8_ROWS
#  if defined(__OPTIMIZE_SIZE__) && !defined(MHA__X86) && !defined(MHA__NEON)
#    define MHA_S8_ROWS 1
#  else
#    define MHA_S8_ROWS 2
#  endif
#elif MHA_S8_ROWS != 1 && MHA_S8_ROWS != 2
#  error "MHA_S8_ROWS must be 1 or 2"
#endif
#define MHA__S8_FAST  (MHA_S8_ROWS == 2) /* flash may be spent */
#define MHA__S8_GROUP 8   /* keys scored, and channels mixed, at once */
#define MHA__S8_SUMS  (MHA_S8_ROWS * MHA__S8_GROUP)
#define MHA__S8_FLUSH 512 /* keys whose sums of native weights * v fit 32 bits: 512 * 32767 * 128 < 2^31 */

#if MHA_S8_ROWS == 2 && !defined(MHA_NO_SIMD) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#  if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE + 0) & 1
#    define MHA__S8_MVE
#    include <arm_mve.h>
#  elif defined(__ARM_FEATURE_DSP) && !defined(__aarch64__)
#    define MHA__S8_DSP
#  endif
#endif

/* As above, each of these compiles the integer kernels once more. */
#if defined(MHA__S8_MVE)
#  define MHA__ISA      _mve
#  define MHA__NAME     "mve"
#  define MHA__S8_LANES 8
#elif defined(MHA__S8_DSP)
#  define MHA__ISA      _dsp
#  define MHA__NAME     "dsp"
#  define MHA__S8_LANES 4
#else
#  define MHA__ISA      _scalar
#  define MHA__NAME     "scalar"
#  define MHA__S8_LANES 4
#endif
#define MHA__ATTR
#include MHA_FILE

#ifdef MHA__X86
#  define MHA__ISA      _avx2
#  define MHA__NAME     "avx2"
#  define MHA__S8_LANES 16
#  define MHA__ATTR     MHA__TARGET("avx2")
#  include MHA_FILE
#endif

#ifdef MHA__NEON
#  define MHA__ISA      _neon
#  define MHA__NAME     "neon"
#  define MHA__S8_LANES 8
#  define MHA__ATTR
#  include MHA_FILE
#endif

#if defined(MHA__X86) || defined(MHA__NEON)
static const mha__s8_kernels *volatile mha__s8_chosen;

/* Choose the fastest instance that this machine can run or, for the tests, the scalar one. */
static const mha__s8_kernels *mha__s8_choose(int simple) {
  const mha__s8_kernels *kernels = &mha__s8_kernels_scalar;
#  ifdef MHA__X86
  if (!simple && mha__x86_features() & 1) kernels = &mha__s8_kernels_avx2;
#  else
  if (!simple) kernels = &mha__s8_kernels_neon;
#  endif
  MHA__STORE(mha__s8_chosen, kernels);
  return kernels;
}

MHA__INLINE const mha__s8_kernels *mha__s8_active(void) {
  const mha__s8_kernels *kernels = MHA__LOAD(mha__s8_chosen);
  return kernels ? kernels : mha__s8_choose(0);
}
#else
MHA__INLINE const mha__s8_kernels *mha__s8_active(void) {
#  if defined(MHA__S8_MVE)
  return &mha__s8_kernels_mve;
#  elif defined(MHA__S8_DSP)
  return &mha__s8_kernels_dsp;
#  else
  return &mha__s8_kernels_scalar;
#  endif
}
#endif

/* a b / 2^31 to nearest, where not both are -2^31 */
static int32_t mha__s8_high(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b + ((int32_t)1 << 30)) >> 31);
}

/* 2^62 / x for x in [2^31, 2^32), at most 2^31 - 1: three Newton steps y += y (1 - x y) from 48/17 - 32/17 x,
   in the fixed point that TensorFlow Lite has, for the same bits. */
static int32_t mha__s8_reciprocal(uint32_t x) {
  const int32_t half = (int32_t)(x >> 1);                         /* x / 2^32 in Q0.31 */
  int32_t       y = 1515870810 + mha__s8_high(half, -1010580540); /* Q2.29 */
  int           n;
  for (n = 0; n < 3; n++) y += mha__s8_high(y, ((int32_t)1 << 29) - mha__s8_high(half, y)) * 4;
  return y >= (int32_t)1 << 30 ? 0x7fffffff : y * 2;
}

static int mha__s8_leading_zeros(uint32_t x) {
  int n = 0;
  for (; !(x >> 31); x <<= 1) n++;
  return n;
}

/* x times a factor with TensorFlow Lite's two roundings: x multiplier / 2^31 to nearest, then that / 2^r,
   r = right + 1, to nearest, ties away from zero; one rounding, r = 0, where left is set. */
MHA__NOINLINE int32_t mha__s8_rescale(int32_t x, const mha_s8_factor *f) {
  const int64_t one = 1, tie = f->left ? 0 : x < 0 ? -(one << 30) : one << 30;
  const int64_t y = (int64_t)(x * ((int32_t)1 << f->left)) * f->multiplier + tie;
  return (int32_t)((y + (one << (31 + f->right))) >> 32) >> f->right;
}

/* The same where right is not 0, nearly always: the second rounding needs the product's upper half only. */
MHA__INLINE int32_t mha__s8_rescale_common(int32_t x, const mha_s8_factor *f) {
  const int32_t  sign = x >> 31; /* 0 or -1 */
  const uint32_t tie = (uint32_t)((0x40000000 ^ sign) - sign); /* lower half of 2^30 or -2^30 */
  const int64_t  y = (int64_t)x * f->multiplier + (int64_t)((uint64_t)(uint32_t)sign << 32 | tie);
  return ((int32_t)(y >> 32) + ((int32_t)1 << (f->right - 1))) >> f->right;
}

#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__) /* GCC tears the comparisons apart inside loops */
#  define mha__s8_clamp(x)       ((int32_t)__builtin_arm_ssat(x, 8))
#  define mha__s8_at_most_255(x) ((int32_t)__builtin_arm_usat(x, 8)) /* x >= 0 */
#else
MHA__INLINE int32_t mha__s8_clamp(int32_t x) { return x < -128 ? -128 : x > 127 ? 127 : x; }
MHA__INLINE int32_t mha__s8_at_most_255(int32_t x) { return x > 255 ? 255 : x; }
#endif

/* 32767 * 2^(-n/16) and 32768 * 2^(-n/256) */
static const uint16_t mha__s8_coarse[16] = { 32767, 31378, 30047, 28774, 27554, 26385, 25267, 24196,
                                           23170, 22187, 21247, 20346, 19483, 18657, 17866, 17109 };
static const uint16_t mha__s8_fine[16] = { 32768, 32679, 32591, 32503, 32415, 32327, 32240, 32153,
                                         32066, 31979, 31893, 31806, 31720, 31635, 31549, 31464 };

/* The native weight of a score so far below the row's largest: 2^(-x) in Q0.15, x in octaves. */
static int32_t mha__s8_power(uint32_t below, const mha_s8_factor *f) {
  const uint64_t half = (uint64_t)1 << (31 + f->right);
  uint32_t       x, t, n; /* t: x in 256ths */
  if (f->left && below > 0x4000u) below = 0x4000u; /* 16 octaves anyway */
  t = (uint32_t)(((uint64_t)(below << f->left) * (uint32_t)f->multiplier + half) >> 32) >> f->right;
  if (t >= 4096) return 0;
  x = ((uint32_t)mha__s8_coarse[t >> 4 & 15] * mha__s8_fine[t & 15] + 0x4000u) >> 15;
  n = t >> 8;
  return (int32_t)((x + (((uint32_t)1 << n) >> 1)) >> n);
}

/* A call, and the head that it is at */
typedef struct {
  const mha_s8_desc   *d;
  size_t               kv_heads, group, d_v; /* group: query heads per kv head */
  const mha_s8_consts *consts;     /* of the head, */
  const signed char   *key, *value; /* its key 0, and from one to the next: */
  ptrdiff_t            k_row, v_row;
} mha__s8_call;

/* A query row on its way. */
typedef struct {
  const signed char   *q;
  signed char         *o;
  const unsigned char *mask;   /* of key 0, or NULL */
  size_t               lo, hi; /* keys lo .. hi - 1 are seen, as far as the mask allows */
  uint32_t             sum;    /* of the weights */
  int32_t              r;      /* 1 / sum of the exponentials, but for a power of two; native: times pv */
  int                  shift;
} mha__s8_row;

/* Where row i of head h is */
MHA__NOINLINE ptrdiff_t mha__s8_at(const mha_s8_strides *s, size_t heads, size_t channels, size_t h,
                                   size_t i) {
  if (s->head || s->row) return (ptrdiff_t)h * s->head + (ptrdiff_t)i * s->row;
  return (ptrdiff_t)((i * heads + h) * channels);
}

static void mha__s8_begin(mha__s8_call *a, const mha_s8_desc *d) {
  a->d = d;
  a->kv_heads = d->kv_heads ? d->kv_heads : d->q_heads;
  a->group = d->q_heads / a->kv_heads;
  a->d_v = d->d_v ? d->d_v : d->d_k;
  a->k_row = mha__s8_at(&d->k_stride, a->kv_heads, d->d_k, 0, 1);
  a->v_row = mha__s8_at(&d->v_stride, a->kv_heads, a->d_v, 0, 1);
  if (d->kv_len < 2) a->k_row = a->v_row = 0; /* as large as it may be, no pointer is to step by it */
}

/* Which keys a query at a position sees.  Positions lie within a quarter of PTRDIFF_MAX, and no window side
   needs more than half. */
MHA__NOINLINE void mha__s8_see(const mha_s8_desc *d, mha__s8_row *row, ptrdiff_t position) {
  const ptrdiff_t len = (ptrdiff_t)d->kv_len;
  ptrdiff_t       left = (ptrdiff_t)(MHA__SIZE_LIMIT / 2), right = left;
  if (d->flags & MHA_Q_LAST) position += len - (ptrdiff_t)d->q_len;
  if (d->flags & MHA_USE_WINDOW) {
    left = (ptrdiff_t)mha__min((size_t)left, d->window_left);
    right = (ptrdiff_t)mha__min((size_t)right, d->window_right);
  }
  if (d->flags & MHA_CAUSAL) right = 0;
  right = mha__max_pos(0, mha__min_pos(len, position + right + 1));
  left = mha__min_pos(right, mha__max_pos(0, position - left));
  row->lo = (size_t)left;
  row->hi = (size_t)right;
}

/* Go to row i of head h. */
MHA__NOINLINE void mha__s8_enter(mha__s8_call *a, mha__s8_row *row, size_t h, size_t i) {
  const mha_s8_desc *d = a->d;
  const size_t       kv_head = h / a->group;
  mha__s8_see(d, row, d->q_start + (ptrdiff_t)i);
  a->consts = d->consts + h * d->consts_stride;
  row->q = d->q + mha__s8_at(&d->q_stride, d->q_heads, d->d_k, h, i);
  row->o = d->o + mha__s8_at(&d->o_stride, d->q_heads, a->d_v, h, i);
  a->key = row->q, a->value = row->o; /* anything but NULL, to which not even 0 may be added */
  row->mask = NULL;
  if (d->kv_len) {
    a->key = d->k + mha__s8_at(&d->k_stride, a->kv_heads, d->d_k, kv_head, 0);
    a->value = d->v + mha__s8_at(&d->v_stride, a->kv_heads, a->d_v, kv_head, 0);
    if (d->mask) row->mask = d->mask + (ptrdiff_t)h * d->mask_stride.head + (ptrdiff_t)i * d->mask_stride.row;
  }
  row->sum = 0;
}

/* Does the mask let key j be seen? */
MHA__INLINE int mha__s8_sees(const mha__s8_row *row, size_t j) { return !row->mask || row->mask[j]; }

/* The logit for a dot product */
MHA__INLINE int32_t mha__s8_logit(int32_t dot, const mha_s8_factor *qk, int32_t zero,
                                  const signed char *map) {
  const int32_t logit = mha__s8_clamp(mha__s8_rescale(dot, qk) + zero);
  return map ? map[logit + 128] : logit;
}

/* What an exponential in Q0.31 adds to their sum, in Q12.19 */
MHA__INLINE uint32_t mha__s8_term(int32_t e) { return ((uint32_t)e + 0x800u) >> 12; }

/* 2^62 / (sum 2^shift), where the sum of a row that sees no key counts as 1 */
static void mha__s8_invert(mha__s8_row *row, uint32_t sum) {
  sum += !sum;
  row->shift = mha__s8_leading_zeros(sum);
  row->r = mha__s8_reciprocal(sum << row->shift);
}

/* tflm: what turns exponentials into weights; 0 where their sum reached 512, bit 28, some time. */
MHA__NOINLINE int mha__s8_normalise(mha__s8_row *row, uint32_t sum, uint32_t all) {
  if (all >> 28) return 0;
  mha__s8_invert(row, sum);
  row->shift = 34 - row->shift;
  return 1;
}

/* tflm: an exponential as 0 .. 255 of 256, in two roundings as in mha__s8_rescale */
MHA__INLINE int32_t mha__s8_weight(int32_t e, int32_t r, int shift) {
  const int64_t x = (int64_t)e * r + (((int64_t)1 << (31 + shift)) + ((int32_t)1 << 30));
  const int32_t weight = (int32_t)(x >> 32) >> shift;
  return mha__s8_at_most_255(weight);
}

/* Native: what turns sums of weights * values into codes. */
static void mha__s8_divide(mha__s8_row *row, const mha_s8_consts *consts) {
  mha__s8_invert(row, row->sum);
  row->r = mha__s8_high(row->r, consts->pv.multiplier);
}

/* Channels c .. c + n - 1, n >= 1, of the output from sums of weights times values */
MHA__NOINLINE void mha__s8_outputs_tflm(const mha__s8_row *row, const mha_s8_consts *consts, size_t c,
                                        const int32_t *sum, size_t n) {
  const mha_s8_factor pv = consts->pv;
  const int32_t       zero = consts->o_zero, offset = (int32_t)row->sum * consts->v_zero;
  signed char        *o = row->o + c;
  if (MHA__S8_FAST && pv.right)
    for (; n; n--) *o++ = (signed char)mha__s8_clamp(mha__s8_rescale_common(*sum++ - offset, &pv) + zero);
  for (; n; n--) *o++ = (signed char)mha__s8_clamp(mha__s8_rescale(*sum++ - offset, &pv) + zero);
}

MHA__NOINLINE void mha__s8_outputs_native(const mha__s8_row *row, const mha_s8_consts *consts, size_t c,
                                          const int64_t *sum, size_t n) {
  const int    right = consts->pv.right;
  signed char *o = row->o + c;
  do {
    const int64_t x = *sum++ - (int64_t)row->sum * consts->v_zero;     /* at most 255 * row->sum */
    const int32_t y = (int32_t)(x * ((int64_t)1 << row->shift) >> 16); /* and this 255 * 2^16 */
    const int32_t z = (int32_t)(((int64_t)y * row->r + ((int64_t)1 << (right - 1))) >> right);
    *o++ = (signed char)mha__s8_clamp(z + consts->o_zero);
  } while (--n);
}

/* tflm: the logits up to `stop` from dot products, which lack `offset`, one per row */
MHA__NOINLINE void mha__s8_logits(int16_t *s, const int16_t *stop, const int32_t *dot,
                                  const mha_s8_consts *consts, int32_t offset) {
  const mha_s8_factor qk = consts->qk;
  const int32_t       zero = consts->logit_zero;
  int16_t            *out;
  if (MHA__S8_FAST && qk.right)
    for (out = s; out != stop; out += MHA_S8_ROWS, dot += MHA_S8_ROWS)
      *out = (int16_t)mha__s8_clamp(mha__s8_rescale_common(*dot - offset, &qk) + zero);
  else
    for (out = s; out != stop; out += MHA_S8_ROWS, dot += MHA_S8_ROWS)
      *out = (int16_t)mha__s8_clamp(mha__s8_rescale(*dot - offset, &qk) + zero);
  if (!consts->logit_map) return;
  for (; s != stop; s += MHA_S8_ROWS) *s = consts->logit_map[*s + 128];
}

#define MHA__S8_HIDDEN (-0x7fffffff - 1) /* mha_s8_prepare lets no dot product be as small */

/* Mark, among the scores of keys first .. first + n - 1, one per row, those that the row does not see, with
   the least number of their type: int16_t for 2 bytes, int32_t for 4.  0 if there can't be any. */
MHA__NOINLINE int mha__s8_hide(const mha__s8_row *row, size_t first, size_t n, void *scores, size_t bytes) {
  size_t x;
  if (!row->mask && row->lo == first && row->hi == first + n) return 0;
  for (x = 0; x < n; x++) {
    const size_t j = first + x;
    if (j >= row->lo && j < row->hi && mha__s8_sees(row, j)) continue;
    if (bytes == 2) ((int16_t *)scores)[MHA_S8_ROWS * x] = -0x7fff - 1;
    else ((int32_t *)scores)[MHA_S8_ROWS * x] = MHA__S8_HIDDEN;
  }
  return 1;
}

/* tflm: logits up to `stop` become weights, where they are, one per row.  0 where they can't. */
MHA__INLINE int mha__s8_softmax(mha__s8_row *row, const int32_t *table, int16_t *w, const int16_t *stop,
                                int hidden) {
  uint32_t       sum = 0, all = 0; /* all: bits of every sum on the way; the last one may have wrapped */
  int32_t        most = -128, r;
  int            shift;
  const int16_t *s;
#define mha__s8_e(s) (hidden && most - (s) > 255 ? 0 : table[most - (s)])
  for (s = w; s != stop; s += MHA_S8_ROWS)
    if (*s > most) most = *s;
  for (s = w; s != stop; s += MHA_S8_ROWS) {
    sum += mha__s8_term(mha__s8_e(*s));
    all |= sum;
  }
  if (!mha__s8_normalise(row, sum, all)) return 0;
  r = row->r, shift = row->shift;
  for (sum = 0; w != stop; w += MHA_S8_ROWS) {
    const int32_t weight = mha__s8_weight(mha__s8_e(*w), r, shift);
    *w = (int16_t)weight;
    sum += (uint32_t)weight;
  }
#undef mha__s8_e
  row->sum = sum;
  return 1;
}

MHA__NOINLINE int mha__s8_weigh_tflm(mha__s8_row *row, const int32_t *table, int16_t *w, size_t first,
                                     size_t n) {
  const int16_t *stop = w + MHA_S8_ROWS * n;
  const int      hidden = mha__s8_hide(row, first, n, w, sizeof *w);
  if (MHA__S8_FAST && !hidden) return mha__s8_softmax(row, table, w, stop, 0);
  return mha__s8_softmax(row, table, w, stop, 1);
}

/* Native: dot products become weights, one per row. */
MHA__NOINLINE void mha__s8_weigh_native(mha__s8_row *row, const mha_s8_consts *consts, int16_t *w, int32_t *s,
                                        size_t first, size_t n) {
  const mha_s8_factor qk = consts->qk;
  uint32_t            sum = 0;
  int32_t             most = MHA__S8_HIDDEN;
  size_t              j;
  mha__s8_hide(row, first, n, s, sizeof *s);
  for (j = 0; j < n; j++)
    if (s[MHA_S8_ROWS * j] > most) most = s[MHA_S8_ROWS * j];
  for (j = 0; j < n; j++) {
    const int32_t score = s[MHA_S8_ROWS * j];
    const int32_t weight = score == MHA__S8_HIDDEN ? 0 : mha__s8_power((uint32_t)most - (uint32_t)score, &qk);
    w[MHA_S8_ROWS * j] = (int16_t)weight;
    sum += (uint32_t)weight;
  }
  row->sum = sum;
  mha__s8_divide(row, consts);
}

static void mha__s8_no_weights(int16_t *w, size_t n) {
  for (; n; n--, w += MHA_S8_ROWS) *w = 0;
}

/* Native: sums of weights * v that need 64 bits, in pieces that need 32 */
static void mha__s8_mix_long(int64_t *total, int32_t *part, const int16_t *w, const signed char *v,
                             ptrdiff_t v_row, size_t keys, size_t n) {
  size_t j, k, some;
  for (k = 0; k < MHA__S8_SUMS; k++) total[k] = 0;
  for (j = 0; j < keys; j += some) {
    some = mha__min(MHA__S8_FLUSH, keys - j);
    mha__s8_active()->mix(part, w + MHA_S8_ROWS * j, v + (ptrdiff_t)j * v_row, v_row, some, n);
    for (k = 0; k < MHA__S8_SUMS; k++) total[k] += part[k];
  }
}

/* One row, or MHA_S8_ROWS that read the same keys under the same constants; 0 where a tflm sum reached 512.
   Scratch: sums, native scores, the queries, weights. */
MHA__INLINE int mha__s8_block(const mha__s8_call *a, mha__s8_row *row, size_t rows, void *scratch, int mode) {
  const mha__s8_kernels *kernels = mha__s8_active();
  const int              native = mode == MHA_S8_NATIVE;
  const size_t lo = mha__min(row[0].lo, row[rows - 1].lo), keys = mha__max(row[0].hi, row[rows - 1].hi) - lo;
  int64_t               *total = (int64_t *)(void *)((char *)scratch + (7 & (0 - (uintptr_t)scratch)));
  int32_t               *part = (int32_t *)(total + (native ? MHA__S8_SUMS : 0));
  int32_t               *s = part + (native ? MHA__S8_SUMS : 0); /* with room for a key more, see s8_dot */
  int16_t               *q2 = (int16_t *)(s + (native ? MHA_S8_ROWS * (keys + 1) : MHA__S8_SUMS));
  int16_t               *w = q2 + MHA_S8_ROWS * a->d->d_k;
  const signed char     *k = a->key + (ptrdiff_t)lo * a->k_row, *v = a->value + (ptrdiff_t)lo * a->v_row;
  size_t                 j, c, r, n, run = keys;
  int                    good = 1;
  for (r = 0; r < MHA_S8_ROWS; r++)
    row[r].r =
        kernels->expand(q2, row[r < rows ? r : 0].q, a->d->d_k, a->consts->q_zero, r) * a->consts->k_zero;
  for (j = 0; j < keys; j += n, k += (ptrdiff_t)n * a->k_row) {
    n = mha__min(MHA__S8_GROUP, keys - j);
    kernels->dot(native ? s + MHA_S8_ROWS * j : part, q2, a->d->d_k, k, a->k_row, n);
    for (r = 0; r < rows && !native; r++)
      mha__s8_logits(w + MHA_S8_ROWS * j + r, w + MHA_S8_ROWS * (j + n) + r, part + r, a->consts, row[r].r);
  }
  for (r = 0; r < MHA_S8_ROWS; r++) {
    int done = r < rows;
    if (done && native) mha__s8_weigh_native(&row[r], a->consts, w + r, s + r, lo, keys);
    else if (done) good &= done = mha__s8_weigh_tflm(&row[r], a->consts->exp_table, w + r, lo, keys);
    if (!done) mha__s8_no_weights(w + r, keys);
  }
  if (!native && kernels->run && (row[0].sum > 256 || row[rows - 1].sum > 256)) run = kernels->run(w, keys);
  for (c = 0; c < a->d_v; c += n) {
    n = mha__min(MHA__S8_GROUP, a->d_v - c);
    if (native) mha__s8_mix_long(total, part, w, v + c, a->v_row, keys, n);
    else if (kernels->run) kernels->mix_small(part, w, v + c, a->v_row, keys, n, run);
    else kernels->mix(part, w, v + c, a->v_row, keys, n);
    for (r = 0; r < rows; r++)
      if (native) mha__s8_outputs_native(&row[r], a->consts, c, total + r * MHA__S8_GROUP, n);
      else mha__s8_outputs_tflm(&row[r], a->consts, c, part + r * MHA__S8_GROUP, n);
  }
  return good;
}

/* The score of key j, computed anew: the logit or, native, the dot product itself */
MHA__INLINE int32_t mha__s8_score(const mha__s8_call *a, const mha__s8_row *row, size_t j, int mode) {
  const mha_s8_consts *consts = a->consts;
  const signed char   *k = a->key + (ptrdiff_t)j * a->k_row;
  int32_t              dot = 0;
  size_t               c;
  for (c = 0; c < a->d->d_k; c++) dot += (int32_t)(row->q[c] - consts->q_zero) * (k[c] - consts->k_zero);
  if (mode == MHA_S8_NATIVE) return dot;
  return mha__s8_logit(dot, &consts->qk, consts->logit_zero, consts->logit_map);
}

/* One row without scratch: every score is computed wherever it is needed.  0 where a tflm sum reached 512. */
MHA__INLINE int mha__s8_lean_row(const mha__s8_call *a, mha__s8_row *row, int mode) {
  const int native = mode == MHA_S8_NATIVE;
  uint32_t  sum = 0, all = 0;
  int32_t   most = -0x7fffffff - 1;
  int       good = 1;
  size_t    c, j, n, t;
  for (j = row->lo; j < row->hi; j++)
    if (mha__s8_sees(row, j)) {
      const int32_t score = mha__s8_score(a, row, j, mode);
      if (score > most) most = score;
    }
  if (!native) {
    for (j = row->lo; j < row->hi; j++)
      if (mha__s8_sees(row, j)) {
        sum += mha__s8_term(a->consts->exp_table[most - mha__s8_score(a, row, j, mode)]);
        all |= sum;
      }
    good = mha__s8_normalise(row, sum, all);
  }
  for (c = 0; c < a->d_v; c += n) {
    int32_t part[MHA__S8_GROUP] = { 0 };
    int64_t total[MHA__S8_GROUP] = { 0 };
    n = mha__min(MHA__S8_GROUP, a->d_v - c);
    row->sum = 0;
    for (j = row->lo; good && j < row->hi; j++)
      if (mha__s8_sees(row, j)) {
        const signed char *v = a->value + (ptrdiff_t)j * a->v_row + c;
        const int32_t      score = mha__s8_score(a, row, j, mode);
        int32_t            weight;
        if (native) weight = mha__s8_power((uint32_t)most - (uint32_t)score, &a->consts->qk);
        else weight = mha__s8_weight(a->consts->exp_table[most - score], row->r, row->shift);
        row->sum += (uint32_t)weight;
        for (t = 0; t < n; t++)
          if (native) total[t] += weight * v[t];
          else part[t] += weight * v[t];
      }
    if (native) mha__s8_divide(row, a->consts);
    if (native) mha__s8_outputs_native(row, a->consts, c, total, n);
    else mha__s8_outputs_tflm(row, a->consts, c, part, n);
  }
  return good;
}

static mha_s8_strides mha__s8_packed(mha_s8_strides s, size_t heads, size_t channels) {
  if (s.head || s.row) return s;
  s.head = (ptrdiff_t)mha__min(channels, MHA__SIZE_LIMIT);
  s.row = (ptrdiff_t)mha__min(mha__times(heads, channels), MHA__SIZE_LIMIT);
  return s;
}

/* From the first to behind the last element of a tensor, heads >= 1; more than MHA__SIZE_LIMIT if that is too
   far. */
static size_t mha__s8_extent(mha_s8_strides s, size_t heads, size_t len, size_t channels) {
  if (!len || !channels) return 0;
  return mha__plus(channels,
                   mha__plus(mha__times(heads - 1, (size_t)s.head), mha__times(len - 1, (size_t)s.row)));
}

/* Do rows of o coincide or interleave? */
static int mha__s8_coincide(mha_s8_strides s, size_t heads, size_t len, size_t d_v) {
  size_t n[2], step[2];
  n[0] = heads, step[0] = (size_t)s.head;
  n[1] = len, step[1] = (size_t)s.row;
  return mha__interleave(n, step, 2, d_v);
}

/* The memory that a call writes, as far as it is known yet */
typedef struct {
  const void *o, *scratch;
  size_t      o_bytes, scratch_bytes;
} mha__s8_written;

/* Is a tensor there, in reach, and apart from what is written? */
MHA__NOINLINE mha_status mha__s8_tensor(const void *p, mha_s8_strides s, size_t heads, size_t len,
                                        size_t channels, const mha__s8_written *out) {
  const size_t bytes = mha__s8_extent(s, heads, len, channels);
  if (!bytes) return MHA_OK;
  if (!p) return MHA_ERR_NULL;
  if (s.head < 0 || s.row < 0) return MHA_ERR_STRIDE;
  if (bytes > MHA__SIZE_LIMIT || (uintptr_t)p > (uintptr_t)-1 - bytes) return MHA_ERR_RANGE;
  if (mha__overlap(p, bytes, out->o, out->o_bytes)) return MHA_ERR_OVERLAP;
  return mha__overlap(p, bytes, out->scratch, out->scratch_bytes) ? MHA_ERR_OVERLAP : MHA_OK;
}

static mha_status mha__s8_check_consts(const mha_s8_desc *d) {
  const size_t n = d->consts_stride ? d->q_heads : 1;
  size_t       h;
  for (h = 0; h < n; h++) {
    const mha_s8_consts *consts = d->consts + h;
    if (consts->mode != MHA_S8_TFLM && consts->mode != MHA_S8_NATIVE) return MHA_ERR_TYPE;
    if (consts->mode != d->consts->mode) return MHA_ERR_TYPE;
    if (consts->mode == MHA_S8_TFLM && !consts->exp_table) return MHA_ERR_NULL;
    if (consts->mode == MHA_S8_TFLM && !consts->exp_table[0]) return MHA_ERR_VALUE; /* never filled */
    if (d->d_k > consts->max_d_k || d->kv_len > consts->max_kv_len) return MHA_ERR_LENGTH;
  }
  return MHA_OK;
}

/* Every rule of the interface, and that scratch, which may be NULL, keeps apart from all. */
MHA__NOINLINE mha_status mha__s8_check(const mha_s8_desc *d, const void *scratch, size_t scratch_bytes) {
  mha__s8_written out;
  mha_s8_strides  o;
  size_t          heads, kv_heads, d_v;
  mha_status      status;
  if (!d || !d->consts) return MHA_ERR_NULL;
  heads = d->q_heads;
  kv_heads = d->kv_heads ? d->kv_heads : heads;
  d_v = d->d_v ? d->d_v : d->d_k;
  if (!heads || !d->d_k) return MHA_ERR_SHAPE;
  if (heads % kv_heads) return MHA_ERR_HEADS;
  if (d->flags & ~(unsigned)(MHA_CAUSAL | MHA_Q_LAST | MHA_USE_WINDOW)) return MHA_ERR_FLAG;
  if (d->consts_stride > 1) return MHA_ERR_STRIDE;
  if (!(d->flags & MHA_USE_WINDOW) && (d->window_left || d->window_right)) return MHA_ERR_OPTION;
  if (d->q_start && d->flags & MHA_Q_LAST) return MHA_ERR_OPTION;
  if (!mha__in_reach(d->q_start, d->q_len) || !mha__in_reach(0, d->kv_len)) return MHA_ERR_RANGE;
  if ((status = mha__s8_check_consts(d)) != MHA_OK) return status;
  o = mha__s8_packed(d->o_stride, heads, d_v);
  out.o = d->o, out.o_bytes = 0; /* o is apart from itself */
  out.scratch = scratch, out.scratch_bytes = scratch_bytes;
  if ((status = mha__s8_tensor(d->o, o, heads, d->q_len, d_v, &out)) != MHA_OK) return status;
  if (d->q_len && mha__s8_coincide(o, heads, d->q_len, d_v)) return MHA_ERR_STRIDE;
  out.o_bytes = mha__s8_extent(o, heads, d->q_len, d_v);
  status = mha__s8_tensor(d->q, mha__s8_packed(d->q_stride, heads, d->d_k), heads, d->q_len, d->d_k, &out);
  if (status) return status;
  status =
      mha__s8_tensor(d->k, mha__s8_packed(d->k_stride, kv_heads, d->d_k), kv_heads, d->kv_len, d->d_k, &out);
  if (status) return status;
  status = mha__s8_tensor(d->v, mha__s8_packed(d->v_stride, kv_heads, d_v), kv_heads, d->kv_len, d_v, &out);
  if (status || !d->mask) return status;
  return mha__s8_tensor(d->mask, d->mask_stride, heads, d->q_len, d->kv_len, &out);
}

MHADEF mha_status mha_s8_check(const mha_s8_desc *d) { return mha__s8_check(d, NULL, 0); }

MHADEF size_t mha_s8_scratch_bytes(int mode, size_t kv_len, size_t d_k) {
  const size_t keys = mha__times(kv_len, mode == MHA_S8_TFLM ? 4 : 12), rest = mode == MHA_S8_TFLM ? 71 : 207;
  return mha__plus(keys, mha__plus(mha__times(d_k, 4), rest));
}

/* What is refused in a call */
static mha_status mha__s8_refuse(const mha_s8_desc *d, int mode, const void *scratch, size_t scratch_bytes,
                                 int lean) {
#ifdef MHA_S8_UNCHECKED
  return (void)d, (void)mode, (void)scratch, (void)scratch_bytes, (void)lean, MHA_OK;
#else
  const mha_status status = mha__s8_check(d, scratch, scratch_bytes);
  if (status) return status;
  if (d->consts->mode != mode) return MHA_ERR_TYPE;
  if (lean || (scratch && scratch_bytes >= mha_s8_scratch_bytes(mode, d->kv_len, d->d_k))) return MHA_OK;
  return MHA_ERR_WORK;
#endif
}

/* The rows of a call that is not refused, by the one or other way. */
MHA__INLINE mha_status mha__s8_rows(const mha_s8_desc *d, size_t first, size_t rows, void *scratch, int mode,
                                    int lean) {
  mha__s8_call a;
  mha__s8_row  row[MHA_S8_ROWS];
  size_t       h, i, n = d->q_heads * d->q_len;
  int          good = 1;
  if (first >= n) return MHA_OK;
  mha__s8_begin(&a, d);
  rows = mha__min(rows, n - first);
  h = first / d->q_len;
  i = first % d->q_len;
  while (rows) {
    n = 0;
    do { /* as many rows as can share keys and constants */
      mha__s8_enter(&a, &row[n], h, i);
      n++, rows--;
      if (++i == d->q_len) {
        i = 0, h++;
        if (h % a.group == 0 || d->consts_stride) break;
      }
    } while (rows && n < MHA_S8_ROWS && !lean);
    good &= lean ? mha__s8_lean_row(&a, row, mode) : mha__s8_block(&a, row, n, scratch, mode);
  }
  return good ? MHA_OK : MHA_WARN_SUM;
}

/* Functions of their own, so that the stack of the work and that of the checks do not add up */
MHA__NOINLINE mha_status mha__s8_tflm(const mha_s8_desc *d, size_t first, size_t rows, void *scratch) {
  return mha__s8_rows(d, first, rows, scratch, MHA_S8_TFLM, 0);
}
MHA__NOINLINE mha_status mha__s8_native(const mha_s8_desc *d, size_t first, size_t rows, void *scratch) {
  return mha__s8_rows(d, first, rows, scratch, MHA_S8_NATIVE, 0);
}
MHA__NOINLINE mha_status mha__s8_tflm_lean(const mha_s8_desc *d, size_t first, size_t rows) {
  return mha__s8_rows(d, first, rows, NULL, MHA_S8_TFLM, 1);
}
MHA__NOINLINE mha_status mha__s8_native_lean(const mha_s8_desc *d, size_t first, size_t rows) {
  return mha__s8_rows(d, first, rows, NULL, MHA_S8_NATIVE, 1);
}

MHADEF mha_status mha_s8_tflm(const mha_s8_desc *d, size_t first_row, size_t rows, void *scratch,
                              size_t scratch_bytes) {
  const mha_status status = mha__s8_refuse(d, MHA_S8_TFLM, scratch, scratch_bytes, 0);
  return status ? status : mha__s8_tflm(d, first_row, rows, scratch);
}

MHADEF mha_status mha_s8_native(const mha_s8_desc *d, size_t first_row, size_t rows, void *scratch,
                                size_t scratch_bytes) {
  const mha_status status = mha__s8_refuse(d, MHA_S8_NATIVE, scratch, scratch_bytes, 0);
  return status ? status : mha__s8_native(d, first_row, rows, scratch);
}

MHADEF mha_status mha_s8_tflm_lean(const mha_s8_desc *d, size_t first_row, size_t rows) {
  const mha_status status = mha__s8_refuse(d, MHA_S8_TFLM, NULL, 0, 1);
  return status ? status : mha__s8_tflm_lean(d, first_row, rows);
}

MHADEF mha_status mha_s8_native_lean(const mha_s8_desc *d, size_t first_row, size_t rows) {
  const mha_status status = mha__s8_refuse(d, MHA_S8_NATIVE, NULL, 0, 1);
  return status ? status : mha__s8_native_lean(d, first_row, rows);
}

/* x / 2^n, n >= 1, to nearest, ties away from zero */
static int32_t mha__s8_divide_pot(int32_t x, int n) { return (x + ((int32_t)1 << (n - 1)) - (x < 0)) >> n; }

/* exp(-x), x >= 0 in Q5.26, in Q0.31: e^(-1/8) times a polynomial of degree 4 for the part below 1/4, shifted
   to its middle, times e^(-2^n/4) for every bit n above. */
static int32_t mha__s8_exp(uint32_t x) {
  static const int32_t power[7] = { 1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242 };
  const uint32_t quarter = (uint32_t)1 << 24, low = (0 - x) & (quarter - 1); /* -x = low - quarter - high */
  const uint32_t high = x + low - quarter;                                   /* a multiple of 1/4 */
  const int32_t  y = ((int32_t)low - (int32_t)quarter) * 32 + ((int32_t)1 << 28), y2 = mha__s8_high(y, y);
  const int32_t  y3 = mha__s8_high(y2, y), y4 = mha__s8_divide_pot(mha__s8_high(y2, y2), 2);
  int32_t        e = mha__s8_divide_pot(mha__s8_high(y4 + y3, 715827883) + y2, 1);
  int            n;
  if (x == 0) return 0x7fffffff;
  e = 1895147668 + mha__s8_high(1895147668, y + e);
  for (n = 0; n < 7; n++)
    if (high >> (24 + n) & 1) e = mha__s8_high(e, power[n]);
  return e;
}

typedef struct {
  char    c;
  int32_t x;
} mha__s8_place; /* x lies at its alignment */

MHADEF mha_status mha_s8_exp_table(int32_t *table, int32_t exp_multiplier, int exp_shift) {
  uint32_t d, most;
  if (!table) return MHA_ERR_NULL;
  if ((uintptr_t)table % offsetof(mha__s8_place, x)) return MHA_ERR_ALIGN;
  if (exp_multiplier < (int32_t)1 << 30 || exp_shift < 0 || exp_shift > 31) return MHA_ERR_VALUE;
  most = ((uint32_t)31 << 26) >> exp_shift;
  for (d = 0; d < 256; d++)
    table[d] =
        d > most ? 0 : mha__s8_exp((uint32_t)-mha__s8_high(-(int32_t)(d << exp_shift), exp_multiplier));
  return MHA_OK;
}

#ifndef MHA_NO_FLOAT

static int mha__s8_positive(float x) { return x > 0.0f && mha__is_finite(x); }
static int mha__s8_sound(mha_s8_affine a) {
  return mha__s8_positive(a.scale) && a.zero >= -128 && a.zero <= 127;
}

#if DBL_MANT_DIG != 53
MHADEF mha_status mha_s8_prepare(mha_s8_consts *consts, int32_t *exp_table, const mha_s8_quant *quant) {
  return (void)consts, (void)exp_table, (void)quant, MHA_ERR_TYPE;
}
#else
/* x > 0 as multiplier / 2^31 * 2^exponent, the multiplier to nearest: in exponent, which is returned */
static int mha__s8_frexp(double x, int32_t *multiplier) {
  union {
    double   f;
    uint64_t u;
  } bits;
  int      exponent;
  uint64_t m;
  bits.f = x;
  exponent = (int)(bits.u >> 52) - 1022;
  m = ((bits.u & (((uint64_t)1 << 52) - 1)) + ((uint64_t)1 << 52) + ((uint64_t)1 << 21)) >> 22;
  if (m >> 31) m >>= 1, exponent++;
  *multiplier = (int32_t)m;
  return exponent;
}

/* A factor of x; less than 2^-(lowest + 1) counts as 0. */
static mha_s8_factor mha__s8_factor_of(double x, int lowest) {
  mha_s8_factor f = { 0, 0, 0 };
  const int     exponent = mha__s8_frexp(x, &f.multiplier);
  if (exponent < lowest) f.multiplier = 0;
  else if (exponent < 0) f.right = (int16_t)(-1 - exponent);
  else f.left = (int16_t)(exponent + 1);
  return f;
}

/* The largest |code - zero| */
static uint32_t mha__s8_reach(mha_s8_affine a) {
  return (uint32_t)(a.zero < 0 ? 127 - a.zero : a.zero + 128);
}

static int mha__s8_fits(uint64_t most, mha_s8_factor f) {
  return f.left < 31 && most << f.left <= 0x7fffffffu;
}

MHADEF mha_status mha_s8_prepare(mha_s8_consts *consts, int32_t *exp_table, const mha_s8_quant *quant) {
  const int     tflm = quant && quant->mode == MHA_S8_TFLM;
  mha_s8_consts out;
  mha_status    status = MHA_OK;
  uint64_t      most;
  float         scale;
  double        product, softmax;
  if (!consts || !quant || (tflm && !exp_table)) return MHA_ERR_NULL;
  if (!tflm && quant->mode != MHA_S8_NATIVE) return MHA_ERR_TYPE;
  if (!tflm && (exp_table || quant->logits.scale != 0.0f || quant->logits.zero)) return MHA_ERR_OPTION;
  if (quant->logit_map ? !tflm : quant->map_scale != 0.0f) return MHA_ERR_OPTION;
  if (!quant->d_k || !quant->kv_len) return MHA_ERR_SHAPE;
  if ((uint64_t)quant->d_k > 131071u || quant->kv_len > 65535u) return MHA_ERR_RANGE;
  if (!mha__s8_sound(quant->q) || !mha__s8_sound(quant->k) || !mha__s8_sound(quant->v) ||
      !mha__s8_sound(quant->o))
    return MHA_ERR_VALUE;
  if (tflm && !mha__s8_sound(quant->logits)) return MHA_ERR_VALUE;
  if (quant->logit_map && !mha__s8_positive(quant->map_scale)) return MHA_ERR_VALUE;
  scale = quant->scale != 0.0f ? quant->scale : tflm ? 1.0f : mha__inverse_sqrt(quant->d_k);
  if (!mha__s8_positive(scale)) return MHA_ERR_VALUE;

  mha__clear(&out, sizeof out);
  out.mode = (int16_t)quant->mode;
  out.q_zero = (int16_t)quant->q.zero, out.k_zero = (int16_t)quant->k.zero;
  out.v_zero = (int16_t)quant->v.zero, out.o_zero = (int16_t)quant->o.zero;
  out.logit_zero = (int16_t)quant->logits.zero;
  out.max_d_k = (uint32_t)quant->d_k, out.max_kv_len = (uint32_t)quant->kv_len;
  most = (uint64_t)quant->d_k * mha__s8_reach(quant->q) * mha__s8_reach(quant->k);
  product = (double)quant->q.scale * (double)quant->k.scale;
  if (tflm) {
    softmax =
        (double)scale * (double)(quant->logit_map ? quant->map_scale : quant->logits.scale) * 67108864.0;
    if (!(softmax > 1.0)) return MHA_ERR_VALUE;
    if (softmax > (double)0x7fffffff) softmax = (double)0x7fffffff;
    out.exp_shift = mha__s8_frexp(softmax, &out.exp_multiplier);
    out.exp_table = exp_table;
    out.logit_map = quant->logit_map;
    out.qk = mha__s8_factor_of(product / (double)quant->logits.scale, -31);
    out.pv = mha__s8_factor_of((double)quant->v.scale / 256.0 / (double)quant->o.scale, -31);
    if (!mha__s8_fits(most, out.qk)) return MHA_ERR_RANGE;
    most = ((uint64_t)quant->kv_len / 2 + 260) * mha__s8_reach(quant->v);
    if (!mha__s8_fits(most, out.pv)) return MHA_ERR_RANGE;
    status = mha_s8_exp_table(exp_table, out.exp_multiplier, (int)out.exp_shift);
  } else {
    const double octave = /* 256 log2(e); of integers, in spite of -fsingle-precision-constant */
        (double)((uint64_t)0xb8aa3u << 32 | 0xb295c17fu) / 8796093022208.0;
    int exponent;
    out.qk = mha__s8_factor_of(product * (double)scale * octave, -32);
    exponent = mha__s8_frexp((double)quant->v.scale / (double)quant->o.scale, &out.pv.multiplier);
    if (out.qk.left > 13 || exponent > 13) return MHA_ERR_VALUE;
    if (exponent < -16) out.pv.multiplier = 0, exponent = 0;
    out.pv.right = (int16_t)(46 - exponent);
    if (most > 0x7fffffffu) return MHA_ERR_RANGE;
  }
  if (!status) *consts = out;
  return status;
}
#endif

/* To the nearest integer, halves away from zero, at most +-256 */
static int mha__s8_round(float x) {
  int n;
  if (!(x > -256.0f)) return -256;
  if (x >= 256.0f) return 256;
  n = (int)x;
  x -= (float)n;
  return x >= 0.5f ? n + 1 : x <= -0.5f ? n - 1 : n;
}

MHADEF mha_status mha_s8_quantize(signed char *out, const float *x, size_t n, mha_s8_affine affine) {
  size_t     k;
  mha_status status = mha__check_copy(out, MHA_S8, x, MHA_F32, n);
  if (status) return status;
  if (!mha__s8_sound(affine)) return MHA_ERR_VALUE;
  for (k = 0; k < n; k++)
    if (!mha__is_finite(x[k])) return MHA_ERR_VALUE;
  for (k = 0; k < n; k++)
    out[k] = (signed char)mha__s8_clamp(mha__s8_round(x[k] / affine.scale) + affine.zero);
  return MHA_OK;
}

/* The least and the largest of some numbers and 0; infinite where one is not finite. */
typedef struct {
  float least, most;
} mha__s8_span;

static void mha__s8_include(mha__s8_span *span, const float *x, size_t n) {
  size_t c;
  for (c = 0; c < n; c++) {
    if (!mha__is_finite(x[c])) span->most = MHA__INF;
    if (x[c] < span->least) span->least = x[c];
    if (x[c] > span->most) span->most = x[c];
  }
}

/* Rows of x, the first `at` numbers behind it: of none there may be no x, and any strides. */
static void mha__s8_include_rows(mha__s8_span *span, const float *x, size_t at, ptrdiff_t row, size_t rows,
                                 size_t n) {
  for (; rows; rows--, at += (size_t)row) mha__s8_include(span, x + at, n);
}

/* The products of all query rows and keys of a head */
static void mha__s8_include_dots(mha__s8_span *span, const float *q, size_t q_at, ptrdiff_t q_row,
                                 size_t rows, const float *k, size_t k_at, ptrdiff_t k_row, size_t keys,
                                 size_t d_k) {
  size_t i, j, c;
  for (i = 0; i < rows; i++)
    for (j = 0; j < keys; j++) {
      const float *x = q + (q_at + i * (size_t)q_row), *y = k + (k_at + j * (size_t)k_row);
      double       sum = 0.0; /* holds each product exactly, whether the compiler fuses or not */
      float        dot;
      for (c = 0; c < d_k; c++) sum += (double)x[c] * (double)y[c];
      dot = (float)sum;
      mha__s8_include(span, &dot, 1);
    }
}

/* 256 codes over a span; 0 has one, since quantised tensors are full of it.  No scale is below `least`. */
static mha_s8_affine mha__s8_cover(mha__s8_span span, float least) {
  mha_s8_affine a;
  a.scale = span.most / 255.0f - span.least / 255.0f;
  if (a.scale < least) a.scale = least;
  if (a.scale < 1.17549435e-38f) a.scale = 1.17549435e-38f;
  a.zero = (int)mha__s8_clamp(-128 - mha__s8_round(span.least / a.scale));
  return a;
}

MHADEF mha_status mha_s8_calibrate(mha_s8_quant *quant, const mha_desc *d, size_t head) {
  mha__s8_span q = { 0.0f, 0.0f }, k = q, v = q, o = q, dots = q;
  float        scale;
  size_t       b, h, first, end;
  mha__call    a;
  mha_status   status = quant ? mha__resolve(&a, d) : MHA_ERR_NULL;
  if (status) return status;
  if (quant->mode != MHA_S8_TFLM && quant->mode != MHA_S8_NATIVE) return MHA_ERR_TYPE;
  if (d->k_type != MHA_F32 || d->v_type != MHA_F32) return MHA_ERR_TYPE;
  if (d->softcap != 0.0f || d->bias || d->alibi_slopes || d->sinks) return MHA_ERR_OPTION;
  if (head != MHA_ALL && head >= d->q_heads) return MHA_ERR_HEADS;
  scale = mha__scale_of(d);
  if (!mha__s8_positive(scale)) return MHA_ERR_VALUE;
  first = head == MHA_ALL ? 0 : head;
  end = head == MHA_ALL ? d->q_heads : head + 1;
  for (b = 0; b < d->batch; b++)
    for (h = first; h < end; h++) {
      const size_t keys = mha__place_of(d, b).len, kv_head = h / a.group;
      const size_t q_at = mha__at(a.q, b, h, 0), k_at = mha__at(a.k, b, kv_head, 0);
      mha__s8_include_rows(&q, d->q, q_at, a.q.row, d->q_len, d->d_k);
      mha__s8_include_rows(&k, (const float *)d->k, k_at, a.k.row, keys, d->d_k);
      mha__s8_include_rows(&v, (const float *)d->v, mha__at(a.v, b, kv_head, 0), a.v.row, keys, a.d_v);
      if (quant->mode == MHA_S8_TFLM)
        mha__s8_include_dots(&dots, d->q, q_at, a.q.row, d->q_len, (const float *)d->k, k_at, a.k.row, keys,
                             d->d_k);
    }
  if (!mha__is_finite(q.most) || !mha__is_finite(k.most) || !mha__is_finite(v.most) ||
      !mha__is_finite(dots.most))
    return MHA_ERR_VALUE;
  if ((status = mha_attend(d, NULL, 0)) != MHA_OK) return status; /* o may be q, which is seen by now */
  for (b = 0; b < d->batch; b++)
    for (h = first; h < end; h++)
      mha__s8_include_rows(&o, d->o, mha__at(a.o, b, h, 0), a.o.row, d->q_len, a.d_v);
  if (!mha__is_finite(o.most)) return MHA_ERR_VALUE;
  quant->d_k = d->d_k;
  quant->kv_len = d->kv_len;
  quant->q = mha__s8_cover(q, 0.0f), quant->k = mha__s8_cover(k, 0.0f), quant->v = mha__s8_cover(v, 0.0f);
  /* Of heads that say next to nothing, the finest scales whose ratios to others mha_s8_prepare takes */
  quant->o = mha__s8_cover(o, quant->v.scale / 4096.0f);
  quant->logits = mha__s8_cover(dots, 2.98023224e-8f / scale); /* 2^-25 */
  if (quant->mode == MHA_S8_NATIVE) quant->logits.scale = 0.0f, quant->logits.zero = 0;
  quant->scale = scale;
  quant->logit_map = NULL;
  quant->map_scale = 0.0f;
  return MHA_OK;
}

#endif /* MHA_NO_FLOAT */
#endif /* MHA_NO_S8 */

#if defined(MHA_TEST_HOOKS) && !defined(MHA_NO_FLOAT)
/* 1 and all calls run the named instance from now on, integer kernels the best that is not above it; 0 and
   nothing changes where there is none. */
static int mha__force_isa(const char *name) {
  const mha__kernels *kernels;
  size_t              n, k;
  for (n = 0; (kernels = mha__instance(n)) != NULL; n++) {
    for (k = 0; name[k] && name[k] == kernels->isa[k]; k++) {}
    if (name[k] != kernels->isa[k]) continue;
    MHA__FORCE(kernels);
#  if !defined(MHA_NO_S8) && (defined(MHA__X86) || defined(MHA__NEON))
    mha__s8_choose(*name == 's'); /* scalar or sse2 */
#  endif
    return 1;
  }
  return 0;
}
#endif

#endif /* the implementation */

#else /* MHA__ISA is set */

/* == Kernels ==

   Compiled once per instruction set.  Parameters, undefined again at the end:
      MHA__ISA    suffix of every function here (_avx2: a user may have a macro of the plain name)
      MHA__NAME   the same as a string
      MHA__LANES  floats per vector: 1, 4, 8 or 16
      MHA__ATTR   what every function here must carry for the compiler to accept the instructions

   The first half names the instructions, the second is the algorithm and has no #if, but that of
   level 1 there are two. */

#ifdef MHA__S8_LANES

#if MHA_S8_ROWS == 1 /* one row at a time, for the sake of size */

MHA__NOINLINE int32_t MHA__FN(s8_expand)(int16_t *q2, const signed char *q, size_t n, int zero, size_t r) {
  int32_t sum = 0;
  for ((void)r; n; n--) sum += *q2++ = (int16_t)(*q++ - zero);
  return sum;
}

MHA__NOINLINE void MHA__FN(s8_dot)(int32_t *dot, const int16_t *q2, size_t n, const signed char *k,
                                   ptrdiff_t k_row, size_t keys) {
  size_t c;
  for (; keys; keys--, k += k_row) {
    int32_t sum = 0;
    for (c = 0; c < n; c++) sum += (int32_t)q2[c] * k[c];
    *dot++ = sum;
  }
}

MHA__NOINLINE void MHA__FN(s8_mix)(int32_t *sums, const int16_t *w, const signed char *v, ptrdiff_t v_row,
                                        size_t keys, size_t n) {
  size_t j;
  for (; n; n--, v++) {
    const signed char *x = v;
    int32_t            sum = 0;
    for (j = 0; j < keys; j++, x += v_row) sum += (int32_t)w[j] * *x;
    *sums++ = sum;
  }
}

static const mha__s8_kernels MHA__FN(s8_kernels) = { MHA__NAME, MHA__FN(s8_expand), MHA__FN(s8_dot),
                                                     MHA__FN(s8_mix), NULL, NULL };

#else

/* ---- Integer kernels ----

   Two query rows, as int16_t less q_zero, lie side by side: MHA__S8_LANES channels of the first, as many of
   the second, and so on; what remains channel by channel.  Two rows of weights: key by key.

   Half one again is the instructions:

      mha__s8_total       sums of products, to be added up, and mha__s8_zero of them
      MHA__FN(s8_madd)    += the products of MHA__S8_LANES channels of a query and a key
      MHA__FN(s8_totals)  four of them added up
      mha__s8_slot(c)     where channel c of these lies in the query
      MHA__FN(s8_sums)    sums over keys for MHA__S8_GROUP channels and two rows
      MHA__FN(s8_clear)   = 0
      MHA__FN(s8_add)     += the weights of MHA__S8_KEYS keys times their values, v_row apart
      MHA__FN(s8_put)     += to memory
      MHA__S8_RUNS        1 where the sums hold small weights of a run of keys, 0 where any
      MHA__FN(s8_run)     how many keys are a run */

#if MHA__S8_LANES == 4 /* no vectors */

#  define mha__s8_total int32_t
#  define mha__s8_zero  0

#  ifdef MHA__S8_DSP
#    define mha__s8_slot(c) (((c) & 1) << 1 | (c) >> 1) /* 0 2 1 3, as SXTB16 takes bytes from a word */
typedef int32_t __attribute__((__may_alias__, __aligned__(1))) mha__s8_bytes;
typedef int32_t __attribute__((__may_alias__)) mha__s8_halves;
MHA__INLINE int32_t MHA__FN(s8_madd)(int32_t sum, const int16_t *q, const signed char *k) {
  const mha__s8_halves *query = (const mha__s8_halves *)(const void *)q;
  const int32_t         key = *(const mha__s8_bytes *)(const void *)k;
  int32_t               even, odd;
  __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(key));
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(key));
  __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(query[0]), "r"(even));
  __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(query[1]), "r"(odd));
  return sum;
}
#  else
#    define mha__s8_slot(c) (c)
MHA__INLINE int32_t MHA__FN(s8_madd)(int32_t sum, const int16_t *q, const signed char *k) {
  sum += (int32_t)q[0] * k[0];
  sum += (int32_t)q[1] * k[1];
  sum += (int32_t)q[2] * k[2];
  sum += (int32_t)q[3] * k[3];
  return sum;
}
#  endif

MHA__INLINE void MHA__FN(s8_totals)(int32_t *x, int32_t a, int32_t b, int32_t c, int32_t d) {
  x[0] = a, x[1] = b, x[2] = c, x[3] = d;
}

/* Both rows in one multiplication: the first row's sum in the lower half of 32 bits, where it borrows from
   the second's, which s8_put gives back.  Both fit while the weights of a run add up to at most 256: 256 *
   128 = 2^15. */
#  define MHA__S8_RUNS 1
#  define MHA__S8_KEYS 1
#  define mha__s8_each(do_channel)                                                                    \
    do_channel(0) do_channel(1) do_channel(2) do_channel(3) do_channel(4) do_channel(5) do_channel(6) \
        do_channel(7)
typedef struct {
  uint32_t x0, x1, x2, x3, x4, x5, x6, x7;
} MHA__FN(s8_sums);

/* Two weights, the first in the lower half */
MHA__INLINE uint32_t MHA__FN(s8_weights)(const int16_t *w) {
  return (uint32_t)(uint16_t)w[0] | (uint32_t)(uint16_t)w[1] << 16;
}

MHA__NOINLINE size_t MHA__FN(s8_run)(const int16_t *w, size_t keys) {
  uint32_t sum = 0;
  size_t   j;
  for (j = 0; j < keys; j++, w += 2) {
    sum += MHA__FN(s8_weights)(w);
    if ((sum + 0x7eff7effu) & 0x80008000u) break; /* does a half exceed 256? */
  }
  return j;
}

MHA__INLINE void MHA__FN(s8_clear)(MHA__FN(s8_sums) * s) {
#  define mha__s8_channel(c) s->x##c = 0;
  mha__s8_each(mha__s8_channel)
#  undef mha__s8_channel
}

MHA__INLINE void MHA__FN(s8_add)(MHA__FN(s8_sums) * s, const int16_t *w, const signed char *v,
                                 ptrdiff_t v_row) {
  const uint32_t both = MHA__FN(s8_weights)(w);
#  define mha__s8_channel(c) s->x##c += both * mha__s8_wrap(v[c]);
  mha__s8_each(mha__s8_channel)
#  undef mha__s8_channel
  (void)v_row;
}

MHA__INLINE void MHA__FN(s8_put)(int32_t *sums, const MHA__FN(s8_sums) * s) {
  uint32_t x[MHA__S8_GROUP];
  size_t   c;
#  define mha__s8_channel(c) x[c] = s->x##c;
  mha__s8_each(mha__s8_channel)
#  undef mha__s8_channel
  for (c = 0; c < MHA__S8_GROUP; c++) {
    const int16_t first = (int16_t)(x[c] & 0xffffu);
    sums[c] += first;
    sums[c + MHA__S8_GROUP] += (int16_t)((x[c] - mha__s8_wrap(first)) >> 16);
  }
}

#else /* vectors, whose sums have 32 bits: a run is all there is */

#  define MHA__S8_RUNS 0
#  define mha__s8_slot(c) (c)
MHA__INLINE size_t MHA__FN(s8_run)(const int16_t *w, size_t keys) { return (void)w, keys; }

#  if MHA__S8_LANES == 8 /* Helium and NEON */
#    define MHA__S8_KEYS 1
typedef struct {
  int32x4_t a0, a4, b0, b4; /* a row's channels from 0 and from 4 */
} MHA__FN(s8_sums);

MHA__INLINE void MHA__FN(s8_clear)(MHA__FN(s8_sums) * s) { s->a0 = s->a4 = s->b0 = s->b4 = vdupq_n_s32(0); }
#  endif

#  if MHA__S8_LANES == 16 /* AVX2: a multiplication takes pairs, of channels or of keys */
#    define mha__s8_total __m256i
#    define mha__s8_zero  _mm256_setzero_si256()
MHA__INLINE MHA__ATTR __m256i MHA__FN(s8_madd)(__m256i sum, const int16_t *q, const signed char *k) {
  const __m256i query = _mm256_loadu_si256((const __m256i *)(const void *)q);
  const __m256i key = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)k));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(query, key));
}

MHA__INLINE MHA__ATTR void MHA__FN(s8_totals)(int32_t *x, __m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i t = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
  const __m128i low = _mm256_castsi256_si128(t), high = _mm256_extracti128_si256(t, 1);
  _mm_storeu_si128((__m128i *)(void *)x, _mm_add_epi32(low, high));
}

#    define MHA__S8_KEYS 2
typedef struct {
  __m256i a, b; /* the two rows */
} MHA__FN(s8_sums);

MHA__INLINE MHA__ATTR void MHA__FN(s8_clear)(MHA__FN(s8_sums) * s) { s->a = s->b = _mm256_setzero_si256(); }

MHA__INLINE MHA__ATTR void MHA__FN(s8_add)(MHA__FN(s8_sums) * s, const int16_t *w, const signed char *v,
                                           ptrdiff_t v_row) {
  const __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)v);
  const __m128i y = _mm_loadl_epi64((const __m128i *)(const void *)(v + v_row));
  const __m256i pairs = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y));
  const __m128i both = _mm_loadl_epi64((const __m128i *)(const void *)w);
  const __m128i rows = _mm_shufflelo_epi16(both, 0xd8); /* two weights of the first row, two of the second */
  const __m256i a = _mm256_broadcastd_epi32(rows), b = _mm256_broadcastd_epi32(_mm_srli_epi64(rows, 32));
  s->a = _mm256_add_epi32(s->a, _mm256_madd_epi16(pairs, a));
  s->b = _mm256_add_epi32(s->b, _mm256_madd_epi16(pairs, b));
}

MHA__INLINE MHA__ATTR void MHA__FN(s8_put)(int32_t *sums, const MHA__FN(s8_sums) * s) {
  __m256i *a = (__m256i *)(void *)sums, *b = (__m256i *)(void *)(sums + MHA__S8_GROUP);
  _mm256_storeu_si256(a, _mm256_add_epi32(_mm256_loadu_si256(a), s->a));
  _mm256_storeu_si256(b, _mm256_add_epi32(_mm256_loadu_si256(b), s->b));
}

#  elif defined(MHA__S8_MVE)
#    define mha__s8_total int32_t
#    define mha__s8_zero  0
MHA__INLINE int32_t MHA__FN(s8_madd)(int32_t sum, const int16_t *q, const signed char *k) {
  return vmladavaq_s16(sum, vldrhq_s16(q), vldrbq_s16(k));
}

MHA__INLINE void MHA__FN(s8_totals)(int32_t *x, int32_t a, int32_t b, int32_t c, int32_t d) {
  x[0] = a, x[1] = b, x[2] = c, x[3] = d;
}

MHA__INLINE void MHA__FN(s8_add)(MHA__FN(s8_sums) * s, const int16_t *w, const signed char *v,
                                 ptrdiff_t v_row) {
  const int32x4_t x = vldrbq_s32(v), y = vldrbq_s32(v + 4);
  s->a0 = vmlaq_n_s32(s->a0, x, w[0]), s->a4 = vmlaq_n_s32(s->a4, y, w[0]);
  s->b0 = vmlaq_n_s32(s->b0, x, w[1]), s->b4 = vmlaq_n_s32(s->b4, y, w[1]);
  (void)v_row;
}

MHA__INLINE void MHA__FN(s8_put)(int32_t *sums, const MHA__FN(s8_sums) * s) {
  vstrwq_s32(sums, vaddq_s32(vldrwq_s32(sums), s->a0));
  vstrwq_s32(sums + 4, vaddq_s32(vldrwq_s32(sums + 4), s->a4));
  vstrwq_s32(sums + 8, vaddq_s32(vldrwq_s32(sums + 8), s->b0));
  vstrwq_s32(sums + 12, vaddq_s32(vldrwq_s32(sums + 12), s->b4));
}

#  else /* NEON */
#    define mha__s8_total int32x4_t
#    define mha__s8_zero  vdupq_n_s32(0)
MHA__INLINE int32x4_t MHA__FN(s8_madd)(int32x4_t sum, const int16_t *q, const signed char *k) {
  const int16x8_t query = vld1q_s16(q), key = vmovl_s8(vld1_s8(k));
  sum = vmlal_s16(sum, vget_low_s16(query), vget_low_s16(key));
  return vmlal_s16(sum, vget_high_s16(query), vget_high_s16(key));
}

MHA__INLINE void MHA__FN(s8_totals)(int32_t *x, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  vst1q_s32(x, vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d)));
}

MHA__INLINE void MHA__FN(s8_add)(MHA__FN(s8_sums) * s, const int16_t *w, const signed char *v,
                                 ptrdiff_t v_row) {
  const int16x8_t x = vmovl_s8(vld1_s8(v));
  const int16x4_t low = vget_low_s16(x), high = vget_high_s16(x);
  s->a0 = vmlal_n_s16(s->a0, low, w[0]), s->a4 = vmlal_n_s16(s->a4, high, w[0]);
  s->b0 = vmlal_n_s16(s->b0, low, w[1]), s->b4 = vmlal_n_s16(s->b4, high, w[1]);
  (void)v_row;
}

MHA__INLINE void MHA__FN(s8_put)(int32_t *sums, const MHA__FN(s8_sums) * s) {
  vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), s->a0));
  vst1q_s32(sums + 4, vaddq_s32(vld1q_s32(sums + 4), s->a4));
  vst1q_s32(sums + 8, vaddq_s32(vld1q_s32(sums + 8), s->b0));
  vst1q_s32(sums + 12, vaddq_s32(vld1q_s32(sums + 12), s->b4));
}
#  endif
#endif

/* Half two, the algorithm: */

/* Into q2: n channels of query row r, 0 or 1, less the zero point.  Returns their sum. */
MHA__NOINLINE MHA__ATTR int32_t MHA__FN(s8_expand)(int16_t *q2, const signed char *q, size_t n, int zero,
                                                   size_t r) {
  int32_t sum = 0;
  size_t  c, t;
  for (c = 0; c + MHA__S8_LANES <= n; c += MHA__S8_LANES)
    for (t = 0; t < MHA__S8_LANES; t++)
      sum += q2[2 * c + r * MHA__S8_LANES + mha__s8_slot(t)] = (int16_t)(q[c + t] - zero);
  for (; c < n; c++) sum += q2[2 * c + r] = (int16_t)(q[c] - zero);
  return sum;
}

/* dot[2 j + r] = query row r times key j, for keys of n channels, k_row apart.  Two keys at a time: of
   an odd number the last one is worked on twice, and written twice. */
MHA__NOINLINE MHA__ATTR void MHA__FN(s8_dot)(int32_t *dot, const int16_t *q2, size_t n, const signed char *k,
                                      ptrdiff_t k_row, size_t keys) {
  const size_t whole = n / MHA__S8_LANES * MHA__S8_LANES;
  for (;;) {
    const signed char *x = k, *y = keys > 1 ? k + k_row : k, *stop = k + whole;
    const int16_t     *q = q2;
    mha__s8_total      ax = mha__s8_zero, bx = mha__s8_zero, ay = mha__s8_zero, by = mha__s8_zero;
    int32_t            t[4];
    while (x != stop) {
      ax = MHA__FN(s8_madd)(ax, q, x);
      bx = MHA__FN(s8_madd)(bx, q + MHA__S8_LANES, x);
      ay = MHA__FN(s8_madd)(ay, q, y);
      by = MHA__FN(s8_madd)(by, q + MHA__S8_LANES, y);
      x += MHA__S8_LANES, y += MHA__S8_LANES, q += 2 * MHA__S8_LANES;
    }
    MHA__FN(s8_totals)(t, ax, bx, ay, by);
    for (stop = k + n; x != stop; x++, y++, q += 2) {
      t[0] += (int32_t)q[0] * *x, t[1] += (int32_t)q[1] * *x;
      t[2] += (int32_t)q[0] * *y, t[3] += (int32_t)q[1] * *y;
    }
    dot[0] = t[0], dot[1] = t[1], dot[2] = t[2], dot[3] = t[3];
    if (keys <= 2) return;
    keys -= 2, k += 2 * k_row, dot += 4;
  }
}

/* s8_mix for n = MHA__S8_GROUP: the first `run` keys are a run. */
MHA__INLINE MHA__ATTR void MHA__FN(s8_mix_runs)(int32_t *sums, const int16_t *w, const signed char *v,
                                                ptrdiff_t v_row, size_t keys, size_t run) {
  size_t j;
  for (j = 0; j < 2 * MHA__S8_GROUP; j++) sums[j] = 0;
  for (; keys; run = MHA__FN(s8_run)(w, keys)) {
    const int16_t *stop = w + 2 * (run - run % MHA__S8_KEYS);
    MHA__FN(s8_sums) s;
    MHA__FN(s8_clear)(&s);
    for (; w != stop; w += 2 * MHA__S8_KEYS, v += MHA__S8_KEYS * v_row) MHA__FN(s8_add)(&s, w, v, v_row);
    if (run % MHA__S8_KEYS) { /* the second key weighs nothing */
      int16_t last[4] = { 0, 0, 0, 0 };
      last[0] = w[0], last[1] = w[1];
      MHA__FN(s8_add)(&s, last, v, 0);
      w += 2, v += v_row;
    }
    MHA__FN(s8_put)(sums, &s);
    keys -= run;
  }
}

/* sums[c] = sum over keys j of w[2 j] v[j][c], n <= MHA__S8_GROUP channels, and MHA__S8_GROUP numbers behind
   the same with w[2 j + 1]; they fit 32 bits. */
MHA__NOINLINE MHA__ATTR void MHA__FN(s8_mix)(int32_t *sums, const int16_t *w, const signed char *v,
                                             ptrdiff_t v_row, size_t keys, size_t n) {
  if (!MHA__S8_RUNS && n == MHA__S8_GROUP) {
    MHA__FN(s8_mix_runs)(sums, w, v, v_row, keys, keys);
    return;
  }
  for (; n >= 2; n -= 2, v += 2, sums += 2) {
    const signed char *x = v;
    int32_t            a0 = 0, a1 = 0, b0 = 0, b1 = 0;
    size_t             j;
    for (j = 0; j < keys; j++, x += v_row) {
      a0 += (int32_t)w[2 * j] * x[0], b0 += (int32_t)w[2 * j + 1] * x[0];
      a1 += (int32_t)w[2 * j] * x[1], b1 += (int32_t)w[2 * j + 1] * x[1];
    }
    sums[0] = a0, sums[MHA__S8_GROUP] = b0;
    sums[1] = a1, sums[MHA__S8_GROUP + 1] = b1;
  }
  if (n) {
    const signed char *x = v;
    int32_t            a0 = 0, b0 = 0;
    size_t             j;
    for (j = 0; j < keys; j++, x += v_row) a0 += (int32_t)w[2 * j] * x[0], b0 += (int32_t)w[2 * j + 1] * x[0];
    sums[0] = a0, sums[MHA__S8_GROUP] = b0;
  }
}

/* The same for weights up to 255, the first `run` keys of which are a run. */
MHA__NOINLINE MHA__ATTR void MHA__FN(s8_mix_small)(int32_t *sums, const int16_t *w, const signed char *v,
                                                   ptrdiff_t v_row, size_t keys, size_t n, size_t run) {
  if (n < MHA__S8_GROUP) MHA__FN(s8_mix)(sums, w, v, v_row, keys, n);
  else MHA__FN(s8_mix_runs)(sums, w, v, v_row, keys, run);
}

static const mha__s8_kernels MHA__FN(s8_kernels) = {
  MHA__NAME,
  MHA__FN(s8_expand),
  MHA__FN(s8_dot),
  MHA__FN(s8_mix),
  MHA__S8_RUNS ? MHA__FN(s8_mix_small) : NULL,
  MHA__S8_RUNS ? MHA__FN(s8_run) : NULL
};
#endif /* MHA_S8_ROWS */

#undef mha__s8_total
#undef mha__s8_zero
#undef mha__s8_slot
#undef mha__s8_each
#undef MHA__S8_KEYS
#undef MHA__S8_RUNS
#undef MHA__S8_LANES
#undef MHA__ISA
#undef MHA__NAME
#undef MHA__ATTR

#else /* the float ones */

/* ---- Half one: the instructions ---- */

#ifdef MHA__EXCESS
#  define MHA__NUMERICS "excess precision"
#elif defined(MHA__HARDWARE_FMA) || (MHA__LANES > 4 && !defined(MHA_NO_FMA))
#  define MHA__NUMERICS "hardware fma"
#elif defined(MHA_EXACT_FMA) && MHA__LANES == 1
#  define MHA__NUMERICS "software fma"
#else
#  define MHA__NUMERICS "multiply then add"
#endif

#if MHA__LANES == 1
#  define mha__v             float
#  define mha__load(p)       (*(p))
#  define mha__store(p, a)   (*(p) = (a))
#  define mha__set(x)        (x)
#  define mha__add(a, b)     ((a) + (b))
#  define mha__sub(a, b)     ((a) - (b))
#  define mha__mul(a, b)     ((a) * (b))
#  define mha__div(a, b)     ((a) / (b))
#  define mha__larger(a, b)  ((a) > (b) ? (a) : (b))          /* b if either is NaN */
#  define mha__where_ge(a, b, x, y) ((a) >= (b) ? (x) : (y))  /* y if either is NaN */
#  define mha__shift23(a)    mha__from_bits(mha__bits(a) << 23)
#  define mha__first(a)      (a)
#  define mha__swaps(step)
#  if defined(MHA__HARDWARE_FMA)
#    define mha__fma(a, b, c) __builtin_fmaf(a, b, c)         /* a * b + c, rounded once */
#  elif defined(MHA_EXACT_FMA)
#    define mha__fma(a, b, c) mha__soft_fma(a, b, c)
#  else
#    define mha__fma(a, b, c) mha__mul_add(a, b, c)           /* rounded twice */
MHA__INLINE float mha__mul_add(float a, float b, float c) {
  const float product = a * b;
  return product + c;
}
#  endif
#elif defined(MHA__NEON)
#  define mha__v             float32x4_t
#  define mha__load(p)       vld1q_f32(p)
#  define mha__store(p, a)   vst1q_f32(p, a)
#  define mha__set(x)        vdupq_n_f32(x)
#  define mha__add(a, b)     vaddq_f32(a, b)
#  define mha__sub(a, b)     vsubq_f32(a, b)
#  define mha__mul(a, b)     vmulq_f32(a, b)
#  define mha__div(a, b)     vdivq_f32(a, b)
#  define mha__larger(a, b)  vbslq_f32(vcgtq_f32(a, b), a, b)
#  define mha__where_ge(a, b, x, y) vbslq_f32(vcgeq_f32(a, b), x, y)
#  define mha__shift23(a)    vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(a), 23))
#  define mha__first(a)      vgetq_lane_f32(a, 0)
#  define mha__swap1(a)      vrev64q_f32(a)
#  define mha__swap2(a)      vextq_f32(a, a, 2)
#  define mha__swaps(step)   step(mha__swap2) step(mha__swap1)
#  ifdef MHA_NO_FMA
#    define mha__fma(a, b, c) vaddq_f32(vmulq_f32(a, b), c)
#  else
#    define mha__fma(a, b, c) vfmaq_f32(c, a, b)
#  endif
#elif defined(MHA__WASM)
#  define mha__v             v128_t
#  define mha__load(p)       wasm_v128_load(p)
#  define mha__store(p, a)   wasm_v128_store(p, a)
#  define mha__set(x)        wasm_f32x4_splat(x)
#  define mha__add(a, b)     wasm_f32x4_add(a, b)
#  define mha__sub(a, b)     wasm_f32x4_sub(a, b)
#  define mha__mul(a, b)     wasm_f32x4_mul(a, b)
#  define mha__div(a, b)     wasm_f32x4_div(a, b)
#  define mha__larger(a, b)  wasm_f32x4_pmax(b, a)            /* b < a ? a : b; f32x4_max keeps any NaN */
#  define mha__where_ge(a, b, x, y) wasm_v128_bitselect(x, y, wasm_f32x4_ge(a, b))
#  define mha__shift23(a)    wasm_i32x4_shl(a, 23)
#  define mha__first(a)      wasm_f32x4_extract_lane(a, 0)
#  define mha__swap1(a)      wasm_i32x4_shuffle(a, a, 1, 0, 3, 2)
#  define mha__swap2(a)      wasm_i32x4_shuffle(a, a, 2, 3, 0, 1)
#  define mha__swaps(step)   step(mha__swap2) step(mha__swap1)
#  define mha__fma(a, b, c)  wasm_f32x4_add(wasm_f32x4_mul(a, b), c)
#elif MHA__LANES == 4
#  define mha__v             __m128
#  define mha__load(p)       _mm_loadu_ps(p)
#  define mha__store(p, a)   _mm_storeu_ps(p, a)
#  define mha__set(x)        _mm_set1_ps(x)
#  define mha__add(a, b)     _mm_add_ps(a, b)
#  define mha__sub(a, b)     _mm_sub_ps(a, b)
#  define mha__mul(a, b)     _mm_mul_ps(a, b)
#  define mha__div(a, b)     _mm_div_ps(a, b)
#  define mha__larger(a, b)  _mm_max_ps(a, b)
#  define mha__where_ge(a, b, x, y) \
    _mm_or_ps(_mm_and_ps(_mm_cmpge_ps(a, b), x), _mm_andnot_ps(_mm_cmpge_ps(a, b), y))
#  define mha__shift23(a)    _mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128(a), 23))
#  define mha__first(a)      _mm_cvtss_f32(a)
#  define mha__swap1(a)      _mm_shuffle_ps(a, a, 0xb1)
#  define mha__swap2(a)      _mm_shuffle_ps(a, a, 0x4e)
#  define mha__swaps(step)   step(mha__swap2) step(mha__swap1)
#  ifdef MHA__HARDWARE_FMA
#    define mha__fma(a, b, c) _mm_fmadd_ps(a, b, c)
#  else
#    define mha__fma(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#  endif
#elif MHA__LANES == 8
#  define mha__v             __m256
#  define mha__load(p)       _mm256_loadu_ps(p)
#  define mha__store(p, a)   _mm256_storeu_ps(p, a)
#  define mha__set(x)        _mm256_set1_ps(x)
#  define mha__add(a, b)     _mm256_add_ps(a, b)
#  define mha__sub(a, b)     _mm256_sub_ps(a, b)
#  define mha__mul(a, b)     _mm256_mul_ps(a, b)
#  define mha__div(a, b)     _mm256_div_ps(a, b)
#  define mha__larger(a, b)  _mm256_max_ps(a, b)
#  define mha__where_ge(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GE_OQ))
#  define mha__shift23(a)    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 23))
#  define mha__first(a)      _mm_cvtss_f32(_mm256_castps256_ps128(a))
#  define mha__swap1(a)      _mm256_shuffle_ps(a, a, 0xb1)
#  define mha__swap2(a)      _mm256_shuffle_ps(a, a, 0x4e)
#  define mha__swap4(a)      _mm256_permute2f128_ps(a, a, 1)
#  define mha__swaps(step)   step(mha__swap4) step(mha__swap2) step(mha__swap1)
#  ifdef MHA_NO_FMA
#    define mha__fma(a, b, c) _mm256_add_ps(_mm256_mul_ps(a, b), c)
#  else
#    define mha__fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#  endif
#else /* maskz with all lanes kept: some plain forms begin with an undefined vector, of which g++ 12 warns */
#  define mha__v             __m512
#  define mha__load(p)       _mm512_loadu_ps(p)
#  define mha__store(p, a)   _mm512_storeu_ps(p, a)
#  define mha__set(x)        _mm512_set1_ps(x)
#  define mha__add(a, b)     _mm512_add_ps(a, b)
#  define mha__sub(a, b)     _mm512_sub_ps(a, b)
#  define mha__mul(a, b)     _mm512_mul_ps(a, b)
#  define mha__div(a, b)     _mm512_div_ps(a, b)
#  define mha__larger(a, b)  _mm512_maskz_max_ps(0xffff, a, b)
#  define mha__where_ge(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GE_OQ), y, x)
#  define mha__shift23(a)    _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_castps_si512(a), 23))
#  define mha__first(a)      _mm512_cvtss_f32(a)
#  define mha__swap1(a)      _mm512_maskz_shuffle_ps(0xffff, a, a, 0xb1)
#  define mha__swap2(a)      _mm512_maskz_shuffle_ps(0xffff, a, a, 0x4e)
#  define mha__swap4(a)      _mm512_maskz_shuffle_f32x4(0xffff, a, a, 0xb1)
#  define mha__swap8(a)      _mm512_maskz_shuffle_f32x4(0xffff, a, a, 0x4e)
#  define mha__swaps(step)   step(mha__swap8) step(mha__swap4) step(mha__swap2) step(mha__swap1)
#  ifdef MHA_NO_FMA
#    define mha__fma(a, b, c) _mm512_add_ps(_mm512_mul_ps(a, b), c)
#  else
#    define mha__fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#  endif
#endif

/* x[0] .. x[7] become the next eight floats from p on.  One instruction of ARM's does that, but compilers
   emit eight. */
#if MHA__LANES == 1 && defined(__arm__) && defined(__ARM_FP) && (defined(__GNUC__) || defined(__clang__))
typedef struct { float x[8]; } mha__eight;
#  define mha__load8(x, p)                                                                                   \
  do {                                                                                                       \
    register float x0 __asm__("s0"), x1 __asm__("s1"), x2 __asm__("s2"), x3 __asm__("s3");                   \
    register float x4 __asm__("s4"), x5 __asm__("s5"), x6 __asm__("s6"), x7 __asm__("s7");                   \
    __asm__("vldmia %8!, {s0-s7}"                                                                            \
            : "=t"(x0), "=t"(x1), "=t"(x2), "=t"(x3), "=t"(x4), "=t"(x5), "=t"(x6), "=t"(x7), "+r"(p)        \
            : "m"(*(const mha__eight *)(const void *)(p)));                                                  \
    x[0] = x0, x[1] = x1, x[2] = x2, x[3] = x3, x[4] = x4, x[5] = x5, x[6] = x6, x[7] = x7;                  \
  } while (0)
#elif MHA__LANES == 1
#  define mha__load8(x, p)                                                                                   \
  (x[0] = p[0], x[1] = p[1], x[2] = p[2], x[3] = p[3], x[4] = p[4], x[5] = p[5], x[6] = p[6], x[7] = p[7],   \
   p += 8)
#endif

/* For exp2: r * 2^(n - 1) where x is above -126, NaN for NaN, else +0.  Without an instruction for the larger
   of two it is quickest to look at the sum, which passes through an integer register anyway. */
#if MHA__LANES == 1
#  define mha__at_least(x, least)  (x)
#  define mha__raised(r, sum, x)   MHA__FN(raised)(r, sum, x)
MHA__INLINE float MHA__FN(raised)(float r, float sum, float x) {
  mha__word w;
  w.f = sum;
  if (mha__likely(w.i > 0x4b400000)) return r * mha__shift23(sum); /* that of x = -126 */
  return x != x ? x : 0.0f;
}
#else
#  define mha__at_least(x, least)  mha__larger(mha__set(least), x)
#  define mha__raised(r, sum, x)   mha__mul(r, mha__shift23(sum))
#endif

/* MHA__LANES numbers of another type; and four of each of the keys 0, 4, 8, 12, as many as fill a vector */
#if MHA__LANES == 16
#  define mha__i128(p)      _mm_loadu_si128((const __m128i *)(const void *)(p))
#  define mha__i256(p)      _mm256_loadu_si256((const __m256i *)(const void *)(p))
#  define mha__from_f16(a)  _mm512_maskz_cvtph_ps(0xffff, a)
#  define mha__from_bf16(a) \
    _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, a), 16))
#  define mha__from_s8(a)   _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, a))
#  define mha__load_f16(p)  mha__from_f16(mha__i256(p))
#  define mha__load_bf16(p) mha__from_bf16(mha__i256(p))
#  define mha__load_s8(p)   mha__from_s8(mha__i128(p))
/* a broadcast from memory under a mask needs no shuffle, as an insertion would */
#  define mha__quad(v, k, p) _mm512_mask_broadcast_f32x4(v, (__mmask16)(0xf << 4 * (k)), mha__four(p))
#  define mha__four(p)       _mm_loadu_ps((const float *)(const void *)(p))
#  define mha__quads(p, step) \
    mha__quad(mha__quad(mha__quad(_mm512_castps128_ps512(mha__four(p)), 1, (p) + 4 * (step)), 2, \
                        (p) + 8 * (step)), 3, (p) + 12 * (step))
#  define mha__i64(p)        _mm_loadl_epi64((const __m128i *)(const void *)(p))
#  define mha__two(p, step)  _mm_unpacklo_epi64(mha__i64(p), mha__i64((p) + 4 * (step)))
#  define mha__quads_16(p, step) \
    _mm256_inserti128_si256(_mm256_castsi128_si256(mha__two(p, step)), mha__two((p) + 8 * (step), step), 1)
#  define mha__quads_8(p, step) _mm_unpacklo_epi64(mha__two_8(p, step), mha__two_8((p) + 8 * (step), step))
#  define mha__two_8(p, step) \
    _mm_unpacklo_epi32(_mm_cvtsi32_si128(mha__int(p)), _mm_cvtsi32_si128(mha__int((p) + 4 * (step))))
#elif MHA__LANES == 8
#  define mha__i128(p)      _mm_loadu_si128((const __m128i *)(const void *)(p))
#  define mha__from_f16(a)  _mm256_cvtph_ps(a)
#  define mha__from_bf16(a) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16))
#  define mha__from_s8(a)   _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(a))
#  define mha__load_f16(p)  mha__from_f16(mha__i128(p))
#  define mha__load_bf16(p) mha__from_bf16(mha__i128(p))
#  define mha__i64(p)       _mm_loadl_epi64((const __m128i *)(const void *)(p))
#  define mha__load_s8(p)   mha__from_s8(mha__i64(p))
#  define mha__four(p)      _mm_loadu_ps((const float *)(const void *)(p))
#  define mha__quads(p, step) \
    _mm256_insertf128_ps(_mm256_castps128_ps256(mha__four(p)), mha__four((p) + 4 * (step)), 1)
#  define mha__quads_16(p, step) _mm_unpacklo_epi64(mha__i64(p), mha__i64((p) + 4 * (step)))
#  define mha__quads_8(p, step) \
    _mm_unpacklo_epi32(_mm_cvtsi32_si128(mha__int(p)), _mm_cvtsi32_si128(mha__int((p) + 4 * (step))))
#else
#  if defined(MHA__NEON) && MHA__LANES == 4
#    define mha__u16(p)       vld1_u16((const uint16_t *)(const void *)(p))
#    define mha__load_f16(p)  vcvt_f32_f16(vreinterpret_f16_u16(mha__u16(p)))
#    define mha__load_bf16(p) vreinterpretq_f32_u32(vshll_n_u16(mha__u16(p), 16))
#    define mha__s16(p)       vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(mha__int(p))))
#    define mha__load_s8(p)   vcvtq_f32_s32(vmovl_s16(vget_low_s16(mha__s16(p))))
#  else
#    define mha__load_f16(p)  MHA__FN(load_other)(p, MHA_F16)
#    define mha__load_bf16(p) MHA__FN(load_other)(p, MHA_BF16)
#    define mha__load_s8(p)   MHA__FN(load_other)(p, MHA_S8)
MHA__NOINLINE MHA__ATTR mha__v MHA__FN(load_other)(const char *p, int type) {
  float some[MHA__LANES];
  mha__widen(some, p, type, 0, MHA__LANES);
  return mha__load(some);
}
#  endif
#endif

/* MHA__LANES numbers of any type */
MHA__INLINE MHA__ATTR mha__v MHA__FN(load_as)(const char *p, int type) {
  if (type == MHA_F32) return mha__load((const float *)(const void *)p);
  if (type == MHA_F16) return mha__load_f16(p);
  if (type == MHA_BF16) return mha__load_bf16(p);
  return mha__load_s8(p);
}

/* x[c] = channel c of MHA__LANES keys, for 4 channels of floats; turn4_as: of any other type */
#if MHA__LANES == 1
MHA__INLINE void MHA__FN(turn4)(mha__v x[4], mha__rows k) {
  const float *p = (const float *)(const void *)k.p;
  x[0] = p[0], x[1] = p[1], x[2] = p[2], x[3] = p[3];
}
static void MHA__FN(turn4_as)(mha__v x[4], mha__rows k) { mha__widen(x, k.p, k.type, 0, 4); }
#else
/* a has four channels each of keys 0, 4, ... side by side, b of keys 1, 5, ... and so on: turning 4 x 4
   inside each quarter then does it. */
#  if defined(MHA__NEON)
MHA__INLINE void MHA__FN(turn_quads)(mha__v x[4], mha__v a, mha__v b, mha__v c, mha__v d) {
  const float32x4x2_t ab = vtrnq_f32(a, b), cd = vtrnq_f32(c, d);
  x[0] = vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0]));
  x[1] = vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1]));
  x[2] = vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0]));
  x[3] = vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1]));
}
#  else
#    if defined(MHA__WASM)
#      define mha__unpacklo(a, b)   wasm_i32x4_shuffle(a, b, 0, 4, 1, 5)
#      define mha__unpackhi(a, b)   wasm_i32x4_shuffle(a, b, 2, 6, 3, 7)
#      define mha__shuffle(a, b, k) \
        wasm_i32x4_shuffle(a, b, (k) & 3, (k) >> 2 & 3, ((k) >> 4 & 3) + 4, ((k) >> 6) + 4)
#    elif MHA__LANES == 4
#      define mha__unpacklo      _mm_unpacklo_ps
#      define mha__unpackhi      _mm_unpackhi_ps
#      define mha__shuffle       _mm_shuffle_ps
#    elif MHA__LANES == 8
#      define mha__unpacklo      _mm256_unpacklo_ps
#      define mha__unpackhi      _mm256_unpackhi_ps
#      define mha__shuffle       _mm256_shuffle_ps
#    else
#      define mha__unpacklo(a, b)   _mm512_maskz_unpacklo_ps(0xffff, a, b)
#      define mha__unpackhi(a, b)   _mm512_maskz_unpackhi_ps(0xffff, a, b)
#      define mha__shuffle(a, b, k) _mm512_maskz_shuffle_ps(0xffff, a, b, k)
#    endif
MHA__INLINE MHA__ATTR void MHA__FN(turn_quads)(mha__v x[4], mha__v a, mha__v b, mha__v c, mha__v d) {
  const mha__v ab = mha__unpacklo(a, b), cd = mha__unpacklo(c, d);
  const mha__v ab2 = mha__unpackhi(a, b), cd2 = mha__unpackhi(c, d);
  x[0] = mha__shuffle(ab, cd, 0x44);
  x[1] = mha__shuffle(ab, cd, 0xee);
  x[2] = mha__shuffle(ab2, cd2, 0x44);
  x[3] = mha__shuffle(ab2, cd2, 0xee);
}
#    undef mha__unpacklo
#    undef mha__unpackhi
#    undef mha__shuffle
#  endif
#  if MHA__LANES == 4
#    define mha__quads(p, step)    mha__load((const float *)(const void *)(p))
#    define mha__quads_as(p, k)    MHA__FN(load_as)(p, (k).type)
#  else
#    define mha__quads_as(p, k)    MHA__FN(quads_other)(p, (k).step, (k).type)
MHA__INLINE MHA__ATTR mha__v MHA__FN(quads_other)(const char *p, size_t step, int type) {
  if (type == MHA_F16) return mha__from_f16(mha__quads_16(p, step));
  if (type == MHA_BF16) return mha__from_bf16(mha__quads_16(p, step));
  return mha__from_s8(mha__quads_8(p, step));
}
#  endif
MHA__INLINE MHA__ATTR void MHA__FN(turn4)(mha__v x[4], mha__rows k) {
  MHA__FN(turn_quads)(x, mha__quads(k.p, k.step), mha__quads(k.p + k.step, k.step),
                      mha__quads(k.p + 2 * k.step, k.step), mha__quads(k.p + 3 * k.step, k.step));
}
MHA__INLINE MHA__ATTR void MHA__FN(turn4_as)(mha__v x[4], mha__rows k) {
  MHA__FN(turn_quads)(x, mha__quads_as(k.p, k), mha__quads_as(k.p + k.step, k),
                      mha__quads_as(k.p + 2 * k.step, k), mha__quads_as(k.p + 3 * k.step, k));
}
#endif

/* The first n lanes, the others 0; and storing only these.  n <= MHA__LANES */
#if MHA__LANES == 16
#  define mha__mask(n)              ((__mmask16)((1u << (n)) - 1))
#  define mha__load_some(p, n)      _mm512_maskz_loadu_ps(mha__mask(n), p)
#  define mha__store_some(p, a, n)  _mm512_mask_storeu_ps(p, mha__mask(n), a)
#elif MHA__LANES == 8
#  define mha__mask(n) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#  define mha__load_some(p, n)      _mm256_maskload_ps(p, mha__mask(n))
#  define mha__store_some(p, a, n)  _mm256_maskstore_ps(p, mha__mask(n), a)
#elif MHA__LANES == 1
#  define mha__load_some(p, n)      mha__load(p)
#  define mha__store_some(p, a, n)  mha__store(p, a)
#else
#  define mha__load_some(p, n)      MHA__FN(load_some)(p, n)
#  define mha__store_some(p, a, n)  MHA__FN(store_some)(p, a, n)
MHA__NOINLINE MHA__ATTR mha__v MHA__FN(load_some)(const float *p, size_t n) {
  float  some[MHA__LANES] = { 0 };
  size_t k;
  for (k = 0; k < n; k++) some[k] = p[k];
  return mha__load(some);
}
MHA__NOINLINE MHA__ATTR void MHA__FN(store_some)(float *p, mha__v a, size_t n) {
  float  some[MHA__LANES];
  size_t k;
  mha__store(some, a);
  for (k = 0; k < n; k++) p[k] = some[k];
}
#endif

/* The sum must be rounded to float even where registers hold more. */
#ifdef MHA__EXCESS
#  define MHA__ROUNDED volatile mha__v
#else
#  define MHA__ROUNDED mha__v
#endif

/* Rows that a tall tile keeps in registers, two vectors each: 16 registers hold 12 sums, 32 hold 16. */
#if MHA__LANES == 16 || defined(MHA__NEON)
#  define MHA__HEIGHT 8
#  define mha__rows_tall(do_row) mha__rows_4(do_row) do_row(4) do_row(5) do_row(6) do_row(7)
#elif MHA__LANES == 8
#  define MHA__HEIGHT 6
#  define mha__rows_tall(do_row) mha__rows_4(do_row) do_row(4) do_row(5)
#else
#  define MHA__HEIGHT 4
#  define mha__rows_tall(do_row) mha__rows_4(do_row)
#endif

/* ---- Half two: the algorithm ---- */

/* Up to n lanes, the others 0. */
MHA__INLINE MHA__ATTR mha__v MHA__FN(load_part)(const float *p, size_t n) {
  return n >= MHA__LANES ? mha__load(p) : mha__load_some(p, n);
}

MHA__INLINE MHA__ATTR void MHA__FN(store_part)(float *p, mha__v a, size_t n) {
  if (n >= MHA__LANES) mha__store(p, a);
  else mha__store_some(p, a, n);
}

/* The same of another type. */
MHA__NOINLINE MHA__ATTR mha__v MHA__FN(widen_some)(const char *p, int type, size_t n) {
  float some[MHA__LANES] = { 0 };
  mha__widen(some, p, type, 0, n);
  return mha__load(some);
}
MHA__INLINE MHA__ATTR mha__v MHA__FN(load_part_as)(const char *p, int type, size_t n) {
  if (n >= MHA__LANES) return MHA__FN(load_as)(p, type);
  if (type == MHA_F32) return mha__load_some((const float *)(const void *)p, n);
  return MHA__FN(widen_some)(p, type, n);
}

/* a * b + c in the roundings of this instance */
MHA__INLINE MHA__ATTR float MHA__FN(fma_one)(float a, float b, float c) {
  float some[MHA__LANES];
  mha__store(some, mha__fma(mha__set(a), mha__set(b), mha__set(c)));
  return some[0];
}

/* 2 * 2^f - 2 + last, where x = n + f, n the nearest integer, by a polynomial; mha__shift23(*sum) is
   2^(n - 1), and +0 for n = -126.

   Adding 1.5 * 2^23 + 126 rounds x to an integer that then stands, plus 126, in the low bits of the sum:
   shifted to the exponent they are the power.  The coefficients are minimax for |f| <= 1/2, doubled. */
MHA__INLINE MHA__ATTR mha__v MHA__FN(exp2_parts)(mha__v x, float last, mha__v *sum) {
  const mha__v       magic = mha__set(12583038.0f);
  const MHA__ROUNDED rounded = mha__add(x, magic);
  const mha__v       n = mha__sub(rounded, magic), f = mha__sub(x, n);
  mha__v             r = mha__set(0.000311893527f);
  r = mha__fma(r, f, mha__set(0.00268132868f));
  r = mha__fma(r, f, mha__set(0.0192353856f));
  r = mha__fma(r, f, mha__set(0.111006208f));
  r = mha__fma(r, f, mha__set(0.480453044f));
  r = mha__fma(r, f, mha__set(1.38629448f));
  *sum = rounded;
  return mha__fma(r, f, mha__set(last));
}

/* 2^x for x <= 0, within 1.02 ulp; exactly 1 at 0, +0 where x rounds to -126 or less, NaN stays */
MHA__INLINE MHA__ATTR mha__v MHA__FN(exp2)(mha__v x) {
  mha__v sum, r = MHA__FN(exp2_parts)(mha__at_least(x, -126.0f), 2.0f, &sum);
  return mha__raised(r, sum, x);
}

MHA__SMALL MHA__ATTR float MHA__FN(exp2_one)(float x) {
  float some[MHA__LANES];
  mha__store(some, MHA__FN(exp2)(mha__set(x)));
  return some[0];
}

/* tanh(x ln2 / 2) = (2^x - 1) / (2^x + 1), accurate near 0 because 2^x - 1 comes from the polynomial; 1 from
   x = 26 on */
MHA__INLINE MHA__ATTR mha__v MHA__FN(tanh)(mha__v x) {
  const mha__v zero = mha__set(0.0f), one = mha__set(-1.0f), most = mha__set(26.0f), two = mha__set(2.0f);
  const mha__v negative = mha__mul(x, one);
  mha__v       a = mha__where_ge(x, zero, x, negative), sum, power, r, y, z;
  a = mha__where_ge(a, most, most, a);
  r = MHA__FN(exp2_parts)(a, 0.0f, &sum);
  power = mha__shift23(sum);
  y = mha__fma(two, power, one);
  y = mha__fma(r, power, y);
  z = mha__add(y, two);
  y = mha__div(y, z);
  z = mha__mul(y, one);
  return mha__where_ge(x, zero, y, z);
}

/* Natural logarithm of a finite l > 0; NaN stays, 0 gives -inf.  With l = 2^e (1 + y), y in [-0.3, 0.42],
   and z = y / (y + 2): ln(1 + y) = 2 atanh(z) = y - z y + z^3 (2/3 + 2/5 z^2 + 2/7 z^4 + 2/9 z^6 ...). */
static MHA__ATTR float MHA__FN(log)(float l) {
  uint32_t m = (mha__bits(l) & 0x7fffffu) | 0x3f800000u;
  int      e = (int)(mha__bits(l) >> 23) - 127;
  float    y, z, zz, r, t, h;
  if (l != l) return l;
  if (l == 0.0f) return -MHA__INF;
  if (m > 0x3fb504f3u) { /* above sqrt(2): halve */
    m -= 0x800000u;
    e++;
  }
  y = mha__from_bits(m) - 1.0f;
  t = y + 2.0f;
  z = y / t;
  zz = z * z;
  r = MHA__FN(fma_one)(zz, 0.222222224f, 0.285714298f);
  r = MHA__FN(fma_one)(zz, r, 0.400000006f);
  r = MHA__FN(fma_one)(zz, r, 0.666666687f);
  r = zz * r;
  t = MHA__FN(fma_one)(-z, y, 0.0f); /* not -z * y: a compiler could contract that into the next sum */
  h = MHA__FN(fma_one)(r, z, t);
  if (e == 0) return y + h;
  t = MHA__FN(fma_one)((float)e, 1.42860677e-06f, h); /* ln 2 in two parts, the larger with 15 bits */
  y = MHA__FN(fma_one)((float)e, 0.693145752f, y);
  return y + t;
}

/* ---- The two products ----

   A tile keeps some rows of the result, V vectors wide, in registers while it runs through the terms.  Rows
   are written out by macros, because compilers keep an array in registers only if no loop runs over it. */

#define mha__rows_1(do_row)  do_row(0)
#define mha__rows_4(do_row)  do_row(0) do_row(1) do_row(2) do_row(3)

/* One vector may be a part of one, of `width` lanes; in tiles of several all are whole. */
#define mha__load_tile(p)     (columns > 1 ? mha__load(p) : MHA__FN(load_part)(p, width))
#define mha__load_b(p)                                                                                       \
  (columns > 1 ? MHA__FN(load_as)(p, type) : MHA__FN(load_part_as)(p, type, width))
#define mha__store_tile(p, a)                                                                                \
  do {                                                                                                       \
    if (columns > 1) mha__store(p, a);                                                                       \
    else MHA__FN(store_part)(p, a, width);                                                                   \
  } while (0)

/* s[r] = row r of out; s[r] += a[r][t] x; row r of out = s[r] */
#define mha__begin_row(r)                                                                                    \
  s[r][0] = fresh ? mha__set(0.0f) : mha__load_tile(out + r * p->out_row);                                   \
  if (columns > 1) s[r][1] = fresh ? mha__set(0.0f) : mha__load(out + r * p->out_row + MHA__LANES);          \
  if (columns > 2) s[r][2] = fresh ? mha__set(0.0f) : mha__load(out + r * p->out_row + 2 * MHA__LANES);      \
  if (columns > 2) s[r][3] = fresh ? mha__set(0.0f) : mha__load(out + r * p->out_row + 3 * MHA__LANES);
#define mha__fma_row(r)                                                                                      \
  y = mha__set(a[r * p->a_row + t]);                                                                         \
  s[r][0] = mha__fma(y, x[0], s[r][0]);                                                                      \
  if (columns > 1) s[r][1] = mha__fma(y, x[1], s[r][1]);                                                     \
  if (columns > 2) s[r][2] = mha__fma(y, x[2], s[r][2]);                                                     \
  if (columns > 2) s[r][3] = mha__fma(y, x[3], s[r][3]);
#define mha__end_row(r)                                                                                      \
  mha__store_tile(out + r * p->out_row, s[r][0]);                                                            \
  if (columns > 1) mha__store(out + r * p->out_row + MHA__LANES, s[r][1]);                                   \
  if (columns > 2) mha__store(out + r * p->out_row + 2 * MHA__LANES, s[r][2]);                               \
  if (columns > 2) mha__store(out + r * p->out_row + 3 * MHA__LANES, s[r][3]);

/* types: the type of b, a constant where many rows are worked on; few: ask for what comes next? */
#define mha__product_tile(name, rows, vectors, types, few)                                                   \
  MHA__NOINLINE MHA__ATTR void MHA__FN(name)(const mha__product *p, float *out, const float *a,              \
                                             const char *b, size_t width) {                                  \
    enum { columns = vectors };                                                                              \
    const int    type = types, fresh = p->fresh;                                                             \
    const size_t bytes = MHA__LANES * mha__element[type].bytes, step = p->b_step, terms = p->terms;          \
    mha__v       s[8][4], x[4], y;                                                                           \
    size_t       t;                                                                                          \
    (void)width;                                                                                             \
    rows(mha__begin_row)                                                                                     \
    for (t = 0; t < terms; t++, b += step) {                                                                 \
      x[0] = mha__load_b(b);                                                                                 \
      if (columns > 1) x[1] = MHA__FN(load_as)(b + bytes, type);                                             \
      if (columns > 2) x[2] = MHA__FN(load_as)(b + 2 * bytes, type);                                         \
      if (columns > 2) x[3] = MHA__FN(load_as)(b + 3 * bytes, type);                                         \
      if (few && t % 4 == 0) mha__ask(p->next, 4 * columns * MHA__LANES);                                    \
      rows(mha__fma_row)                                                                                     \
    }                                                                                                        \
    rows(mha__end_row)                                                                                       \
  }
mha__product_tile(product_tall, mha__rows_tall, 2, MHA_F32, 0)
mha__product_tile(product_tall_part, mha__rows_tall, 1, MHA_F32, 0)
mha__product_tile(product_4x2, mha__rows_4, 2, p->type, 1)
mha__product_tile(product_1x4, mha__rows_1, 4, p->type, 1)
mha__product_tile(product_1x1, mha__rows_1, 1, p->type, 1)

/* out[r][x] = (fresh ? +0 : out[r][x]) + sum over t of a[r][t] b[t][x], t ascending, for so many rows: scores
   from a panel (r query row, t channel, x key), and output (t key, x channel). */
static MHA__ATTR void MHA__FN(product)(const mha__product *p, float *out, const float *a, const char *b,
                                       size_t rows) {
  const size_t two = 2 * MHA__LANES, four = 4 * MHA__LANES, bytes = mha__element[p->type].bytes;
  const int    again = rows >= 4 && p->fresh;
  size_t       x, n, h, r;
  for (; rows; rows -= h, out += h * p->out_row, a += h * p->a_row) {
    const int tall = MHA__HEIGHT > 4 && p->type == MHA_F32 && rows >= MHA__HEIGHT;
    if (rows < 4 && again) { /* some rows once more, rather than single ones */
      out -= (4 - rows) * p->out_row;
      a -= (4 - rows) * p->a_row;
      rows = 4;
    }
    h = tall ? MHA__HEIGHT : rows >= 4 ? 4 : 1;
    for (x = 0; x < p->width; x += n) {
      const size_t left = p->width - x;
      const char  *bx = b + x * bytes;
      n = h > 1 && left >= two ? two : h == 1 && left >= four ? four : MHA__LANES;
      if (tall && n == two) MHA__FN(product_tall)(p, out + x, a, bx, n);
      else if (tall) MHA__FN(product_tall_part)(p, out + x, a, bx, left);
      else if (h == 4 && n == two) MHA__FN(product_4x2)(p, out + x, a, bx, n);
      else if (n == four) MHA__FN(product_1x4)(p, out + x, a, bx, n);
      else
        for (r = 0; r < h; r++)
          MHA__FN(product_1x1)(p, out + r * p->out_row + x, a + r * p->a_row, bx, left);
    }
  }
}

/* The same for scores from keys where they lie: b[t][x] = channel t of key x, turned on the way. */

MHA__NOINLINE MHA__ATTR mha__v MHA__FN(turn1)(mha__rows k, size_t keys) {
  float  some[MHA__LANES] = { 0 };
  size_t j;
  for (j = 0; j < keys && j < MHA__LANES; j++, k.p += k.step) mha__widen(some + j, k.p, k.type, 0, 1);
  return mha__load(some);
}

/* turn4 of fewer keys: the other lanes are 0 */
MHA__NOINLINE MHA__ATTR void MHA__FN(turn4_some)(mha__v x[4], mha__rows k, size_t keys) {
  float  some[4 * MHA__LANES] = { 0 };
  size_t j;
  for (j = 0; j < keys && j < MHA__LANES; j++, k.p += k.step) mha__widen(some + 4 * j, k.p, k.type, 0, 4);
  MHA__FN(turn4)(x, mha__floats(some, 4));
}

#define mha__dot_channel(rows, c)                                                                            \
  x[0] = x0[c];                                                                                              \
  if (columns > 1) x[1] = x1[c];                                                                             \
  rows(mha__fma_row)                                                                                         \
  t++;
#define mha__dot_tile(name, rows, vectors, turn)                                                             \
  MHA__NOINLINE MHA__ATTR void MHA__FN(name)(const mha__product *p, float *out, const float *a,              \
                                             const char *keys, size_t width) {                               \
    enum { columns = vectors };                                                                              \
    const int    fresh = p->fresh;                                                                           \
    const size_t bytes = mha__element[p->type].bytes, terms = p->terms;                                      \
    mha__rows    k, k1;                                                                                      \
    mha__v       s[8][4], x[4], x0[4], x1[4], y;                                                             \
    size_t       t = 0;                                                                                      \
    k.p = keys, k.step = p->b_step, k.type = p->type;                                                        \
    k1 = k;                                                                                                  \
    if (columns > 1) k1.p += MHA__LANES * k.step;                                                            \
    rows(mha__begin_row)                                                                                     \
    while (t + 4 <= terms) {                                                                                 \
      if (columns > 1) {                                                                                     \
        MHA__FN(turn)(x0, k);                                                                                \
        MHA__FN(turn)(x1, k1);                                                                               \
      } else {                                                                                               \
        mha__v some[4];                                                                                      \
        MHA__FN(turn4_some)(some, k, width);                                                                 \
        x0[0] = some[0], x0[1] = some[1], x0[2] = some[2], x0[3] = some[3];                                  \
      }                                                                                                      \
      mha__ask(p->next, 4 * columns * MHA__LANES);                                                           \
      k.p += 4 * bytes, k1.p += 4 * bytes;                                                                   \
      mha__dot_channel(rows, 0)                                                                              \
      mha__dot_channel(rows, 1)                                                                              \
      mha__dot_channel(rows, 2)                                                                              \
      mha__dot_channel(rows, 3)                                                                              \
    }                                                                                                        \
    for (; t < terms; k.p += bytes, k1.p += bytes) {                                                         \
      x0[0] = MHA__FN(turn1)(k, width);                                                                      \
      if (columns > 1) x1[0] = MHA__FN(turn1)(k1, MHA__LANES);                                               \
      mha__dot_channel(rows, 0)                                                                              \
    }                                                                                                        \
    rows(mha__end_row)                                                                                       \
  }
mha__dot_tile(dot_4x2, mha__rows_4, 2, turn4)
mha__dot_tile(dot_1x2, mha__rows_1, 2, turn4)
mha__dot_tile(dot_4x2_as, mha__rows_4, 2, turn4_as)
mha__dot_tile(dot_1x2_as, mha__rows_1, 2, turn4_as)
mha__dot_tile(dot_1x1, mha__rows_1, 1, turn4)

static MHA__ATTR void MHA__FN(dot)(const mha__product *p, float *out, const float *a, const char *k,
                                   size_t rows) {
  const size_t two = 2 * MHA__LANES;
  const int    floats = p->type == MHA_F32;
  size_t       x, r, n, h;
  for (x = 0; x < p->width; x += n) {
    const size_t left = p->width - x;
    const char  *kx;
    n = left < two ? MHA__LANES : two;
    if (left < MHA__LANES && x >= MHA__LANES && p->fresh)
      x = p->width - MHA__LANES; /* some keys once more, rather than a part */
    kx = k + x * p->b_step;
    for (r = 0; r < rows; r += h) {
      float       *o;
      const float *ar;
      if (rows - r < 4 && rows >= 4 && p->fresh && n == two) r = rows - 4; /* likewise rows */
      o = out + r * p->out_row + x;
      ar = a + r * p->a_row;
      h = rows - r < 4 || n < two ? 1 : 4;
      if (n < two) MHA__FN(dot_1x1)(p, o, ar, kx, p->width - x);
      else if (h == 4 && floats) MHA__FN(dot_4x2)(p, o, ar, kx, n);
      else if (h == 4) MHA__FN(dot_4x2_as)(p, o, ar, kx, n);
      else if (floats) MHA__FN(dot_1x2)(p, o, ar, kx, n);
      else MHA__FN(dot_1x2_as)(p, o, ar, kx, n);
    }
  }
}

/* For a loop over channels: vector by vector, then what is left; do_some(c, n) takes n channels from c on. */
#define mha__for_channels(c, count, do_some)                                      \
  for (c = 0; c + MHA__LANES <= count; c += MHA__LANES) do_some(c, MHA__LANES);   \
  if (c < count) do_some(c, count - c)

/* out = factor * x */
static MHA__ATTR void MHA__FN(scale)(float *out, const float *x, size_t n, float factor) {
  const mha__v f = mha__set(factor);
  size_t       c;
#define mha__scale_some(c, n) MHA__FN(store_part)(out + c, mha__mul(MHA__FN(load_part)(x + c, n), f), n)
  mha__for_channels(c, n, mha__scale_some);
}

/* panel[c * panel_row + j] = channel c of key j, for n channels of so many keys */
static MHA__ATTR void MHA__FN(turn)(float *panel, size_t panel_row, mha__rows k, size_t keys, size_t n) {
  const size_t bytes = mha__element[k.type].bytes;
  size_t       j, c, u;
  for (j = 0; j < keys; j += MHA__LANES, k.p += MHA__LANES * k.step) {
    const size_t some = mha__min(keys - j, MHA__LANES);
    mha__rows    kc = k;
    float       *to = panel + j;
    for (c = 0; c + 4 <= n && some == MHA__LANES; c += 4, to += 4 * panel_row, kc.p += 4 * bytes) {
      mha__v x[4];
      if (k.type == MHA_F32) MHA__FN(turn4)(x, kc);
      else MHA__FN(turn4_as)(x, kc);
      mha__store(to, x[0]);
      mha__store(to + panel_row, x[1]);
      mha__store(to + 2 * panel_row, x[2]);
      mha__store(to + 3 * panel_row, x[3]);
    }
    for (; c < n; c++, to += panel_row)
      for (u = 0; u < some; u++) mha__widen(to + u, k.p + u * k.step, k.type, c, 1);
  }
}

/* Rows of V as strips of panel_row channels, each `strip` floats after the one before; the last is filled up
   with 0.  Returns whether all is finite. */
static MHA__ATTR int MHA__FN(pack)(float *panel, size_t panel_row, size_t strip, mha__rows v, size_t rows,
                                   size_t n) {
  const size_t bytes = mha__element[v.type].bytes;
  const mha__v zero = mha__set(0.0f);
  mha__v       bad = zero; /* x * 0 is NaN unless x is finite */
  float        lane[MHA__LANES];
  size_t       j, c, k;
  int          finite = 1;
  for (c = 0; c < n; c += MHA__LANES) {
    const size_t some = mha__min(n - c, MHA__LANES);
    const char  *from = v.p + c * bytes;
    float       *to = panel + c / panel_row * strip + c % panel_row;
    for (j = 0; j < rows; j++, from += v.step, to += panel_row) {
      const mha__v x = MHA__FN(load_part_as)(from, v.type, some);
      bad = mha__fma(x, zero, bad);
      mha__store(to, x);
    }
  }
  mha__store(lane, bad);
  for (k = 0; k < MHA__LANES; k++) finite &= mha__is_finite(lane[k]);
  return finite;
}

/* Scores x0 .. x1 - 1 become logits in units of log2: key scale, soft cap, bias, ALiBi.  Works on whole
   groups of 16; what it leaves in the lanes outside is hidden afterwards. */
static MHA__ATTR void MHA__FN(shape)(float *s, size_t x0, size_t x1, const mha__shaping *how) {
  const float  slope = how->slope * MHA__LOG2E;
  const mha__v least = mha__set(-MHA__FLT_MAX);
  float        term[MHA__PANEL];
  size_t       g, x, k;
  for (g = x0 / MHA__PANEL * MHA__PANEL; g < x1; g += MHA__PANEL) {
    const size_t from = mha__max(g, x0), end = mha__min(g + MHA__PANEL, x1);
    float *const group = s + g;
    mha__fill(term, MHA__PANEL, 0.0f);
    if (how->k_scale) {
      for (x = from; x < end; x++) term[x - g] = how->k_scale[(x - x0) * how->k_scale_step];
      for (k = 0; k < MHA__PANEL; k += MHA__LANES)
        mha__store(group + k, mha__fma(mha__load(group + k), mha__load(term + k), mha__set(0.0f)));
    }
    if (how->cap_log2e != 0.0f)
      for (k = 0; k < MHA__PANEL; k += MHA__LANES) {
        const mha__v y = MHA__FN(tanh)(mha__load(group + k));
        mha__store(group + k, mha__fma(y, mha__set(how->cap_log2e), mha__set(0.0f)));
      }
    if (how->bias) {
      for (x = from; x < end; x++) term[x - g] = how->bias[x - x0];
      for (k = 0; k < MHA__PANEL; k += MHA__LANES) {
        /* A finite score and a bias that overflow together are -FLT_MAX: such a key is not hidden. */
        const mha__v a = mha__load(group + k), sum = mha__fma(mha__load(term + k), mha__set(MHA__LOG2E), a);
        const mha__v above = mha__larger(least, sum);
        mha__store(group + k, mha__where_ge(a, least, above, sum));
      }
    }
    if (how->alibi) {
      for (x = from; x < end; x++) {
        const ptrdiff_t distance = how->distance - (ptrdiff_t)(x - x0);
        term[x - g] = -(float)(distance < 0 ? -distance : distance);
      }
      for (k = 0; k < MHA__PANEL; k += MHA__LANES)
        mha__store(group + k, mha__fma(mha__set(slope), mha__load(term + k), mha__load(group + k)));
    }
  }
}

/* Add up the lanes, those LANES / 2 apart first; the largest lane; in every lane. */
#define mha__add_swapped(swap)   a = mha__add(a, swap(a));
#define mha__keep_swapped(swap)  b = swap(a), a = mha__larger(a, b);
MHA__INLINE MHA__ATTR mha__v MHA__FN(total)(mha__v a) {
  mha__swaps(mha__add_swapped)
  return a;
}
MHA__INLINE MHA__ATTR mha__v MHA__FN(largest)(mha__v a) {
  mha__v b = a;
  mha__swaps(mha__keep_swapped)
  return (void)b, a;
}

/* Take a block with largest score newer_m and sum newer_l into a running softmax, whose largest score m grows
   by it or not; returns the factor for the values of the part with the smaller one. */
MHA__INLINE MHA__ATTR float MHA__FN(join)(float *m, float *l, float newer_m, float newer_l, int grows) {
  const float e = MHA__FN(exp2_one)(grows ? *m - newer_m : newer_m - *m);
  *l = grows ? MHA__FN(fma_one)(*l, e, newer_l) : MHA__FN(fma_one)(newer_l, e, *l);
  if (grows) *m = newer_m;
  return e;
}

/* The same for a row, which keeps the factor.  The first block is taken as it is: what folding it into
   nothing comes to. */
MHA__NOINLINE MHA__ATTR void MHA__FN(fold)(mha__row *row, float m, float l) {
  row->fresh = !row->sees;
  row->sees = 1;
  row->grew = row->fresh || m > row->m;
  if (row->fresh) {
    row->l = l;
    row->m = m;
  } else {
    row->e = MHA__FN(join)(&row->m, &row->l, m, l, row->grew);
  }
}

/* The sum of 2^(s - m) over a multiple of 16 logits, which become these: in 16 lanes, then these in halves.
   (Or over whole vectors of the first 16, if the others are hidden.) */
MHA__INLINE MHA__ATTR float MHA__FN(exponentials)(float *s, size_t n, float m) {
  const mha__v by = mha__set(m);
  mha__v       lane[MHA__PANEL / MHA__LANES];
  size_t       x, k, half;
  for (k = 0; k < MHA__PANEL / MHA__LANES; k++) {
    mha__v sum = mha__set(0.0f);
    for (x = k * MHA__LANES; x < n; x += MHA__PANEL) {
      const mha__v p = MHA__FN(exp2)(mha__sub(mha__load(s + x), by));
      mha__store(s + x, p);
      sum = mha__add(sum, p);
    }
    lane[k] = sum;
  }
  for (half = MHA__PANEL / MHA__LANES / 2; half; half /= 2)
    for (k = 0; k < half; k++) lane[k] = mha__add(lane[k], lane[k + half]);
  return mha__first(MHA__FN(total)(lane[0]));
}

/* The logits g0 .. g1 - 1 of a block, multiples of 16, become 2^(s - m), m being the largest of their row,
   and fold into it; a hidden one, -inf, becomes +0.  Rows that see nothing of the block stay as they are. */
static MHA__ATTR void MHA__FN(softmax)(mha__row *row, float *s, size_t rows, size_t g0, size_t g1) {
  enum { at_once = 8 }; /* all maxima first, so that the exponentials need not wait for them */
  float  m[at_once];
  size_t r, k, n, x;
  for (r = 0; r < rows; r += n, row += n, s += n * MHA__BLOCK) {
    n = mha__min(rows - r, at_once);
    for (k = 0; k < n; k++) {
      const float *sk = s + k * MHA__BLOCK;
      mha__v       largest = mha__set(-MHA__FLT_MAX);
      for (x = g0; x < g1; x += MHA__LANES) {
        const mha__v a = mha__load(sk + x);
        largest = mha__larger(a, largest);
      }
      m[k] = mha__first(MHA__FN(largest)(largest));
    }
    for (k = 0; k < n; k++) {
      const float l = MHA__FN(exponentials)(s + k * MHA__BLOCK + g0, g1 - g0, m[k]);
      if (row[k].visible) MHA__FN(fold)(&row[k], m[k], l);
    }
  }
}

/* A sink is one more block: one logit, no value. */
static MHA__ATTR void MHA__FN(fold_sink)(mha__row *row, float sink) {
  MHA__FN(fold)(row, MHA__FN(fma_one)(sink, MHA__LOG2E, 0.0f), 1.0f);
}

/* The values of the block last folded, n channels of each row from c0 on.  After the last block they
   are normalised: o *= 1 / l, with +0 for any zero. */
static MHA__ATTR void MHA__FN(fold_values)(mha__row *row, size_t c0, const float *block, size_t block_row,
                                           size_t rows, size_t n, int last) {
  const mha__v zero = mha__set(0.0f);
  size_t       r, c;
  for (r = 0; r < rows; r++, row++, block += block_row) {
    const mha__v e = mha__set(row->e), by = mha__set(1.0f / row->l);
    float *const o = row->o + c0;
    if (!row->visible) continue;
    row->normal = last;
#define mha__older(c, n)        MHA__FN(load_part)(o + c, n)
#define mha__newer(c, n)        MHA__FN(load_part)(block + c, n)
#define mha__keep_some(c, n)    MHA__FN(store_part)(o + c, mha__newer(c, n), n)
#define mha__keep_normal(c, n)  MHA__FN(store_part)(o + c, mha__fma(mha__newer(c, n), by, zero), n)
#define mha__grow_some(c, n)    MHA__FN(store_part)(o + c, mha__fma(mha__older(c, n), e, mha__newer(c, n)), n)
#define mha__add_some(c, n)     MHA__FN(store_part)(o + c, mha__fma(mha__newer(c, n), e, mha__older(c, n)), n)
#define mha__normal_some(c, n)  MHA__FN(store_part)(o + c, mha__fma(mha__older(c, n), by, zero), n)
    if (row->fresh && last) {
      mha__for_channels(c, n, mha__keep_normal);
      continue;
    }
    if (row->fresh) { mha__for_channels(c, n, mha__keep_some); }
    else if (row->grew) { mha__for_channels(c, n, mha__grow_some); }
    else { mha__for_channels(c, n, mha__add_some); }
    if (last) { mha__for_channels(c, n, mha__normal_some); }
  }
}

/* o *= r, with +0 for any zero */
static MHA__ATTR void MHA__FN(normalise)(float *o, size_t n, float r) {
  const mha__v by = mha__set(r), zero = mha__set(0.0f);
  size_t       c;
  mha__for_channels(c, n, mha__normal_some);
}

/* Logits become weights: w = 2^(w - m) r */
static MHA__ATTR void MHA__FN(weigh)(float *w, size_t n, float m, float r) {
  size_t k;
  for (k = 0; k < n; k += MHA__LANES) {
    const mha__v p = MHA__FN(exp2)(mha__sub(MHA__FN(load_part)(w + k, n - k), mha__set(m)));
    MHA__FN(store_part)(w + k, mha__fma(p, mha__set(r), mha__set(0.0f)), n - k);
  }
}

/* m ln 2 + ln l */
static MHA__ATTR float MHA__FN(log_sum)(float m, float l) {
  return MHA__FN(fma_one)(m, 0.693147182f, MHA__FN(log)(l));
}

/* ---- Level 1 ---- */

#ifndef MHA__ALONE
/* Whole attention for one batch member with up to 16 keys and 16 channels, all visible: per row one group of
   scores, of which those from len on are hidden. */
static MHA__ATTR void MHA__FN(tiny)(float *out, const float *q, const float *k, const float *v, size_t len,
                                    size_t heads, size_t d_k, size_t head, size_t row, float factor) {
  static const float index[MHA__PANEL] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  const mha__v       zero = mha__set(0.0f), hidden = mha__set(-MHA__INF), end = mha__set((float)len);
  float              panel[MHA__PANEL * MHA__PANEL], s[MHA__PANEL];
  const size_t       lanes = mha__round_up(len, MHA__LANES); /* the others of 16 would add +0 to the sum */
  size_t             h, i, j, c, x;
  for (h = 0; h < heads; h++, q += head, k += head, v += head, out += head) {
    for (c = 0; c < d_k; c++) {
      for (x = 0; x < lanes; x += MHA__LANES) mha__store(panel + c * MHA__PANEL + x, zero);
      for (j = 0; j < len; j++) panel[c * MHA__PANEL + j] = k[j * row + c];
    }
    for (i = 0; i < len; i++) {
      const float *qi = q + i * row;
      mha__v       largest = mha__set(-MHA__FLT_MAX), by;
      for (x = 0; x < lanes; x += MHA__LANES) {
        mha__v a = zero;
        for (c = 0; c < d_k; c++) {
          const mha__v scaled = mha__mul(mha__set(qi[c]), mha__set(factor));
          a = mha__fma(scaled, mha__load(panel + c * MHA__PANEL + x), a);
        }
        a = mha__where_ge(mha__load(index + x), end, hidden, a);
        largest = mha__larger(a, largest);
        mha__store(s + x, a);
      }
      largest = MHA__FN(largest)(largest);
      by = mha__set(1.0f / MHA__FN(exponentials)(s, lanes, mha__first(largest)));
      for (c = 0; c < d_k; c += MHA__LANES) {
        mha__v a = zero;
        for (j = 0; j < len; j++)
          a = mha__fma(mha__set(s[j]), MHA__FN(load_part)(v + j * row + c, d_k - c), a);
        MHA__FN(store_part)(out + i * row + c, mha__fma(a, by, zero), d_k - c);
      }
    }
  }
}
#else

/* Here level 1 does without the framework, so that small programs stay small: a query row goes through all
   blocks of keys on its own, or two rows together where the scores of two fit into the memory of one.  Tiles
   of two rows and eight channels fit into registers; at the edges they are one row, or one row and one
   channel.  do_row(r, c) is for row r and channel c of a tile. */
#define mha__each_1(do_row, c)   do_row(0, c)
#define mha__each_2(do_row, c)   do_row(0, c) do_row(1, c)
#define mha__over_1(rows, step)  rows(step, 0)
#define mha__over_8(rows, step)                                                                              \
  rows(step, 0) rows(step, 1) rows(step, 2) rows(step, 3)                                                    \
  rows(step, 4) rows(step, 5) rows(step, 6) rows(step, 7)
#define mha__load1(x, p)         x[0] = *p++

/* s[r][j] = (fresh ? +0 : s[r][j]) + sum over c of factor q[r][c] k[j][c], c ascending, for so many keys */
#define mha__scale_query(r, c)   a[r][c] = mha__mul(q[r * row + c], factor);
#define mha__from_zero(r, c)     y[r] = 0.0f;
#define mha__from_score(r, c)    y[r] = s[r * MHA__FEW];
#define mha__add_channel(r, c)   y[r] = mha__fma(a[r][c], x[c], y[r]);
#define mha__keep_score(r, c)    s[r * MHA__FEW] = y[r];
#define mha__score_keys(rows, channels, begin)                                                               \
  for (; s < end; k += row - channels) {                                                                     \
    rows(begin, 0)                                                                                           \
    mha__load##channels(x, k);                                                                               \
    mha__over_##channels(rows, mha__add_channel)                                                             \
    rows(mha__keep_score, 0)                                                                                 \
    s++;                                                                                                     \
  }
#define mha__scores_tile(name, rows, channels)                                                               \
  MHA__NOINLINE void MHA__FN(name)(float *s, const float *q, const float *k, size_t row, size_t keys,        \
                                   float factor, int fresh) {                                                \
    const float *end = s + keys;                                                                             \
    float        a[2][8], x[8], y[2];                                                                        \
    mha__over_##channels(rows, mha__scale_query)                                                             \
    if (fresh) mha__score_keys(rows, channels, mha__from_zero)                                               \
    mha__score_keys(rows, channels, mha__from_score)                                                         \
  }
mha__scores_tile(scores_2x8, mha__each_2, 8)
mha__scores_tile(scores_1x8, mha__each_1, 8)
mha__scores_tile(scores_1x1, mha__each_1, 1)

/* out[r][c] = by[r] times the sum over j of s[r][j] v[j][c], j ascending, with +0 for any zero */
#define mha__from_nothing(r, c)  a[r][c] = 0.0f;
#define mha__take_weight(r, c)   y[r] = s[r * MHA__FEW];
#define mha__add_value(r, c)     a[r][c] = mha__fma(y[r], x[c], a[r][c]);
#define mha__take_factor(r, c)   y[r] = by[r];
#define mha__keep_value(r, c)    out[r * row + c] = mha__fma(a[r][c], y[r], 0.0f);
#define mha__values_tile(name, rows, channels)                                                               \
  MHA__NOINLINE void MHA__FN(name)(float *out, const float *s, const float *v, size_t row, size_t keys,      \
                                   const float *by) {                                                        \
    const float *end = s + keys;                                                                             \
    float        a[2][8], x[8], y[2];                                                                        \
    mha__over_##channels(rows, mha__from_nothing)                                                            \
    for (; s < end; v += row - channels) {                                                                   \
      rows(mha__take_weight, 0)                                                                              \
      s++;                                                                                                   \
      mha__load##channels(x, v);                                                                             \
      mha__over_##channels(rows, mha__add_value)                                                             \
    }                                                                                                        \
    rows(mha__take_factor, 0)                                                                                \
    mha__over_##channels(rows, mha__keep_value)                                                              \
  }
mha__values_tile(values_2x8, mha__each_2, 8)
mha__values_tile(values_1x8, mha__each_1, 8)
mha__values_tile(values_1x1, mha__each_1, 1)

/* The largest of n scores, a multiple of four.  Integers are quicker to compare, and order floats as long as
   the larger is not negative.  (Here NaN can be the largest: its row becomes NaN anyway.) */
MHA__INLINE float MHA__FN(lone_largest)(const float *s, size_t n) {
  const float *end = s + n, *p;
  mha__word    most, w;
  most.f = -MHA__FLT_MAX;
#define mha__larger_word(k) w.f = p[k], most.i = w.i > most.i ? w.i : most.i
  for (p = s; p < end; p += 4) {
    mha__larger_word(0);
    mha__larger_word(1);
    mha__larger_word(2);
    mha__larger_word(3);
  }
  if (most.i >= 0) return most.f;
  for (most.f = -MHA__FLT_MAX; s < end; s++) most.f = mha__larger(*s, most.f);
  return most.f;
}

/* The same as `exponentials`, with lanes k, k + 4, k + 8 and k + 12 added up at once. */
MHA__INLINE float MHA__FN(lone_exponentials)(float *s, size_t n, float m) {
  const float *end = s + n;
  float        sum[4], *p;
  int          k;
#define mha__add_lane(a, k) p[k] = MHA__FN(exp2_one)(p[k] - m), a += p[k]
  for (k = 0; k < 4; k++) {
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    p = s + k;
    do {
      mha__add_lane(a, 0);
      mha__add_lane(b, 4);
      mha__add_lane(c, 8);
      mha__add_lane(d, 12);
      p += MHA__PANEL;
    } while (p < end);
    a += c;
    b += d;
    sum[k] = a + b;
  }
  sum[0] += sum[2];
  sum[1] += sum[3];
  return sum[0] + sum[1];
}

/* So many scores become 2^(s - m), *m being the largest; returns the sum. */
MHA__NOINLINE float MHA__FN(lone_softmax)(float *s, size_t keys, float *m) {
  const size_t n = mha__round_up(keys, MHA__PANEL);
  mha__fill(s + keys, n - keys, -MHA__INF);
  *m = MHA__FN(lone_largest)(s, n);
  return MHA__FN(lone_exponentials)(s, n, *m);
}

/* How many channels a tile takes from channel c on. */
MHA__INLINE size_t MHA__FN(lone_channels)(const mha__alike *a, size_t c) {
  return a->d_k - c < MHA__TILE ? 1 : MHA__TILE;
}

/* All scores of a block; then its values, n channels of them: the tiles side by side. */
MHA__INLINE void MHA__FN(lone_scores)(const mha__alike *a, float *s, const float *q, const float *k,
                                      size_t keys, size_t rows) {
  size_t c, n, r;
  for (c = 0; c < a->d_k; c += n) {
    n = MHA__FN(lone_channels)(a, c);
    if (n == 8 && rows == 2) MHA__FN(scores_2x8)(s, q + c, k + c, a->row, keys, a->factor, c == 0);
    else if (n == 8) MHA__FN(scores_1x8)(s, q + c, k + c, a->row, keys, a->factor, c == 0);
    else
      for (r = 0; r < rows; r++)
        MHA__FN(scores_1x1)(s + r * MHA__FEW, q + r * a->row + c, k + c, a->row, keys, a->factor, c == 0);
  }
}

MHA__INLINE void MHA__FN(lone_values)(const mha__alike *a, float *o, const float *s, const float *v,
                                      size_t keys, size_t rows, size_t n, const float *by) {
  size_t r;
  if (n == 8 && rows == 2) MHA__FN(values_2x8)(o, s, v, a->row, keys, by);
  else if (n == 8) MHA__FN(values_1x8)(o, s, v, a->row, keys, by);
  else
    for (r = 0; r < rows; r++) MHA__FN(values_1x1)(o + r * a->row, s + r * MHA__FEW, v, a->row, keys, by + r);
}

/* One row, or two rows of at most MHA__FEW keys, through all blocks.  A single block is normalised at once;
   of several, which only one row can have, each is folded into the ones before it. */
static void MHA__FN(lone_rows)(const mha__alike *a, float *out, const float *q, size_t rows) {
  float  s[MHA__BLOCK], by[2], block[8], m = -MHA__FLT_MAX, l = 0.0f, e = 0.0f;
  size_t j, keys, c, n, r;
  int    grows = 0;
  for (j = 0; j < a->len; j += keys) {
    keys = mha__min(a->len - j, MHA__BLOCK);
    MHA__FN(lone_scores)(a, s, q, a->k + j * a->row, keys, rows);
    for (r = 0; r < rows; r++) {
      float       newer_m;
      const float newer_l = MHA__FN(lone_softmax)(s + r * MHA__FEW, keys, &newer_m);
      by[r] = 1.0f / newer_l;
      if (a->len <= MHA__BLOCK) continue;
      by[r] = 1.0f;
      grows = newer_m > m;
      e = MHA__FN(join)(&m, &l, newer_m, newer_l, grows);
    }
    for (c = 0; c < a->d_k; c += n) {
      float *const o = out + c;
      n = MHA__FN(lone_channels)(a, c);
      MHA__FN(lone_values)(a, j ? block : o, s, a->v + j * a->row + c, keys, rows, n, by);
      for (r = 0; j && r < n; r++) {
        o[r] = grows ? mha__fma(o[r], e, block[r]) : mha__fma(block[r], e, o[r]);
        if (j + keys == a->len) o[r] = mha__fma(o[r], 1.0f / l, 0.0f);
      }
    }
  }
}
#endif

static const mha__kernels MHA__FN(kernels) = {
  MHA__NAME,        MHA__NUMERICS,      MHA__LANES,           MHA__HEIGHT,        MHA__FN(product),
  MHA__FN(dot),     MHA__FN(scale),     MHA__FN(turn),        MHA__FN(pack),      MHA__FN(shape),
  MHA__FN(softmax), MHA__FN(fold),      MHA__FN(fold_sink),   MHA__FN(fold_values),
  MHA__FN(normalise), MHA__FN(weigh),   MHA__FN(log_sum),
#ifndef MHA__ALONE
  MHA__FN(tiny)
#endif
};

#undef mha__v
#undef mha__load
#undef mha__store
#undef mha__set
#undef mha__add
#undef mha__sub
#undef mha__mul
#undef mha__div
#undef mha__larger
#undef mha__where_ge
#undef mha__shift23
#undef mha__at_least
#undef mha__raised
#undef mha__fma
#undef MHA__ROUNDED
#undef MHA__NUMERICS
#undef MHA__ISA
#undef MHA__HEIGHT
#undef mha__first
#undef mha__swap1
#undef mha__swap2
#undef mha__swap4
#undef mha__swap8
#undef mha__swaps
#undef mha__mask
#undef mha__load_f16
#undef mha__load_bf16
#undef mha__load_s8
#undef mha__i64
#undef mha__u16
#undef mha__s16
#undef mha__i128
#undef mha__i256
#undef mha__from_f16
#undef mha__from_bf16
#undef mha__from_s8
#undef mha__four
#undef mha__quad
#undef mha__quads
#undef mha__quads_16
#undef mha__quads_8
#undef mha__two
#undef mha__two_8
#undef mha__load_some
#undef mha__store_some
#undef mha__load8
#undef mha__load1
#undef mha__each_1
#undef mha__each_2
#undef mha__over_1
#undef mha__over_8
#undef mha__scale_query
#undef mha__from_zero
#undef mha__from_score
#undef mha__add_channel
#undef mha__keep_score
#undef mha__score_keys
#undef mha__scores_tile
#undef mha__from_nothing
#undef mha__take_weight
#undef mha__add_value
#undef mha__take_factor
#undef mha__keep_value
#undef mha__values_tile
#undef mha__larger_word
#undef mha__add_lane
#undef mha__rows_1
#undef mha__rows_4
#undef mha__rows_tall
#undef mha__load_tile
#undef mha__load_b
#undef mha__store_tile
#undef mha__begin_row
#undef mha__fma_row
#undef mha__end_row
#undef mha__product_tile
#undef mha__dot_channel
#undef mha__quads_as
#undef mha__dot_tile
#undef mha__add_swapped
#undef mha__for_channels
#undef mha__scale_some
#undef mha__older
#undef mha__newer
#undef mha__keep_some
#undef mha__grow_some
#undef mha__keep_normal
#undef mha__add_some
#undef mha__normal_some
#undef mha__keep_swapped
#undef MHA__NAME
#undef MHA__LANES
#undef MHA__ATTR

#endif /* MHA__S8_LANES */
#endif /* MHA__ISA */

/* == Licence ==

   This software is available under two licences: choose whichever you prefer.

   ------------------------------------------------------------------------------
   Choice 1: MIT-0 (MIT No Attribution)

   Copyright (c) 2026 the mha.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of
   this software and associated documentation files (the "Software"), to deal in
   the Software without restriction, including without limitation the rights to
   use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies
   of the Software, and to permit persons to whom the Software is furnished to do
   so.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
   IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
   FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
   AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
   LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
   SOFTWARE.

   ------------------------------------------------------------------------------
   Choice 2: public domain (Unlicense)

   This is free and unencumbered software released into the public domain.

   Anyone is free to copy, modify, publish, use, compile, sell, or distribute this
   software, either in source code form or as a compiled binary, for any purpose,
   commercial or non-commercial, and by any means.

   In jurisdictions that recognize copyright laws, the author or authors of this
   software dedicate any and all copyright interest in the software to the public
   domain. We make this dedication for the benefit of the public at large and to
   the detriment of our heirs and successors. We intend this dedication to be an
   overt act of relinquishment in perpetuity of all present and future rights to
   this software under copyright law.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
   IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
   FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
   AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
   ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
   WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

   For more information, please refer to <https://unlicense.org/>
*/
