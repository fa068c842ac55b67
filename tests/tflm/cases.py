"""Problems of int8 attention to give to TensorFlow Lite Micro and to mha.h."""
import ctypes
import math

import numpy as np

import model

TFLM = 1  # a mode
WARN_SUM = 1


class Case:
    """heads, q_len, kv_len, d_k, d_v; affine: name -> (scale, zero point); beta; multiply; q, k, v."""

    def shapes(self):
        return [(self.heads, n, d) for n, d in ((self.q_len, self.d_k), (self.kv_len, self.d_k),
                                                (self.kv_len, self.d_v))]

    def tflm(self):
        return model.attention(self.q, self.k, self.v, self.affine, self.beta, self.multiply)[1]

    def map(self):
        return model.multiply_map(self.affine["logits"], self.affine["mapped"], self.multiply)

    def quant(self, mha):
        """mha_s8_quant, and what it points to."""
        a = mha.S8Quant(mode=TFLM, d_k=self.d_k, kv_len=self.kv_len, scale=self.beta)
        for name in ("q", "k", "v", "o", "logits"):
            setattr(a, name, mha.S8Affine(*self.affine[name]))
        codes = None
        if self.multiply:
            codes = self.map()
            a.logit_map, a.map_scale = codes.ctypes.data, self.affine["mapped"][0]
        return a, codes

    def desc(self, mha, o):
        """mha_s8_desc without its constants."""
        d = mha.S8Desc(q_heads=self.heads, q_len=self.q_len, kv_len=self.kv_len, d_k=self.d_k, d_v=self.d_v)
        for name, x in zip("oqkv", (o, self.q, self.k, self.v)):
            setattr(d, name, x.ctypes.data)
            setattr(d, name + "_stride", mha.S8Strides(x.shape[1] * x.shape[2], x.shape[2]))
        return d

    def ours(self, mha, lib, lean):
        """The output, or None where TFLM would end the program; raises ValueError where prepare refuses."""
        a, codes = self.quant(mha)
        consts = ctypes.create_string_buffer(lib.shared_s8_sizes(2))
        table = np.zeros(256, np.int32)
        status = lib.mha_s8_prepare(consts, table.ctypes.data, ctypes.byref(a))
        if status != 0:
            raise ValueError(lib.mha_strerror(status).decode())
        o = np.full((self.heads, self.q_len, self.d_v), 99, np.int8)
        d = self.desc(mha, o)
        d.consts = ctypes.addressof(consts)
        if lean:
            status = lib.mha_s8_tflm_lean(ctypes.byref(d), 0, mha.ALL)
        else:
            scratch = np.zeros(lib.mha_s8_scratch_bytes(TFLM, self.kv_len, self.d_k), np.uint8)
            status = lib.mha_s8_tflm(ctypes.byref(d), 0, mha.ALL, scratch.ctypes.data, scratch.size)
        if status not in (0, WARN_SUM):
            raise SystemExit("mha_s8_tflm: " + lib.mha_strerror(status).decode())
        return None if status == WARN_SUM else o


def f32(x):
    return float(np.float32(x))


def zero_point(rng):
    return int(rng.choice([rng.integers(-128, 128), 0, -128, 127], p=[0.7, 0.1, 0.1, 0.1]))


def scales(rng, c, spread, saturation, beta=True):
    """Zero points and scales for which the logit codes of uniform data have a standard deviation of 40 *
    saturation and one step is spread in the exponent."""
    a = c.affine = {}
    c.beta = f32(2 ** rng.uniform(-2, 2)) if beta and rng.random() < 0.3 else 1.0
    c.multiply = None
    step = spread / c.beta
    if rng.random() < 0.25:  # as a converter does it: * 1/sqrt(d_k) between the two
        factor = 1 / math.sqrt(c.d_k)
        c.multiply = ((f32(factor / 255), -128), int(rng.integers(90, 128)))
        a["mapped"] = (f32(step), zero_point(rng))
        step = step / factor * 2 ** rng.uniform(-1, 1)
    a["logits"] = (f32(step), zero_point(rng))
    qk = step * 40 * saturation / (74 * 74 * math.sqrt(c.d_k))
    a["q"] = (f32(2 ** rng.uniform(-9, 0)), zero_point(rng))
    a["k"] = (f32(qk / a["q"][0]), zero_point(rng))
    a["v"] = (f32(2 ** rng.uniform(-9, 2)), zero_point(rng))
    ratio = 2 ** rng.uniform(-1.5, 1.5)
    middle = int(np.clip(round(a["v"][1] * ratio), -128, 127))  # so that a flat row isn't saturated
    a["o"] = (f32(a["v"][0] / ratio), middle if rng.random() < 0.7 else zero_point(rng))


def random_shape(rng):
    c = Case()
    c.heads, c.q_len = int(rng.integers(1, 4)), int(rng.integers(1, 33))
    c.d_k, c.d_v = [int(rng.choice([rng.integers(1, 41), rng.integers(41, 200)], p=[0.8, 0.2])) for _ in "kv"]
    c.kv_len = int(rng.choice([rng.integers(1, 20), rng.integers(20, 130), rng.integers(130, 512),
                               rng.integers(512, 1100)], p=[0.35, 0.45, 0.17, 0.03]))
    return c


def random_case(rng):
    if rng.random() < 0.2:
        return near_zero(rng)
    c = random_shape(rng)
    scales(rng, c, 2 ** rng.uniform(-8, 1), 2 ** rng.uniform(-3, 3))
    c.q, c.k, c.v = [values(rng, shape) for shape in c.shapes()]
    return c


def near_zero(rng):
    """Codes so near their zero points that factors of 1/4 and more, which round otherwise than small ones, do
    not saturate all logits and outputs."""
    c = random_shape(rng)
    factor, ratio, step = 2 ** rng.uniform(-3, 6), 2 ** rng.uniform(0, 9), 2 ** rng.uniform(-8, 0)
    c.beta, c.multiply = 1.0, None
    c.affine = {name: (1.0, int(rng.integers(-90, 91))) for name in ("q", "k", "v", "o", "logits")}
    c.affine["logits"] = (f32(step), c.affine["logits"][1])
    c.affine["k"] = (f32(step * factor), c.affine["k"][1])
    c.affine["o"] = (f32(1 / ratio), c.affine["o"][1])
    near = max(1, min(30, round(math.sqrt(120 / (factor * math.sqrt(c.d_k))))))
    reach = {"q": near, "k": near, "v": max(1, min(30, round(150 / ratio)))}
    c.q, c.k, c.v = [rng.integers(c.affine[name][1] - reach[name], c.affine[name][1] + reach[name] + 1, shape,
                                  dtype=np.int8) for name, shape in zip("qkv", c.shapes())]
    return c


def values(rng, shape):
    kind = rng.integers(8)
    if kind == 0:
        return rng.choice(np.array([-128, 127], np.int8), shape)
    if kind == 1:
        return np.full(shape, rng.integers(-128, 128), np.int8)
    if kind == 2:
        low = rng.integers(-128, 120)
        return rng.integers(low, low + 8, shape, dtype=np.int8)
    return rng.integers(-128, 128, shape, dtype=np.int8)
