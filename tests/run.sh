#!/bin/sh
# run.sh - what `make test` does: test programs, inclusion checks, examples, and one line with the sum.
# `run.sh examples` runs only the examples, and shows what they print.
# From the environment: MAKE, CFLAGS, B (where everything is built), SEED and NAME (for the test programs).
set -u
B=${B:-build}
MAKE=${MAKE:-make}
. tests/report.sh
limit= # ends a program that hangs
! command -v timeout > /dev/null || limit="timeout 600"

# build NAME...: all that can be built, several at once
build() {
  targets=
  for name in "$@"; do targets="$targets $B/$name"; done
  case ${MAKEFLAGS:-} in
    *jobserver*) $MAKE -ks $targets ;;
    *)           $MAKE -ks -j "$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)" $targets ;;
  esac
}

# built NAME: was that one built?  Its errors were shown before; an older program left behind does not count.
built() { build "$1" 2> /dev/null || { failed "$1 does not compile"; return 1; }; }

# add_up NAME STATUS FILE: adds the counts in the last line of FILE, printed by what ended with STATUS
add_up() {
  counts=$(tail -n 1 "$3" |
    awk '/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { print $1, $3, $5 + 0 }')
  case $counts in
    "")      failed "$1 ended with status $2 and without a closing line"; return ;;
    *" 0 "*) [ "$2" -eq 0 ] || failed "$1 counted no failure but ended with status $2" ;;
    *)       [ "$2" -ne 0 ] || failed "$1 counted failures but ended with status 0" ;;
  esac
  set -- $counts
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# start NAME COMMAND...: in the background, into a file.  finish NAME: shows that file and adds it up.
start() {
  name=$1; shift
  { $limit "$@" > "$B/$name.txt" 2>&1; echo $? > "$B/$name.status"; } &
}
finish() {
  printf '\n== %s ==\n' "$1"
  cat "$B/$1.txt"
  ! grep -q '^no group is named' "$B/$1.txt" || exit 2 # the other programs have the same groups
  add_up "$1" "$(cat "$B/$1.status")" "$B/$1.txt"
}

# The three ways of rounding at once; each runs all groups on every instruction set of this machine.
run_programs() {
  started=
  for program in $programs; do
    built "$program" || continue
    start "$program" "$B/$program" "${SEED:-0}" ${NAME:+"$NAME"}
    started="$started $program"
  done
  if [ -z "${NAME:-}" ]; then
    start inclusion sh tests/inclusion.sh
    started="$started inclusion"
  fi
  wait
  for name in $started; do finish "$name"; done
}

# Native integer attention recomputed in Python's integers.
run_integers() {
  what="native attention in Python's integers"
  if ! python=$(sh tests/python.sh); then skipped "$what: ${PYTHON:-python3} not installed"; return; fi
  built shared.so || return
  $limit "$python" -B tests/native.py "$B/shared.so" "${SEED:-0}" > "$B/native.txt" 2>&1
  status=$?
  line=$(tail -n 1 "$B/native.txt")
  case $status-$line in
    0-skipped*)     skipped "$what: ${line#skipped: }" ;;
    0-*": 0 of "*)  ok "$line" ;;
    *)              failed "$what: status $status"; cat "$B/native.txt" ;;
  esac
}

# same WHAT FILE FILE
same() {
  if cmp -s "$2" "$3"; then ok "$1"; else
    failed "$1: it differs"
    diff "$2" "$3" | head -n 6
  fi
}

# example NAME LINE [ARGUMENTS...]: must end with status 0 and print LINE
example() {
  name=$1 line=$2; shift 2
  built "$name" || return
  $limit "$B/$name" "$@" > "$B/$name.txt" 2>&1
  status=$?
  [ "$show" = no ] || { printf '\n== %s ==\n' "$name"; cat "$B/$name.txt"; }
  if [ $status -eq 0 ] && grep -qF -e "$line" "$B/$name.txt"; then ok "$name: $line"; else
    failed "$name: status $status, and it should print '$line':"
    tail -n 3 "$B/$name.txt"
  fi
}

# quantize prints nothing to look at on its own: its output is compiled and compared.
run_quantize() {
  built quantize || return
  $limit sh tests/quantize.sh "$B/quantize" "$B/quantized" > "$B/quantize.txt" 2>&1
  status=$?
  [ "$show" = no ] || { printf '\n== quantize ==\n'; sed '$d' "$B/quantize.txt"; }
  [ "$show" = yes ] || grep -e FAILED -e skipped "$B/quantize.txt"
  add_up quantize $status "$B/quantize.txt"
}

