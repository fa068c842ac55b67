#!/bin/sh
# check.sh - does mha.h give the same bits, and no cause for complaint, wherever this machine can compile and run
# it?  One line per target, several at once: what, compiler, instance, roundings, the hashes of tests/hash.c
# (small float cases, small int8 cases, larger calls), seconds, and how many groups of test_mha passed there.
# What needs a tool that is not here is skipped; tests/check_tools.sh installs what there is.
#
#   sh tests/check.sh [NAME]     all, or the checks whose line in `jobs` begins with NAME
#
# From the environment: MAKE, PYTHON, B (the folder for everything built), BXSHARE (what Bochs comes with),
# CHECK_SECONDS (after so many no check begins any more; those left are skipped).
set -u
export LC_ALL=C
B=${B:-build} MAKE=${MAKE:-make} PYTHON=${PYTHON:-python3}
export B MAKE PYTHON
D=$B/check
W="-Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Werror" # and, without excess precision:
WD=-Wdouble-promotion
I="-I. -Itests -Itests/firmware"
. tests/report.sh
. tests/analyse.sh

# The bits there must be, by tests/hash.c: where multiply and add are fused, where not, and of int8 anywhere.
FUSED="29dacbd6 4b2721de aeb6e549" MULTIPLY_ADD="089754de 4b2721de d5f27601" INT8=4b2721de

# Groups of test_mha for where all would take too long.  With excess precision: those that measure against
# the oracle in double.
SOME="example,compose,golden,halves,quantised,rows without,errors: ranges,errors: positions,s8: random"
ORACLE="example,compose,accuracy,random: values,quantised,s8: "

# jobs: one a line, its name first; what takes longest begins
jobs() {
  cat << 'EOF'
address     sanitized "ASan, UBSan, integers" clang "$ADDRESS" ""
memory      sanitized "MSan" clang "$MEMORY" "$SOME,limits,errors,in place,s8: "
threads     threads
valgrind    valgrinds
analyzer    analyzer
cppcheck    cppchecks
tidy        tidy
warnings    warnings
x87         hosted "i386, x87, -std=gnu99" "scalar excess" gcc "-m32 -mno-sse -std=gnu99 -O2" "" "" "$ORACLE"
x87         hosted "i386, x87, -std=c99" "scalar excess" gcc "-m32 -mno-sse -O2" "" "" "$ORACLE"
i386        hosted "i386, SSE2" "scalar multiply" gcc "-m32 -msse2 -mfpmath=sse -O2" "" "" "$SOME"
s390x       hosted "s390x, big-endian" "scalar hardware" s390x-linux-gnu-gcc "-O2 -fexcess-precision=fast" -static qemu-s390x "$SOME"
s390x       hosted "s390x, -std=c99" "scalar excess" s390x-linux-gnu-gcc -O2 -static qemu-s390x "example,compose,s8: random"
mips        hosted "mips, big-endian" "scalar multiply" mips-linux-gnu-gcc -O2 -static qemu-mips "$SOME"
aarch64     hosted "aarch64" "neon hardware" aarch64-linux-gnu-gcc -O2 -static qemu-aarch64 "$SOME"
aarch64     hosted "aarch64 -O0" "neon hardware" aarch64-linux-gnu-gcc -O0 -static qemu-aarch64 ""
aarch64     hosted "aarch64 -O3" "neon hardware" aarch64-linux-gnu-gcc -O3 -static qemu-aarch64 ""
aarch64     hosted "aarch64, MHA_NO_FMA" "neon multiply" aarch64-linux-gnu-gcc "-O2 -DMHA_NO_FMA" -static qemu-aarch64 ""
armhf       hosted "armhf, VFPv4" "scalar hardware" arm-linux-gnueabihf-gcc "-O2 -march=armv7-a -mfpu=neon-vfpv4" -static qemu-arm "$SOME"
armhf       hosted "armhf, its default FPU" "scalar multiply" arm-linux-gnueabihf-gcc -O2 -static qemu-arm ""
armhf       hosted "armhf, MHA_EXACT_FMA" "scalar software" arm-linux-gnueabihf-gcc "-O2 -DMHA_EXACT_FMA" -static qemu-arm ""
riscv64     hosted "riscv64" "scalar hardware" riscv64-linux-gnu-gcc -O2 -static qemu-riscv64 "$SOME"
ppc64le     hosted "ppc64le" "scalar hardware" powerpc64le-linux-gnu-gcc -O2 -static qemu-ppc64le "$SOME"
windows     windows
wasm        webassembly
bochs       avx512
older       older_cpus
tcc         hosted "tcc" "scalar multiply" tcc "" "" "" ""
elsewhere   elsewhere
msvc        microsoft
x86-64      native gcc -O0
x86-64      native gcc -O1
x86-64      native gcc -O2
x86-64      native gcc -O3
x86-64      native gcc -Os
x86-64      native gcc "-O2 -march=native"
x86-64      native clang -O0
x86-64      native clang -O1
x86-64      native clang -O2
x86-64      native clang -O3
x86-64      native clang -Os
x86-64      native clang "-O2 -march=native"
fma         other_fma
constants   constants
options     options gcc
options     options clang
inclusion   inclusion clang clang++
languages   languages gcc "c11 c17 c2x gnu99"
languages   languages clang "c11 c17 c2x gnu99"
languages   languages g++ "c++98 c++11 c++14 c++17 c++20 c++23 c++26"
languages   languages clang++ "c++98 c++11 c++14 c++17 c++20 c++23 c++2b"
zig         zig
EOF
}

