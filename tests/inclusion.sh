#!/bin/sh
# inclusion.sh - does mha.h work however it is included and compiled?  One line per check, then the counts.
#
# From the environment: CC [cc] and CXX [c++], B, the folder for everything built [build].
set -u
CC=${CC:-cc} CXX=${CXX:-c++}
D=${B:-build}/inclusion # the programs to compile
T=$D/out                # what comes out
W="-Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Werror"
C99="-std=c99 $W"
. tests/report.sh

# try WHAT COMMAND...: the command must succeed
try() {
  what=$1; shift
  if "$@" > "$T/log" 2>&1; then ok "$what"
  else
    failed "$what: status $?"
    { echo "$*"; head -n 5 "$T/log"; } | sed 's/^/            /'
  fi
}

# runs COMPILER FLAGS AND FILES...: compiles and runs
runs() { rm -f "$T/a.out"; "$@" -o "$T/a.out" && "$T/a.out"; }

# refuse WHAT TEXT COMMAND...: the command must fail and say TEXT
refuse() {
  what=$1 text=$2; shift 2
  if "$@" > "$T/log" 2>&1; then failed "$what: accepted"
  elif grep -q -e "$text" "$T/log"; then ok "$what"
  else failed "$what: refused, but without saying '$text'"; head -n 5 "$T/log" | sed 's/^/            /'; fi
}

rm -rf "$D"
mkdir -p "$T" "$D/renamed" "$D/older"

## The programs

# run.h: the worked example, and a hash over all bits of longer runs, known for both ways of rounding.
cat > "$D/run.h" <<'EOF'
#define HASH_FUSED        0x25b9aca7u /* hardware fma, software fma */
#define HASH_MULTIPLY_ADD 0xd845cd22u

static float noise(void) { /* -2 .. 2 in steps of 2^-22: exact in any arithmetic */
  static uint32_t state = 1;
  state = (state * 1664525u + 1013904223u) & 0xffffffffu;
  return (float)(state >> 8) / 4194304.0f - 2.0f;
}

static uint32_t hash(void) {
  static float    q[40 * 24], k[300 * 24], v[300 * 24], o[340 * 24];
  static mha_desc d;
  uint32_t        h = 2166136261u;
  int             n, shift;
  for (n = 0; n < 300 * 24; n++) { k[n] = noise(); v[n] = noise(); }
  for (n = 0; n < 40 * 24; n++) q[n] = noise();
  d.batch = 1;
  d.q_heads = 2;
  d.q_len = 40;
  d.kv_len = 300;
  d.d_k = 12;
  d.q = q; d.k = k; d.v = v; d.o = o;
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  if (mha_attend(&d, NULL, 0) != MHA_OK) return 0;
  if (mha_multi_head_attention(o + 40 * 24, k, k, v, 300, 24, 3) != MHA_OK) return 0;
  for (n = 0; n < 340 * 24; n++) {
    union { float x; uint32_t u; } bits;
    bits.x = o[n];
    for (shift = 0; shift < 32; shift += 8) h = ((h ^ ((bits.u >> shift) & 255u)) * 16777619u) & 0xffffffffu;
  }
  return h;
}

static int run(void) { /* 0, or the number of what is wrong: it becomes the exit status */
  static const float qk[8] = { 1, 0, 0, 1, 0, 1, 1, 0 }, v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  static const float want[8] = { 2.320953f, 3.320953f, 4.320953f, 5.320953f,
                                 3.679047f, 4.679047f, 5.679047f, 6.679047f };
  float    out[8], error;
  uint32_t h = hash();
  int      c;
  char     numerics;
  if (mha_multi_head_attention(out, qk, qk, v, 2, 4, 2) != MHA_OK) return 1;
  for (c = 0; c < 8; c++) {
    error = out[c] - want[c];
    if (!(error < 2e-6f && error > -2e-6f)) return 2;
  }
  numerics = mha_numerics()[0];
#ifdef MHA_NO_SIMD
  if (mha_isa()[0] != 's') return 3; /* scalar */
#endif
  if (numerics == 'e') return h == 0 ? 4 : 0; /* excess precision: no bits are promised */
#ifdef MHA_EXACT_FMA
  if (numerics == 'm') return 5;
#endif
#ifdef MHA_NO_FMA
  if (numerics != 'm') return 6;
#endif
  if (numerics == 'm') return h == HASH_MULTIPLY_ADD ? 0 : 7;
  return h == HASH_FUSED ? 0 : 8;
}
EOF
# integers.c: attention without floats; the hash of what comes out is the same everywhere.
cat > "$D/integers.c" <<'EOF'
#define MHA_NO_FLOAT
#define MHA_IMPLEMENTATION
#include "mha.h"
#define HASH_INTEGERS 1945313753u

