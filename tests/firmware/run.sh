#!/bin/sh
# run.sh - mha.h on microcontrollers: builds the test programs of this folder for each core, runs them under
# QEMU or simavr, compares the hashes they print with those of the same programs on this machine, and
# measures instructions (exact: a plugin of QEMU counts them), stack (painted), flash (what the linker keeps).
# One line per check, a table of all figures beside their gates (tests/firmware/gates.txt), then the counts.
#
#   sh tests/firmware/run.sh [CORE...]      all, or some of: M0 M3 M4F M7 M33 M55 RV32IMC RV32IMFC AVR
#   sh tests/firmware/run.sh gates          all, then writes gates.txt anew: every gate whose note does not
#                                           begin with "goal" becomes what was measured + 3 %
#
# From the environment: CC, CFLAGS for this machine's programs, B (the folder for everything built).
set -u
CC=${CC:-cc}
F=tests/firmware
D=${B:-build}/firmware
W="-Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Werror"
C99="-std=c99 $W -ffp-contract=off -I."
SETTINGS="-DMHA_STACK_BYTES=1536" # what a small board would set
. tests/report.sh

# core NAME: what it is.  machine: under which emulator; map: its linker script; numerics: what it must say.
# A roomy machine and map (room_...) where the counted shapes do not fit.
core() {
  name=$1 kind=arm room_machine= room_map=
  case $name in
    M0)       on microbit   microbit muladd "-mcpu=cortex-m0 -mfloat-abi=soft"
              room_machine=mps2-an385 room_map=mps2 ;; # an M3, which runs M0 code too
    M3)       on mps2-an385 mps2     muladd "-mcpu=cortex-m3 -mfloat-abi=soft" ;;
    M4F)      on mps2-an386 mps2     fused  "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard" ;;
    M7)       on mps2-an500 mps2     fused  "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard" ;;
    M33)      on mps2-an505 an505    fused  "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard" ;;
    M55)      on mps3-an547 an547    fused  "-mcpu=cortex-m55 -mfloat-abi=hard" ;;
    RV32IMC)  kind=riscv; on virt virt muladd "-march=rv32imc -mabi=ilp32" ;;
    RV32IMFC) kind=riscv; on virt virt fused  "-march=rv32imfc -mabi=ilp32f" ;;
    AVR)      kind=avr; on atmega1284p "" muladd "-mmcu=atmega1284p" ;;
    *)        echo "no such core: $name"; exit 2 ;;
  esac
  case $kind in
    arm)   prefix=arm-none-eabi- emulator=qemu-system-arm start="$F/bare.c $F/cortexm.c"
           flags="-mthumb $flags" ;;
    riscv) prefix=riscv64-unknown-elf- emulator=qemu-system-riscv32 start="$F/bare.c $F/riscv.c"
           flags="$flags -mcmodel=medany -msmall-data-limit=0" ;;
    avr)   prefix=avr- emulator=simavr start=$F/avr.c ;;
  esac
  room_machine=${room_machine:-$machine} room_map=${room_map:-$map}
}
# on MACHINE MAP HASHES FLAGS
on() {
  machine=$1 map=$2 hashes=$3 flags=$4
  case $hashes in fused) numerics="hardware fma" ;; *) numerics="multiply then add" ;; esac
}

# show FILE: the beginning of what went wrong
show() { { grep -a error "$1" || cat "$1"; } | head -n 6 | cut -c 1-98 | sed 's/^/            /'; }

# object NAME FLAGS...: $T/NAME.o from mha.c
object() {
  object=$T/$1.o; shift
  ${prefix}gcc $C99 -ffreestanding -ffunction-sections -fdata-sections $SETTINGS $flags "$@" \
    -c -o "$object" $F/mha.c > "$T/log" 2>&1 && return
  failed "$name: mha.c does not compile with $*"
  show "$T/log"
  return 1
}

# program NAME MAP FLAGS AND FILES...: $T/NAME.elf and $T/NAME.map
program() {
  program=$T/$1 script=$2; shift 2
  # avr-libc has a start of its own and a C library that cannot be separated from it
  libraries="-nostdlib -L$F -T ${script:-none}.ld"
  [ $kind != avr ] || libraries=-Wl,--defsym=stack_limit=_end
  ${prefix}gcc $C99 -ffreestanding -ffunction-sections -fdata-sections $SETTINGS $flags "$@" \
    $F/board.c $start $libraries -Wl,--gc-sections -Wl,-Map="$program.map" -o "$program.elf" -lgcc \
    > "$T/log" 2>&1 && return
  failed "$name: $(basename "$program") does not compile or link"
  show "$T/log"
  return 1
}