## Lines

# compiler COMMAND: its name, without the target that may stand before, and its version
compiler() {
  set -- $1
  case "$*" in
    *ziglang*) echo "zig $("$1" -m ziglang version)" ;;
    tcc*)      tcc -v 2>&1 | awk '{ print $1, $3 }' ;;
    ?*)        echo "${1##*-} $("$1" -dumpfullversion 2> /dev/null || "$1" -dumpversion)" ;;
  esac
}

# say VERDICT WHAT COMPILER ISA NUMERICS HASHES [MORE]: a line, with the seconds since the one before
say() {
  now=$(date +%s)
  verdict=$1
  $verdict "$(printf '%-26s %-13s %-7s %-17s %-26s %3d s  %s' "$2" "${3:-}" "${4:-}" "${5:-}" "${6:-}" $((now - then)) "${7:-}" |
    sed 's/ *$//')"
  then=$now
}

# no WHAT [FILE]: what failed, and the end of what it said
no() {
  say failed "$1" "$(compiler "${cc:-}" 2> /dev/null)"
  [ ! -r "${2:-}" ] || { grep -e error: -e FAILED -e 'tests/' "$2" || tail -n 4 "$2"; } | head -n 6 | cut -c 1-120 |
    sed 's/^/            /'
}

# needs WHAT TOOL...: are they here?
needs() {
  for_what=$1; shift
  for tool in "$@"; do
    [ -z "$tool" ] || have "${tool%% *}" || { skipped "$for_what: ${tool%% *} not installed"; return 1; }
  done
}

# judge WHAT WANTED FILE [MORE]: the lines of tests/hash.c.  WANTED, "ISA ROUNDINGS", must be the last.
judge() {
  what=$1 wanted=$2 file=$3
  tr -d '\r' < "$file" | grep '^[a-z0-9]*, [a-z ]*, [0-9a-f -]*$' > "$T/lines"
  last=$(sed -n '$s/^\([^,]*\), \([a-z]*\).*/\1 \2/p' "$T/lines")
  case $last in
    "")         no "$what prints no hash" "$file"; return ;;
    "$wanted"*) ;;
    *)          no "$what: $last, wanted $wanted"; return ;;
  esac
  while IFS=, read -r isa numerics hashes; do
    isa=$isa numerics=${numerics# } hashes=${hashes# }
    verdict=ok more=${4:-} want=$FUSED
    case $numerics in
      multiply*) want=$MULTIPLY_ADD ;;
      excess*)   hashes=${hashes#* } # only int8 attention promises bits
                 hashes="-        ${hashes% *} -" want="-        $INT8 -" ;;
    esac
    case $hashes in *" -") want="${want% *} -" ;; esac # microcontrollers have no room for the last
    [ "$hashes" = "$want" ] || verdict=failed more="other bits than everywhere else"
    say $verdict "$what" "$version" "$isa" "$numerics" "$hashes" "$more"
  done < "$T/lines"
}

## Targets that run programs

