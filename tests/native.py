#!/usr/bin/env python3
"""Native integer attention once more, in Python's integers and fractions, straight from its definition.

    cc -O2 -shared -fPIC -o build/shared.so tests/shared.c
    python3 tests/native.py build/shared.so [seed]

For a query row and the keys j that it sees, >> rounding down and everything in integers without bounds:

    acc_j = sum over c of (q_c - q_zero) (k_jc - k_zero)        M = the largest acc_j
    t_j   = (M - acc_j) * q.scale * k.scale * scale * log2(e) * 256, the factor as m * 2^-s with
            2^30 <= m < 2^31, to the nearest integer, half up
    e_j   = 0 where t_j >= 4096, else with n = t_j >> 8, a = t_j >> 4 & 15, b = t_j & 15
            (x + (2^n >> 1)) >> n  where  x = (A[a] * B[b] + 2^14) >> 15
            A[a] = 32767 * 2^(-a/16), B[b] = 32768 * 2^(-b/256), to the nearest integer
    L     = sum of e_j   z = leading zeros of L in 32 bits   R = reciprocal(L << z), about 2^62 / (L << z)
    F     = R * m / 2^31 to the nearest integer, half up, with v.scale / o.scale as m * 2^-s, likewise
    y_c   = (sum over j of e_j (v_jc - v_zero)) << z >> 16
    o_c   = o_zero + y_c * F / 2^(s + 15), to the nearest integer, half up, clamped

Exit status: 0 when every code is equal or the run is skipped, else 1.
"""
import ctypes
import random
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

import mha

getcontext().prec = 60
NATIVE = 2
COARSE = [int((32767 * Decimal(2) ** (-Decimal(a) / 16)).to_integral_value()) for a in range(16)]
FINE = [int((32768 * Decimal(2) ** (-Decimal(b) / 256)).to_integral_value()) for b in range(16)]
OCTAVES = 256 / Fraction(Decimal(2).ln())  # 256 log2(e)


def half_up(x, bits):
    return (x + (1 << bits >> 1)) >> bits


def high(a, b):
    return half_up(a * b, 31)


def reciprocal(x):
    """2^62 / x for 2^31 <= x < 2^32: Newton's steps from 48/17 - 32/17 x, in Q2.29"""
    half = x >> 1
    y = 1515870810 + high(half, -1010580540)
    for _ in range(3):
        y += high(y, (1 << 29) - high(half, y)) * 4
    return min(2 * y, 2 ** 31 - 1)


def exponential(t):
    if t >= 4096:
        return 0
    return half_up(half_up(COARSE[t >> 4 & 15] * FINE[t & 15], 15), t >> 8)


def row(q, k, v, zero, qk, pv):
    """q: codes; k, v: rows of codes; zero: zero points by name; qk, pv: (m, s).  The row of o."""
    acc = [sum((a - zero["q"]) * (b - zero["k"]) for a, b in zip(q, key)) for key in k]
    if not acc:
        return None
    most = max(acc)
    e = [exponential(half_up((most - a) * qk[0], qk[1])) for a in acc]
    total = sum(e)
    zeros = 32 - total.bit_length()
    factor = high(reciprocal(total << zeros), pv[0])
    out = []
    for c in range(len(v[0])):
        y = sum(w * (value[c] - zero["v"]) for w, value in zip(e, v)) << zeros >> 16
        out.append(max(-128, min(127, zero["o"] + half_up(y * factor, pv[1] + 15))))
    return out


def codes(rng, n):
    kind = rng.randrange(6)
    if kind == 0:
        return [rng.choice((-128, 127)) for _ in range(n)]
    if kind == 1:
        return [rng.randrange(-128, 128)] * n
    return [rng.randrange(-128, 128) for _ in range(n)]


def array(values):
    return (ctypes.c_byte * max(1, len(values)))(*values)


def is_factor(m, s, exact):
    """Is m * 2^-s the number, but for the last bit of m?"""
    if m == 0:
        return exact < Fraction(1, 2 ** 16)
    return 2 ** 30 <= m < 2 ** 31 and abs(Fraction(m) * Fraction(2) ** -s / exact - 1) < Fraction(1, 2 ** 30)