# emulate MACHINE: runs $program.elf, its output to $program.txt; counts, one a line, to $program.counts
emulate() {
  : > "$program.counts"
  begin=$(${prefix}nm "$program.elf" | awk '$3 == "mark_begin" { print $1 }')
  end=$(${prefix}nm "$program.elf" | awk '$3 == "mark_end" { print $1 }')
  plugin=
  [ -z "$begin" ] || plugin="-plugin $D/count.so,begin=$begin,end=$end,out=$program.counts"
  case $kind in
    arm)
      timeout 120 $emulator -M "$1" -display none -monitor none -serial none $plugin \
        -chardev stdio,id=console -semihosting-config enable=on,target=native,chardev=console \
        -kernel "$program.elf" < /dev/null > "$program.txt" 2>&1 ;;
    riscv)
      timeout 120 $emulator -M "$1" -bios none -display none -monitor none -serial stdio $plugin \
        -kernel "$program.elf" < /dev/null > "$program.txt" 2>&1 ;;
    avr) # it decorates: colours and a dot for each line
      timeout 120 $emulator -m "$1" -f 16000000 "$program.elf" < /dev/null > "$program.raw" 2>&1
      tr -d '\r' < "$program.raw" | sed 's/\x1b\[[0-9;]*m//g; s/\.*$//' > "$program.txt"
      grep -q '^exit status 0$' "$program.txt" ;;
  esac
  status=$?
  [ $status -eq 0 ] && return
  failed "$name: $(basename "$program") ends with status $status"
  show "$program.txt"
  return 1
}

# same WHAT WANTED: the hashes in $program.txt are those that this machine's program gave
same() {
  grep '^hash' "$program.txt" > "$program.hash"
  grep '^hash' "$D/$2.txt" > "$program.want"
  n=$(wc -l < "$program.want")
  if [ "$n" -gt 0 ] && cmp -s "$program.want" "$program.hash"; then
    ok "$name: $1, $((n)) hashes as on the desktop"
  else
    failed "$name: $1, other hashes than on the desktop"
    diff "$program.want" "$program.hash" > "$T/log"
    show "$T/log"
  fi
}

# figure NAME VALUE: for the table
figure() { echo "$name $1 $2" >> "$T/figures"; }

# figures PREFIX [ONLY]: what $program.txt says about counts and stack, those that match ONLY.  The counts of
# AVR are cycles, in its own lines.
figures() {
  if [ $kind = avr ]; then awk '$1 == "count" { print $2, $3 }' "$program.txt" > "$T/pairs"
  else
    awk '$1 == "count" { print $2 }' "$program.txt" > "$T/names"
    if [ "$(wc -l < "$T/names")" -ne "$(wc -l < "$program.counts")" ]; then
      failed "$name: $(basename "$program"): not as many counts as calls"
      return 1
    fi
    paste -d ' ' "$T/names" "$program.counts" > "$T/pairs"
  fi
  awk '$1 == "stack" && $3 > most[$2] { most[$2] = $3 }
       END { for (what in most) print "stack-" what, most[what] }' "$program.txt" | sort >> "$T/pairs"
  grep -v '^nothing ' "$T/pairs" | grep -e "${2:-.}" > "$T/wanted"
  while read -r what n; do figure "$1$what" "$n"; done < "$T/wanted"
}

# size_of WHAT FLAGS...: what a call costs in flash: the code in mha.c's object that the linker keeps (text-),
# and what the whole program has more than one without a call (program-): constants and libgcc, too
size_of() {
  what=$1; shift
  program "size_$what" "$map" "$@" $F/size.c "$object" || return
  set -- $(awk -v object="$object" '
    /^Linker script and memory map/ { kept = 1 }
    !kept { next }
    /^ \.text[^ ]*$/ { code = 1; next }
    /^ \.text/ { code = 1; sub(/^ [^ ]+/, "") }
    code && $3 == object { text += hex($2) }
    { code = 0 }
    function hex(s,   n, k) {
      for (k = 3; k <= length(s); k++) n = n * 16 + index("123456789abcdef", substr(s, k, 1))
      return n
    }
    END { print text + 0 }' "$program.map") \
    $(${prefix}size -A "$program.elf" | awk '/^\.(text|rodata|data)/ { n += $2 } END { print n + 0 }')
  case $what in
    nothing) nothing=$2 ;;
    *) figure "text-$what" "$1"; figure "program-$what" $(($2 - nothing)) ;;
  esac
}

# Everything for one core.
on_core() {
  core "$1"
  T=$D/$name
  mkdir -p "$T"
  : > "$T/figures"
  for tool in ${prefix}gcc $emulator; do
    have $tool || { skipped "$name: $tool is not installed"; touch "$T/skipped"; return; }
  done
  float_on_core
  s8_on_core
}

