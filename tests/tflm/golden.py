#!/usr/bin/env python3
"""Makes golden.h: what TensorFlow Lite Micro answers to problems that tests/test_s8.c can make again.

    pip install numpy tflite-micro
    python3 tests/tflm/golden.py > tests/tflm/golden.h

The inputs come from a generator of whole numbers that the test has too, so that only scales, zero points and
outputs are stored: scales as the bits of a float, outputs and maps as two hexadecimal digits per code.
"""
import math
import struct
import sys

import numpy as np

import cases

WIDTH = 104
UNIFORM, NARROW, EXTREME, EQUAL, CLIFF, SMALL = range(6)  # kinds of codes
# heads, q_len, kv_len, d_k, d_v
SHAPES = ((1, 1, 1, 1, 1), (1, 3, 2, 1, 5), (2, 2, 3, 2, 1), (3, 2, 4, 3, 3), (1, 4, 5, 7, 9),
          (2, 3, 31, 40, 11), (1, 2, 130, 8, 40), (2, 2, 64, 16, 16), (1, 5, 17, 33, 13), (2, 1, 97, 5, 21),
          (1, 3, 128, 32, 31), (3, 2, 33, 12, 20))
MIXED = ((EXTREME, EXTREME, EXTREME), (UNIFORM, EXTREME, UNIFORM), (EXTREME, UNIFORM, EXTREME),
         (NARROW, NARROW, NARROW), (UNIFORM, EQUAL, UNIFORM), (EQUAL, EQUAL, EQUAL),
         (NARROW, UNIFORM, EXTREME), (UNIFORM, NARROW, NARROW))
KINDS = ("UNIFORM", "NARROW", "EXTREME", "EQUAL", "CLIFF", "SMALL")


class Codes:
    """x = x * 1664525 + 1013904223 mod 2^32; the upper byte counts."""

    def __init__(self, seed):
        self.state = seed

    def byte(self):
        self.state = (self.state * 1664525 + 1013904223) % 2 ** 32
        return self.state >> 24

    def code(self, kind, n):
        byte = self.byte()
        if kind == UNIFORM:
            return byte - 128
        if kind == NARROW:
            return byte // 32 + 20
        if kind == EXTREME:
            return 127 if byte >= 128 else -128
        if kind == EQUAL:
            return 40
        if kind == SMALL:
            return byte // 43 - 3
        return 40 if n < 511 else 33 if n < 513 else -10  # CLIFF

    def fill(self, kind, shape):
        return np.array([self.code(kind, n) for n in range(math.prod(shape))], np.int8).reshape(shape)


def bits(x):
    return "0x%08xu" % struct.unpack("<I", struct.pack("<f", x))


def hexadecimal(codes):
    text = codes.astype(np.int8).tobytes().hex()
    return "\n".join('    "%s"' % text[at:at + WIDTH] for at in range(0, len(text), WIDTH))


def show(name, c, kinds, seed):
    """One element of the array."""
    codes = Codes(seed)
    c.q, c.k, c.v = [codes.fill(kind, shape) for kind, shape in zip(kinds, c.shapes())]
    out = c.tflm()
    affine = ["{ %s, %d }" % (bits(c.affine[x][0]), c.affine[x][1]) for x in ("q", "k", "v", "o", "logits")]
    print('  { "%s", %d, %d, %d, %d, %d, { %s }, %du,' %
          (name, c.heads, c.q_len, c.kv_len, c.d_k, c.d_v, ", ".join(KINDS[kind] for kind in kinds), seed))
    mapped = bits(c.affine["mapped"][0]) if c.multiply else "0"
    print("    { %s,\n      %s }," % (", ".join(affine[:3]), ", ".join(affine[3:])))
    print("    %s, %s," % (bits(c.beta), mapped))
    print(hexadecimal(c.map()) + "," if c.multiply else "    NULL,")
    print(hexadecimal(out) + " },")
    saturated = float((np.abs(out + 0.5) == 127.5).mean())
    print("%-10s saturated %3.0f %%" % (name, 100 * saturated), file=sys.stderr)


def case(rng, heads, q_len, kv_len, d_k, d_v, spread, saturation):
    c = cases.Case()
    c.heads, c.q_len, c.kv_len, c.d_k, c.d_v = heads, q_len, kv_len, d_k, d_v
    cases.scales(rng, c, spread, saturation)
    return c


def cliff(beta_step, kv_len):
    """One channel whose dot product with a key is the logit: 511 equal keys, then e^-0.7 twice, then e^-5, or
    511.9999 in all."""
    c = cases.Case()
    c.heads, c.q_len, c.kv_len, c.d_k, c.d_v, c.beta, c.multiply = 1, 1, kv_len, 1, 24, 1.0, None
    step = cases.f32(beta_step)
    c.affine = {"q": (1.0, 39), "k": (step, 0), "logits": (step, 0), "v": (0.5, 3), "o": (0.125, -9)}
    return c


def main():
    rng = np.random.default_rng(20261130)
    print("/* golden.h - made by golden.py from TensorFlow Lite Micro; see there. */")
    for n, shape in enumerate(SHAPES):
        show("sizes", case(rng, *shape, 2 ** rng.uniform(-5, -1), 1), [UNIFORM] * 3, n)
    for n in range(24):  # from flat rows to peaked ones, from logits in few codes to logits beyond all codes
        shape = [int(rng.integers(low, high)) for low, high in ((1, 3), (1, 4), (2, 80), (1, 41), (1, 41))]
        show("spread", case(rng, *shape, 2.0 ** (n % 8 - 7), 2.0 ** (n // 8 * 2 - 2)), [UNIFORM] * 3, 100 + n)
    for n, kinds in enumerate(MIXED):
        show("codes", case(rng, 2, 3, 40 + n, 9 + n, 14, 2 ** rng.uniform(-5, -1), 2), kinds, 200 + n)
    for n in range(4):
        c = case(rng, 1, 3, 50, 16, 30, 0.05, 1)
        while not c.multiply:
            cases.scales(rng, c, 2.0 ** (n - 5), 1)
        show("map", c, [UNIFORM] * 3, 300 + n)
    for n in range(8):  # factors of 1/4 and more, which round otherwise
        c = case(rng, 2, 3, 20 + n, 6 + n, 12, 0.05, 1)
        c.beta, c.multiply = 1.0, None
        c.affine.update(q=(1.0, -1), k=(cases.f32(0.1 * 2.0 ** (n / 2 - 2.5)), n - 4),
                        logits=(cases.f32(0.1), 9 - n), v=(1.0, -(n % 2)),
                        o=(cases.f32(2.0 ** -(n % 4 + 4.5)), 5))
        show("factors", c, [SMALL] * 3, 500 + n)
    show("511 keys", cliff(0.1, 511), (EQUAL, CLIFF, UNIFORM), 400)
    show("512 - 1/9999", cliff(0.1, 514), (EQUAL, CLIFF, UNIFORM), 401)


if __name__ == "__main__":
    main()
