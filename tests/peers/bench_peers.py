#!/usr/bin/env python3
"""mha.h against PyTorch, ONNX Runtime, ggml, numpy and a naive C loop: the same inputs, in one run.

    pip install numpy threadpoolctl matplotlib torch onnx onnxruntime ggml-python
    make build/peers.so build/naive.so
    python3 tests/peers/bench_peers.py build/peers.so build/naive.so [--quick] [--shapes NAME,...]

Peers that are not installed are reported as skipped.  For every shape, once on 1 thread and once on 2, each
contestant first answers and is compared with attention in double (on 256 query rows, where all would take
long); who is wrong is reported and not timed.  Then all take turns of some 20 ms until the time is up, and
the least time counts: that of a call on data which the caches hold, as far as they do.

Who can be called in several ways or layouts is, and the best counts; a way 1.5 times slower than another of
the same contestant soon gets no more turns, and where calls take long who is 2.5 times slower than the best
of all gets none: its one time is that of its first call.  Only layouts count that a model has without a copy:
"token" is (batch, token, head, channel), what a projection writes, "head" is (batch, head, token, channel).

  mha.h         mha_attend with a workspace; on 2 threads mha_attend_part ("rows") or, for a single query,
                mha_attend_keys too ("keys").  Keys and values of a cache in either layout.
  PyTorch       scaled_dot_product_attention on the CPU, with enable_gqa where heads share keys; "rows" gives
                it the queries that share keys as rows of one head, which decoding allows.
  ONNX Runtime  MultiHeadAttention and GroupQueryAttention of com.microsoft, Attention of ONNX with 3 or 4
                dimensions; through io_binding and, where the call itself counts, plain run too.  (Attention
                of com.microsoft includes the projections: another task.)
  ggml          ggml_flash_attn_ext, as built by pip on this machine, with a mask in float16 where causal.
  numpy         two matmuls and a softmax, some query rows at a time.
  naive C       the formula in loops, -O3 -march=native.

mha.h, ggml and the loop are called from C; what a call of the others costs from Python is part of their time,
which shows in tiny shapes only.
"""
import argparse
import gc
import json
import math
import os
import platform
import sys
import time

try:
    from shapes import Data, cases, np
except ImportError:
    print("skipped: numpy is not installed (pip install numpy)")
    sys.exit(0)
from contestants import LONGEST, Ggml, Missing, Naive, Numpy, Onnx, Ours, Team, Torch

TURN = 0.02           # seconds of calls before the next contestant's turn
REST = 0.03           # seconds for the threads of one contestant to fall asleep before the next one's turn
DROP = 1.5            # so many times slower than another way of the same contestant: no more turns
LARGE = 0.2           # seconds of a call after which a first look is enough for that, and counts
BEHIND = 2.5          # so many times slower than the best of all, and large: no turns
SAMPLE = 20e-6        # seconds to measure at least at once
TOLERANCE = {np.float32: 2e-5, np.float16: 3e-2}  # of the largest output, by the type of the keys
QUICK = ("bert", "gpt2", "decode32-2048", "tiny")


class Variant:
    def __init__(self, contestant, name, times, output):
        self.contestant, self.name, self.times, self.output = contestant, name, times, output
        self.estimate = self.best = math.inf

    def sample(self):
        n = max(1, math.ceil(SAMPLE / self.estimate))
        seconds = self.times(n) / n
        self.best = min(self.best, seconds)
        self.estimate = self.best

    def turn(self):
        start = time.perf_counter()
        self.sample()
        while time.perf_counter() - start + self.best < TURN:
            self.sample()


def drop_slow(candidates, seconds, kept, notes):
    for v in candidates:
        if seconds(v) > DROP * min(seconds(x) for x in candidates):
            notes[v.name] = "slower: %.3g ms" % (seconds(v) * 1e3)
            kept.remove(v)