float_on_core() {
  if object mha-O2 -O2; then
    if program float_hash "$map" -O2 $F/float_hash.c "$object" && emulate $machine; then
      if grep -q "^numerics $numerics\$" "$program.txt"; then ok "$name: $numerics"
      else failed "$name: not $numerics"; show "$program.txt"; fi
      same "float" float_$hashes
    fi
    small= work=$((64 * 64 * 64 * 2)) # multiply-accumulates
    [ $kind != avr ] || small=-DSMALL work=$((16 * 16 * 32 * 2))
    if program float_count "$room_map" -O2 $small $F/float_count.c "$object" && emulate $room_machine; then
      same "float, counted" float_count${small}_$hashes
      float_figures ""
    fi
  fi
  if [ $name = M3 ] && object mha-exact -O2 -DMHA_EXACT_FMA; then
    if program float_exact "$map" -O2 $F/float_hash.c "$object" && emulate $machine; then
      same "float with MHA_EXACT_FMA" float_fused
    fi
  fi
  if object mha-Os -Os; then
    size_of nothing -Os
    size_of float -Os -DCALL_FLOAT
    if [ $name = M4F ]; then
      program float_count_Os "$room_map" -Os $F/float_count.c "$object" && emulate $room_machine &&
        float_figures Os-
    fi
  fi
}

# float_figures PREFIX: counts per multiply-accumulate
float_figures() {
  figures "$1" '^stack' &&
    figure "$1float/mac" "$(awk -v work=$work '/^float-/ { printf "%.3f", $2 / work }' "$T/pairs")"
}

s8_on_core() {
  small= some='81x8x32\|^stack-[a-z]* '
  [ $kind != avr ] || small=-DSMALL
  if object s8-O2 -O2 -DMHA_NO_FLOAT; then
    floatless -O2
    program s8_hash "$map" -O2 -DMHA_NO_FLOAT $F/s8_hash.c -I$F "$D/s8_consts.c" "$object" &&
      emulate $machine && same "int8" s8_hash
    s8_counts "" -O2
    size_of nothing -O2 -DMHA_NO_FLOAT
    size_of tflm_O2 -O2 -DMHA_NO_FLOAT -DCALL_TFLM
    size_of native_O2 -O2 -DMHA_NO_FLOAT -DCALL_NATIVE
  fi
  if object s8-Os -Os -DMHA_NO_FLOAT; then
    floatless -Os
    size_of nothing -Os -DMHA_NO_FLOAT
    for call in tflm native tflm_lean native_lean; do
      size_of $call -Os -DMHA_NO_FLOAT -DCALL_$(echo $call | tr '[:lower:]' '[:upper:]')
    done
    case $name in M4F|M55) s8_counts Os- -Os "$some" ;; esac
  fi
  case $name in M4F|M55)
    if object s8-Os-2 -Os -DMHA_NO_FLOAT -DMHA_S8_ROWS=2; then
      size_of tflm_2_rows -Os -DMHA_NO_FLOAT -DCALL_TFLM
      s8_counts Os-2-rows- -Os "$some"
    fi ;;
  esac
  if object s8-core -Os -DMHA_NO_FLOAT -DMHA_S8_UNCHECKED; then
    size_of tflm_unchecked -Os -DMHA_NO_FLOAT -DCALL_TFLM
    size_of native_unchecked -Os -DMHA_NO_FLOAT -DCALL_NATIVE
  fi
}

# s8_counts PREFIX FLAGS [ONLY]
s8_counts() {
  program "s8_count$2" "$room_map" "$2" -DMHA_NO_FLOAT $small $F/s8_count.c -I$F "$D/s8_consts.c" "$object" &&
    emulate $room_machine && same "int8, counted, $2" s8_count$small && figures "$1" "${3:-}"
}

# floatless FLAGS: with MHA_NO_FLOAT the object needs nothing but mem... and the compiler's integer helpers
floatless() {
  ${prefix}nm -u "$object" | awk '{ print $NF }' > "$T/needs"
  bad=$(grep -v '^mem\(cpy\|move\|set\|cmp\)$' "$T/needs" |
    grep -e '^[^_]' -e '^_[^_]' -e '^__aeabi_c\{0,1\}[fd]' -e '^__aeabi_.*2[fd]$' \
    -e '^__[a-z]*[sd]f' -e '^__fp' -e '^__fix' -e '^__float' | tr '\n' ' ')
  if [ -n "$bad" ]; then failed "$name: MHA_NO_FLOAT $1 needs $bad"
  else ok "$name: MHA_NO_FLOAT $1 needs $(tr '\n' ' ' < "$T/needs" | sed 's/ $//; s/^$/nothing/')"; fi
}

