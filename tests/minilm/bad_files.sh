#!/bin/sh
# bad_files.sh HEATMAP DATA DIRECTORY: gives the program damaged copies of its data, made in DIRECTORY,
# and paths it cannot write.  Each run must end with status 1 and the right message; good files must be taken.
heatmap=$1 data=$2 dir=$3
runs=0 failed=0

refused() { # refused WHAT DATA SVG MESSAGE: the message is the part that must be in it
  runs=$((runs + 1))
  "$heatmap" "$2" "$3" >/dev/null 2>"$dir/message"
  status=$?
  if [ $status -ne 1 ] || ! grep -q -e "$4" "$dir/message"; then
    echo "$1: status $status, expected '$4', got: $(cat "$dir/message")"
    failed=$((failed + 1))
  fi
}

edited() { # edited WHAT SED-SCRIPT MESSAGE
  sed "$2" "$data" >"$dir/bad.txt"
  if cmp -s "$data" "$dir/bad.txt"; then echo "$1: the edit changed nothing"; failed=$((failed + 1)); fi
  refused "$1" "$dir/bad.txt" "$dir/bad.svg" "$3"
}

refused "no file" "$dir/none/none.txt" "$dir/bad.svg" "none.txt"
refused "a directory" "$dir" "$dir/bad.svg" "$dir"
refused "an empty file" /dev/null "$dir/bad.svg" "ends early"
refused "the program as data" "$heatmap" "$dir/bad.svg" "expected: mha-attention 1"
at=1
size=$(wc -c <"$data")
while [ $at -lt "$size" ]; do
  head -c $at "$data" >"$dir/bad.txt"
  refused "cut at $at" "$dir/bad.txt" "$dir/bad.svg" "ends early\|expected"
  at=$((at + 997))
done
head -c $((size - 3)) "$data" >"$dir/bad.txt"
refused "cut in the checksum" "$dir/bad.txt" "$dir/bad.svg" "checksum"
edited "another version" '1s/1/2/' "expected: mha-attention 1"
edited "letters for a number" 's/^heads .*/heads twelve/' "heads must be"
edited "a number and more" 's/^d_k .*/d_k 32x/' "d_k must be"
edited "no number" 's/^tokens .*/tokens /' "tokens must be"
edited "nan" 's/^d_k .*/d_k nan/' "d_k must be"
edited "heads 0" 's/^heads .*/heads 0/' "heads must be"
edited "heads -12" 's/^heads .*/heads -12/' "heads must be"
edited "fewer heads" 's/^heads .*/heads 6/' "expected"
edited "d_k 99999999999999999999" 's/^d_k .*/d_k 99999999999999999999/' "d_k must be"
edited "d_k as long as a line" "s/^d_k .*/d_k $(printf '%099d' 1)/" "text too long"
edited "tokens 2147483648" 's/^tokens .*/tokens 2147483648/' "tokens must be"
edited "one token more" 's/^tokens .*/tokens 11/' "follow must be\|expected"
edited "follow 99" 's/^follow .*/follow 99/' "follow must be"
edited "a long token" 's/^found$/foundfoundfoundfoundfound/' "text too long"
edited "another token" 's/^found$/f<\&>d/' "checksum"
edited "a control character" "s/^found\$/fo$(printf '\007')nd/" "not printable"
edited "a long line" "s/^model/$(printf '%0400d' 0)model/" "line too long"
edited "a missing section" '/^k$/d' "expected: k"
edited "NaN" '/^v$/{n;s/^...../J%u$a/;}' "NaN or infinity in v"
edited "infinity" '/^v$/{n;s/^...../It.M!/;}' "NaN or infinity in v"
edited "minus infinity" '/^o$/{n;s/^...../s*t(L/;}' "NaN or infinity in o"
edited "above 32 bits" '/^q$/{n;s/^...../uuuuu/;}' "malformed number in q"
edited "letters that are no digits" '/^q$/{n;s/^...../vwxyz/;}' "malformed number in q"
edited "another digit" '/^o$/{n;s/^\(....\)./\1#/;}' "checksum"
edited "a line missing" '/^o$/{n;d;}' "malformed\|expected\|ends early\|NaN"
edited "letters in the checksum" 's/^check ./check z/' "checksum"
refused "an SVG in no folder" "$data" "$dir/none/none.svg" "none.svg"
refused "an SVG that is a folder" "$data" "$dir" "$dir"
if [ -w /dev/full ]; then
  refused "a full disk" "$data" /dev/full "could not be written"
else
  echo "skipped: a full disk (no /dev/full)"
fi

sed 's/$/\r/' "$data" >"$dir/good.txt"
for good in "$dir/good.txt" "$data"; do # the line ends of another system are no damage
  "$heatmap" "$good" "$dir/good.svg" >/dev/null || { echo "refused $good"; failed=$((failed + 1)); }
done
echo "heatmap: $runs damaged inputs, $failed failed"
[ $failed -eq 0 ]
