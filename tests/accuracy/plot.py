#!/usr/bin/env python3
"""Draws what tests/accuracy/curves.c printed: the error of the output against the number of keys and against
the range of the logits, in each way of rounding, beside a naive float loop and the bound.

    python3 tests/accuracy/plot.py build/accuracy.png build/curves_fused.txt build/curves_muladd.txt
"""
import sys

try:
    import matplotlib
except ImportError:
    print("skipped: matplotlib is not installed (pip install matplotlib)")
    sys.exit(0)
matplotlib.use("Agg")
import matplotlib.pyplot as plt

LABELS = {"kv_len": "keys (logits about N(0, 1))", "logits": "standard deviation of the logits (512 keys)"}


def read(path):
    """The numerics, and for each curve its points (x, ours, naive, bound)."""
    curves = {}
    with open(path) as f:
        numerics = f.readline().split(None, 1)[1].strip()
        for line in f:
            name, *numbers = line.split()
            curves.setdefault(name, []).append([float(n) for n in numbers])
    return numerics, curves


def main(target, *sources):
    runs = [read(s) for s in sources]
    figure, panels = plt.subplots(1, len(LABELS), figsize=(11, 4.2), sharey=True)
    for axes, (name, label) in zip(panels, LABELS.items()):
        x, _, naive, _ = zip(*runs[0][1][name])
        axes.plot(x, naive, "k^-", label="naive float loop")
        for (numerics, curves), color in zip(runs, ("C0", "C1")):
            x, ours, _, bound = zip(*curves[name])
            axes.plot(x, ours, "o-", color=color, label="mha.h, " + numerics)
            axes.plot(x, bound, ":", color=color, label="its bound")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("worst error of 32 rows, in 2^-24 of max|v|")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    print(target)


main(*sys.argv[1:])