# desktop NAME FLAGS AND FILES...: a program of this machine, its output to $D/NAME.txt
desktop() {
  file=$D/$1; shift
  $CC $C99 ${CFLAGS:--O2} "$@" $F/board.c $F/desktop.c -o "$file" > "$file.log" 2>&1 &&
    "$file" > "$file.txt" 2>> "$file.log" && return
  failed "this machine's $(basename "$file")"
  show "$file.log"
}

# The table: every figure must have a gate, and every gate of a core that ran a figure.
table() {
  awk -v skipped="$(cd "$D" && echo */skipped)" -v cores="$cores" -v figures="$D/figures" '
    FILENAME == figures { value[$1 " " $2] = $3; order[++n] = $1 " " $2; next }
    /^ *(#|$)/ { next }
    index(" " cores " ", " " $1 " ") && !index(skipped, $1 "/skipped") {
      key = $1 " " $2
      gated[key] = 1
      note = $0
      sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ */, "", note)
      verdict = !(key in value) ? "MISSING" : value[key] + 0 <= $3 + 0 ? "ok" : "MISSED"
      if (verdict == "ok") good++; else bad++
      printf "  %-9s %-26s %10s %12s  %-7s %s\n", $1, $2, value[key], $3, verdict, note
    }
    END {
      for (k = 1; k <= n; k++) if (!(order[k] in gated)) {
        split(order[k], part)
        bad++
        printf "  %-9s %-26s %10s %12s  NO GATE\n", part[1], part[2], value[order[k]], "-"
      }
      print good + 0, bad + 0 > "'"$D/verdicts"'"
    }' "$D/figures" $F/gates.txt
}

cores="M0 M3 M4F M7 M33 M55 RV32IMC RV32IMFC AVR"
[ $# -eq 0 ] || [ "$1" = gates ] || cores=$*
for c in $cores; do core $c; done
rm -rf "$D"
mkdir -p "$D"

if ! $CC -std=c99 $W -O2 -shared -fPIC -o "$D/count.so" $F/count.c > "$D/log" 2>&1; then
  failed "count.c does not compile"
  show "$D/log"
fi
for numerics in fused muladd; do
  case $numerics in fused) v=-DMHA_EXACT_FMA ;; *) v=-DMHA_NO_FMA ;; esac # fused: in software, if need be
  (
    $CC $C99 ${CFLAGS:--O2} $v -c -o "$D/mha_$numerics.o" $F/mha.c
    desktop float_$numerics $F/float_hash.c "$D/mha_$numerics.o"
    desktop float_count_$numerics $F/float_count.c "$D/mha_$numerics.o"
    desktop float_count-DSMALL_$numerics -DSMALL $F/float_count.c "$D/mha_$numerics.o"
  ) &
done
wait
# The fused object has everything, among it what makes the constants
if desktop s8_consts $F/s8_consts.c "$D/mha_fused.o"; then
  mv "$D/s8_consts.txt" "$D/s8_consts.c"
  desktop s8_hash -I$F $F/s8_hash.c "$D/s8_consts.c" "$D/mha_fused.o"
  desktop s8_count -I$F $F/s8_count.c "$D/s8_consts.c" "$D/mha_fused.o"
  desktop s8_count-DSMALL -DSMALL -I$F $F/s8_count.c "$D/s8_consts.c" "$D/mha_fused.o"
fi

# As many cores at once as there are processors here
lanes=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
lane=0
while [ $lane -lt "$lanes" ]; do
  (
    turn=0
    for c in $cores; do
      turn=$((turn + 1))
      [ $((turn % lanes)) -ne $lane ] || (
        passed=0 failed=0 skipped=0
        on_core $c
        echo "$passed $failed $skipped" > "$D/$c.counts"
      ) > "$D/$c.txt" 2>&1
    done
  ) &
  lane=$((lane + 1))
done
wait
for c in $cores; do gather $c "$D/$c.txt" "$D/$c.counts"; done

for c in $cores; do cat "$D/$c/figures"; done > "$D/figures"
if [ "${1:-}" = gates ]; then
  grep -e '^#' -e '^ *[^ ]* *[^ ]* *[^ ]* *goal' $F/gates.txt > "$D/gates"
  awk '
    /^#/ { next }
    FNR == NR { goal[$1 " " $2] = 1; next }
    !(($1 " " $2) in goal) {
      printf "%-9s %-26s %10s\n", $1, $2, $3 ~ /\./ ? sprintf("%.2f", $3 * 1.03) : int($3 * 1.03 + 0.99)
    }' "$D/gates" "$D/figures" >> "$D/gates"
  cp "$D/gates" $F/gates.txt
fi
echo
echo "  core      figure                       measured      at most"
table
read -r p f < "$D/verdicts"
passed=$((passed + p)) failed=$((failed + f))
total
