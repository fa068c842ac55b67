#!/bin/sh
# coverage.sh - what `make coverage` does: every line of mha.h and 95 % of its branches must be reached by the
# three test programs, merged, on the instances that this machine has.
#
# The file with the implementation is not optimised and nothing in it inlined, so that a line is a line and a
# branch stands once.  gcovr takes no file that includes itself: gcov does, coverage.py merges what it says.
# From the environment: MAKE, PYTHON, B and SEED.
set -u
B=${B:-build}
C=$B/coverage
MAKE=${MAKE:-make}
. tests/report.sh

for tool in gcc gcov gcovr; do
  have $tool || { skipped "coverage: $tool not installed"; total; exit; }
done
python=$(sh tests/python.sh) || { skipped "coverage: ${PYTHON:-python3} not installed"; total; exit; }

mkdir -p "$C/none"
rm -f "$C"/*.gcda
cat > "$C/apart.h" << 'EOF' # nothing inlined but intrinsics
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#define __always_inline__ __unused__
EOF
programs="test_mha test_exact test_muladd" targets=
for name in $programs; do targets="$targets $C/$name"; done
echo "compiling, then running for some minutes"
$MAKE -s -j 2 B="$C" CC=gcc CFLAGS=-O1 COVERAGE="-O0 --coverage -include $C/apart.h" $targets || exit 1

run() { "$C/$1" "${SEED:-0}" > "$C/$1.txt" 2>&1; echo $? > "$C/$1.status"; }
run test_mha &
run test_exact
run test_muladd
wait
reports=
for name in $programs; do
  line=$(tail -n 1 "$C/$name.txt")
  if [ "$(cat "$C/$name.status")" = 0 ]; then ok "$name: $line"; else failed "$name: $line"; fi
  gcov -t -j -b "$C/$name-test_mha.gcno" > "$C/$name.json" 2> "$C/gcov.txt" || failed "gcov: see $C/gcov.txt"
  reports="$reports $C/$name.json"
done

gcovr --json "$C/none.json" "$C/none" && # of no source: what its format is
  "$python" -B tests/coverage.py "$C/none.json" $reports > "$C/mha.json" &&
  gcovr -a "$C/mha.json" --html-details "$C/index.html" --print-summary \
    --fail-under-line 100 --fail-under-branch 95
case $? in
  0) ok "every line, and 95 % of all branches: see $C/index.html" ;;
  *) failed "a line, or more than 5 % of all branches, is never reached: see $C/index.html" ;;
esac
total