# hosted WHAT WANTED COMPILER FLAGS LINK RUN GROUPS: tests/hash.c, and groups of test_mha, compiled with FLAGS,
# linked with LINK, started by RUN.  Of -march=native and the like any instance is WANTED "".
hosted() {
  what=$1 wanted=$2 cc=$3 flags=$4 link=$5 run=$6 groups=$7
  needs "$what" "$cc" "$run" || return
  version=$(compiler "$cc")
  warn="$W $WD"
  case $wanted in *excess) warn=$W ;; esac
  case $cc in tcc) warn= ;; esac
  echo 'int main(void) { return 0; }' > "$T/empty.c"
  $limit $cc -o "$T/empty" "$T/empty.c" $link > /dev/null 2>&1 || {
    skipped "$what: a C library for $cc not installed"
    return
  }
  hash || return
  $limit $run "$T/hash.exe" > "$T/hashes" 2> "$T/log" || { no "$what, hashes" "$T/log"; return; }
  more=
  [ -z "$groups" ] || suite || return
  judge "$what" "$wanted" "$T/hashes" "$more"
}

hash() {
  $limit $cc -std=c99 $warn -ffp-contract=off $flags $I -o "$T/hash.exe" tests/hash.c "$D/s8_consts.c" $link \
    > "$T/log" 2>&1 || { no "$what does not compile" "$T/log"; return 1; }
}

# suite: those groups of test_mha, or all.  In $more: how many passed.
suite() {
  case $cc in *mingw*) warn= ;; esac # the isnan of its <math.h> narrows a double
  $MAKE -s B="$T" CC="$cc" CFLAGS="-O1 $flags" LDFLAGS="$link" WARN="$warn" "$T/test_mha" > "$T/log" 2>&1 || {
    no "$what: test_mha does not compile" "$T/log"
    return 1
  }
  program=$T/test_mha
  [ -f "$program" ] || program=$program.exe
  : > "$T/groups"
  echo "${groups:-}" | tr , '\n' | while read -r group; do
    $limit $run "$program" 0 ${group:+"$group"} > "$T/log" 2>&1
    echo "status $? $group"
    cat "$T/log"
  done > "$T/groups"
  n=$(awk '/^[0-9]+ passed, 0 failed/ { n += $1 } END { print n + 0 }' "$T/groups")
  if grep -q '^status [^0]' "$T/groups" || [ "$n" -eq 0 ]; then
    no "$what: test_mha" "$T/groups"
    return 1
  fi
  more="$n groups"
}

# native COMPILER FLAGS: every instance that this machine has
native() { hosted "$(uname -m) $2" "" "$1" "$2" "" "" ""; }

# languages COMPILER STANDARDS: those that it knows
languages() {
  cc=$1
  needs "$cc" "$cc" || return
  version=$(compiler "$cc")
  for standard in $2; do
    what="-std=$standard" x=c warn="$W $WD"
    case $standard in c++*) x=c++ ;; esac
    echo 'int nothing;' > "$T/empty.c"
    $cc -x $x -std=$standard -fsyntax-only "$T/empty.c" 2> /dev/null || {
      skipped "$what: $version does not know it"
      continue
    }
    if $cc -x $x -std=$standard $warn -ffp-contract=off -O1 $I -o "$T/hash.exe" tests/hash.c "$D/s8_consts.c" \
      > "$T/log" 2>&1 && "$T/hash.exe" chosen > "$T/hashes" 2>> "$T/log"; then judge "$what" "" "$T/hashes"
    else no "$what" "$T/log"; fi
  done
}

# options COMPILER: macros that change what is compiled, but no bits beyond the roundings they name
options() {
  for option in "-DMHA_NO_SIMD" "-DMHA_EXACT_FMA" "-DMHA_NO_FMA" "-DMHA_NO_SIMD -DMHA_EXACT_FMA" \
                "-DMHA_STACK_BYTES=1536" "-DMHA_S8_ROWS=1"; do
    hosted "$option" "" "$1" "-O1 $option" "" "" ""
  done
}

