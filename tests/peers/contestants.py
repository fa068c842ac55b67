"""The contestants of bench_peers.py.

variants() yields the ways to call one, each as (name, function that prepares it).  Prepared it is a pair: a
function that calls it n times and returns the seconds, and one that returns the last output as (batch, token,
head, channel).  Where a library is missing the constructor raises Missing, where it cannot do a shape
variants() does.
"""
import ctypes
import math
import os
import sys
import time

from shapes import Case, Data, aligned, np, stored

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import mha

LONGEST = 5.0  # seconds: where a call takes longer the naive loop is skipped, others are tried in one way


class Missing(Exception):
    pass


def python_timer(f):
    def times(n):
        start = time.perf_counter()
        for _ in range(n):
            f()
        return time.perf_counter() - start
    return times


class Team:
    """The C half, tests/peers/team.c."""

    def __init__(self, path):
        self.lib = mha.load(path)
        self.lib.time_calls.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
        self.lib.time_calls.restype = ctypes.c_double
        self.lib.compiler.restype = ctypes.c_char_p

    def timer(self, f, a, b, keep):
        """Times the C function f(a, b).  keep: what must live as long."""
        f = ctypes.cast(f, ctypes.c_void_p)

        def times(n, keep=keep):
            seconds = self.lib.time_calls(f, a, b, n)
            if seconds < 0:
                raise RuntimeError("the call failed")
            return seconds
        return times


class Crew(ctypes.Structure):
    _fields_ = [("share", ctypes.c_void_p), ("job", ctypes.c_void_p), ("parts", ctypes.c_size_t)]


class Attention(ctypes.Structure):
    _fields_ = [("d", ctypes.POINTER(mha.Desc)), ("work", ctypes.c_void_p), ("work_bytes", ctypes.c_size_t)]


class Ours:
    name = "mha.h"

    def __init__(self, team):
        self.team, self.lib = team, team.lib
        self.version = "%s, %s" % (self.lib.mha_isa().decode(), self.lib.mha_numerics().decode())

    def variants(self, data, threads):
        c = data.case
        if c.name == "tiny":
            yield "mha_multi_head_attention", lambda: self.prepare(data, threads, "token", "simple")
            return
        for layout in ("token", "head"):
            for share in ("rows", "keys") if c.q_len == 1 and threads > 1 else ("rows",):
                name = layout if threads == 1 else layout + " " + share
                yield name, lambda l=layout, s=share: self.prepare(data, threads, l, s)

    def prepare(self, data, threads, layout, share):
        c, out, lib = data.case, data.output(), self.lib
        d = mha.Desc(batch=c.batch, q_heads=c.q_heads, kv_heads=c.kv_heads, q_len=c.q_len, kv_len=c.kv_len,
                     d_k=c.d, flags=mha.CAUSAL * c.causal, q=data.q.ctypes.data, o=out.ctypes.data)
        d.k_type = d.v_type = mha.F16 if c.f16 else mha.F32
        q, k, v = data.q, data.k, data.v
        if layout == "head":
            q, k, v = data.heads("q"), data.heads("k"), data.heads("v")
            d.q_stride = d.o_stride = mha.Strides(c.q_heads * c.q_len * c.d, c.q_len * c.d, c.d)
            d.k_stride = d.v_stride = mha.Strides(c.kv_heads * c.kv_len * c.d, c.kv_len * c.d, c.d)
        d.q, d.k, d.v = q.ctypes.data, k.ctypes.data, v.ctypes.data
        size = (lib.mha_keys_bytes if share == "keys" else lib.mha_work_bytes)(d)
        if size == 0 and share != "simple":
            raise RuntimeError(lib.mha_strerror(lib.mha_check(ctypes.byref(d))).decode())
        size += -size % 64
        work = aligned((size * (1 if share == "keys" else threads),), np.uint8)
        job = Attention(ctypes.pointer(d), work.ctypes.data, size)
        call, a = {"rows": lib.one_call, "simple": lib.simple_call, "keys": lib.keys_call}[share], job
        if threads > 1:
            f = lib.keys_share if share == "keys" else lib.rows_share
            a = Crew(ctypes.cast(f, ctypes.c_void_p), ctypes.addressof(job), threads)
            call = lib.keys_call if share == "keys" else lib.team_call
        result = lambda: out
        if layout == "head":
            result = lambda: out.reshape(c.batch, c.q_heads, c.q_len, c.d).transpose(0, 2, 1, 3)
        return self.team.timer(call, ctypes.byref(a), None, (a, job, d, work, q, k, v)), result