class Bench:
    def __init__(self, contestants, seconds):
        self.contestants, self.seconds = contestants, seconds
        self.skipped, self.wrong = {}, []

    def progress(self, text):
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()

    def skip(self, name, reason):
        where = self.skipped.setdefault((name, reason), [])
        where += [title for title in [self.title] if title not in where]

    def enter(self, contestant, data, threads, reference):
        """The variants worth timing: those that work, are right, and not far behind another one."""
        c, kept, notes = data.case, [], {}
        try:
            for name, prepare in contestant.variants(data, threads):
                if any(v.estimate > LONGEST for v in kept):
                    break
                self.progress("%s, %d threads: %s %s" % (c.title, threads, contestant.name, name))
                try:
                    v = Variant(contestant.name, name, *prepare())
                    v.estimate = v.times(1)
                    error = self.error(v.output(), *reference)
                except Exception as e:  # each library has its own ways to refuse
                    notes[name] = "refused: " + (str(e).strip() or type(e).__name__).splitlines()[0][:200]
                    continue
                if not error <= TOLERANCE[data.kv_type]:  # NaN counts as wrong
                    notes[name] = "WRONG: error %.1e of the largest output, allowed %.0e" % (
                        error, TOLERANCE[data.kv_type])
                    self.wrong.append((contestant.name, "%s %s, %s, %d threads: %s" % (
                        contestant.name, name, c.title, threads, notes[name])))
                    continue
                if v.estimate > LARGE:
                    v.best = v.estimate
                else:
                    v.estimate = v.times(1)
                v.error = error
                kept.append(v)
                drop_slow([x for x in kept if x.estimate > LARGE], lambda x: x.estimate, kept, notes)
                del v
                gc.collect()  # a session holds much memory
        except Missing as e:
            self.skip(contestant.name, str(e))
        if not kept and notes and not any("WRONG" in x for x in notes.values()):
            self.skip(contestant.name, "; ".join("%s %s" % x for x in notes.items()))
        return kept, notes

    def error(self, out, rows, want):
        if not np.isfinite(out).all():
            return math.nan
        return float(np.abs(out[:, rows] - want).max() / np.abs(want).max())

    def run(self, case, data, threads, reference):
        self.title, began = case.title, time.perf_counter()
        variants, notes = [], {}
        for contestant in self.contestants:
            kept, notes[contestant.name] = self.enter(contestant, data, threads, reference)
            variants += kept
        limit = max(LARGE, BEHIND * min([v.estimate for v in variants], default=0))
        playing = [v for v in variants if v.estimate <= limit]
        least = 1 if sum(v.estimate for v in playing) > self.seconds else 2
        start, rounds = time.perf_counter(), 0
        while rounds < least or time.perf_counter() - start < self.seconds:
            rounds += 1
            for v in [v for v in playing if v in variants]:
                self.progress("%s, %d threads: round %d, %s" % (case.title, threads, rounds, v.contestant))
                if threads > 1:
                    time.sleep(REST)
                v.turn()
            if rounds == 2:
                for name in notes:
                    its = [v for v in variants if v.contestant == name]
                    drop_slow(its, lambda v: v.best, variants, notes[name])
        self.progress("")
        result = {"name": case.name, "title": case.title, "threads": threads, "rounds": rounds,
                  "took": time.perf_counter() - began,
                  "goal": case.goals[threads - 1], "seconds": {}, "errors": {}, "notes": notes}
        for v in sorted(variants, key=lambda v: v.best):
            result["seconds"].setdefault(v.contestant, {})[v.name] = v.best
            result["errors"].setdefault(v.contestant, {})[v.name] = v.error
        return result


## Report

TITLE = "%-28s %3s %9s  %9s %-26s %6s %6s %-3s" + " %9s" * 5


def ms(seconds):
    x = seconds * 1e3
    return "%.*f" % (0 if x >= 1000 else 1 if x >= 100 else 2 if x >= 10 else 3 if x >= 0.1 else 5, x)


def fastest(result, name):
    """(way, seconds) of a contestant, or None."""
    ways = result["seconds"].get(name)
    return min(ways.items(), key=lambda x: x[1]) if ways else None


def judge(result, peers):
    """Adds the best peer, how many times faster we are, and whether that reaches the goal."""
    ours, goal = fastest(result, "mha.h"), result["goal"]
    times = {p: fastest(result, p) for p in peers if fastest(result, p)}
    result["best"] = result["ratio"] = result["met"] = None
    if not ours or not times:
        return
    name = min(times, key=lambda p: times[p][1])
    result["best"], result["ratio"] = [name, times[name][0]], times[name][1] / ours[1]
    if isinstance(goal, dict):  # peers that are missing prove nothing
        met = [times[p][1] / ours[1] >= g for p, g in goal.items() if p in times]
        result["met"] = all(met) if met else None
    elif goal:
        result["met"] = result["ratio"] >= goal


def row(result, peers):
    ours, goal, best = fastest(result, "mha.h"), result["goal"], result["best"]
    cells = [result["title"], result["threads"], ms(ours[1]) if ours else "-"]
    if best:
        cells += [ms(result["seconds"][best[0]][best[1]]), " ".join(best), "%.2f" % result["ratio"]]
    else:
        cells += ["-", "-", "-"]
    if isinstance(goal, dict):
        cells.append("below")
    else:
        cells.append("%.2f" % goal if goal else "-")
    cells.append({True: "yes", False: "no", None: "-"}[result["met"]])
    for p in peers:
        t = fastest(result, p)
        cells.append(ms(t[1]) if t else "-")
    print(TITLE % tuple(cells), flush=True)