# other_fma: gcc knows an fma then, though not that of the SSE2 and AVX2 instances
other_fma() {
  [ "$(uname -m)" = x86_64 ] || { skipped "other fma: not x86-64"; return; }
  for cc in gcc g++; do
    needs "other fma" "$cc" || continue
    version=$(compiler "$cc")
    case $cc in *++) language="-x c++ -std=c++98" ;; *) language=-std=c99 ;; esac
    for flags in -mavx512f -mfma4; do
      compiles "$cc $flags" $cc $language -O2 $W $flags -I. -c -o "$T/only.o" tests/firmware/mha.c
    done
  done
}

# constants: mha_s8_prepare makes the same where every constant is a float
constants() {
  what=-fsingle-precision-constant cc=gcc
  needs "$what" gcc || return
  if gcc -std=c99 -O2 $W $what -I. -c -o "$T/mha.o" tests/firmware/mha.c > "$T/log" 2>&1 &&
     gcc -std=c99 -O2 -I. -o "$T/s8_consts" tests/firmware/s8_consts.c "$T/mha.o" >> "$T/log" 2>&1 &&
     "$T/s8_consts" | cmp - "$D/s8_consts.c" >> "$T/log" 2>&1
  then say ok "$what" "$(compiler gcc)" "" "" "" "the same integer constants"
  else no "$what" "$T/log"; fi
}

# inclusion COMPILER C++COMPILER: the ways to include mha.h (with cc they are part of make test)
inclusion() {
  cc=$1
  needs "ways to include" "$1" || return
  if CC=$1 CXX=$2 B=$T sh tests/inclusion.sh > "$T/log" 2>&1; then
    say ok "ways to include" "$(compiler "$1")" "" "" "" "$(tail -n 1 "$T/log")"
  else no "ways to include" "$T/log"; fi
}

## Other processors of the same kind

# The instance must be the right one: without AVX2, and without fma, SSE2.
older_cpus() {
  cc=gcc
  needs "x86-64, older" gcc qemu-x86_64 || return
  what="x86-64, static" version=$(compiler gcc) warn=$W flags=-O2 link=-static
  hash || return
  for cpu in "Nehalem sse2 multiply" "SandyBridge sse2 multiply" "Haswell,-fma sse2 multiply" \
             "Haswell avx2 hardware"; do
    qemu-x86_64 -cpu ${cpu%% *} "$T/hash.exe" chosen > "$T/hashes" 2> "$T/log"
    judge "QEMU's ${cpu%% *}" "${cpu#* }" "$T/hashes"
  done
}

# AVX-512 where this machine may have none; and where the system does not save its registers
avx512() {
  needs "AVX-512 in Bochs" gcc ld bochs || return
  for file in BIOS-bochs-latest VGABIOS-lgpl-latest; do # packages bochsbios and vgabios
    [ -r "${BXSHARE:-/usr/share/bochs}/$file" ] || {
      skipped "AVX-512 in Bochs: $file not installed"
      return
    }
  done
  cc=gcc what="x86-64, static" version=$(compiler gcc) warn=$W flags=-O2 link="-static -no-pie"
  hash || return
  bochs="sh tests/bochs/run.sh $T/bochs"
  for cpu in "corei7_icelake_u 0xe7 avx512 saved" "corei7_icelake_u 7 avx2 unsaved" \
             "corei7_haswell_4770 7 avx2 Haswell"; do
    set -- $cpu
    what="Bochs, AVX-512 $4"
    [ "$4" != Haswell ] || what="Bochs's Haswell"
    $limit $bochs $1 $2 "$T/hash.exe" chosen > "$T/hashes" 2>&1 || { no "$what" "$T/hashes"; continue; }
    judge "$what" "$3 hardware" "$T/hashes"
  done
  what="Bochs, AVX-512" run="$bochs corei7_icelake_u 0xe7" groups="example,golden,compose"
  ! suite || say ok "$what" "$version" "" "" "" "$more"
}

## Windows, WebAssembly, zig

windows() {
  WINEPREFIX=$(cd "$B" && pwd)/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree=;mshtml='
  export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES
  hosted "Windows, mingw and wine" "" x86_64-w64-mingw32-gcc -O2 -static wine "$SOME"
}

