#!/bin/sh
# run.sh - runs a statically linked test program for Linux on x86-64 in the PC emulator Bochs, on a CPU that this
# machine need not be, and ends with its exit status; 3 where Bochs could not run it.
#
#   sh tests/bochs/run.sh FOLDER MODEL XCR0 PROGRAM ARGUMENT...      FOLDER: for all that comes up, made anew
#
# MODEL is one of Bochs's CPUs; the system says that it saves the register state XCR0.  From the environment:
# BXSHARE (what Bochs comes with).
folder=$1 saved=$3 program=$4
export MODEL="$2" BXSHARE="${BXSHARE:-/usr/share/bochs}"
shift 4
here=tests/bochs
{
  arguments='"program"'
  for argument in "$@"; do arguments="$arguments,\"$argument\""; done
  rm -rf "$folder" && mkdir "$folder" && cp $here/bochsrc "$folder" &&
    gcc -c -DSECTORS=16 -DSAVED="$saved" -o "$folder/start.o" $here/start.S &&
    gcc -std=c99 -Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Werror -O2 -ffreestanding \
      -fno-pie -mno-red-zone -mgeneral-regs-only -fno-stack-protector -fno-asynchronous-unwind-tables \
      -DSECTORS=16 -DPROGRAM_SECTORS=$((($(wc -c < "$program") + 511) / 512)) -DARGUMENTS="$arguments" \
      -c -o "$folder/kernel.o" $here/kernel.c &&
    ld -m elf_x86_64 -T $here/link.ld --oformat binary -e start -o "$folder/boot" \
      "$folder/start.o" "$folder/kernel.o" &&
    # 17 sectors of system, the program, zeroes up to whole cylinders of 16 * 63 sectors
    { cat "$folder/boot"; head -c $((17 * 512 - $(wc -c < "$folder/boot"))) /dev/zero; cat "$program"; } \
      > "$folder/disk.img" &&
    truncate -s %516096 "$folder/disk.img" &&
    printf 'continue\nquit\n' > "$folder/commands" # to its debugger
} || exit 3
# Bochs itself always ends with status 1
(cd "$folder" && timeout 200 bochs -q -f bochsrc -rc commands < /dev/null) > "$folder/screen" 2>&1
tr -d '\r' < "$folder/screen" > "$folder/text"
cat "$folder/text"
status=$(sed -n 's/^status 0*\([0-9][0-9]*\)$/\1/p' "$folder/text")
exit "${status:-3}"
