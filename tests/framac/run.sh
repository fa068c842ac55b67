#!/bin/sh
# run.sh - lets EVA of Frama-C prove that small calls of mha.h have no run-time error, whatever the data: no
# access outside of an object, no read of what was not written, no overflow of a signed integer, no bad shift or
# division.  Sizes and constants are those in float.c and s8.c.  Scalar kernels, multiply then add.
#
# EVA knows ranges, not relations between numbers.  What it therefore cannot show about mha__s8_reciprocal,
# reciprocal.c tries out; mha__s8_leading_zeros ends because a row's sum of weights is never 0.
#
# From the environment: CC, B (the folder for what is built).
set -u
CC=${CC:-cc}
D=${B:-build}/framac
F=tests/framac
. tests/report.sh
rm -rf "$D"
mkdir -p "$D"

# Workspaces lie at an address, since their alignment is part of what is computed; WORK_BYTES there are valid.
work=0x10003

# lines FUNCTION: the numbers of its lines in mha.h, as a range
lines() { awk -v name="$1(" 'index($0, name) && /[{]$/ { from = NR } from && /^}/ { print from, NR; exit }' mha.h; }

# The float core's statuses and what they say about memory must be told apart
deeper="-eva-slevel-function mha__begin:1000,mha__resolve:1000"

# prove WHAT WORK_BYTES FILE DEFINES...: no alarm but in the functions excepted
prove() {
  what=$1 bytes=$2 file=$F/$3.c log=$D/$(echo "$1" | tr ' ,' __).txt; shift 3
  timeout 600 frama-c -machdep x86_64 -warn-special-float none \
    -absolute-valid-range $work-$(printf 0x%x $((work + bytes - 1))) \
    -cpp-extra-args="-I. -I$(frama-c -print-share-path)/libc -U__GNUC__ -D__STDC_VERSION__=199901L \
      -DMHA_NO_SIMD -DMHA_NO_FMA -DWORK=$work -DWORK_BYTES=$bytes $*" \
    -eva -eva-precision 4 -eva-auto-loop-unroll 2000 -eva-split-return full $deeper "$file" > "$log" 2>&1
  status=$?
  reached=$(sed -n 's/.* \([0-9]*\) statements reached.*/\1/p' "$log")
  alarms=$(grep -a '^\[eva:alarm\]' "$log" | sed 's/.*mha.h:\([0-9]*\):.*/\1/' |
    awk -v excepted="$(lines mha__s8_reciprocal) $(lines mha__s8_leading_zeros)" '
      { split(excepted, e, " "); if ($1 >= e[1] && $1 <= e[2] || $1 >= e[3] && $1 <= e[4]) next; print }' |
    sort -nu | tr '\n' ' ')
  if [ $status -eq 0 ] && [ "${reached:-0}" -gt 100 ] && [ -z "$alarms" ]; then
    ok "$what: no run-time error in the $reached statements reached"
  else
    failed "$what: status $status, alarms in mha.h at lines $alarms"
    tail -n 3 "$log" | sed 's/^/            /'
  fi
}

if have frama-c; then
  prove "float, level 1" 1 float -DPART=1
  prove "float, causal, grouped heads" 4096 float -DPART=2
  prove "float, most options" 4096 float -DPART=3
  deeper=
  for mode in TFLM NATIVE; do
    size=$((5 * 12 + 3 * 4 + 207))
    [ $mode = NATIVE ] || size=$((5 * 4 + 3 * 4 + 71))
    prove "int8, $mode" $size s8 -DMODE=MHA_S8_$mode -DLEAN=0
    prove "int8, $mode, lean" 1 s8 -DMODE=MHA_S8_$mode -DLEAN=1
  done
else skipped "proofs: frama-c is not installed"; fi

if $CC -std=c99 -O2 -fsanitize=undefined -fno-sanitize-recover=all -I. -o "$D/reciprocal" $F/reciprocal.c \
     > "$D/log" 2>&1; then
  if timeout 600 "$D/reciprocal" > "$D/log" 2>&1; then ok "mha__s8_reciprocal, all 2^31 arguments: $(cat "$D/log")"
  else failed "mha__s8_reciprocal: $(tail -n 1 "$D/log")"; fi
else skipped "mha__s8_reciprocal, all arguments: $CC has no -fsanitize=undefined"; fi
total
