#!/bin/sh
# quantize.sh PROGRAM FOLDER: lets examples/quantize print constants into FOLDER, compiles them as firmware
# would, in C and C++, compares them with mha_s8_prepare's (quantized.c), and gives it arguments that it
# must refuse.
# From the environment: CC, CXX, CFLAGS, WARN.
quantize=$1 out=$2
. tests/report.sh
mkdir -p "$out"
warn=${WARN:--Wall -Wextra -pedantic -Werror}
common="d_k=32 kv_len=81 q=0.02,3 k=0.03,-7 v=0.02,5 o=0.01,-2"
tflm="tflm $common logits=0.1,11"

print() { # print NAME ARGUMENTS...
  header=$1; shift
  if "$quantize" "$@" "name=$header" > "$out/$header.h" 2> "$out/errors.txt"; then return; fi
  failed "quantize $*: $(head -n 1 "$out/errors.txt")"
}
print native native $common head q=0.04,-128 scale=0.5
print plain $tflm beta=0.125 head beta=0.25 head beta=0.125
print ram $tflm beta=0.125 table=ram
print mapped $tflm mul=0.05,-4 scalar=0.0007,127,-128 head mul=0.8,5 scalar=0.5,1,0 \
  head mul=0.02,3 scalar=0.5,5,4

# All of it without float, and pedantic
cat > "$out/use.c" << 'END'
#define MHA_IMPLEMENTATION
#define MHA_NO_FLOAT
#include "native.h"
#include "plain.h"
#include "ram.h"
#include "mapped.h"
#include "native.h"
const mha_s8_consts *use(int n);
const mha_s8_consts *use(int n) {
  static unsigned char scratch[NATIVE_SCRATCH_BYTES + PLAIN_SCRATCH_BYTES + RAM_SCRATCH_BYTES +
                               MAPPED_SCRATCH_BYTES];
  return scratch[0] ? native : n == 0 ? plain : n == 1 ? ram : mapped;
}
END
compile() { # compile WHAT COMPILER...
  what=$1; shift
  if "$@" $warn -I. -I"$out" -c -o "$out/use.o" "$out/use.c" > "$out/errors.txt" 2>&1; then ok "$what"
  else failed "$what"; head -n 5 "$out/errors.txt"; fi
}
compile "what it prints is C99, without a warning and without float" ${CC:-cc} -std=c99
if have "${CXX:-c++}"; then
  compile "what it prints is C++98, without a warning and without float" "${CXX:-c++}" -x c++ -std=c++98
else skipped "C++98: ${CXX:-c++} not installed"; fi

if ${CC:-cc} -std=c99 $warn ${CFLAGS:-} -I. -I"$out" -o "$out/test" tests/quantized.c \
  > "$out/errors.txt" 2>&1; then
  "$out/test" > "$out/test.txt" 2>&1
  status=$?
  grep FAILED "$out/test.txt"
  line=$(tail -n 1 "$out/test.txt")
  if [ $status -eq 0 ]; then ok "the printed constants are mha_s8_prepare's: $line"
  else failed "quantize: $line"; fi
else failed "quantized.c does not compile"; head -n 5 "$out/errors.txt"; fi

refused=0
refuse() { # refuse STATUS PART-OF-MESSAGE ARGUMENTS...
  want=$1 message=$2; shift 2
  "$quantize" "$@" > "$out/refused.txt" 2> "$out/errors.txt"
  status=$?
  if [ $status -eq "$want" ] && grep -q -e "$message" "$out/errors.txt" && ! [ -s "$out/refused.txt" ]
  then refused=$((refused + 1))
  else failed "quantize $*: status $status, and it should say '$message'"; fi
}
refuse 2 "^usage: quantize"
refuse 2 "^usage: quantize" other $common
for name in d_k kv_len q k v o logits; do
  refuse 1 "^quantize: $name=: missing" $(echo "$tflm" | sed "s/ $name=[^ ]*//")
done
refuse 1 "out of range"     native $common scale=1e30
refuse 1 "too large"        native $common head d_k=130000
refuse 1 "a second time"    native $common head q=0.1,0 q=0.1,0
refuse 1 "a second time"    $tflm table=ram head table=ram
refuse 1 "a second time"    native $common name=x head name=y
refuse 1 "^quantize: logits=0.1,0: only for tflm" native $common logits=0.1,0
refuse 1 "^quantize: scale=2: only for native" $tflm scale=2
refuse 1 "one needs the other" $tflm mul=0.1,0
refuse 1 "one needs the other" $tflm scalar=0.1,0,0
refuse 1 "too small"        $tflm mul=1e-9,0 scalar=1,0,0
refuse 1 "unknown"          native $common d_v=3
refuse 1 "unknown"          native $common q
refuse 1 "too many"         native $common $(awk 'BEGIN { while (n++ < 64) print "head" }')
for bad in q= q=1 q=1, q=,1 q=0,1 q=-1,1 q=nan,1 q=1,128 q=1,-129 q=1,2x q=1,2,3 d_k=0 d_k=-1 d_k=2x \
  kv_len= scale=0 scale=inf q=inf,0 q=1e999,0 name= name=1 name=MHA_S8 "name=a b" "name=*/" ; do
  refuse 1 "^quantize: $(printf %s "$bad" | sed 's/\*/\\*/g'): it wants" native $common "$bad"
done
for bad in beta=-1 table=disk mul=1 scalar=1,2 scalar=1,200,3; do
  refuse 1 "^quantize: $bad: it wants" $tflm "$bad"
done
[ $failed -gt 0 ] || ok "$refused kinds of bad arguments are refused, each with a message"
total
