#!/usr/bin/env python3
"""Draws what `bench --group growth --json FILE` measured: time per visible pair, and memory.

    python3 tests/bench/plot_growth.py build/growth.json build/growth.png
"""
import json
import sys

try:
    import matplotlib
except ImportError:
    print("skipped: matplotlib is not installed (pip install matplotlib)")
    sys.exit(0)
matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main(source, target):
    with open(source) as f:
        run = json.load(f)
    rows = run["growth"]
    tokens = [r["tokens"] for r in rows]
    figure, (time, memory) = plt.subplots(1, 2, figsize=(11, 4))

    time.plot(tokens, [r["full_ns"] for r in rows], "o-", label="full")
    time.plot(tokens, [r["causal_ns"] for r in rows], "s-", label="causal")
    time.set_ylim(bottom=0)
    time.set_ylabel("ns per visible pair")

    memory.plot(tokens, [r["tensors_kib"] for r in rows], "^--", label="inputs and output")
    if all(r["written_kib"] >= 0 for r in rows):
        memory.plot(tokens, [r["written_kib"] for r in rows], "o-", label="workspace and stack")
    scores = [r["tokens"] ** 2 / 256 for r in rows]
    memory.plot(tokens, scores, ":", label="one matrix of scores (never made)")
    memory.set_yscale("log")
    memory.set_ylabel("KiB")

    for axes in (time, memory):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("tokens")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("1 head x 64, %s, %s" % (run["cpu"], run["compiler"]), fontsize=10)
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    print(target)


main(*sys.argv[1:3])
