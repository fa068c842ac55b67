#!/bin/sh
# run.sh - what `make accuracy` does: the worst errors as shares of the bounds in mha.h's manual, for each way
# of rounding and each type of stored keys and values, over TIMES times the inputs of a test run; then how the
# error grows, as a picture.  Fails if an error exceeds its bound, or a figure is worse than the manual says.
#
# From the environment: B (where the programs are), TIMES [4], PYTHON (for the picture).
set -u
B=${B:-build}
. tests/report.sh

# Test programs print lines `{ "class", 1 if fused, { out, weights, LSE } },` below the name of each instance.
: > "$B/accuracy.txt"
for program in test_mha test_exact test_muladd; do
  MHA_ACCURACY_PRINT=${TIMES:-4} "$B/$program" 0 accuracy > "$B/$program.accuracy" 2>&1 ||
    failed "$program: see $B/$program.accuracy"
  cat "$B/$program.accuracy" >> "$B/accuracy.txt"
done

# table: the worst of the classes of each type.  "mixed", of all types at once, only counts for none.
table() {
  awk '
    /^[a-z0-9]+, [a-z ]+, seed/ { split($0, part, ", "); how = part[2] }
    /^  [{] "/ {
      split($0, quoted, "\"")
      class = quoted[2]
      if (class == "functions" || class == "mixed") next
      type = class ~ /^(f16|bf16|s8)$/ ? class : class ~ /^(one-way|sinks)/ ? "f32, to reach it" : "f32"
      gsub(/[{},]/, " ", quoted[3])
      split(quoted[3], worst, " ")
      for (x = 2; x <= 4; x++) if (worst[x] > most[how, type, x]) most[how, type, x] = worst[x]
      seen[how] = 1
    }
    END {
      n = split("f32, to reach it;f32;f16;bf16;s8", types, ";")
      m = split("hardware fma;software fma;multiply then add;excess precision", hows, ";")
      printf "%-20s", ""
      for (t = 1; t <= n; t++) printf " %-18s", types[t]
      print ""
      for (h = 1; h <= m; h++) if (hows[h] in seen) {
        printf "%-20s", hows[h]
        for (t = 1; t <= n; t++) printf " %-18s", share(t, h, 2) " " share(t, h, 3) " " share(t, h, 4)
        print ""
      }
    }
    function share(t, h, x,   text) {
      text = sprintf("%.2f", most[hows[h], types[t], x])
      sub(/^0/, "", text)
      return text
    }' "$B/accuracy.txt"
}
echo "Worst share of the bound, o / weights / LSE:"
table | sed 's/ *$//' | tee "$B/accuracy.table"

# manual_row NUMERICS MANUAL'S: no share that was measured is more than 0.02 above what the manual's row says
manual_row() {
  stated=$(sed -n "s/^ *$2  *[.]/./p" mha.h)
  measured=$(sed -n "s/^$1  *[.]/./p" "$B/accuracy.table")
  [ -n "$measured" ] || { skipped "$1: this machine has no such instance"; return; }
  if echo "$stated $measured" | awk '{ for (x = 1; x <= 15; x++) if ($(x + 15) > $x + 0.02) bad = 1
                                       exit NF != 30 || bad }'; then ok "$1: no worse than in the manual"
  else failed "$1: the manual has $stated"; fi
}
manual_row "hardware fma" "hardware, software fma"
manual_row "software fma" "hardware, software fma"
manual_row "multiply then add" "multiply then add"

for how in fused muladd; do
  curves=$B/curves_$how.txt
  if "$B/curves_$how" > "$curves"; then ok "error over keys and logits, $(head -n 1 "$curves")"
  else failed "error over keys and logits: beyond the bound, see $curves"; fi
done
echo "in 2^-24 of max|v|:  keys or deviation of logits, mha.h, naive loop, bound"
sed 's/^/  /' "$B/curves_fused.txt"
if python=$(sh tests/python.sh matplotlib); then
  "$python" -B tests/accuracy/plot.py "$B/accuracy.png" "$B/curves_fused.txt" "$B/curves_muladd.txt"
else echo "skipped: the picture needs Python 3 with matplotlib"; fi
total
