"""The kernels of the models a second time, from docs/numerics.md, on Python integers.

Floats are 32-bit patterns. Each function takes the arguments of a call by name (lists of patterns, integers)
and returns (status or index, outputs by name); outputs hold complete buffers, gaps as they were. Nothing here
shares code with emu.
"""

from __future__ import annotations

from typing import Any

from tests.numerics import reference as ref
from tests.numerics import softfloat as sf
from tests.numerics.softfloat import add, div, from_int, less, mul, sub

ONE, S127, EPS = ref.ONE, ref.S127, 0x358637BD
Values = dict[str, Any]
Result = tuple[int, Values]


def chain(terms: list[int], start: int = 0) -> int:
    """Ascending sum with one accumulator."""
    for term in terms:
        start = add(start, term)
    return start


def dot(a: list[int], b: list[int]) -> int:
    return from_int(sum(x * y for x, y in zip(a, b, strict=False)))


def row(v: Values, name: str, stride: str, r: int, n: int) -> list[int]:
    return v[name][r * v[stride] : r * v[stride] + n]


def each(v: Values, f: Any, out: str = "y") -> Result:
    n = max(v["n"], 0)
    return 0, {out: [f(i) for i in range(n)]}


# --- elementwise -------------------------------------------------------------------------------------------
def add_array(v: Values) -> Result:
    return each(v, lambda i: add(v["a"][i], v["b"][i]))


def multiply_array(v: Values) -> Result:
    return each(v, lambda i: mul(v["a"][i], v["b"][i]))


def scale_array(v: Values) -> Result:
    return each(v, lambda i: mul(v["x"][i], v["factor"]), "x")


def relu_in_place(v: Values) -> Result:
    return each(v, lambda i: v["x"][i] if less(0, v["x"][i]) else 0, "x")


def silu_in_place(v: Values) -> Result:
    return each(v, lambda i: ref.silu(v["x"][i]), "x")


def gelu_in_place(v: Values) -> Result:
    return each(v, lambda i: ref.gelu(v["x"][i], v["value"], v["slope"]), "x")


def ple_mix(v: Values) -> Result:
    return each(v, lambda i: mul(add(v["x"][i], mul(v["table"][i], v["by"])), v["factor"]))


def flow_step(v: Values) -> Result:
    n = from_int(v["steps"])
    t = [sub(ONE, div(from_int(i), n)) for i in (v["step"], v["step"] + 1)]

    def one(i: int) -> int:
        velocity = add(v["vu"][i], mul(v["cfg"], sub(v["vc"][i], v["vu"][i])))
        return add(v["z"][i], mul(sub(t[1], t[0]), velocity))

    return each(v, one, "z")


def to_rgb(v: Values) -> Result:
    def one(i: int) -> int:
        t = add(mul(v["y"][i], 0x42FF0000), 0x42FF0000)
        t = t if less(0, t) else 0
        return ref.rne(t if less(t, 0x437F0000) else 0x437F0000)

    return each(v, one, "rgb")


def half_array(v: Values) -> Result:
    return each(v, lambda i: ref.widen_f16(v["x"][i]))


def rows_in_place(v: Values, name: str, f: Any) -> Result:
    out, stride = list(v[name]), v[f"{name}_stride"]
    for r in range(v["rows"]):
        for c in range(v["cols"]):
            out[r * stride + c] = f(r, c, out[r * stride + c])
    return 0, {name: out}


def modulate(v: Values) -> Result:
    return rows_in_place(v, "y", lambda r, c, y: add(mul(y, add(ONE, v["sc"][c])), v["sh"][c]))


def affine(v: Values) -> Result:
    return rows_in_place(v, "y", lambda r, c, y: add(mul(y, v["w"][c]), v["b"][c]))


def residual_add(v: Values) -> Result:
    return rows_in_place(v, "x", lambda r, c, x: add(x, v["y"][r * v["y_stride"] + c]))


def residual_gated(v: Values) -> Result:
    return rows_in_place(v, "x", lambda r, c, x: add(x, mul(v["g"][c], v["y"][r * v["y_stride"] + c])))


