"""Specs for foreign.cc: every kind of parameter."""

import numpy as np

from emu.spec import (
    Address,
    Alias,
    Callback,
    Global,
    In,
    Inline,
    InOut,
    Out,
    Scratch,
    Size,
    Struct,
    Value,
    kernel,
)

WIDE = {"a": Value("float64", "moderate"), "b": Value("int64", "[-1000000,1000000]")}
QUANT = {"mult": Value("int32", "[-100,100]"), "shift": Value("int8")}
SMALL = Value("int32", "[-1000,1000]")


def act(v):
    return max(v, -50)


@kernel(rows=(1, 4), cols=(1, 40))
def layer(
    layer: Struct(
        "layer_t",
        w=In("int8", "rows", "cols"),
        bias=In("int32", "rows", values="[-10000,10000]"),
        acc=Inline("int32", 4, role="inout"),
        members={"q.mult": Value("int32", "[1,1000000]"), "q.shift": Value("int8", "[0,14]")},
        act=Callback(act, ("int32",), "int32"),
    ),
    x: In("int8", "cols"),
    y: Out("int8", "rows"),
    rows: Size("rows"),
    cols: Size("cols"),
):
    s = layer.bias.astype(np.int64) + layer.w.reshape(rows, cols).astype(np.int64) @ x
    s = (s * int(layer.q.mult)) >> (int(layer.q.shift) + 16)
    for r in range(rows):
        layer.acc[r & 3] = np.int64(int(layer.acc[r & 3]) + int(s[r])).astype(np.int32)
        y[r] = np.clip(layer.act(s[r].astype(np.int32)), -128, 127)


@kernel(n=(0, 30), returns="int16,int16")
def limits(x: In("int8", "n"), n: Size("n")):
    return int(min(127, *x, 127)), int(max(-128, *x, -128))


@kernel(returns="float64,int64")
def by_value(
    k: Value("int32", "[-9,9]"),
    w: Struct("wide_t", by_value=True, **WIDE),
    q: Struct("quant_t", by_value=True, **QUANT),
):
    return w.a * np.float64(q.mult) + np.float64(k), int(w.b) * int(q.shift)


@kernel
def later(
    a: SMALL,
    b: SMALL,
    c: SMALL,
    q: Struct("quant_t", by_value=True, **QUANT),
    w: Struct("wide_t", by_value=True, **WIDE),
    z: Value("int8"),
) -> np.int64:
    whole = int(a) + 2 * int(b) + 3 * int(c) + int(q.mult) + 5 * int(q.shift)
    return whole + int(w.b) + int(np.trunc(w.a)) + int(z)


@kernel(n=(1, 20))
def lookup(
    i: Value("int32", "[0,9]"),
    n: Size("n"),
    table: Global("int8", "n", at="g_table+4", pointer=True),
    zero: Global("int32", 1, at="g_zero", role="inout", values="[-1000,1000]"),
    hook: Callback(lambda s, f: s + int(f * 4), ("int32", "float32"), "int32", at="g_hook"),
) -> np.int32:
    s = int((table.astype(int) * (np.arange(n) + i)).sum())
    zero[0] += s
    return hook(s, 0.5) + zero[0]


@kernel(n=(1, 40), requires="n != 7 and n % 3 != 1")
def inplace(x: InOut("int8", "n"), y: Alias("x"), n: Size("n"), tmp: Scratch("int16", "n")):
    assert n not in (1, 4, 7)
    y[:] = (x.astype(np.int16) * 2)[::-1].astype(np.int8)


@kernel(n=(1, 40))
def heapy(x: In("int8", "n"), n: Size("n"), leak: Value("int32", "[0,1]")) -> np.int32:
    return int(x.astype(int).sum())


@kernel
def poly(x: Value("float64", "finite"), y: Value("float64", "finite"), k: Value("int64")) -> np.float64:
    with np.errstate(all="ignore"):
        return x * y + np.float64(int(k))


@kernel
def first_lane(v: Struct("vector_t", lane=Inline("int8", 16))) -> np.int32:
    return v.lane[0]  # the struct is aligned as its type asks


@kernel(served={"sensor": lambda call: call.signed(0) * 3})
def measure(n: Value("int32", "[-1000,1000]")) -> np.int32:
    return 3 * n + 1


@kernel("Scale::run", n=(0, 20))
def scale_run(
    self: Struct(
        "Scale",
        mult=Value("int32", "[-50,50]"),
        calls=Inline("int32", 1, role="inout", values="[0,1000]"),
        members={"_vptr$Scale": Address("_ZTV5Scale+8")},
    ),
    x: In("int8", "n"),
    y: Out("int16", "n"),
    n: Size("n"),
):
    self.calls += 1
    y[:] = x.astype(np.int16) * self.mult.astype(np.int16)


@kernel("touch(Scale&, signed char const*, short*, int)", n=(0, 20), setup="init_array")
def touch(scale: Address("g_scale"), x: In("int8", "n"), y: Out("int16", "n"), n: Size("n")):
    y[:] = x.astype(np.int16) * 3