class Naive:
    name = "naive C"

    class Job(ctypes.Structure):
        _fields_ = [(n, ctypes.c_void_p) for n in ("q", "k", "v", "o", "p")]
        _fields_ += [(n, ctypes.c_size_t) for n in ("batch", "q_heads", "kv_heads", "q_len", "kv_len", "d")]
        _fields_ += [("causal", ctypes.c_int)]

    def __init__(self, team, path):
        self.team = team
        try:
            self.share = ctypes.cast(ctypes.CDLL(os.path.abspath(path)).naive_share, ctypes.c_void_p)
        except (OSError, AttributeError) as error:
            raise Missing(str(error))
        self.version = "-O3 -march=native"
        case = Case("", "", 1, 128, 128, 1, 1, 64, ())
        times, _ = self.prepare(Data(case), 1)
        self.flops = case.flops / min(times(1) for _ in range(5))

    def variants(self, data, threads):
        if data.case.f16:
            raise Missing("it has no float16")
        if data.case.flops / self.flops / threads > LONGEST:
            raise Missing("a call would take more than %g s" % LONGEST)
        yield "loop", lambda: self.prepare(data, threads)

    def prepare(self, data, threads):
        c, out = data.case, data.output()
        p = aligned((threads * c.kv_len,), np.float32)
        job = self.Job(*[x.ctypes.data for x in (data.q, data.k, data.v, out, p)], c.batch, c.q_heads,
                       c.kv_heads, c.q_len, c.kv_len, c.d, c.causal)
        crew = Crew(self.share, ctypes.addressof(job), threads)
        f = self.team.lib.team_call
        return self.team.timer(f, ctypes.byref(crew), None, (crew, job, p)), lambda: out


class Torch:
    name = "PyTorch"

    def __init__(self):
        try:
            import torch
        except ImportError:
            raise Missing("pip install torch")
        self.torch, self.version = torch, torch.__version__
        torch.set_grad_enabled(False)

    def variants(self, data, threads):
        self.torch.set_num_threads(threads)
        for layout in ("token", "head"):
            yield layout, lambda l=layout: self.prepare(data, l, False)
            if data.case.q_len == 1 and data.case.group > 1:
                yield layout + " rows", lambda l=layout: self.prepare(data, l, True)

    def prepare(self, data, layout, rows):
        c, wrap = data.case, self.torch.from_numpy
        if layout == "token":
            q, k, v = [wrap(x).transpose(1, 2) for x in (data.q_kv_type(), data.k, data.v)]
        else:
            q, k, v = [wrap(stored(data.heads(n), data.kv_type)) for n in "qkv"]
        options = {"is_causal": c.causal}
        if rows:
            q = q.reshape(c.batch, c.kv_heads, c.group, c.d)
        elif c.group > 1:
            options["enable_gqa"] = True
        attention, last = self.torch.nn.functional.scaled_dot_product_attention, [None]

        def call():
            last[0] = attention(q, k, v, **options)

        def output():
            return last[0].reshape(c.batch, c.q_heads, c.q_len, c.d).transpose(1, 2).numpy()
        return python_timer(call), output


