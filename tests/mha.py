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
    if lib.mha_desc_bytes() != ctypes.sizeof(Desc):
        sys.exit("mha_desc has %d bytes, its copy here %d" % (lib.mha_desc_bytes(), ctypes.sizeof(Desc)))
    return lib