# The C library has no clock() unless asked; a stack that grows down to address 0 traps when it overflows,
# where the usual one would run into the data.
webassembly() {
  wasm="clang --target=wasm32-wasi -D_WASI_EMULATED_PROCESS_CLOCKS"
  libraries="-lwasi-emulated-process-clocks -Wl,--stack-first -Wl,-z,stack-size=1048576"
  needs "WebAssembly" clang || return
  echo 'int main(void) { return 0; }' > "$T/empty.c"
  $wasm -o "$T/empty" "$T/empty.c" $libraries > /dev/null 2>&1 || {
    skipped "WebAssembly: wasi-libc, libclang-rt-N-dev-wasm32 or lld-N (clang's N) not installed"
    return
  }
  engine node "node --no-warnings tests/wasm/run.mjs"
  if python=$(timeout 60 sh tests/python.sh wasmtime 2> /dev/null) &&
     "$python" -c "import wasmtime" 2> /dev/null; then engine wasmtime "$python tests/wasm/run.py"
  else skipped "WebAssembly: wasmtime not installed"; fi
}

# engine NAME COMMAND: what runs a module.  Groups of test_mha only in the first.
engine() {
  all=$SOME
  [ $1 = node ] || all=
  hosted "$1, SIMD128" "wasm multiply" "$wasm" "-O2 -msimd128" "$libraries" "$2" "$all"
  hosted "$1" "scalar multiply" "$wasm" -O2 "$libraries" "$2" ""
  hosted "$1, MHA_EXACT_FMA" "scalar software" "$wasm" "-O2 -DMHA_EXACT_FMA" "$libraries" "$2" ""
}

# Linking for musl builds that library the first time, which takes minutes.  macOS is only compiled for.
zig() {
  python=$(timeout 300 sh tests/python.sh ziglang 2> /dev/null)
  "${python:-false}" -c "import ziglang" 2> /dev/null || {
    skipped "zig: ziglang not installed"
    return
  }
  ZIG_GLOBAL_CACHE_DIR=$(cd "$B" && pwd)/zig
  export ZIG_GLOBAL_CACHE_DIR
  for target in x86_64-macos aarch64-macos x86_64-windows-msvc; do
    cc="$python -m ziglang cc -target $target"
    if $limit $cc -std=c99 -O2 $W $WD -D__MM_MALLOC_H -I. -c -o "$T/only.o" tests/firmware/mha.c \
      > "$T/log" 2>&1; then
      say ok "$target, compiled" "$(compiler "$cc")"
    else no "$target" "$T/log"; fi
  done
  hosted "x86_64-linux-musl" "" "$python -m ziglang cc -target x86_64-linux-musl" -O2 "" "" ""
}

## Only compiled

# Targets for which clang needs no headers but its own; the first two as nearly as can be what Microsoft's
# compiler would see.
elsewhere() {
  cc=clang
  needs "compiled by clang" clang || return
  version=$(compiler clang)
  for target in x86_64-pc-windows-msvc aarch64-pc-windows-msvc; do
    for language in /TC /TP; do
      compiles "$target $language" clang --driver-mode=cl --target=$target /W4 /WX /O2 $language \
        /D__MM_MALLOC_H /I. /c /Fo"$T/only.obj" tests/firmware/mha.c
    done
  done
  for target in wasm32 "wasm32 -msimd128" riscv64-linux-gnu powerpc64le-linux-gnu s390x-linux-gnu \
                "thumbv7em-none-eabihf -mcpu=cortex-m4" "thumbv6m-none-eabi -mcpu=cortex-m0" msp430; do
    compiles "$target" clang --target=$target -std=c99 -O2 $W -ffreestanding $I -c -o "$T/only.o" \
      tests/firmware/mha.c
  done
}

# What Microsoft's compiler would be given: nothing in it may be known only to GNU's and its like.
microsoft() {
  cc=gcc
  needs "syntax for MSVC" gcc || return
  version=$(compiler gcc)
  mkdir -p "$T/empty"
  for header in stddef.h stdint.h float.h immintrin.h intrin.h arm_neon.h; do : > "$T/empty/$header"; done
  for machine in _M_X64 _M_ARM64 _M_IX86; do
    what="syntax for MSVC, $machine"
    if ! gcc -E -P -undef -nostdinc -I"$T/empty" -I. -D_MSC_VER=1930 -D$machine=100 -DDBL_MANT_DIG=53 \
      tests/firmware/mha.c > "$T/text" 2> "$T/log"; then no "$what" "$T/log"
    elif grep -n -e __attribute__ -e '__asm' -e __builtin_ -e __inline__ -e __typeof -e typeof -e '({' \
      -e __extension__ -e __restrict__ -e __int128 -e __atomic "$T/text" | sed 's/^/error: /' > "$T/log" &&
      [ -s "$T/log" ]; then no "$what" "$T/log"
    else say ok "$what" "$version" "" "" "" "$(wc -l < "$T/text") lines"; fi
  done
}