def case(lib, rng, q_len, kv_len, d_k, d_v):
    """One head; returns how many codes there are and how many differ."""
    scale = {name: ctypes.c_float(2.0 ** rng.uniform(-8, 0)).value for name in "qkv"}
    zero = {name: rng.choice((rng.randrange(-128, 128), -128, 0, 127)) for name in "qkvo"}
    scale["o"] = ctypes.c_float(scale["v"] / 2.0 ** rng.uniform(-2, 2)).value
    factor = 2.0 ** rng.uniform(-4, 4) / (5000 * d_k ** 0.5 * scale["q"] * scale["k"])
    quant = mha.S8Quant(mode=NATIVE, d_k=d_k, kv_len=max(1, kv_len), scale=factor)
    for name in "qkvo":
        setattr(quant, name, mha.S8Affine(scale[name], zero[name]))
    consts = ctypes.create_string_buffer(lib.shared_s8_sizes(2))
    status = lib.mha_s8_prepare(consts, None, ctypes.byref(quant))
    if status != 0:
        sys.exit("mha_s8_prepare: " + lib.mha_strerror(status).decode())
    given = (ctypes.c_int64 * 5)()
    lib.shared_s8_factors(consts, given)
    qk, pv = (given[0], 32 + given[2] - given[1]), (given[3], given[4] - 15)
    exact = Fraction(scale["q"]) * Fraction(scale["k"]) * Fraction(quant.scale) * OCTAVES
    if not is_factor(*qk, exact) or not is_factor(*pv, Fraction(scale["v"]) / Fraction(scale["o"])):
        sys.exit("FAILED: a factor of mha_s8_prepare is not that of the scales")

    q, k, v = [[codes(rng, d) for _ in range(n)] for n, d in ((q_len, d_k), (kv_len, d_k), (kv_len, d_v))]
    memory = [array([x for r in rows for x in r]) for rows in (q, k, v)]
    out = array([99] * (q_len * d_v))
    desc = mha.S8Desc(q_heads=1, q_len=q_len, kv_len=kv_len, d_k=d_k, d_v=d_v)
    desc.consts = ctypes.addressof(consts)
    for name, x in zip("oqkv", (out, *memory)):
        setattr(desc, name, ctypes.addressof(x))
    start = rng.randrange(-2, kv_len + 1)
    causal = rng.random() < 0.5
    if causal:
        desc.flags, desc.q_start = mha.CAUSAL, start
    scratch = ctypes.create_string_buffer(lib.mha_s8_scratch_bytes(NATIVE, kv_len, d_k))
    status = lib.mha_s8_native(ctypes.byref(desc), 0, mha.ALL, scratch, len(scratch))
    if status != 0:
        sys.exit("mha_s8_native: " + lib.mha_strerror(status).decode())
    wrong = 0
    for i in range(q_len):
        seen = max(0, start + i + 1) if causal else kv_len
        want = row(q[i], k[:seen], v[:seen], zero, qk, pv) or [zero["o"]] * d_v
        wrong += sum(a != b for a, b in zip(out[i * d_v:(i + 1) * d_v], want))
    return q_len * d_v, wrong


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: native.py build/shared.so [seed]")
    try:
        ctypes.CDLL(sys.argv[1])
    except OSError as error:
        print("skipped: this Python cannot load it: %s" % error)
        sys.exit(0)
    lib = mha.load(sys.argv[1])
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    shapes = [(rng.randrange(1, 4), rng.randrange(1, 40), rng.randrange(1, 24), rng.randrange(1, 24))
              for _ in range(250)]
    shapes += [(1, 513, 4, 5), (1, 700, 2, 3), (2, 1025, 1, 2), (1, 65535, 1, 1), (1, 2, 300, 2)]
    done = [case(lib, rng, *shape) for shape in shapes]
    count, wrong = [sum(numbers) for numbers in zip(*done)]
    print("native attention in Python's integers: %d of %d codes differ" % (wrong, count))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