class Onnx:
    name = "ONNX"

    def __init__(self):
        try:
            import onnx
            import onnxruntime
        except ImportError as error:
            raise Missing("pip install %s" % error.name)
        self.onnx, self.rt = onnx, onnxruntime
        self.version = "onnxruntime %s, onnx %s" % (onnxruntime.__version__, onnx.__version__)

    def variants(self, data, threads):
        """Inputs and outputs by name, each an array; an output may be an input's array, to write in place."""
        c = data.case
        q, k, v = data.q_kv_type(), data.k, data.v
        out = aligned(q.shape, data.kv_type)
        flat = {n: x.reshape(*x.shape[:2], -1) for n, x in (("q", q), ("k", k), ("v", v))}
        flat_out = {"o": out.reshape(*out.shape[:2], -1)}
        plain = [False, True] if c.flops < 1e5 else [False]

        def token():
            return out

        def add(name, domain, op, inputs, outputs, output, **attributes):
            for run in plain:
                yield (name + " run" * run, lambda: self.prepare(
                    threads, domain, op, inputs, outputs, attributes, run, output))

        heads = {"q": stored(data.heads("q"), data.kv_type), "k": data.heads("k"), "v": data.heads("v")}
        if c.causal or c.q_len == 1:  # it is always causal, and appends the new keys to its cache
            new = slice(c.kv_len - c.q_len, c.kv_len)
            cache = {"past_k": stored(heads["k"], data.kv_type), "past_v": stored(heads["v"], data.kv_type)}
            inputs = {"q": flat["q"], "k": stored(flat["k"][:, new], data.kv_type),
                      "v": stored(flat["v"][:, new], data.kv_type), **cache,
                      "last": np.full(c.batch, c.kv_len - 1, np.int32),
                      "total": np.array([c.kv_len], np.int32)}
            outputs = dict(flat_out, k_out=cache["past_k"], v_out=cache["past_v"])
            yield from add("GroupQueryAttention", "com.microsoft", "GroupQueryAttention", inputs, outputs,
                           token, num_heads=c.q_heads, kv_num_heads=c.kv_heads)
        if c.group == 1:
            yield from add("MultiHeadAttention", "com.microsoft", "MultiHeadAttention", flat, flat_out, token,
                           num_heads=c.q_heads, unidirectional=int(c.causal))
        yield from add("Attention 3-D", "", "Attention", flat, flat_out, token, q_num_heads=c.q_heads,
                       kv_num_heads=c.kv_heads, is_causal=int(c.causal))
        out4 = aligned(heads["q"].shape, data.kv_type)
        yield from add("Attention 4-D", "", "Attention", heads, {"o": out4}, lambda: out4.swapaxes(1, 2),
                       is_causal=int(c.causal))
        if c.q_len == 1 and c.group > 1:
            shape = (c.batch, c.kv_heads, c.group, c.d)
            yield from add("Attention 4-D rows", "", "Attention", dict(heads, q=heads["q"].reshape(shape)),
                           {"o": out4.reshape(shape)}, lambda: out4.swapaxes(1, 2))

    def prepare(self, threads, domain, op, inputs, outputs, attributes, run, output):
        h, rt = self.onnx.helper, self.rt

        def described(arrays):
            return [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                    for n, x in arrays.items()]
        node = h.make_node(op, list(inputs), list(outputs), domain=domain, **attributes)
        graph = h.make_graph([node], "attention", described(inputs), described(outputs))
        opsets = [h.make_opsetid("", 23), h.make_opsetid("com.microsoft", 1)]
        options = rt.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        model = h.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
        session = rt.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        out = outputs["o"]
        if run:
            def call():
                out[...] = session.run(["o"], inputs)[0]
            return python_timer(call), output
        binding = session.io_binding()
        values = {id(x): rt.OrtValue.ortvalue_from_numpy(x) for x in [*inputs.values(), *outputs.values()]}
        for n, x in inputs.items():
            binding.bind_ortvalue_input(n, values[id(x)])
        for n, x in outputs.items():
            binding.bind_ortvalue_output(n, values[id(x)])

        def result():
            out[...] = values[id(out)].numpy()
            return output()
        return python_timer(lambda: session.run_with_iobinding(binding)), result


