# analyse.sh - for tests/check.sh to read in: sanitizers, analysers, warnings.  One line per check.

# Unsigned wrapping is not looked for: mha.h relies on it in 0 - x, n-- and sums whose end is what counts; and
# where a size could overflow, mha__plus and mha__times stop at SIZE_MAX.
ADDRESS="-O1 -g -fno-sanitize-recover=all
  -fsanitize=address,undefined,float-cast-overflow,implicit-conversion,integer-divide-by-zero"
MEMORY="-O1 -g -fno-sanitize-recover=all -fsanitize=memory"
STRICT="-Wundef -Wcast-qual -Wvla"

# sanitized WHAT COMPILER FLAGS GROUPS: those groups of test_mha, or all, compiled with the sanitizer
sanitized() {
  what=$1 cc=$2 flags=$(echo $3) groups=$4 link= run= warn="$W $WD"
  needs "$what" "$cc" || return
  version=$(compiler "$cc")
  echo 'int main(void) { return 0; }' > "$T/empty.c"
  $cc $flags -o "$T/empty" "$T/empty.c" > /dev/null 2>&1 || {
    skipped "$what: libclang-rt-N-dev (clang's N) not installed"
    return
  }
  ! suite || say ok "$what" "$version" "" "" "" "$more"
}

# threads: the example, and the first call by many at once
threads() {
  what=TSan cc=gcc
  needs "$what" gcc || return
  for program in examples/threads.c tests/race.c; do
    if gcc -std=c99 -O1 -g -fsanitize=thread $W $WD -I. -o "$T/threads" $program -pthread > "$T/log" 2>&1 &&
       $limit "$T/threads" > "$T/log" 2>&1; then
      say ok "TSan, $(basename $program)" "$(compiler gcc)" "" "" "" "$(tail -n 1 "$T/log")"
    else no "TSan, $program" "$T/log"; fi
  done
}

valgrinds() {
  what=valgrind cc=gcc flags="-O1 -g" link= warn="$W $WD" version=$(compiler gcc)
  needs "$what" gcc valgrind || return
  run="valgrind -q --error-exitcode=9 --leak-check=full" groups="example,golden,compose"
  hash || return
  if $limit $run "$T/hash.exe" chosen > "$T/hashes" 2> "$T/log" && suite
  then judge valgrind "" "$T/hashes" "$more"
  else no valgrind "$T/log"; fi
}

# analysed WHAT COMMAND...: succeeds in silence
analysed() {
  what=$1; shift
  if "$@" > "$T/log" 2>&1 && ! grep -q 'warning:' "$T/log"; then say ok "$what" "$version"
  else no "$what" "$T/log"; grep 'warning:' "$T/log" | head -n 4 | cut -c 1-120 | sed 's/^/            /'; fi
}

# explored COMMAND...: what it says but for remarks on single points of the program.  Fails if gcc gave up.
explored() {
  "$@" > "$T/explored" 2>&1 || { cat "$T/explored"; return 1; }
  ! grep 'bailed out' "$T/explored" || return 1
  grep -v Wanalyzer-too-complex "$T/explored"
  true
}

# At gcc's own limits it gives up on mha.h early, in silence: more of the program, then, with fewer states at a
# point.  With one state it takes arrays filled in loops for uninitialised, which others look for, too.
analyzer() {
  cc=gcc
  needs "gcc -fanalyzer" gcc || return
  version=$(compiler gcc)
  for option in "" -DMHA_NO_SIMD -DMHA_NO_FLOAT; do
    case $option in *FLOAT) states=8 except= ;; *) states=1 except=-Wno-analyzer-use-of-uninitialized-value ;; esac
    analysed "-fanalyzer $option" explored gcc -std=c99 -O1 -fanalyzer -Wanalyzer-too-complex $except \
      --param analyzer-bb-explosion-factor=100 --param analyzer-max-enodes-per-program-point=$states \
      $option -I. -c -o "$T/a.o" tests/firmware/mha.c
  done
}

# As a processor with 64-bit int addresses, and as one whose int has 16 bits.  What is suppressed:
#   ctuuninitvar, legacyUninitvar   structs filled field by field with commas; a block that only the second
#                                   round of a loop reads
#   shiftTooManyBitsSigned          x >> 31 is -1 or 0 with every compiler there is
cppchecks() {
  needs cppcheck cppcheck || return
  version="$(cppcheck --version | awk '{ print $2 }')"
  for platform in unix64 avr8; do
    case $platform in avr8) as=-D__AVR__ ;; *) as="-D__x86_64__ -D__SSE2__" ;; esac
    analysed "cppcheck, $platform" cppcheck --enable=warning,portability,performance --std=c99 --quiet \
      --error-exitcode=9 --platform=$platform --suppress=ctuuninitvar:*mha.h \
      --suppress=legacyUninitvar:*mha.h --suppress=shiftTooManyBitsSigned:*mha.h -D__GNUC__=12 $as tests/firmware/mha.c
  done
}

# The header itself is the file to look at: of a file that is included the analyzer looks at little.
tidy() {
  needs clang-tidy clang-tidy || return
  version=$(clang-tidy --version | awk '/version/ { print $NF }')
  analysed clang-tidy clang-tidy --quiet --config-file=tests/clang-tidy.yml --header-filter='.*' mha.h \
    -- -x c -std=c99 -DMHA_IMPLEMENTATION -I.
}

# warnings: the Makefile's flags and stricter ones, in C and C++
warnings() {
  for cc in gcc g++ clang clang++ "arm-none-eabi-gcc -mcpu=cortex-m0" \
            "arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" \
            "arm-none-eabi-gcc -mcpu=cortex-m55 -mfloat-abi=hard"; do
    case $cc in *clang*) align=-Wcast-align ;; *) align=-Wcast-align=strict ;; esac
    case $cc in *++) language="-x c++ -std=c++98" ;; *) language=-std=c99 ;; esac
    case $cc in arm*) thumb="-mthumb -ffreestanding" ;; *) thumb= ;; esac
    needs "warnings of $cc" "$cc" || continue
    version=$(compiler "$cc")
    for option in "" -DMHA_NO_FLOAT -DMHA_EXACT_FMA; do
      analysed "warnings ${cc#* -mcpu=} $option" $cc $thumb $language -O2 $W $WD $STRICT $align $option -I. \
        -c -o "$T/a.o" tests/firmware/mha.c
    done
  done
}
