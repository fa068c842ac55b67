#!/bin/sh
# targets.sh - the test programs on instruction sets that this machine need not have: WebAssembly, with and
# without SIMD128, under Node and wasmtime, and AVX-512 in the emulator Bochs.  One line per check, then the
# counts.
#
# From the environment: MAKE, B (the folder for everything built), PYTHON (for wasmtime), BXSHARE (what Bochs
# comes with).
set -u
B=${B:-build}
MAKE=${MAKE:-make}
D=$B/targets
. tests/report.sh

# check WHAT ISA NUMERICS COMMAND...: the command must succeed and say, as test_mha does, that ISA is what
# mha_isa() chose by itself, that it ran with these numerics, and that all of one or more groups passed
check() {
  what=$1 isa=$2 numerics=$3; shift 3
  timeout 300 "$@" > "$D/log" 2>&1
  status=$?
  groups=$(sed -n 's/^\([1-9][0-9]*\) passed, 0 failed$/\1/p' "$D/log")
  if [ $status -eq 0 ] && [ -n "$groups" ] && grep -q "^chosen here: $isa\$" "$D/log" &&
     grep -q "^$isa, $numerics, seed" "$D/log"; then ok "$what: $isa, $numerics, $groups passed"
  else
    failed "$what: status $status, wanted $isa, $numerics"
    { grep "^chosen\|FAILED\|tests/" "$D/log" | head -n 4; tail -n 4 "$D/log"; } | cut -c 1-98 |
      sed 's/^/            /'
  fi
}

# build FOLDER COMPILER LINKER_FLAGS PROGRAM...
build() {
  folder=$D/$1 compiler=$2 flags=$3; shift 3
  programs=
  for program in "$@"; do programs="$programs $folder/$program"; done
  $MAKE -ks -j "$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)" \
    B="$folder" CC="$compiler" CFLAGS=-O2 LDFLAGS="$flags" $programs > "$D/log" 2>&1 && return
  failed "$compiler does not compile the tests"
  head -n 8 "$D/log" | sed 's/^/            /'
  return 1
}

## WebAssembly.  The C library has no clock() unless asked; a stack that grows down to address 0 traps when it
## overflows, where the usual one would run into the data.

wasm="clang --target=wasm32-wasi -D_WASI_EMULATED_PROCESS_CLOCKS"
wasm_libraries="-lwasi-emulated-process-clocks -Wl,--stack-first -Wl,-z,stack-size=1048576"

webassembly() {
  echo 'int main(void) { return 0; }' > "$D/empty.c"
  if ! have clang; then skipped "WebAssembly: clang is not installed"; return; fi
  if ! $wasm -o "$D/empty" "$D/empty.c" $wasm_libraries > /dev/null 2>&1; then
    skipped "WebAssembly: wasi-libc, libclang-rt-N-dev-wasm32 or lld-N (clang's N) is not installed"
    return
  fi
  build wasm "$wasm" "$wasm_libraries" test_mha test_exact test_simd128 || return
  if have node; then
    engine node node --no-warnings tests/wasm/run.mjs
    check "node, -msimd128, every group" wasm "multiply then add" \
      node --no-warnings tests/wasm/run.mjs "$D/wasm/test_simd128"
  else skipped "WebAssembly under Node: it is not installed"; fi
  if python=$(timeout 60 sh tests/python.sh wasmtime 2> /dev/null) &&
     "$python" -c "import wasmtime" 2> /dev/null; then engine wasmtime "$python" tests/wasm/run.py
  else skipped "WebAssembly under wasmtime: no Python that has or gets the package of that name"; fi
}

# engine NAME COMMAND...: what runs a module
engine() {
  name=$1; shift
  for group in example golden; do
    check "$name, $group" scalar "multiply then add" "$@" "$D/wasm/test_mha" 0 $group
    check "$name, MHA_EXACT_FMA, $group" scalar "software fma" "$@" "$D/wasm/test_exact" 0 $group
    check "$name, -msimd128, $group" wasm "multiply then add" "$@" "$D/wasm/test_simd128" 0 $group
  done
}

## AVX-512.  The program is the one that runs on Linux; tests/bochs is the system below it.

BXSHARE=${BXSHARE:-/usr/share/bochs}
export BXSHARE

# in_bochs MODEL XCR0 ARGUMENT...: runs test_mha with them on a CPU of that model, where the operating system
# claims to save the register state XCR0.  Bochs always ends with status 1.
in_bochs() {
  export MODEL=$1
  saved=$2 arguments='"test_mha"'; shift 2
  for argument in "$@"; do arguments="$arguments,\"$argument\""; done
  program=$D/static/test_mha folder=$D/bochs
  rm -rf "$folder" && mkdir "$folder" && cp tests/bochs/bochsrc "$folder" || return
  gcc -c -DSECTORS=16 -DSAVED="$saved" -o "$folder/start.o" tests/bochs/start.S || return
  gcc -std=c99 -Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Werror -O2 -ffreestanding \
    -fno-pie -mno-red-zone -mgeneral-regs-only -fno-stack-protector -fno-asynchronous-unwind-tables \
    -DSECTORS=16 -DPROGRAM_SECTORS=$((($(wc -c < "$program") + 511) / 512)) -DARGUMENTS="$arguments" \
    -c -o "$folder/kernel.o" tests/bochs/kernel.c || return
  ld -m elf_x86_64 -T tests/bochs/link.ld --oformat binary -e start -o "$folder/boot" \
    "$folder/start.o" "$folder/kernel.o" || return
  # 17 sectors of system, the program, zeroes up to whole cylinders of 16 * 63 sectors
  { cat "$folder/boot"; head -c $((17 * 512 - $(wc -c < "$folder/boot"))) /dev/zero; cat "$program"; } \
    > "$folder/disk.img"
  truncate -s %516096 "$folder/disk.img" || return
  printf 'continue\nquit\n' > "$folder/commands" # to its debugger
  (cd "$folder" && timeout 200 bochs -q -f bochsrc -rc commands < /dev/null) > "$folder/screen" 2>&1
  tr -d '\r' < "$folder/screen"
  grep -q '^status 000$' "$folder/screen"
}

avx512() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) ;;
    *) skipped "AVX-512 in Bochs: written for Linux on x86-64"; return ;;
  esac
  for tool in gcc ld bochs; do
    have $tool || { skipped "AVX-512 in Bochs: $tool is not installed"; return; }
  done
  for file in BIOS-bochs-latest VGABIOS-lgpl-latest; do # packages bochsbios and vgabios
    [ -r "$BXSHARE/$file" ] || { skipped "AVX-512 in Bochs: no $BXSHARE/$file"; return; }
  done
  build static gcc "-static -no-pie" test_mha || return
  for group in example golden compose; do
    boot "AVX-512 in Bochs, $group" avx512 corei7_icelake_u 0xe7 $group
  done
  boot "AVX-512 that the system does not save, in Bochs" avx2 corei7_icelake_u 7 example
  boot "a CPU without AVX-512 in Bochs" avx2 corei7_haswell_4770 7 example
}

# boot WHAT ISA MODEL XCR0 GROUP: that instance, which must be the chosen one
boot() {
  what=$1 wanted=$2; shift 2
  in_bochs "$1" "$2" 0 "$3" "$wanted" > "$D/screen" 2>&1
  check "$what" "$wanted" "hardware fma" sh -c 'cat "$1"; exit $2' - "$D/screen" $?
}

rm -rf "$D"
mkdir -p "$D"
webassembly
avx512
total