compiles() {
  what=$1; shift
  if "$@" > "$T/log" 2>&1; then say ok "$what" "$version" "" "" "" compiles; else no "$what" "$T/log"; fi
}

## Microcontrollers: tests/firmware/run.sh, which uses all processors itself

firmware() {
  echo "  (microcontrollers first, in their emulators)"
  sh tests/firmware/run.sh > "$D/firmware.txt" 2>&1 || true
  T=$D/firmware
  mkdir -p "$T"
  then=$(date +%s)
  for core in M0 M3 M4F M7 M33 M55 RV32IMC RV32IMFC AVR; do
    F=$B/firmware/$core
    case $core in
      RV*) what=$core cc=riscv64-unknown-elf-gcc ;;
      AVR) what="AVR (ATmega1284P)" cc=avr-gcc ;;
      *)   what=Cortex-$core cc=arm-none-eabi-gcc ;;
    esac
    if [ -f "$F/skipped" ]; then
      sed -n 's/^ *skipped .*: \(.*\) is not installed/\1/p' "$F.txt" | while read -r tool; do
        echo "  skipped $what: $tool not installed"
      done
      skipped=$((skipped + 1))
      continue
    fi
    version=$(compiler $cc)
    read -r p f s < "$F.counts"
    missed=$(grep "^ *$core .* \(MISS\|NO GATE\)" "$D/firmware.txt")
    awk '$1 == "numerics" { sub(/^numerics /, ""); numerics = $0 }
         $1 == "hash" && $3 == "all" { hash[$2] = $4 }
         END { print "scalar, " numerics ", " hash["float"], hash["int8"], "-" }' \
      "$F/float_hash.txt" "$F/s8_hash.txt" > "$T/hashes"
    if [ "$f" -gt 0 ] || [ -n "$missed" ]; then
      grep FAILED "$F.txt"
      [ -z "$missed" ] || echo "$missed"
      no "$what: see $D/firmware.txt"
    else judge "$what" "" "$T/hashes" "$p checks"; fi
  done
}

## All at once

limit="timeout 400"
if [ "${1:-}" = job ]; then # one of them, in a folder of its own
  T=$D/$2
  mkdir -p "$T"
  then=$(date +%s)
  command=$(jobs | sed -n "$2s/^[^ ]* *//p")
  if [ "$then" -gt "${CHECK_END:-$then}" ]; then skipped "no time left for: $command" > "$T/report"
  else
    eval "$command" > "$T/report"
    [ $((passed + failed + skipped)) -gt 0 ] || failed "no line from: $command" >> "$T/report"
  fi
  echo "$passed $failed $skipped" > "$T/counts"
  cat "$T/report"
  exit 0
fi

rm -rf "$D"
mkdir -p "$D"
began=$(date +%s)
[ -z "${CHECK_SECONDS:-}" ] || export CHECK_END=$((began + CHECK_SECONDS))
${CC:-cc} -std=c99 -O1 -I. -o "$D/s8_consts" tests/firmware/s8_consts.c tests/firmware/mha.c &&
  "$D/s8_consts" > "$D/s8_consts.c" || { echo "no constants: ${CC:-cc} does not compile"; exit 1; }
numbers=$(jobs | awk -v name="${1:-}" 'index($0, name) == 1 { print NR }')
case firmware in
  "${1:-}"*) firmware ;;
  *) [ -n "$numbers" ] || { echo "no check is named like '$1'"; exit 2; } ;;
esac
[ -z "$numbers" ] || echo "$numbers" |
  xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)" sh tests/check.sh job
for n in $numbers; do gather "job $n" /dev/null "$D/$n/counts"; done
cat "$D"/*/report 2> /dev/null | grep -A 6 FAILED > "$D/failures" && {
  echo
  echo "again, what failed:"
  cat "$D/failures"
}
echo
echo "$(($(date +%s) - began)) s"
total
