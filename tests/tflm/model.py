"""Int8 attention in TensorFlow Lite Micro: a .tflite built in memory, and its interpreter.

    logits = BATCH_MATMUL(q, k transposed); [mapped = MUL(logits, a constant);] probabilities = SOFTMAX;
    out = BATCH_MATMUL(probabilities, v)

The wheel tflite-micro brings all that is needed, the schema of the file too."""
import flatbuffers
import numpy as np
from tflite_micro.python.tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema


class Model:
    """Tensors and operators in the order they are added."""

    def __init__(self):
        self.root = schema.ModelT()
        self.graph = schema.SubGraphT()
        self.root.version, self.root.buffers = 3, [schema.BufferT()]
        self.root.operatorCodes, self.root.subgraphs = [], [self.graph]
        self.graph.tensors, self.graph.operators, self.graph.name = [], [], b"attention"

    def tensor(self, shape, affine, data=None):
        """An int8 tensor with affine = (scale, zero point); returns its number."""
        t, buffer, quantization = schema.TensorT(), schema.BufferT(), schema.QuantizationParametersT()
        quantization.scale, quantization.zeroPoint = [float(np.float32(affine[0]))], [int(affine[1])]
        if data is not None:
            buffer.data = np.asarray(data, np.int8).view(np.uint8).ravel()
        t.name, t.shape, t.type = b"t%d" % len(self.graph.tensors), list(shape), schema.TensorType.INT8
        t.quantization, t.buffer = quantization, len(self.root.buffers)
        self.root.buffers.append(buffer)
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def operator(self, code, version, inputs, output, kind, options):
        entry, op = schema.OperatorCodeT(), schema.OperatorT()
        entry.builtinCode, entry.deprecatedBuiltinCode, entry.version = code, code, version
        op.opcodeIndex, op.inputs, op.outputs = len(self.root.operatorCodes), inputs, [output]
        op.builtinOptionsType, op.builtinOptions = kind, options
        self.root.operatorCodes.append(entry)
        self.graph.operators.append(op)

    def matmul(self, a, b, out, b_transposed):
        options = schema.BatchMatMulOptionsT()
        options.adjX, options.adjY = False, b_transposed
        self.operator(schema.BuiltinOperator.BATCH_MATMUL, 2, [a, b], out,
                      schema.BuiltinOptions.BatchMatMulOptions, options)

    def softmax(self, a, out, beta):
        options = schema.SoftmaxOptionsT()
        options.beta = float(np.float32(beta))
        self.operator(schema.BuiltinOperator.SOFTMAX, 2, [a], out, schema.BuiltinOptions.SoftmaxOptions,
                      options)

    def multiply(self, a, b, out):
        self.operator(schema.BuiltinOperator.MUL, 2, [a, b], out, schema.BuiltinOptions.MulOptions,
                      schema.MulOptionsT())

    def bytes(self, inputs, outputs):
        self.graph.inputs, self.graph.outputs = inputs, outputs
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.root.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def run(model, inputs, arena=4 << 20):
    """model: bytes; inputs: arrays; returns every output."""
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=arena)
    for n, x in enumerate(inputs):
        interpreter.set_input(x, n)
    interpreter.invoke()
    return [interpreter.get_output(n) for n in range(len(interpreter_outputs(model)))]


def interpreter_outputs(model):
    return schema.ModelT.InitFromPackedBuf(model, 0).subgraphs[0].outputs


def attention(q, k, v, affine, beta=1.0, multiply=None):
    """q, k, v: int8 (heads, length, channels).  affine: of "q", "k", "logits", "v", "o", and "mapped" where
    multiply is ((scale, zero point), code) of a constant factor between logits and softmax.
    Returns the int8 logits and output."""
    (heads, q_len, d_k), kv_len, d_v = q.shape, k.shape[1], v.shape[2]
    m = Model()
    tq, tk, tv = [m.tensor((1, *x.shape), affine[name]) for name, x in zip("qkv", (q, k, v))]
    logits = m.tensor((1, heads, q_len, kv_len), affine["logits"])
    scores = logits
    m.matmul(tq, tk, logits, True)
    if multiply:
        factor = m.tensor((1,), multiply[0], [multiply[1]])
        scores = m.tensor((1, heads, q_len, kv_len), affine["mapped"])
        m.multiply(logits, factor, scores)
    probabilities = m.tensor((1, heads, q_len, kv_len), (1 / 256, -128))
    out = m.tensor((1, heads, q_len, d_v), affine["o"])
    m.softmax(scores, probabilities, beta)
    m.matmul(probabilities, tv, out, False)
    return [x[0] for x in run(m.bytes([tq, tk, tv], [logits, out]), [x[None] for x in (q, k, v)])]


def multiply_map(before, after, multiply):
    """What MUL by a constant makes of each of the 256 codes."""
    m = Model()
    codes, factor = m.tensor((1, 256), before), m.tensor((1,), multiply[0], [multiply[1]])
    out = m.tensor((1, 256), after)
    m.multiply(codes, factor, out)
    return run(m.bytes([codes], [out]), [np.arange(-128, 128, dtype=np.int8)[None]])[0][0]
