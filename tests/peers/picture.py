#!/usr/bin/env python3
"""Draws what bench_peers.py measured: for every shape how many times faster mha.h is than each peer.

    python3 tests/peers/picture.py build/peers.json build/peers.png
"""
import json
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot as plt

COLORS = {"PyTorch": "#d55e00", "ONNX": "#0072b2", "ggml": "#009e73", "numpy": "#cc79a7",
          "naive C": "#999999"}
LABELS = {"ONNX": "ONNX Runtime", "naive C": "naive C loop"}
LEFT, RIGHT = 0.25, 64  # the scale; a longer bar ends in an arrow
WIDTH = 9.0             # inches, at 200 dots each: sharp where it is shown 900 wide
PITCH = 0.07            # inches a bar


def ratios(result, peers):
    """peer -> how many times as long as mha.h its best way takes."""
    ours = min(result["seconds"]["mha.h"].values())
    return {p: min(result["seconds"][p].values()) / ours for p in peers if p in result["seconds"]}


def bars(axes, results, peers, titles):
    """One group for each title, from top to bottom, of one bar for each peer; bars begin at 1."""
    step = len(peers) + 1.5
    for n, title in enumerate(titles):
        if n % 2 == 0:
            axes.axhspan(n * step - 1.25, (n + 1) * step - 1.25, color="#f4f4f4", zorder=0)
        result = results.get(title)
        if not result or "mha.h" not in result["seconds"]:
            axes.text(1.05, n * step + len(peers) / 2 - 0.5, "not measured", fontsize=6.5, color="#777777",
                      va="center")
            continue
        found = ratios(result, peers)
        for m, peer in enumerate(peers):
            if peer not in found:
                continue
            shown, y = min(max(found[peer], LEFT), RIGHT), n * step + m
            axes.barh(y, shown - 1, left=1, height=0.95, color=COLORS.get(peer, "#555555"), zorder=2)
            beyond, best = shown != found[peer], found[peer] == min(found.values())
            if best or beyond:
                text = "%.*f" % (0 if found[peer] >= 10 else 2, found[peer])
                right = shown >= 1 and not beyond or shown < 1 and beyond
                axes.annotate(text, (shown, y), xytext=(2 if right else -2, 0), textcoords="offset points",
                              ha="left" if right else "right", va="center", fontsize=6.5, zorder=3,
                              color="white" if beyond else "black", weight="bold" if best else "normal")
    axes.axvline(1, color="black", linewidth=0.8, zorder=3)
    axes.set_xscale("log", base=2)
    axes.set_xlim(LEFT, RIGHT)
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
    axes.set_xticks(ticks, ["1/4", "1/2", "1", "2", "4", "8", "16", "32", "64"], fontsize=7.5)
    axes.set_ylim(len(titles) * step - 1.25, -1.25)
    axes.tick_params(length=0, top=True, labeltop=True)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6, zorder=1)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return [n * step + (len(peers) - 1) / 2 for n in range(len(titles))]


def draw(report, path):
    results = report["results"]
    titles = list(dict.fromkeys(r["title"] for r in results))
    threads = sorted({r["threads"] for r in results})
    peers = [p for p in report["peers"] if any(p in r["seconds"] for r in results)]
    height = len(titles) * (len(peers) + 1.5) * PITCH + 1.5
    figure, panels = plt.subplots(1, len(threads), figsize=(WIDTH, height), dpi=200, sharey=True,
                                  squeeze=False)
    for axes, n in zip(panels[0], threads):
        at = bars(axes, {r["title"]: r for r in results if r["threads"] == n}, peers, titles)
        axes.set_yticks(at, titles, fontsize=8)
        axes.set_title("%d thread%s" % (n, "s" * (n > 1)), fontsize=9, pad=6)
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLORS.get(p, "#555555")) for p in peers]
    figure.suptitle("Time over the time of mha.h: right of 1 mha.h is faster; numbers at the best peer",
                    fontsize=10, y=1 - 0.1 / height, va="top")
    figure.legend(handles, [LABELS.get(p, p) for p in peers], ncols=len(peers), loc="upper center",
                  bbox_to_anchor=(0.5, 1 - 0.32 / height), fontsize=8, frameon=False, handlelength=1.2)
    figure.text(0.5, 0.08 / height, "%s, %s, mha.h by %s: %s" % (
        report["date"], report["cpu"], report["versions"]["compiler"], report["versions"]["mha.h"]),
        ha="center", fontsize=7, color="#555555")
    figure.subplots_adjust(left=0.23, right=0.985, top=1 - 0.95 / height, bottom=0.45 / height, wspace=0.08)
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: picture.py build/peers.json build/peers.png")
    with open(sys.argv[1]) as f:
        draw(json.load(f), sys.argv[2])
