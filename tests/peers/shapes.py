"""The shapes that bench_peers.py measures, their inputs, and the right answers."""
import math
import os

# Set on some machines for older copies of OpenBLAS; they would hold numpy back.
for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)
import numpy as np

ROWS = 256  # query rows to compare where not all are


class Case:
    def __init__(self, name, title, batch, q_len, kv_len, q_heads, kv_heads, d, goals, causal=False,
                 f16=False):
        self.name, self.title, self.goals = name, title, goals
        self.batch, self.q_len, self.kv_len, self.d = batch, q_len, kv_len, d
        self.q_heads, self.kv_heads, self.causal, self.f16 = q_heads, kv_heads, causal, f16
        self.group = q_heads // kv_heads
        pairs = q_len * (q_len + 1) // 2 if causal else q_len * kv_len
        self.flops = 4 * batch * q_heads * pairs * d


def cases():
    """Goals: times faster than the best peer, on 1 thread and on 2; for the tiny one than each."""
    def square(name, title, batch, S, heads, d, goals, causal=False, kv_heads=None):
        return Case(name, title, batch, S, S, heads, kv_heads or heads, d, goals, causal)

    yield square("bert", "BERT S128 12x64", 1, 128, 12, 64, (1.05, 1.1))
    yield square("vit", "ViT S197 12x64", 1, 197, 12, 64, (1.05, 1.1))
    yield square("minilm", "MiniLM S128 12x32", 1, 128, 12, 32, (1.12, 1.2))
    yield square("sam", "SAM S196 16x80", 1, 196, 16, 80, (1.12, 1.2))
    yield square("bert512", "BERT S512 12x64", 1, 512, 12, 64, (1.12, 1.2))
    yield square("bert8", "BERT S128 12x64, batch 8", 8, 128, 12, 64, (1.4, 1.5))
    yield square("gpt2", "GPT-2 S1024 12x64 causal", 1, 1024, 12, 64, (1.6, 1.6), True)
    yield square("llama", "Llama S2048 32/8x128 causal", 1, 2048, 32, 128, (1.35, 1.35), True, 8)
    yield square("long-causal", "S8192 8x64 causal", 1, 8192, 8, 64, (1.15, 1.15), True)
    yield square("long", "S8192 8x64", 1, 8192, 8, 64, (1.1, 1.1))
    for heads, kv_heads, d, goals in ((32, 8, 128, ((3, 3, 2.5), (4, 4, 3))),
                                      (12, 12, 64, ((1.1, 1.3, 1.05), (1.8, 1.8, 1.3)))):
        for f16 in (False, True):
            for kv_len, goal in zip((512, 2048, 8192), goals[f16]):
                sizes = "%d/%d" % (heads, kv_heads) if heads != kv_heads else str(heads)
                yield Case("decode%d-%d%s" % (heads, kv_len, "-f16" if f16 else ""),
                           "decode %sx%d, %d %s" % (sizes, d, kv_len, "f16" if f16 else "f32"),
                           1, 1, kv_len, heads, kv_heads, d, (goal, goal), False, f16)
    yield square("tiny", "tiny S2 2x2", 1, 2, 2, 2, ({"ggml": 2.5, "ONNX": 30, "PyTorch": 30}, None))


def aligned(shape, dtype):
    """An array that begins on a cache line, as the tensors of every library do."""
    dtype = np.dtype(dtype)
    raw = np.empty(math.prod(shape) * dtype.itemsize + 64, np.uint8)
    at = -raw.ctypes.data % 64
    return raw[at:at + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


def stored(x, dtype):
    out = aligned(x.shape, dtype)
    out[...] = x
    return out


class Data:
    """q, k, v in the layout (batch, token, head, channel); in float16 k and v are, and q could be."""

    def __init__(self, case):
        self.case, self.kv_type = case, np.float16 if case.f16 else np.float32
        rng = np.random.default_rng(1)
        for name, length, heads in (("q", case.q_len, case.q_heads), ("k", case.kv_len, case.kv_heads),
                                    ("v", case.kv_len, case.kv_heads)):
            x = rng.standard_normal((case.batch, length, heads, case.d), np.float32).astype(self.kv_type)
            setattr(self, name, stored(x, np.float32 if name == "q" else self.kv_type))
        self.copies = {}

    def heads(self, name):
        """(batch, head, token, channel), contiguous."""
        if name not in self.copies:
            self.copies[name] = stored(getattr(self, name).swapaxes(1, 2), getattr(self, name).dtype)
        return self.copies[name]

    def q_kv_type(self):
        return stored(self.q, self.kv_type)

    def output(self):
        c = self.case
        out = aligned((c.batch, c.q_len, c.q_heads, c.d), np.float32)
        out.fill(np.nan)
        return out

    def reference(self):
        """The query rows to compare, and in double what they should be: (batch, row, head, channel)."""
        c, rows = self.case, np.arange(self.case.q_len)
        if c.flops > 1e10:
            rows = np.sort(np.random.default_rng(2).choice(rows, ROWS, replace=False))
        want = np.empty((c.batch, len(rows), c.q_heads, c.d))
        hidden = np.arange(c.kv_len) > rows[:, None] if c.causal else None
        for b in range(c.batch):
            for g in range(c.kv_heads):
                k, v = [x[b, :, g].astype(np.float64) for x in (self.k, self.v)]
                for h in range(g * c.group, (g + 1) * c.group):
                    s = self.q[b, rows, h].astype(np.float64) @ k.T / math.sqrt(c.d)
                    if c.causal:
                        s[hidden] = -np.inf
                    p = np.exp(s - s.max(1, keepdims=True))
                    want[b, :, h] = p @ v / p.sum(1, keepdims=True)
        return rows, want
