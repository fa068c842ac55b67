#!/usr/bin/env python3
"""mha_s8_tflm against TensorFlow Lite Micro: random shapes, scales, zero points and data, every output equal.

    cc -O2 -shared -fPIC -o build/shared.so tests/shared.c
    pip install numpy tflite-micro
    python3 tests/tflm/peers.py build/shared.so [outputs [seed]]

Half of the problems go through mha_s8_tflm, half through mha_s8_tflm_lean.  Exit status: 0 when everything is
equal or the run is skipped, else 1.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, os.pardir))


def skip(what):
    print("skipped: %s is not installed (pip install numpy tflite-micro)" % what)
    sys.exit(0)


try:
    import numpy as np
except ImportError:
    skip("numpy")
try:
    import cases
except ImportError:
    skip("tflite-micro")
import mha


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit("usage: peers.py build/shared.so [outputs [seed]]")
    lib = mha.load(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 4000000
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    compared = wrong = problems = refused = beyond = saturated = mapped = 0
    start = time.time()
    while compared < wanted:
        c = cases.random_case(rng)
        problems += 1
        try:
            ours = c.ours(mha, lib, problems % 2)
        except ValueError:
            refused += 1
            continue
        if ours is None:
            beyond += 1  # TFLM would end this program
            continue
        theirs = c.tflm()
        bad = ours != theirs
        if bad.any():
            if not wrong:
                where = tuple(int(n) for n in np.argwhere(bad)[0])
                print("problem %d, heads %d q_len %d kv_len %d d_k %d d_v %d beta %g" %
                      (problems, c.heads, c.q_len, c.kv_len, c.d_k, c.d_v, c.beta))
                print("  output %s is %d, TFLM has %d" % (where, ours[where], theirs[where]))
                print("  " + "  ".join("%s %.9g, %d" % (name, *c.affine[name]) for name in c.affine))
        compared += ours.size
        wrong += int(bad.sum())
        saturated += int((np.abs(theirs + 0.5) == 127.5).sum())
        mapped += c.multiply is not None
        if refused > problems / 4:
            sys.exit("FAILED: mha_s8_prepare refused %d of %d problems" % (refused, problems))
    print("TensorFlow Lite Micro: %d problems, %d of them with a MUL between logits and softmax, in %.0f s" %
          (problems, mapped, time.time() - start))
    print("  not compared: %d whose exponentials sum to 512 or more, %d that mha_s8_prepare refuses" %
          (beyond, refused))
    print("  %d of %d outputs differ (%d of them saturated)" % (wrong, compared, saturated))
    print("FAILED" if wrong else "ok: every output equal")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