static const mha_s8_consts consts = { /* scales 0.03, 0.03, 0.02, 0.015; d_k 8, at most 40 keys */
  MHA_S8_NATIVE, 3, -7, 5, -2, 0, 8, 40, { 2018979205, 0, 2 }, { 1431655765, 0, 45 }, 0, 0, NULL, NULL
};
static signed char   q[37 * 16], k[40 * 8], v[40 * 8], o[37 * 16];
static unsigned char scratch[MHA_S8_SCRATCH_BYTES(MHA_S8_NATIVE, 40, 8)];

static void noise(signed char *x, int n, uint32_t state) {
  while (n--) {
    state = (state * 1664525u + 1013904223u) & 0xffffffffu;
    *x++ = (signed char)((int)(state >> 24) - 128);
  }
}

int main(void) {
  static mha_s8_desc d;
  uint32_t           h = 2166136261u;
  int                n;
  noise(q, 37 * 16, 1), noise(k, 40 * 8, 2), noise(v, 40 * 8, 3);
  d.q_heads = 2, d.kv_heads = 1, d.q_len = 37, d.kv_len = 40, d.d_k = 8;
  d.q = q, d.k = k, d.v = v, d.o = o, d.consts = &consts;
  d.flags = MHA_CAUSAL | MHA_Q_LAST;
  if (mha_s8_native(&d, 0, MHA_ALL, scratch, sizeof scratch) != MHA_OK) return 1;
  for (n = 0; n < 37 * 16; n++) h = ((h ^ (uint32_t)(unsigned char)o[n]) * 16777619u) & 0xffffffffu;
  return h == HASH_INTEGERS ? 0 : 2;
}
EOF
main='int main(void) { return run(); }'
cat > "$D/plain.c" <<EOF
#define MHA_IMPLEMENTATION
#include "mha.h"
#include "run.h"
$main
EOF
cat > "$D/twice.c" <<EOF
#include "mha.h"
#include "mha.h"
#define MHA_IMPLEMENTATION
#include "mha.h"
#include "mha.h"
#include "run.h"
$main
EOF
cat > "$D/given.c" <<EOF
#include "mha.h"
#include "mha.h"
#include "run.h"
$main
EOF
cat > "$D/only.c" <<EOF
#define MHA_IMPLEMENTATION
#include "mha.h"
#undef MHA_IMPLEMENTATION
#include "mha.h"
EOF
cat > "$D/caller.c" <<EOF
#include "mha.h"
#include "run.h"
$main
EOF
cat > "$D/static1.c" <<EOF
#define MHA_STATIC
#include "mha.h"
#include "run.h"
int other(void);
int main(void) { return run() ? run() : other(); }
EOF
cat > "$D/static2.c" <<EOF
#define MHA_STATIC
#define MHA_IMPLEMENTATION
#include "mha.h"
#include "run.h"
int other(void);
int other(void) { return run(); }
EOF
sed 's/"mha.h"/"attention.h"/' "$D/plain.c" > "$D/renamed/main.c"
cp "$D/renamed/main.c" "$D/older/main.c"
cp mha.h "$D/renamed/attention.h"
cp mha.h "$D/older/attention.h"
sed -e '/^#define MHA_VERSION /s/[0-9][0-9]*/1/' \
    -e 's/MHA_VERSION != [0-9]*/MHA_VERSION != 1/' mha.h > "$D/older/mha.h"

## Ways to include it, with one compiler

I="-I. -I$D"
try "declarations, then implementation, each twice"  runs $CC $C99 -O0 $I "$D/twice.c"
try "-DMHA_IMPLEMENTATION, and included twice"       runs $CC $C99 -O0 $I -DMHA_IMPLEMENTATION "$D/given.c"
try "after macros named like our instances"          runs $CC $C99 -O0 $I -Dscalar=float -Dsse2 -Davx2=1 -Dneon=1 \
  -Dmin=1 -Dmax=1 -Dfar= -Dnear= "$D/plain.c"
try "implementation first, caller in another file"   runs $CC $C99 -O0 $I "$D/only.c" "$D/caller.c"
try "MHA_STATIC in two files of one program"         runs $CC $C99 -O0 $I "$D/static1.c" "$D/static2.c"
try "renamed, with MHA_FILE" \
  runs $CC $C99 -O0 -I"$D" '-DMHA_FILE="attention.h"' "$D/renamed/main.c"
if cmp -s mha.h "$D/older/mha.h"; then
  failed "cannot make an older copy: MHA_VERSION not found"
else
  refuse "renamed beside an older copy" "two different copies" \
    $CC -std=c99 -c -o "$T/a.o" -I"$D" "$D/older/main.c"
fi

# The program in the manual: from the first #include <...> under QUICK START to the closing brace.
awk '/^ *QUICK START$/ { section = 1 } !section { next }
  !inside && /^ *#include </ { inside = 1; indent = match($0, /#/) - 1 }
  inside { line = substr($0, indent + 1); print line; if (line ~ /^}/) exit }' mha.h > "$D/quick.c"