# The model of examples/firmware on the desktop, then on a microcontroller under QEMU: the same text.
run_firmware() {
  line="100 of 100 sequences are sorted, 0 wrong"
  case $B in /*) to=$B/firmware ;; *) to=$PWD/$B/firmware ;; esac
  for where in desktop run; do
    if [ $where = run ]; then
      for tool in arm-none-eabi-gcc qemu-system-arm; do
        have $tool || { skipped "firmware, on a microcontroller: $tool not installed"; return; }
      done
    fi
    $limit $MAKE -s --no-print-directory -C examples/firmware B="$to" $where > "$B/firmware_$where.txt" 2>&1
    status=$?
    if [ $status -eq 0 ] && grep -qF "$line" "$B/firmware_$where.txt"; then ok "firmware, $where: $line"; else
      failed "firmware, $where: status $status, and it should print '$line':"
      tail -n 3 "$B/firmware_$where.txt"
      return
    fi
  done
  [ "$show" = no ] || { printf '\n== firmware ==\n'; cat "$B/firmware_run.txt"; }
  head -n "$(wc -l < "$B/firmware_desktop.txt")" "$B/firmware_run.txt" > "$B/firmware_model.txt"
  same "firmware: the same text from desktop and microcontroller" \
    "$B/firmware_desktop.txt" "$B/firmware_model.txt"
}

run_examples() {
  sed -n '/^\/\* == Licence ==/,/^\*\/$/p' mha.h | sed -e 1,2d -e '$d' -e 's/^   //' > "$B/licence.txt"
  same "the licence at the end of mha.h is LICENSE" "$B/licence.txt" LICENSE
  example hello "2.321 3.321 4.321 5.321"
  block c > "$B/readme.c"
  same "the program in README.md is examples/hello.c" "$B/readme.c" examples/hello.c
  block text > "$B/readme.txt"
  same "the output in README.md is what it prints" "$B/readme.txt" "$B/hello.txt"
  example causal "0.37  0.22  0.41  0.00  0.00"
  example kv_cache "0 of 614400 bits differ"
  example gqa "0 of 8192 outputs differ"
  example padded "0 of 1824 outputs differ"
  example int8_cache "0 of 38400 outputs are beyond a bound"
  example threads "0 of 131072 outputs differ"
  if [ -z "$freestanding" ]; then skipped "freestanding: for Linux on x86-64 and aarch64, without sanitizers"
  else example freestanding "3.679 4.679 5.679 6.679"; fi
  example calibrate "both modes within 3 steps of the output"
  run_quantize
  run_firmware
  example heatmap "every difference is below" examples/minilm.txt "$B/attention.svg"
}

run_damaged_data() {
  mkdir -p "$B/bad"
  if sh tests/minilm/bad_files.sh "$B/heatmap" examples/minilm.txt "$B/bad" > "$B/bad.txt" 2>&1; then
    ok "$(tail -n 1 "$B/bad.txt")"
  else
    failed "heatmap takes damaged data:"
    cat "$B/bad.txt"
  fi
}

# The benchmark's table and its JSON, whatever the times.  What is left of JSON after each innermost value has
# become N must be one N.
run_bench() {
  built bench || return
  $limit "$B/bench" --seconds 0.001 --group tiny --json "$B/bench.json" > "$B/bench.txt" 2>&1
  status=$?
  rows=$(awk '$1 == "tiny" && $5 == "x" && ($10 == "ns" || $10 == "us") && $14 + 0 > 0 && $15 + 0 > 0 &&
              $15 + 0 < 1e-5' "$B/bench.txt" | wc -l)
  json=$(tr -d '\n' < "$B/bench.json" | awk '{
    groups = gsub(/"group": "tiny"/, "&")
    gsub(/"([^"\\]|\\.)*"/, "S")
    gsub(/-?[0-9]+([.][0-9]+)?(e[-+][0-9]+)?|true|false|null/, "N")
    gsub(/ /, "")
    gsub(/S:/, "K")
    while (gsub(/[{]K[SN](,K[SN])*[}]|[[][SN](,[SN])*[]]/, "N")) {}
    print $0, groups }')
  if [ $status -eq 0 ] && [ "$rows" -eq 2 ] && [ "$json" = "N 2" ]; then ok "bench: 2 rows, and as JSON"; else
    failed "bench: status $status, $rows rows, JSON leaves '$json'"
    tail -n 4 "$B/bench.txt"
  fi
}

programs="test_mha test_exact test_muladd"
stack=stack freestanding=freestanding shared=shared.so
case $(uname -s)-$(uname -m) in Linux-x86_64|Linux-aarch64) ;; *) freestanding= ;; esac
[ "${1:-}" = examples ] || export QUICK=-O1 # the examples compile in half the time, and work as well
case ${CFLAGS:-} in *-fsanitize*) stack= freestanding= shared= ;; esac
examples="hello causal kv_cache gqa padded int8_cache threads $freestanding calibrate quantize heatmap"
mkdir -p "$B"

if [ "${1:-}" = examples ]; then
  show=yes
  build $examples
  run_examples
elif [ -n "${NAME:-}" ]; then
  build $programs
  run_programs
  echo "NAME is set: no inclusion checks, no examples"
else
  show=no
  echo "compiling, then running; the results come all at once"
  build $programs dispatch $stack $shared bench $examples
  run_programs
  if built dispatch; then start dispatch "$B/dispatch"; wait; finish dispatch; fi
  if [ -z "$stack" ]; then skipped "stack: a sanitizer takes some of its own"
  elif built stack; then start stack "$B/stack"; wait; finish stack; fi
  if [ -z "$shared" ]; then skipped "native attention in Python's integers: Python has no sanitizer"
  else run_integers; fi
  printf '\n== examples ==\n'
  run_examples
  run_damaged_data
  printf '\n== bench ==\n'
  run_bench
fi

echo
[ $failed -eq 0 ] || echo "repeat a group alone: make test SEED=... NAME=..."
total