# --- positions, rows ---------------------------------------------------------------------------------------
def time_embedding(v: Values) -> Result:
    p = mul(v["t"], 0x447A0000)
    pairs = [ref.sincos_turn(ref.turns(p, f)) for f in v["f"]]
    return 0, {"y": [c for _, c in pairs] + [s for s, _ in pairs]}


def rope(v: Values) -> Result:
    x, dh, half = list(v["x"]), v["dh"], v["dh"] // 2
    for k in range(half):
        s, c = ref.sincos_turn(ref.turns(from_int(v["position"]), v["f"][k]))
        for h in range(v["heads"]):
            i, j = h * dh + k, h * dh + half + k
            x[i], x[j] = sub(mul(x[i], c), mul(x[j], s)), add(mul(x[j], c), mul(x[i], s))
    return 0, {"x": x}


def int4_row(v: Values) -> Result:
    codes = ref.int4_codes(bytes(v["w"]), v["cols"])
    scale = [ref.widen_f16(s) for s in v["scale"]]
    return 0, {"y": [mul(from_int(q), scale[c // v["group"]]) for c, q in enumerate(codes)]}


def _pixels(v: Values, stride: int) -> list[int]:
    """Place among the tokens of every value of a picture, in C order."""
    width, channels = v["width"], v["channels"]
    return [
        (width // 2 * (y // 2) + x // 2) * stride + (2 * (y % 2) + x % 2) * channels + c
        for y in range(v["height"])
        for x in range(width)
        for c in range(channels)
    ]


def patch(v: Values) -> Result:
    y = list(v["y"])
    for value, place in zip(v["z"], _pixels(v, v["y_stride"]), strict=True):
        y[place] = value
    return 0, {"y": y}


def unpatch(v: Values) -> Result:
    return 0, {"z": [v["x"][place] for place in _pixels(v, v["x_stride"])]}


def layernorm(v: Values) -> Result:
    y, n, over = list(v["y"]), v["cols"], div(ONE, from_int(v["cols"]))
    for r in range(v["rows"]):
        x = row(v, "x", "x_stride", r, n)
        mean = mul(chain(x), over)
        d = [sub(e, mean) for e in x]
        inv = div(ONE, sf.sqrt(add(mul(chain([mul(e, e) for e in d]), over), EPS)))
        y[r * v["y_stride"] : r * v["y_stride"] + n] = [mul(e, inv) for e in d]
    return 0, {"y": y}


def rmsnorm(v: Values) -> Result:
    y, n, over = list(v["y"]), v["cols"], div(ONE, from_int(v["cols"]))
    for r in range(v["rows"]):
        x = row(v, "x", "x_stride", r, n)
        inv = div(ONE, sf.sqrt(add(mul(chain([mul(e, e) for e in x]), over), EPS)))
        place = r * v["y_stride"]
        y[place : place + n] = [mul(mul(e, inv), w) for e, w in zip(x, v["w"], strict=True)]
    return 0, {"y": y}


def pool_rows(v: Values) -> Result:
    over = div(ONE, from_int(v["rows"]))
    columns = [[v["x"][r * v["x_stride"] + c] for r in range(v["rows"])] for c in range(v["cols"])]
    return 0, {"y": [mul(chain(column), over) for column in columns]}


def linear_f32(v: Values) -> Result:
    n = v["cols"]
    sums = [
        chain([mul(w, x) for w, x in zip(v["w"][o * n : o * n + n], v["x"], strict=True)])
        for o in range(v["outs"])
    ]
    return 0, {"y": [add(b, s) for b, s in zip(v["b"], sums, strict=True)]}


def embed_rows(v: Values) -> Result:
    n = v["cols"]
    if any(not 0 <= i < v["vocabulary"] for i in v["ids"]):
        return 1, {}
    y = []
    for r, i in enumerate(v["ids"]):
        y += [add(v["table"][i * n + c], v["pos"][r * n + c]) for c in range(n)]
    return 0, {"y": y}


def argmax_f32(v: Values) -> Result:
    best = 0
    for i, x in enumerate(v["x"]):
        best = i if less(v["x"][best], x) else best
    return (best if v["x"] else -1), {}


def sample_f32(v: Values) -> Result:
    if not v["x"]:
        return -1, {}
    m, factor = v["x"][argmax_f32(v)[0]], div(ONE, v["temperature"])
    weights = [ref.exp_f32(mul(sub(x, m), factor)) for x in v["x"]]
    state = ref.xorshift32(v["state"][0] or 0x9E3779B9)
    target = mul(mul(from_int(state >> 8), 0x33800000), chain(weights))
    running = 0
    for i, w in enumerate(weights):
        running = add(running, w)
        if less(target, running):
            return i, {"state": [state]}
    return len(weights) - 1, {"state": [state]}


# --- int8 layers -------------------------------------------------------------------------------------------
def _layer(v: Values, x: list[list[int]], sx: list[int], start: Any) -> list[int]:
    """y of rows x against all weight rows: start(r, o) + dot * (sx * sw)."""
    y = list(v["y"])
    for r, codes in enumerate(x):
        for o in range(v["outs"]):
            term = mul(dot(codes, row(v, "w", "w_stride", o, v["cols"])), mul(sx[r], v["sw"][o]))
            y[r * v["y_stride"] + o] = start(r, o, term)
    return y


def linear_q8(v: Values) -> Result:
    x = [row(v, "x", "x_stride", r, v["cols"]) for r in range(v["rows"])]
    return 0, {"y": _layer(v, x, v["sx"], lambda r, o, term: add(term, v["b"][o]))}


def accumulate_q8(v: Values) -> Result:
    x = [row(v, "x", "x_stride", r, v["cols"]) for r in range(v["rows"])]
    return 0, {"y": _layer(v, x, v["sx"], lambda r, o, term: add(v["y"][r * v["y_stride"] + o], term))}


def _quantized(rows: list[list[int]]) -> tuple[int | None, list[list[int]], list[int]]:
    """(first bad row or None, codes, scales) of the rows before it."""
    codes, scales = [], []
    for r, values in enumerate(rows):
        result = ref.quantize_row(values)
        if result is None:
            return r, codes, scales
        codes.append(result[0])
        scales.append(result[1])
    return None, codes, scales


def linear_w8a8(v: Values) -> Result:
    bad, x, sx = _quantized([row(v, "x", "x_stride", r, v["cols"]) for r in range(v["rows"])])
    if bad is not None:
        return 4, {"bad": [bad]}
    return 0, {"y": _layer(v, x, sx, lambda r, o, term: add(term, v["b"][o]))}


def mlp_grouped(v: Values) -> Result:
    bad, x, sx = _quantized([row(v, "x", "x_stride", r, v["cols"]) for r in range(v["rows"])])
    if bad is not None:
        return 4, {"bad": [bad]}
    y, stride = list(v["y"]), v["y_stride"]
    for r in range(v["rows"]):
        y[r * stride : r * stride + v["outs"]] = v["b2"]
    for first in range(0, v["hidden"], v["group"]):
        hidden = []
        for r in range(v["rows"]):
            h = []
            for i in range(first, first + v["group"]):
                term = mul(dot(x[r], row(v, "w1", "w1_stride", i, v["cols"])), mul(sx[r], v["sw1"][i]))
                h.append(ref.gelu(add(term, v["b1"][i]), v["value"], v["slope"]))
            hidden.append(h)
        bad, codes, scales = _quantized(hidden)
        if bad is not None:
            return 4, {"bad": [bad], "y": y}
        for r in range(v["rows"]):
            for o in range(v["outs"]):
                w = row(v, "w2", "w2_stride", o, v["hidden"])[first : first + v["group"]]
                term = mul(dot(codes[r], w), mul(scales[r], v["sw2"][o]))
                y[r * stride + o] = add(y[r * stride + o], term)
    return 0, {"y": y}


# --- attention ---------------------------------------------------------------------------------------------
def pad16(n: int) -> int:
    return -(-n // 16) * 16


def quantize_columns_s8(v: Values) -> Result:
    q, scale = list(v["q"]), list(v["scale"])
    columns = [[v["x"][r * v["x_stride"] + c] for r in range(v["rows"])] for c in range(v["cols"])]
    bad, codes, scales = _quantized(columns)
    for c, column in enumerate(codes):
        place = c * v["q_stride"]
        q[place : place + pad16(v["rows"])] = column + [0] * (pad16(v["rows"]) - v["rows"])
        scale[c] = scales[c]
    return (0, {"q": q, "scale": scale}) if bad is None else (4, {"q": q, "scale": scale, "bad": [bad]})


def _softmax(logits: list[int]) -> tuple[list[int], int] | None:
    """(codes, sum), None when a logit is not finite."""
    if not all(map(sf.is_finite, logits)):
        return None
    m = logits[0]
    for e in logits:
        m = e if less(m, e) else m
    r = [ref.exp_f32(sub(e, m)) for e in logits]
    return [ref.rne(mul(e, S127)) for e in r], chain(r)


def softmax_s8(v: Values) -> Result:
    o, total = list(v["o"]), list(v["sum"])
    for r in range(v["rows"]):
        result = _softmax(row(v, "x", "x_stride", r, v["cols"]))
        if result is None:
            return 4, {"o": o, "sum": total, "bad": [r]}
        place = r * v["o_stride"]
        o[place : place + pad16(v["cols"])] = result[0] + [0] * (pad16(v["cols"]) - v["cols"])
        total[r] = result[1]
    return 0, {"o": o, "sum": total}


def _attend(v: Values, q: Any, sq: Any, k: Any, sk: Any, vt: Any, sv: Any) -> Result:
    out = list(v["out"])
    for r, codes in enumerate(q):
        logits = [
            mul(dot(codes, key), mul(mul(sq[r], s), v["inv_sqrt_dh"])) for key, s in zip(k, sk, strict=True)
        ]
        result = _softmax(logits)
        if result is None:
            return 4, {"out": out, "bad": [r]}
        a = div(ONE, mul(result[1], S127))
        for c in range(v["dh"]):
            out[r * v["out_stride"] + c] = mul(dot(result[0], vt[c]), mul(a, sv[c]))
    return 0, {"out": out}


def attention_q8(v: Values) -> Result:
    q = [row(v, "q", "q_stride", r, v["dh"]) for r in range(v["rows"])]
    k = [row(v, "k", "k_stride", j, v["dh"]) for j in range(v["tokens"])]
    vt = [row(v, "vt", "vt_stride", c, v["tokens"]) for c in range(v["dh"])]
    return _attend(v, q, v["sq"], k, v["sk"], vt, v["sv"])


def attention_s8(v: Values) -> Result:
    tokens, dh = range(v["tokens"]), v["dh"]
    parts = []
    for values in (
        [row(v, "q", "stride", r, dh) for r in tokens],
        [row(v, "k", "stride", r, dh) for r in tokens],
        [[v["v"][r * v["stride"] + c] for r in tokens] for c in range(dh)],
    ):
        bad, codes, scales = _quantized(values)
        if bad is not None:
            return 4, {"bad": [bad]}
        parts += [codes, scales]
    return _attend(v, *parts)


def kv8_write(v: Values) -> Result:
    out = {name: list(v[name]) for name in ("kq", "sk", "vt", "sv")}
    dh, capacity, position = v["dh"], v["capacity"], v["position"]
    for h in range(v["heads"]):
        bad, codes, scales = _quantized([v[name][h * dh : (h + 1) * dh] for name in ("k", "v")])
        if bad is not None:
            return 4, {**out, "bad": [h]}
        at = h * capacity + position
        out["kq"][at * dh : (at + 1) * dh] = codes[0]
        out["sk"][at], out["sv"][at] = scales
        for c in range(dh):
            place = (h * dh + c) * capacity + position
            if position % 16 == 0:
                out["vt"][place : place + 16] = [0] * 16
            out["vt"][place] = codes[1][c]
    return 0, out


def attention_kv8(v: Values) -> Result:
    out, dh, capacity, count = list(v["out"]), v["dh"], v["capacity"], v["count"]
    for h in range(v["heads"]):
        at = h * capacity
        bad, codes, scales = _quantized([v["q"][h * dh : (h + 1) * dh]])
        if bad is not None:
            return 4, {"out": out, "bad": [h]}
        keys = [v["kq"][(at + j) * dh : (at + j + 1) * dh] for j in range(count)]
        logits = [
            mul(dot(codes[0], key), mul(mul(scales[0], v["sk"][at + j]), v["inv_sqrt_dh"]))
            for j, key in enumerate(keys)
        ]
        if not all(map(sf.is_finite, logits)):
            return 4, {"out": out, "bad": [h]}
        m = logits[0]
        for e in logits:
            m = e if less(m, e) else m
        r = [ref.exp_f32(sub(e, m)) for e in logits]
        bad, weights, scale = _quantized([[mul(e, v["sv"][at + j]) for j, e in enumerate(r)]])
        if bad is not None:
            return 4, {"out": out, "bad": [h]}
        factor = mul(scale[0], div(ONE, chain(r)))
        for c in range(dh):
            place = (h * dh + c) * capacity
            out[h * dh + c] = mul(dot(weights[0], v["vt"][place : place + count]), factor)
    return 0, {"out": out}


# --- convolution -------------------------------------------------------------------------------------------
def _conv(v: Values, store: Any) -> list[int]:
    """y with store(element, float value) in the rows asked for."""
    y, up, channels = list(v["y"]), v["up"], v["channels"]
    height, width = v["height"] << up, v["width"] << up
    picture = {
        (r, c): v["x"][((r >> up) * v["width"] + (c >> up)) * channels :][:channels]
        for r in range(height)
        for c in range(width)
    }
    empty = [0] * channels
    for r in range(v["first"], v["first"] + v["rows"]):
        for c in range(width):
            taps = [x for i in range(9) for x in picture.get((r + i // 3 - 1, c + i % 3 - 1), empty)]
            taps = [max(x, 0) for x in taps] if v["relu"] else taps
            for o in range(v["outs"]):
                term = mul(dot(taps, row(v, "w", "w_stride", o, 9 * channels)), mul(v["s_in"], v["sw"][o]))
                i = (r * width + c) * v["outs"] + o
                y[i] = store(y[i], add(term, v["b"][o]))
    return y


def conv3x3_s8(v: Values) -> Result:
    return 0, {"y": _conv(v, lambda y, value: ref.quantize_static(value, v["s_out"]))}


def conv3x3_add_s8(v: Values) -> Result:
    def store(y: int, value: int) -> int:
        return ref.quantize_static(add(value, mul(from_int(y), v["s_y"])), v["s_out"])

    return 0, {"y": _conv(v, store)}


def conv3x3_f32(v: Values) -> Result:
    return 0, {"y": _conv(v, lambda y, value: value)}


# --- packed layers -----------------------------------------------------------------------------------------
def _ternary(v: Values, x: list[list[int]], factor: int) -> list[int]:
    y = list(v["y"])
    for o in range(v["outs"]):
        packed = bytes(v["w"][o * v["w_stride"] : (o + 1) * v["w_stride"]])
        w = ref.ternary_codes(packed, v["cols"])
        for r, codes in enumerate(x):
            y[r * v["y_stride"] + o] = mul(dot(codes, w), factor)
    return y


def linear_ternary(v: Values) -> Result:
    x = [row(v, "x", "x_stride", r, v["cols"]) for r in range(v["rows"])]
    return 0, {"y": _ternary(v, x, div(v["scale"], v["a_scale"]))}


def bitlinear(v: Values) -> Result:
    result = ref.quantize_ternary(v["x"])
    if result is None:
        return 4, {}
    n = v["cols"]
    x = [result[0][r * n : (r + 1) * n] for r in range(v["rows"])]
    return 0, {"y": _ternary(v, x, div(v["scale"], result[1]))}


def _int4(v: Values, x: list[int], sx: int) -> Result:
    y, group, groups = [], v["group"], -(-v["cols"] // v["group"])
    for o in range(v["outs"]):
        packed = bytes(v["w"][o * v["w_stride"] : (o + 1) * v["w_stride"]])
        codes = ref.int4_codes(packed, v["cols"])
        terms = [
            mul(
                dot(x[g * group : (g + 1) * group], codes[g * group : (g + 1) * group]),
                ref.widen_f16(v["scale"][o * groups + g]),
            )
            for g in range(groups)
        ]
        y.append(mul(chain(terms), sx))
    return 0, {"y": y}


def linear_int4_q8(v: Values) -> Result:
    return _int4(v, v["x"], v["sx"])


def linear_int4(v: Values) -> Result:
    result = ref.quantize_row(v["x"])
    return (4, {}) if result is None else _int4(v, *result)
