"""Trains the model of sort.c and writes it as C source: python3 train.py path/to/quantize, in a minute.

One block of attention: a token's vector x is its embedding plus a position's; q, k, v = W x; a = attention;
the next token is the largest entry of U (x, a) + bias.  Sequences are digits, a '=', the same digits sorted,
a '='.
Needs numpy alone.  Another numpy or processor may round differently and so arrive at other weights."""
import pathlib
import subprocess
import sys

import numpy as np

DIGITS, HEADS, DIM, TOKENS, STEPS, BATCH = 12, 4, 32, 11, 3000, 128
ROOT = np.float32((DIM // HEADS) ** -0.5)
rng = np.random.default_rng(1)


def noise(rows, columns, size):
    return (rng.standard_normal((rows, columns)) * size).astype(np.float32)


w = {
    "embedding": noise(TOKENS, DIM, 0.5),
    "position": noise(2 * DIGITS + 1, DIM, 0.1),  # by the distance from '=', which stands in the middle
    "qkv": noise(3 * DIM, DIM, DIM**-0.5),
    "out": noise(TOKENS, 2 * DIM, (2 * DIM) ** -0.5),
    "bias": np.zeros(TOKENS, np.float32),
}


def sequences(n, count):
    """Random digits, some of them from three neighbours only, so that many are equal."""
    x = rng.integers(0, 10, (count, n))
    near = (rng.integers(0, 10, (count, 1)) + rng.integers(0, 3, (count, n))) % 10
    x = np.where(rng.random((count, 1)) < 0.3, near, x)
    y, end = np.sort(x, 1), np.full((count, 1), 10)
    return np.concatenate([x, end, y], 1), np.concatenate([y, end], 1)


def split(x):  # (batch, token, dim) -> (batch, head, token, channel)
    return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def merge(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def forward(tokens, n):
    """Logits from '=' on, and everything on the way there."""
    length = tokens.shape[1]
    x = w["embedding"][tokens] + w["position"][DIGITS - n : DIGITS - n + length]
    q, k, v = (split(y) for y in np.split(x @ w["qkv"].T, 3, -1))
    q = q[:, :, n:]
    s = q @ k.swapaxes(2, 3) * ROOT
    s += np.where(np.arange(length) > np.arange(n, length)[:, None], np.float32(-1e9), np.float32(0))
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    xa = np.concatenate([x[:, n:], merge(p @ v)], -1)
    return xa @ w["out"].T + w["bias"], (x, q, k, v, p, xa)


def gradients(tokens, targets, n):
    z, (x, q, k, v, p, xa) = forward(tokens, n)
    g = np.exp(z - z.max(-1, keepdims=True))
    g /= g.sum(-1, keepdims=True)
    g = (g - np.eye(TOKENS, dtype=np.float32)[targets]) / np.float32(targets.size)
    gxa = g @ w["out"]
    ga = split(gxa[..., DIM:])
    gp = ga @ v.swapaxes(2, 3)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * ROOT
    gq = np.zeros_like(k)
    gq[:, :, n:] = gs @ k
    gy = np.concatenate([merge(gq), merge(gs.swapaxes(2, 3) @ q), merge(p.swapaxes(2, 3) @ ga)], -1)
    gx = gy @ w["qkv"]
    gx[:, n:] += gxa[..., :DIM]
    d = {name: np.zeros_like(a) for name, a in w.items()}
    np.add.at(d["embedding"], tokens, gx)
    d["position"][DIGITS - n : DIGITS - n + tokens.shape[1]] = gx.sum(0)
    d["qkv"] = gy.reshape(-1, 3 * DIM).T @ x.reshape(-1, DIM)
    d["out"] = g.reshape(-1, TOKENS).T @ xa.reshape(-1, 2 * DIM)
    d["bias"] = g.sum((0, 1))
    return d


def train():  # by Adam
    mean = {name: np.zeros_like(a) for name, a in w.items()}
    square = {name: np.zeros_like(a) for name, a in w.items()}
    for step in range(1, STEPS + 1):
        n = int(rng.integers(1, DIGITS + 1)) if rng.random() < 0.5 else DIGITS
        d = gradients(*sequences(n, BATCH), n)
        rate = np.float32(0.01 * min(1, step / 100) * (1 - step / STEPS) + 1e-5)
        for name in w:
            mean[name] += np.float32(0.1) * (d[name] - mean[name])
            square[name] += np.float32(0.02) * (d[name] ** 2 - square[name])
            root = np.sqrt(square[name] / np.float32(1 - 0.98**step)) + np.float32(1e-8)
            w[name] -= rate * mean[name] / np.float32(1 - 0.9**step) / root
        if step % 500 == 0:
            tokens, targets = sequences(DIGITS, 1000)
            right = (forward(tokens, DIGITS)[0].argmax(-1) == targets).all(1).sum()
            print(f"step {step}: {right} of 1000 sequences sorted, in float", file=sys.stderr)


def code(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(int)


def span(x):
    return float(abs(x).max())


def array(kind, name, shape, numbers):
    text = f"\nstatic const {kind} {name}{shape} = {{\n"
    if numbers.ndim == 1:
        return text + "  " + ", ".join(map(str, numbers)) + "\n};\n"
    rows = []
    for row in numbers:
        lines = [", ".join(map(str, row[at : at + 16])) for at in range(0, len(row), 16)]
        rows.append("  { " + ",\n    ".join(lines) + " }")
    return text + ",\n".join(rows) + "\n};\n"


def export(quantize):
    """Everything is symmetric: all zero points are 0.  Scales are the largest values seen, over 127."""
    _, (x, q, k, v, _, xa) = forward(sequences(DIGITS, 1000)[0], DIGITS)
    scale = {name: span(a) / 127 for name, a in zip("qkv", (q, k, v))}
    scale["o"] = span(xa[..., DIM:]) / 127
    x_scale = (abs(w["embedding"]).max(0) + abs(w["position"]).max(0)).max() / 126  # two codes must fit one
    text = "/* Made by train.py; attention.h beside it has the constants of the attention. */\n"
    text += f"enum {{ DIGITS = {DIGITS}, HEADS = {HEADS}, DIM = {DIM}, TOKENS = {TOKENS} }};\n"
    for name, length in ("embedding", "TOKENS"), ("position", "2 * DIGITS + 1"):
        text += array("signed char", name, f"[{length}][DIM]", code(w[name], x_scale))
    for name, part in zip("qkv", np.split(w["qkv"], 3)):
        unit = span(part) / 127
        text += array("signed char", f"{name}_weights", "[DIM][DIM]", code(part, unit))
        factor = round(unit * x_scale / scale[name] * 2**24)
        text += f"enum {{ {name.upper()}_FACTOR = {factor} }}; /* / 2^24 */\n"
    # The output layer adds up x and a, so their products must have one unit.
    on_x, on_a = np.split(w["out"], 2, 1)
    unit = max(span(on_x) * x_scale, span(on_a) * scale["o"]) / 127
    text += array("signed char", "x_weights", "[TOKENS][DIM]", code(on_x, unit / x_scale))
    text += array("signed char", "a_weights", "[TOKENS][DIM]", code(on_a, unit / scale["o"]))
    text += array("int32_t", "bias", "[TOKENS]", np.rint(w["bias"] / unit).astype(int))

    here = pathlib.Path(__file__).parent
    (here / "model.h").write_text(text)
    command = ["native", f"d_k={DIM // HEADS}", f"kv_len={2 * DIGITS + 1}"]
    command += [f"{name}={s:.6g},0" for name, s in scale.items()]
    (here / "attention.h").write_text(subprocess.run([quantize, *command], check=True, capture_output=True,
                                                     text=True).stdout)


if len(sys.argv) != 2:
    sys.exit("usage: python3 train.py path/to/quantize")
train()
export(sys.argv[1])
