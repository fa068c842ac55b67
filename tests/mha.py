"""mha.h for Python: its descriptor, and the shared object that tests/shared.c makes of it."""
import ctypes
import os
import sys


class Strides(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ssize_t) for name in ("batch", "head", "row")]


def fields():
    """mha_desc, member by member."""
    size, diff, real, pointer = ctypes.c_size_t, ctypes.c_ssize_t, ctypes.c_float, ctypes.c_void_p
    yield from [(name, size) for name in ("batch", "q_heads", "q_len", "kv_len", "d_k", "kv_heads", "d_v")]
    for name in "oqkv":
        yield from [(name, pointer), (name + "_stride", Strides)]
    yield from [("k_type", ctypes.c_int), ("v_type", ctypes.c_int)]
    yield from [("k_scale", pointer), ("v_scale", pointer)]
    yield from [("k_scale_stride", Strides), ("v_scale_stride", Strides)]
    yield from [("flags", ctypes.c_uint), ("scale", real), ("softcap", real)]
    yield from [("q_start", diff), ("kv_start", diff)]
    yield from [(name, pointer) for name in ("q_starts", "kv_starts", "kv_lens")]
    yield from [(name, size) for name in ("window_left", "window_right", "keep_first")]
    yield from [("mask", pointer), ("mask_stride", Strides), ("bias", pointer), ("bias_stride", Strides)]
    yield from [(name, pointer) for name in ("alibi_slopes", "sinks", "weights", "lse")]


class Desc(ctypes.Structure):
    _fields_ = list(fields())


class S8Affine(ctypes.Structure):
    _fields_ = [("scale", ctypes.c_float), ("zero", ctypes.c_int)]


class S8Quant(ctypes.Structure):
    _fields_ = ([("mode", ctypes.c_int), ("d_k", ctypes.c_size_t), ("kv_len", ctypes.c_size_t)] +
                [(name, S8Affine) for name in ("q", "k", "v", "o", "logits")] +
                [("scale", ctypes.c_float), ("logit_map", ctypes.c_void_p), ("map_scale", ctypes.c_float)])


class S8Strides(ctypes.Structure):
    _fields_ = [("head", ctypes.c_ssize_t), ("row", ctypes.c_ssize_t)]


def s8_fields():
    """mha_s8_desc, member by member."""
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    yield from [(name, size) for name in ("q_heads", "q_len", "kv_len", "d_k", "kv_heads", "d_v")]
    for name in "oqkv":
        yield from [(name, pointer), (name + "_stride", S8Strides)]
    yield from [("consts", pointer), ("consts_stride", size), ("flags", ctypes.c_uint)]
    yield from [("q_start", ctypes.c_ssize_t), ("window_left", size), ("window_right", size)]
    yield from [("mask", pointer), ("mask_stride", S8Strides)]


class S8Desc(ctypes.Structure):
    _fields_ = list(s8_fields())


ALL = ctypes.c_size_t(-1).value
F32, F16 = 0, 1  # mha_type
CAUSAL = 1       # a flag


def load(path):
    try:
        lib = ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        sys.exit("no usable shared object: %s" % error)
    lib.mha_attend.argtypes = [ctypes.POINTER(Desc), ctypes.c_void_p, ctypes.c_size_t]
    for f in (lib.mha_work_bytes, lib.mha_keys_bytes):
        f.argtypes, f.restype = [ctypes.POINTER(Desc)], ctypes.c_size_t
    for f in (lib.mha_isa, lib.mha_numerics, lib.mha_strerror):
        f.restype = ctypes.c_char_p
    lib.mha_desc_bytes.restype = ctypes.c_size_t
    lib.shared_s8_sizes.restype = ctypes.c_size_t
    for n, mirror in enumerate((S8Desc, S8Quant)):
        if lib.shared_s8_sizes(n) != ctypes.sizeof(mirror):
            sys.exit("%s has another size than in mha.h" % mirror.__name__)
    lib.mha_s8_scratch_bytes.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t]
    lib.mha_s8_scratch_bytes.restype = ctypes.c_size_t
    for mode in ("tflm", "native"):
        f, lean = getattr(lib, "mha_s8_" + mode), getattr(lib, "mha_s8_%s_lean" % mode)
        lean.argtypes = [ctypes.POINTER(S8Desc), ctypes.c_size_t, ctypes.c_size_t]
        f.argtypes = lean.argtypes + [ctypes.c_void_p, ctypes.c_size_t]
    lib.mha_s8_prepare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(S8Quant)]
    if lib.mha_desc_bytes() != ctypes.sizeof(Desc):
        sys.exit("mha_desc has %d bytes, its copy here %d" % (lib.mha_desc_bytes(), ctypes.sizeof(Desc)))
    return lib