def cpu():
    try:
        with open("/proc/cpuinfo") as f:
            names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
        return "%s, %d cores" % (names[0], os.cpu_count())
    except (OSError, IndexError):
        return "%s, %d cores" % (platform.processor() or platform.machine(), os.cpu_count())


def arguments():
    p = argparse.ArgumentParser(description="mha.h against its peers; see the top of this file")
    p.add_argument("shared", help="build/peers.so")
    p.add_argument("naive", help="build/naive.so")
    p.add_argument("--quick", action="store_true", help="%s, and less time for each" % ", ".join(QUICK))
    p.add_argument("--shapes", help="names that begin so, with commas between; --shapes help lists them")
    p.add_argument("--seconds", type=float, help="for each shape and number of threads [3]")
    p.add_argument("--out", default="build/peers", help="where to write NAME.json and NAME.png [build/peers]")
    a = p.parse_args()
    a.cases = list(cases())
    if a.shapes == "help":
        for c in a.cases:
            print("%-20s %s" % (c.name, c.title))
        sys.exit(0)
    if a.shapes:
        a.cases = [c for c in a.cases if any(c.name.startswith(s) for s in a.shapes.split(","))]
    elif a.quick:
        a.cases = [c for c in a.cases if c.name in QUICK]
    if not a.cases:
        p.error("no such shape")
    a.seconds = a.seconds or (1 if a.quick else 3)
    return a


def main():
    a = arguments()
    start = time.time()
    team = Team(a.shared)
    contestants = [Ours(team)]
    bench = Bench(contestants, a.seconds)
    versions = {"mha.h": contestants[0].version, "compiler": team.lib.compiler().decode(),
                "Python": platform.python_version()}
    missing = []
    for kind, arguments_ in ((Torch, ()), (Onnx, ()), (Ggml, (team,)), (Numpy, ()), (Naive, (team, a.naive))):
        try:
            contestants.append(kind(*arguments_))
            versions[kind.name] = contestants[-1].version
        except Missing as e:
            missing.append((kind.name, str(e)))
            print("skipped: %s (%s)" % (kind.name, e))
    peers = [kind.name for kind in (Torch, Onnx, Ggml, Numpy, Naive)]
    report = {"date": time.strftime("%Y-%m-%d"), "cpu": cpu(), "load": os.getloadavg()[0],
              "versions": versions, "command": " ".join(sys.argv), "peers": peers, "missing": missing,
              "results": []}
    print("%s, load %.1f when it began" % (report["cpu"], report["load"]))
    if report["load"] > 0.5:
        print("  other programs are running: figures for 2 threads mean little")
    for name, version in versions.items():
        print("  %-9s %s" % (name, version))
    print("least times in ms; goal: so many times faster than the best peer\n")
    print(TITLE % ("shape", "thr", "mha.h", "best", "peer", "ratio", "goal", "met", *peers))
    for case in a.cases:
        data = Data(case)
        bench.progress(case.title + ": reference")
        reference = data.reference()
        for threads in (1, 2):
            if case.goals[threads - 1] is None:
                continue
            result = bench.run(case, data, threads, reference)
            judge(result, peers)
            row(result, peers)
            report["results"].append(result)
        del data, reference
        gc.collect()
    finish(a, bench, report, time.time() - start)


def finish(a, bench, report, seconds):
    for result in report["results"]:
        if isinstance(result["goal"], dict):
            ours = fastest(result, "mha.h")
            for peer, goal in result["goal"].items():
                t = fastest(result, peer)
                if ours and t:
                    print("%s: %.1f times faster than %s, goal %g" % (
                        result["title"], t[1] / ours[1], peer, goal))
    print()
    for (name, reason), where in bench.skipped.items():
        print("skipped: %s (%s): %s" % (name, reason, "; ".join(where)))
    for _, text in bench.wrong:
        print(text)
    met = [r["met"] for r in report["results"] if r["met"] is not None]
    without = " without " + ", ".join(name for name, _ in report["missing"]) if report["missing"] else ""
    print("%d of %d goals met%s, %.0f s: %s" % (sum(met), len(met), without, seconds, report["command"]))
    report["wrong"] = [text for _, text in bench.wrong]
    os.makedirs(os.path.dirname(a.out) or ".", exist_ok=True)
    with open(a.out + ".json", "w") as f:
        json.dump(report, f, indent=1)
    print("wrote %s.json" % a.out)
    try:
        import picture
        picture.draw(report, a.out + ".png")
        print("wrote %s.png" % a.out)
    except ImportError as e:
        print("skipped: the picture (pip install %s)" % e.name)
    failed = any(name == "mha.h" for name, _ in bench.wrong)
    if failed or any("mha.h" not in r["seconds"] for r in report["results"]):
        print("mha.h gave a wrong answer, or none")
        sys.exit(1)


if __name__ == "__main__":
    main()