manual() {
  runs "$@" "$D/quick.c" > "$T/quick.txt" && [ -s "$T/quick.txt" ] || return
  while read -r line; do
    grep -q "^ *$line\$" mha.h || { echo "the manual does not show what it prints: $line"; return 1; }
  done < "$T/quick.txt"
}
try "the program in the manual, and what it prints"  manual $CC $C99 -O0 $I

for v in -DMHA_NO_SIMD -DMHA_EXACT_FMA "-DMHA_NO_FMA -ffp-contract=off" "-DMHA_NO_SIMD -DMHA_EXACT_FMA" \
         "-DMHA_NO_SIMD -DMHA_NO_FMA -ffp-contract=off" -DMHA_STACK_BYTES=1536; do
  try "$v"                                           runs $CC $C99 -O0 $I $v "$D/plain.c"
done
try "-DMHA_NO_S8"                                    runs $CC $C99 -O0 $I -DMHA_NO_S8 "$D/plain.c"
for v in "" -DMHA_NO_SIMD -DMHA_S8_UNCHECKED -DMHA_S8_ROWS=1 "-DMHA_S8_ROWS=2 -Os"; do
  try "-DMHA_NO_FLOAT $v"                            runs $CC $C99 -O0 $I $v "$D/integers.c"
done
refuse "-DMHA_NO_FLOAT -DMHA_NO_S8: refused" "leave nothing" \
  $CC $C99 -DMHA_NO_S8 $I -c -o "$T/a.o" "$D/integers.c"
refuse "-DMHA_S8_ROWS=3: refused" "must be 1 or 2" $CC $C99 -DMHA_S8_ROWS=3 $I -c -o "$T/a.o" "$D/integers.c"

## Fast-math: refused, unless asked for.  A compiler that does not say so cannot be refused.

# fast COMPILER FLAG MACRO
fast() {
  if $1 $2 -dM -E -x c /dev/null 2> /dev/null | grep -q "$3"; then
    refuse "$1 $2 is refused" "MHA_ALLOW_FAST_MATH"  $1 -std=c99 $2 $I -fsyntax-only "$D/plain.c"
    try "$1 $2 -DMHA_ALLOW_FAST_MATH" \
      $1 -std=c99 $2 $I -DMHA_ALLOW_FAST_MATH -fsyntax-only "$D/plain.c"
  else skipped "$1 $2: this compiler does not define $3"; fi
}
fast_math() {
  fast $1 -ffast-math __FAST_MATH__
  fast $1 -ffinite-math-only "__FINITE_MATH_ONLY__ 1"
  fast $1 "-fassociative-math -fno-signed-zeros -fno-trapping-math" __ASSOCIATIVE_MATH__
  fast $1 -fno-signed-zeros __NO_SIGNED_ZEROS__
}

## What the object file needs and offers

# object WHAT COMPILER FLAGS...: needs only what compilers may call on their own, offers only mha_ names
object() {
  what=$1; shift
  if ! "$@" $I -c -o "$T/only.o" "$D/only.c" > "$T/log" 2>&1; then
    failed "$what does not compile"; head -n 5 "$T/log" | sed 's/^/            /'; return
  fi
  nm -P "$T/only.o" > "$T/symbols"
  needs=$(awk '$2 == "U" && $1 != "_GLOBAL_OFFSET_TABLE_" { print $1 }' "$T/symbols" | tr '\n' ' ')
  bad=$(awk '$2 == "U" && $1 !~ /^_?(memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_)$/ { print $1 }
             $2 ~ /^[A-TV-Z]$/ && $1 !~ /^_?mha_[a-z]/ { print $1 " (defined)" }' "$T/symbols" | tr '\n' ' ')
  if [ -n "$bad" ]; then failed "$what: $bad"
  else ok "$what: needs ${needs:-nothing}"; fi
}

if have nm; then
  object "object file of $CC -O2" $CC $C99 -O2
  for o in -O0 -O3; do
    object "object file of $CC $o -ffreestanding -nostdlib" $CC $C99 $o -ffreestanding -nostdlib
  done
else skipped "object file: no nm"; fi
fast_math $CC

## C and C++ together

# mixed: the implementation as C, its caller as C++
mixed() {
  $CC $C99 -O0 $I -c -o "$T/only.o" "$D/only.c" &&
    $CXX -x c++ -std=c++98 $W -O0 $I -c -o "$T/caller.o" "$D/caller.c" &&
    $CXX -o "$T/a.out" "$T/only.o" "$T/caller.o" && "$T/a.out"
}

if have $CXX; then
  try "$CXX, MHA_STATIC in two files" \
    runs $CXX -x c++ -std=c++98 $W -O0 $I "$D/static1.c" "$D/static2.c"
  try "$CXX calls what $CC compiled as C" mixed
else skipped "C++: $CXX not installed"; fi

total
