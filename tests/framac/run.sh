#!/bin/sh
# run.sh - lets EVA of Frama-C prove that small calls of mha.h have no run-time error, whatever the data: no
# access outside of an object, no read of what was not written, no overflow of a signed integer, no bad shift
# or division.  Sizes, options and constants are those in float.c and s8.c; scalar kernels, multiply then add.
#
# EVA knows ranges of numbers, hardly how they depend on each other, so a few functions are excepted:
#   mha__s8_reciprocal     its Newton steps; reciprocal.c tries all of its arguments instead
#   mha__s8_leading_zeros  ends because a row's sum of weights is never 0
#   tflm's softmax,        mha__s8_softmax or in mha__s8_lean_row, looks up table[most - logit], most the largest
#   tflm's outputs         weights add up to no more than 512 there
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

# functions: for each line number of mha.h, the function that it is in
functions() {
  awk '
    FNR == NR { wanted[++n] = $1; next }
    match($0, /^[A-Za-z].*[a-z0-9_]+[(]/) && !/;$/ {
      name = $0
      sub(/MHA__FN[(]/, "mha__", name)
      sub(/[()].*/, "", name)
      sub(/.*[ *]/, "", name)
    }
    { in_function[FNR] = name }
    END { for (x = 1; x <= n; x++) print in_function[wanted[x]] }' - mha.h | sort -u
}

# prove WHAT EXCEPTED WORK_BYTES FILE OPTION...: no alarm but in the functions excepted.  From the
# environment: defines, for the compiler.  279 and 103 bytes are MHA_S8_SCRATCH_BYTES of s8.c's sizes.
prove() {
  what=$1 excepted=$2 bytes=$3 file=$F/$4.c log=$D/$(echo "$1" | tr -d ' ,').txt; shift 4
  timeout 600 frama-c -machdep x86_64 -warn-special-float none \
    -absolute-valid-range $work-$(printf 0x%x $((work + bytes - 1))) \
    -cpp-extra-args="-I. -I$(frama-c -print-share-path)/libc -U__GNUC__ -D__STDC_VERSION__=199901L \
      -DMHA_NO_SIMD -DMHA_NO_FMA -DWORK=$work -DWORK_BYTES=$bytes $defines" \
    -eva -eva-auto-loop-unroll 2000 "$@" "$file" > "$log" 2>&1
  status=$?
  reached=$(sed -n 's/.* \([0-9]*\) statements reached.*/\1/p' "$log")
  grep -a '^\[eva:alarm\]' "$log" | sed 's/.*mha.h:\([0-9]*\):.*/\1/' | sort -nu > "$log.lines"
  alarms=$(functions < "$log.lines" | grep -vxF -e "$(echo $excepted | tr ' ' '\n')" | tr '\n' ' ')
  if [ $status -eq 0 ] && [ "${reached:-0}" -gt 100 ] && [ -z "$alarms" ]; then
    ok "$what: no run-time error in $reached statements${excepted:+; excepted: $excepted}"
  else
    failed "$what: status $status, $(wc -l < "$log.lines") lines with alarms, in $alarms"
    tail -n 2 "$log" | sed 's/^/            /'
  fi
}

if have frama-c; then
  # The statuses of these and what they say about memory must be told apart
  apart="-eva-precision 4 -eva-split-return full -eva-slevel-function mha__begin:1000,mha__resolve:1000"
  defines=-DPART=1 prove "float, level 1" "" 1 float $apart
  defines=-DPART=2 prove "float, causal, grouped heads" "" 4096 float $apart
  defines=-DPART=3 prove "float, most options" "" 4096 float $apart
  newton="mha__s8_reciprocal mha__s8_leading_zeros"
  tflm="$newton mha__s8_softmax mha__s8_outputs_tflm"
  defines="-DMODE=MHA_S8_NATIVE -DLEAN=0" prove "int8, native" "$newton" 279 s8 -eva-precision 3
  defines="-DMODE=MHA_S8_NATIVE -DLEAN=1" prove "int8, native, lean" "$newton" 1 s8 -eva-precision 3
  defines="-DMODE=MHA_S8_TFLM -DLEAN=0" prove "int8, tflm" "$tflm" 103 s8 -eva-precision 3
  tflm="$tflm mha__s8_lean_row"
  defines="-DMODE=MHA_S8_TFLM -DLEAN=1" prove "int8, tflm, lean" "$tflm" 1 s8 -eva-precision 3
else skipped "proofs: frama-c is not installed"; fi

if $CC -std=c99 -O2 -fsanitize=undefined -fno-sanitize-recover=all -I. -o "$D/reciprocal" $F/reciprocal.c \
     > "$D/log" 2>&1; then
  if timeout 600 "$D/reciprocal" > "$D/log" 2>&1
  then ok "mha__s8_reciprocal, all 2^31 arguments: $(cat "$D/log")"
  else failed "mha__s8_reciprocal: $(tail -n 1 "$D/log")"; fi
else skipped "mha__s8_reciprocal, all arguments: $CC has no -fsanitize=undefined"; fi
total
