# report.sh - for the test scripts to read in (. tests/report.sh): a line per check, and their counts at the
# end; and what README.md shows.
passed=0 failed=0 skipped=0

ok()      { passed=$((passed + 1));   echo "  ok      $*"; }
failed()  { failed=$((failed + 1));   echo "  FAILED  $*"; }
skipped() { skipped=$((skipped + 1)); echo "  skipped $*"; }
have()    { command -v "$1" > /dev/null 2>&1; }

# gather NAME TEXT COUNTS: shows what a part that ran apart printed into TEXT, and adds what it left in COUNTS
gather() {
  cat "$2"
  if read -r p f s < "$3"; then
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  else failed "$1: no counts"; fi
}

# block LANGUAGE: the first ```LANGUAGE block of README.md
block() {
  awk -v start="\`\`\`$1" '/^```/ { if (inside) exit; inside = $0 == start; next } inside' README.md
}

# The closing line; succeeds if nothing failed.
total() {
  if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"
  else echo "$passed passed, $failed failed"; fi
  [ $failed -eq 0 ]
}