class Ggml:
    name = "ggml"

    def __init__(self, team):
        self.team = team
        try:
            import ggml
        except (ImportError, OSError, RuntimeError):
            raise Missing("pip install ggml-python, which compiles it")
        self.g = ggml.ggml if hasattr(ggml, "ggml") else ggml
        self.g.ggml_cpu_init()
        isa = [x for x in ("avx512", "avx2", "neon", "sve") if getattr(self.g, "ggml_cpu_has_" + x)()]
        self.version = "%s (ggml-python %s)%s" % (self.g.ggml_version().decode(), ggml.__version__,
                                                  ", " + isa[0] if isa else "")

    def variants(self, data, threads):
        for layout in ("token", "head"):
            yield layout, lambda l=layout: self.prepare(data, threads, l)

    def prepare(self, data, threads, layout):
        g, c, out = self.g, data.case, data.output()
        memory = np.zeros(1 << 20, np.uint8)
        context = g.ggml_init(g.ggml_init_params(memory.nbytes, memory.ctypes.data, True))

        def tensor(x):
            """x: strided (batch, head, token, channel)."""
            kind = g.GGML_TYPE_F16 if x.dtype == np.float16 else g.GGML_TYPE_F32
            t = g.ggml_new_tensor_4d(context, kind, *x.shape[::-1])
            for n, stride in enumerate(x.strides[::-1]):
                t.contents.nb[n] = stride
            t.contents.data = x.ctypes.data
            return t
        if layout == "token":
            arrays = [x.swapaxes(1, 2) for x in (data.q, data.k, data.v)]
        else:
            arrays = [data.heads(n) for n in "qkv"]
        mask = None
        if c.causal:
            hidden = np.arange(c.kv_len) > np.arange(c.q_len)[:, None]
            arrays.append(np.where(hidden, np.float16(-np.inf), np.float16(0))[None, None])
            mask = tensor(arrays[-1])
        q, k, v = [tensor(x) for x in arrays[:3]]
        result = g.ggml_flash_attn_ext(context, q, k, v, mask, 1 / math.sqrt(c.d), 0, 0)
        result.contents.data = out.ctypes.data
        graph = g.ggml_new_graph(context)
        g.ggml_build_forward_expand(graph, result)
        pool = self.pool(threads)
        plan = g.ggml_graph_plan(graph, threads, pool)
        work = aligned((plan.work_size + 64,), np.uint8)
        plan.work_data = work.ctypes.data_as(type(plan.work_data))
        keep = (memory, arrays, work, plan, data)
        return self.team.timer(g.lib.ggml_graph_compute, graph, ctypes.byref(plan), keep), lambda: out

    pools = {}

    def pool(self, threads):
        if threads not in self.pools:
            params = self.g.ggml_threadpool_params_default(threads)
            self.pools[threads] = self.g.ggml_threadpool_new(ctypes.byref(params))
        return self.pools[threads]


class Numpy:
    name = "numpy"

    def __init__(self):
        try:
            import threadpoolctl
        except ImportError:
            raise Missing("its threads cannot be set: pip install threadpoolctl")
        self.limit = threadpoolctl.threadpool_limits
        blas = [x for x in threadpoolctl.threadpool_info() if x["user_api"] == "blas"]
        self.version = np.__version__
        if blas:
            self.version += ", %s %s for %s" % (blas[0]["internal_api"], blas[0]["version"],
                                                blas[0].get("architecture"))

    def variants(self, data, threads):
        self.limit(limits=threads, user_api="blas")
        for layout in ("token", "head"):
            yield layout, lambda l=layout: self.prepare(data, l)

    def prepare(self, data, layout):
        c, out = data.case, data.output()
        if layout == "token":
            q, k, v = [x.swapaxes(1, 2) for x in (data.q, data.k, data.v)]
        else:
            q, k, v = [data.heads(n) for n in "qkv"]
        grouped = (c.batch, c.kv_heads, c.group * c.q_len, c.d) if c.q_len == 1 else None
        rows = min(c.q_len, max(16, (1 << 20) // (c.batch * c.q_heads * c.kv_len)))  # 4 MB of scores at once
        scale = np.float32(1 / math.sqrt(c.d))

        def softmax(s):
            s -= s.max(-1, keepdims=True)
            np.exp(s, s)
            s /= s.sum(-1, keepdims=True)
            return s

        def block(i, end):
            keys = end if c.causal else c.kv_len
            s = q5[:, :, :, i:end] @ kt[..., :keys]
            if c.causal:
                s[..., i:][..., hidden[:end - i, :end - i]] = -np.inf
            out5[:, :, :, i:end] = softmax(s) @ v5[..., :keys, :]

        if grouped:
            def call():
                f, w = k.astype(np.float32, copy=False), v.astype(np.float32, copy=False)
                s = (q.reshape(grouped) * scale) @ f.swapaxes(2, 3)
                out.reshape(grouped)[...] = softmax(s) @ w
        else:
            hidden = np.triu(np.ones((rows, rows), bool), 1)
            out5 = out.swapaxes(1, 2).reshape(c.batch, c.kv_heads, c.group, c.q_len, c.d)
            kt, v5 = k.swapaxes(2, 3)[:, :, None], v[:, :, None]

            def call():
                nonlocal q5
                q5 = (q * scale).reshape(out5.shape)
                for i in range(0, c.q_len, rows):
                    block(i, min(i + rows, c.q_len))
            q5 = None
        return python_timer(call), lambda: out
