#!/bin/sh
# dist_check.sh - what `make dist-check` does: is the header ready to be handed out?  Copies mha.h alone into
# an empty folder and builds README's program there as a user would, with each compiler and nothing else;
# then compares what must agree: versions, the list of files.
#
# From the environment: B (where the folder is made).
set -u
B=${B:-build}
D=$B/dist
. tests/report.sh

rm -rf "$D"
mkdir -p "$D"
block text > "$D.txt"

# user COMPILER...: README's program, printing what README says, beside mha.h and nothing else
user() {
  have "$1" || { skipped "README's program: $1 is not installed"; return; }
  rm -rf "$D"
  mkdir "$D"
  cp mha.h "$D"
  block c > "$D/hello.c"
  if (cd "$D" && "$@" hello.c && ./a.out) > "$D.log" 2>&1 && cmp -s "$D.log" "$D.txt"; then
    ok "README's program: $* hello.c && ./a.out"
  else
    failed "README's program: $* hello.c && ./a.out"
    head -n 5 "$D.log" | sed 's/^/            /'
  fi
}
user cc -O2
user gcc
user gcc -O3 -march=native
user clang
user clang -O3 -march=native
user g++
user clang++ -O2 -x c++
user tcc

# agree WHAT WANTED FOUND
agree() { if [ "$2" = "$3" ]; then ok "$1: $2"; else failed "$1: '$2', but '$3'"; fi; }

version=$(sed -n 's/^#define MHA_VERSION_STRING "\(.*\)"$/\1/p' mha.h)
number=$(echo "$version" | awk -F. '{ print $1 * 10000 + $2 * 100 + $3 }')
agree "version, first line" "$version" "$(sed -n '1s/.* - v\([0-9.]*\) - .*/\1/p' mha.h)"
agree "version, newest revision" "$version" \
  "$(awk '/^   REVISIONS$/ { on = 1; next } on && NF { print $1; exit }' mha.h)"
agree "version, MHA_VERSION" "$number" "$(sed -n 's/^#define MHA_VERSION  *\([0-9]*\) .*/\1/p' mha.h)"
agree "version, two different copies" "$number" \
  "$(sed -n 's/^#if defined(MHA_VERSION) && MHA_VERSION != \([0-9]*\)$/\1/p' mha.h)"
sed -n '/^   REVISIONS$/,/^\*\//s/^      \([0-9][0-9.]*\)  .*/\1/p' mha.h > "$D.txt"
agree "revisions, newest first" "$(sort -t. -k1,1nr -k2,2nr -k3,3nr "$D.txt" | tr '\n' ' ')" \
  "$(tr '\n' ' ' < "$D.txt")"

if have git && git rev-parse --git-dir > /dev/null 2>&1; then
  agree "top level" "LICENSE Makefile README.md examples mha.h tests " \
    "$(git ls-files | sed 's:/.*::' | grep -v '^[.]' | LC_ALL=C sort -u | tr '\n' ' ')"
else skipped "top level: no git"; fi
total
