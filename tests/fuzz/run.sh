#!/bin/sh
# run.sh - fuzzing of mha.h.
#
#   run.sh [--sanitizer memory] [SECONDS [HARNESS]]   makes inputs for so long (60), for each harness or one
#   run.sh replay                                     the inputs in corpus/ once more, with any compiler
#   run.sh keep                                       puts into corpus/ what it takes to reach as much as
#                                                     all inputs found so far, and no more
#
# The first needs clang with its libFuzzer; the sanitizers are address and undefined unless said otherwise.
# For AFL++: CC=afl-clang-fast sh tests/fuzz/run.sh replay
#            afl-fuzz -i tests/fuzz/corpus/float -o build/fuzz/afl -- build/fuzz/replay/float -
# From the environment: B (where everything is built), CC (for replay), CLANG, CFLAGS (for replay).
set -u
B=${B:-build}
CLANG=${CLANG:-clang}
. tests/report.sh

harnesses="float int8 hostile"
flags="-std=c99 -ffp-contract=off -Wall -Wextra -pedantic"

# compile OBJECT COMMAND...: unless OBJECT is newer than all that it may be made from
compile() {
  object=$1; shift
  from="mha.h tests/*.[ch] tests/*/*.[ch]"
  case $object in */mha.o) from="mha.h tests/fuzz/mha.c" ;; esac
  ! [ -f "$object" ] || [ -n "$(find $from -newer "$object")" ] || return 0
  "$@" -c -o "$object" > "$object.txt" 2>&1 || { rm -f "$object"; head -n 20 "$object.txt"; return 1; }
}

# build FOLDER COMPILER COVERAGE LINK...: all harnesses into that folder.  COVERAGE: flags for mha.h alone
build() {
  to=$1 compiler=$2 coverage=$3; shift 3
  mkdir -p "$to"
  all="$compiler $coverage $*"
  echo "$all" | cmp -s - "$to/flags" || { rm -f "$to"/*.o; echo "$all" > "$to/flags"; }
  compile "$to/mha.o" $compiler $coverage tests/fuzz/mha.c &&
    compile "$to/check.o" $compiler tests/check.c &&
    compile "$to/compose.o" $compiler tests/compose.c || return
  for name in $harnesses; do
    compile "$to/h_$name.o" $compiler "tests/fuzz/$name.c" || return
    compose=; [ $name != float ] || compose=$to/compose.o
    $compiler -o "$to/$name" "$to/h_$name.o" "$to/mha.o" "$to/check.o" $compose "$@" -lm || return
  done
}

build_fuzzers() {
  case $sanitizer in
    memory) set -- memory ;;
    *)      set -- address,undefined,float-cast-overflow ;;
  esac
  build "$folder" "$CLANG $flags -O1 -g -fno-omit-frame-pointer -fsanitize=$1 -fno-sanitize-recover=all" \
    "-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp,trace-div,trace-gep" -fsanitize=fuzzer
}

have_fuzzer() {
  mkdir -p "$B/fuzz"
  echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return (void)p, (void)n, 0; }' > "$B/fuzz/try.c"
  have "${CLANG%% *}" && $CLANG -fsanitize=fuzzer -o "$B/fuzz/try" "$B/fuzz/try.c" 2> /dev/null
}

# length NAME: of its longest inputs
length() { case $1 in float) echo 600 ;; int8) echo 1000 ;; *) echo 240 ;; esac; }

# fuzz NAME: one line of what came of it
fuzz() {
  found=$B/fuzz/found/$1 log=$folder/$1.txt
  mkdir -p "$found"
  "$folder/$1" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -max_len="$(length "$1")" \
    -len_control=0 -print_final_stats=1 -artifact_prefix="$folder/$1-" \
    "$found" "tests/fuzz/corpus/$1" > "$log" 2>&1
  status=$?
  line=$(awk '/INITED/ { for (k = 1; k < NF; k++) if ($k == "cov:") first = $(k + 1) }
    / cov: /  { for (k = 1; k < NF; k++) if ($k == "cov:") last = $(k + 1) }
    /^stat::number_of_executed_units/ { runs = $2 }
    /^stat::average_exec_per_sec/     { rate = $2 }
    END { printf "%d runs, %d a second, %d edges of mha.h", runs, rate, last
          printf ", %d of them new", last - first }' "$log")
  if [ $status -eq 0 ]; then ok "$1, $sanitizer: $line"; else
    failed "$1, $sanitizer: $line"
    grep -E -m 3 '^tests/.*: |ERROR: |SUMMARY' "$log"
    echo "          again: $folder/$1 $(ls -t "$folder/$1"-* | head -n 1)"
  fi
}

run_fuzzers() {
  if ! have_fuzzer; then skipped "fuzzing: $CLANG with libFuzzer not installed"; return; fi
  build_fuzzers || { failed "the harnesses do not compile"; return; }
  for name in ${only:-$harnesses}; do fuzz "$name"; done
}

replay() {
  build "$B/fuzz/replay" "${CC:-cc} $flags ${CFLAGS:--O1}" "" tests/fuzz/main.c ||
    { failed "the harnesses do not compile"; return; }
  for name in $harnesses; do
    if "$B/fuzz/replay/$name" "tests/fuzz/corpus/$name"/* > "$B/fuzz/replay/$name.txt" 2>&1
    then ok "fuzz $name: $(cat "$B/fuzz/replay/$name.txt") replayed"
    else failed "fuzz $name"; tail -n 3 "$B/fuzz/replay/$name.txt"; fi
  done
}

# What reaches every edge, whatever how often.
keep() {
  build_fuzzers || exit
  for name in $harnesses; do
    rm -rf "$B/fuzz/kept"
    mkdir -p "$B/fuzz/kept"
    "$folder/$name" -merge=1 -use_counters=0 -max_len="$(length "$name")" "$B/fuzz/kept" \
      "tests/fuzz/corpus/$name" "$B/fuzz/found/$name" > "$folder/$name.txt" 2>&1 || exit
    rm -rf "tests/fuzz/corpus/$name"
    mv "$B/fuzz/kept" "tests/fuzz/corpus/$name"
    set -- "tests/fuzz/corpus/$name"/*
    echo "$name: $# inputs, $(cat "$@" | wc -c) bytes"
  done
}

sanitizer=address
if [ "${1:-}" = --sanitizer ]; then sanitizer=$2; shift 2; fi
folder=$B/fuzz/$sanitizer
case ${1:-} in
  replay) replay ;;
  keep)   keep; exit ;;
  0 | *[!0-9]*) echo "neither a number of seconds nor replay nor keep: $1"; exit 2 ;;
  *)      seconds=${1:-60} only=${2:-}; run_fuzzers ;;
esac
total
