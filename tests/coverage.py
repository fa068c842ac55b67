"""coverage.py EMPTY REPORT...: what `gcov -t -j -b` says of mha.h in each REPORT, as one tracefile for gcovr.

mha.h includes itself, so a line belongs to several functions: mha__product_scalar, mha__product_avx2 ...  It
counts as reached if one of them reached it, and so do its branches where they have the same number of them;
where the line became other code they count apart.  EMPTY is a tracefile of gcovr without sources.

On standard error: lines never reached, branches never taken, and the functions of an instance that never ran,
which is no fault as long as another instance did."""
import collections
import json
import sys


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


counts, starts = collections.Counter(), {}
lines, branches = collections.Counter(), {}  # branches[line][how many] = their counts
for report in sys.argv[2:]:
    for file in load(report)["files"]:
        if not file["file"].endswith("mha.h"):
            continue
        for line in file["lines"]:
            n, new = line["line_number"], [branch["count"] for branch in line["branches"]]
            lines[n] += line["count"]
            old = branches.setdefault(n, {}).get(len(new), [0] * len(new))
            branches[n][len(new)] = [a + b for a, b in zip(old, new)]
        for function in file["functions"]:
            counts[function["name"]] += function["execution_count"]
            starts[function["name"]] = function["start_line"]

with open("mha.h", encoding="utf-8") as f:
    source = f.read().splitlines()
trace = load(sys.argv[1])
entry = {"file": "mha.h", "lines": [], "functions": [
    {"name": name, "lineno": starts[name], "execution_count": counts[name]} for name in sorted(starts)]}
for n in sorted(lines):
    taken = [count for some in branches[n].values() for count in some]
    entry["lines"].append({
        "line_number": n, "count": lines[n], "gcovr/noncode": False, "gcovr/excluded": False,
        "branches": [{"count": count, "fallthrough": False, "throw": False} for count in taken]})
    what = "never reached" if not lines[n] else f"{taken.count(0)} of {len(taken)} branches never taken"
    if not lines[n] or 0 in taken:
        print(f"mha.h:{n}: {what}: {source[n - 1].strip()}", file=sys.stderr)
print("never ran:", *(name for name in sorted(counts) if not counts[name]), file=sys.stderr)
trace["files"].append(entry)
json.dump(trace, sys.stdout)
