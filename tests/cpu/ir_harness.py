"""Random expression graphs over Bits, evaluated by value_int and by compiled value_ir."""

import ctypes
import random
from functools import cache

from emu.cpu.translator.emitter import Emitter
from emu.cpu.translator.native import Loader, object_code
from emu.cpu.value_int import IntBits, scalar
from emu.cpu.value_ir import IrBits
from emu.cpu.value_ir import scalar as ir_scalar

SLOT = 512
"""Bytes per input and per result."""

SHAPES = [(1, 1), (8, 1), (16, 1), (20, 1), (32, 1), (40, 1), (64, 1), (128, 1), (160, 1)]
SHAPES += [(20, 8), (40, 4), (8, 16), (16, 8), (32, 4)]


@cache
def loader():
    return Loader()


class Compiled:
    """A function of scalars of given widths, traced once with IR values."""

    def __init__(self, widths, build, effort):
        em = Emitter("void @f(ptr noalias %in, ptr noalias %out)")
        values = []
        for i, width in enumerate(widths):
            at = em.value(f"getelementptr i8, ptr %in, i64 {i * SLOT}")
            values.append(IrBits.of(em, width, 1, em.value(f"load i{width}, ptr {at}, align 16")))
        self.shapes = []
        for i, result in enumerate(build(values, lambda w, v: ir_scalar(em, w, v))):
            whole = result.join()
            at = em.value(f"getelementptr i8, ptr %out, i64 {i * SLOT}")
            wide = whole.zext(-(-whole.lane // 32) * 32)
            em.line(f"store {wide.typed}, ptr {at}, align 16")
            self.shapes.append((result.lane, result.count))
        em.close("ret void")
        text = em.text() + "\n" + "\n".join(sorted(em.declarations))
        self.text = text
        self.widths = widths
        self._address = loader().load(object_code(text, effort), "f")
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._address)

    def __call__(self, inputs):
        given = b"".join(x.to_bytes(SLOT, "little") for x in inputs)
        source = _aligned(len(given))
        ctypes.memmove(source[1], given, len(given))
        target = _aligned(SLOT * len(self.shapes))
        ctypes.memset(target[1], 0, SLOT * len(self.shapes))
        self._function(source[1], target[1])
        data = ctypes.string_at(target[1], SLOT * len(self.shapes))
        whole = [int.from_bytes(data[i : i + SLOT], "little") for i in range(0, len(data), SLOT)]
        return [
            scalar(lane * count, value).split(lane)
            for value, (lane, count) in zip(whole, self.shapes, strict=True)
        ]


def _aligned(size):
    raw = ctypes.create_string_buffer(size + 64)
    return raw, (ctypes.addressof(raw) + 63) & ~63


def reference(build, inputs, widths):
    values = [scalar(w, x) for w, x in zip(widths, inputs, strict=True)]
    return list(build(values, scalar))


def interesting(rng, width):
    """Bit patterns with many edges."""
    kind = rng.randrange(8)
    top = 1 << (width - 1)
    if kind == 0:
        return rng.choice([0, 1, (1 << width) - 1, top, top - 1, top | 1]) & ((1 << width) - 1)
    if kind == 1:
        return rng.getrandbits(width) & rng.getrandbits(width) & rng.getrandbits(width)
    if kind == 2:
        return rng.getrandbits(rng.randint(1, width))
    if kind == 3 and width % 32 == 0:
        return sum(rng.choice(FLOAT_EDGES) << at for at in range(0, width, 32))
    if kind == 4:
        return rng.randint(0, min((1 << width) - 1, 200))
    if kind == 5:
        return int.from_bytes(
            bytes(rng.choice([0, 0x7F, 0x80, 0xFF, 1, 0x81]) for _ in range(32)), "little"
        ) % (1 << width)
    return rng.getrandbits(width)


FLOAT_EDGES = [0, 1, 0x80000000, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF]
FLOAT_EDGES += [
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0xFFC00000,
    0x7F800001,
    0xFFA12345,
    0x4F000000,
    0xCF000000,
]
FLOAT_EDGES += [
    0x4EFFFFFF,
    0x4F7FFFFF,
    0x4F800000,
    0x3F000000,
    0x3EFFFFFF,
    0x40200000,
    0x4B000001,
    0x33800000,
]


class Graph:
    """A recipe of operations that can be replayed on either implementation."""

    def __init__(self, seed, steps):
        rng = random.Random(seed)
        self.rng = rng
        self.widths = [lane * count for lane, count in (rng.choice(SHAPES) for _ in range(5))]
        self.widths += [32, 32, 6, rng.randint(1, 160), rng.randint(1, 160)]
        self.shapes = [(w, 1) for w in self.widths]
        self.steps = []
        while len(self.steps) < steps:
            step = self._step()
            if step:
                self.steps.append(step)
                self.shapes.append(step[-1])

    def __call__(self, inputs, constant):
        values = list(inputs)
        for name, operands, extra, _ in self.steps:
            values.append(_apply(name, [values[i] for i in operands], extra, constant))
        return values[len(inputs) :]

    def inputs(self, rng):
        return [interesting(rng, w) for w in self.widths]

    def _pick(self, test=lambda lane, count: True):
        found = [i for i, shape in enumerate(self.shapes) if test(*shape)]
        return self.rng.choice(found) if found else None

    def _step(self):
        a = self._pick()
        lane, count = self.shapes[a]
        same = self._pick(lambda x, y: (x, y) == (lane, count))
        name = self.rng.choice(NAMES)
        return getattr(self, f"_make_{KINDS[name]}")(name, a, same, lane, count)

    def _make_pair(self, name, a, b, lane, count):
        wide = name.endswith(("div", "rem")) and (lane > 64 or count > 4)
        return None if wide else (name, [a, b], None, (lane, count))

    def _make_with_int(self, name, a, _, lane, count):
        return (name, [a], interesting(self.rng, lane) - (1 << (lane - 1)), (lane, count))

    def _make_single(self, name, a, _, lane, count):
        return (name, [a], None, (lane, count))

    def _make_compare(self, name, a, b, lane, count):
        return (name, [a, b], None, (1, count))

    def _make_split(self, name, a, _, lane, count):
        choices = [(x, y) for x, y in SHAPES if x * y == lane * count]
        shape = self.rng.choice(choices) if choices else None
        return shape and (name, [a], shape[0], shape)

    def _make_join(self, name, a, _, lane, count):
        return (name, [a], None, (lane * count, 1)) if lane * count <= 256 else None

    def _make_get(self, name, a, _, lane, count):
        return (name, [a], self.rng.randrange(count), (lane, 1))

    def _make_put(self, name, a, _, lane, count):
        b = self._pick(lambda x, y: (x, y) == (lane, 1))
        return None if b is None else (name, [a, b], self.rng.randrange(count), (lane, count))

    def _make_shuffle(self, name, a, b, lane, count):
        indices = tuple(self.rng.randrange(2 * count) for _ in range(self.rng.choice([1, 2, 4, 8, count])))
        return (name, [a, b], indices, (lane, len(indices))) if count > 1 else None

    def _make_broadcast(self, name, a, _, lane, count):
        times = self.rng.choice([2, 4, 8, 16])
        return (name, [a], times, (lane, times)) if count == 1 and lane * times <= 8 * SLOT else None

    def _make_bits(self, name, a, _, lane, count):
        low = self.rng.randrange(lane)
        high = self.rng.randrange(low, lane)
        return (name, [a], (high, low), (high - low + 1, 1)) if count == 1 else None

    def _make_cat(self, name, a, _, lane, count):
        b = self._pick(lambda x, y: y == 1 and x + lane <= 256)
        return None if count > 1 or b is None else (name, [a, b], None, (lane + self.shapes[b][0], 1))

    def _make_grow(self, name, a, _, lane, count):
        wide = self.rng.choice([lane, lane + 1, 2 * lane, lane + 12])
        return (name, [a], wide, (wide, count)) if wide <= 256 and wide * count <= 8 * SLOT else None

    def _make_trunc(self, name, a, _, lane, count):
        narrow = self.rng.randint(1, lane)
        return (name, [a], narrow, (narrow, count))

    def _make_shift(self, name, a, b, lane, count):
        n = self._pick(lambda x, y: y in (1, count))
        return (name, [a, n], None, (lane, count))

    def _make_shift_int(self, name, a, _, lane, count):
        return (name, [a], self.rng.randint(0, lane + 2), (lane, count))

    def _make_sum(self, name, a, _, lane, count):
        return (name, [a], None, (lane, 1))

    def _make_select(self, name, a, b, lane, count):
        c = self._pick(lambda x, y: x == 1 and y in (1, count))
        return None if c is None else (name, [c, a, b], None, (lane, count))

    def _make_select_int(self, name, a, b, lane, count):
        c = self._pick(lambda x, y: x == 1 and y in (1, count))
        return None if c is None else (name, [c, a], interesting(self.rng, lane), (lane, count))

    def _make_clamp(self, name, a, _, lane, count):
        return (name, [a], self.rng.randint(1, lane), (lane, count)) if lane > 1 else None

    def _make_float(self, name, *_):
        a, b = self._floats(2)
        return (name, [a, b], None, (32, 1))

    def _make_fma(self, name, *_):
        return (name, self._floats(3), None, (32, 1))

    def _make_fcompare(self, name, *_):
        return (name, self._floats(2), None, (1, 1))

    def _make_fround(self, name, *_):
        return (name, self._floats(1), self.rng.choice(["even", "zero", "up", "down"]), (32, 1))

    def _make_to_int(self, name, *_):
        bits = self.rng.choice([8, 16, 32, 40, 64])
        return (name, self._floats(1), bits, (bits, 1))

    def _make_from_int(self, name, a, b, lane, count):
        return (name, [a], 32, (32, 1)) if count == 1 and lane <= 64 else None

    def _make_resize(self, name, *_):
        return (name, self._floats(1), None, (32, 1))

    def _floats(self, number):
        return [self._pick(lambda lane, count: (lane, count) == (32, 1)) for _ in range(number)]


def _apply(name, operands, extra, constant):
    if name == "select_int":
        return operands[0].select(operands[1], extra)
    if name == "const":
        return operands[0] ^ constant(operands[0].width, extra).split(operands[0].lane)
    if name == "double":
        return operands[0].f_resize(64).fmul(operands[0].f_resize(64)).f_resize(32)
    method = getattr(operands[0], ALIASES.get(name, name))
    if name == "bits":
        return method(*extra)
    if name == "put":
        return method(extra, operands[1])
    return method(*operands[1:], *([] if extra is None else [extra]))


KINDS = {
    **dict.fromkeys(["__add__", "__sub__", "__mul__", "__and__", "__or__", "__xor__"], "pair"),
    **dict.fromkeys(["smin", "smax", "umin", "umax", "udiv", "urem", "sdiv", "srem"], "pair"),
    **dict.fromkeys(
        ["add_int", "mul_int", "and_int", "or_int", "smin_int", "umax_int", "sub_int"], "with_int"
    ),
    **dict.fromkeys(["__invert__", "__neg__", "clz", "reverse"], "single"),
    **dict.fromkeys(["eq", "ne", "ult", "slt", "uge", "sge"], "compare"),
    **dict.fromkeys(["split", "split2"], "split"),
    **dict.fromkeys(["shl", "lshr", "ashr"], "shift"),
    **dict.fromkeys(["shl_int", "lshr_int", "ashr_int"], "shift_int"),
    **dict.fromkeys(["sext", "zext"], "grow"),
    **dict.fromkeys(["clamp_s", "clamp_u"], "clamp"),
    **dict.fromkeys(["fadd", "fsub", "fmul"], "float"),
    **dict.fromkeys(["feq", "flt", "funordered"], "fcompare"),
    **dict.fromkeys(["f_to_s", "f_to_u"], "to_int"),
    **dict.fromkeys(["s_to_f", "u_to_f"], "from_int"),
    "const": "with_int",
    "double": "resize",
    "fma": "fma",
    "fround": "fround",
    "get": "get",
    "put": "put",
    "shuffle": "shuffle",
    "broadcast": "broadcast",
    "bits": "bits",
    "cat": "cat",
    "join": "join",
    "trunc": "trunc",
    "sum_lanes": "sum",
    "select": "select",
    "select_int": "select_int",
}
ALIASES = {f"{name}_int": f"__{name}__" for name in ("add", "mul", "and", "or", "sub")}
ALIASES |= {"smin_int": "smin", "umax_int": "umax", "shl_int": "shl", "lshr_int": "lshr", "ashr_int": "ashr"}
ALIASES |= {"split2": "split"}
NAMES = sorted(KINDS)


def check(seed, steps, rounds, effort):
    """One random graph on `rounds` random inputs; the first difference is raised with its step."""
    graph = Graph(seed, steps)
    compiled = Compiled(graph.widths, graph, effort)
    rng = random.Random(seed + 1)
    for _ in range(rounds):
        inputs = graph.inputs(rng)
        want, got = reference(graph, inputs, graph.widths), compiled(inputs)
        for step, x, y in zip(graph.steps, want, got, strict=True):
            assert isinstance(x, IntBits)
            shown = f"seed {seed}: {step} want {x} got {y} inputs {list(map(hex, inputs))}"
            assert (x.lane, x.lanes) == (y.lane, y.lanes), shown
    return graph
