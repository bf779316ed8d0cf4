"""The vector instructions a second time: bytes, Python integers and explicit loops, written from the manual.

Shares nothing with emu.isa.semantics. Every function reads the processor `p` as it was and puts its results
into `out`, a dict: ("q", n) -> bytes, ("a", n), ("f", n) and state names -> int, address -> byte. Where the
facts are contested this follows the chosen readings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Processor:
    """What an instruction can see: a0..a15, f0..f15, q0..q7 (16 bytes each), states, memory bytes."""

    a: list[int]
    f: list[int]
    q: list[bytes]
    state: dict[str, int]
    memory: dict[int, int] = field(default_factory=dict)

    def load(self, size: int, address: int) -> bytes:
        address -= address % size
        return bytes(self.memory[(address + i) % 2**32] for i in range(size))


Out = dict[Any, Any]
Ops = dict[str, int]


def run(mnemonic: str, o: Ops, p: Processor) -> Out:
    """Everything that the instruction changes."""
    out: Out = {}
    words = mnemonic.split(".")
    name = words[1] if words[0] == "ee" else mnemonic
    globals()[f"do_{name.replace('.', '_')}"](words, o, p, out)
    return out


# --- numbers -------------------------------------------------------------------------------------------
def signed(value: int, bits: int) -> int:
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def limited(value: int, low: int, high: int) -> int:
    if value < low:
        return low
    if value > high:
        return high
    return value


def sat(value: int, bits: int) -> int:
    return limited(value, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def floor_shift(value: int, count: int) -> int:
    return value // 2**count


def items(data: bytes, kind: str) -> list[int]:
    """The lanes of a register: kind "s8", "u8", "s16", ..."""
    size = int(kind[1:]) // 8
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return [int.from_bytes(part, "little", signed=kind[0] == "s") for part in parts]


def pack(values: list[int], bits: int) -> bytes:
    """Lanes back to bytes, low bits of each."""
    return b"".join((value % 2**bits).to_bytes(bits // 8, "little") for value in values)


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


# --- memory and pointers -------------------------------------------------------------------------------
def store(out: Out, address: int, data: bytes) -> None:
    address -= address % len(data)
    for i, byte in enumerate(data):
        out[(address + i) % 2**32] = byte


def move_pointer(o: Ops, p: Processor, out: Out, by: int) -> None:
    out["a", o["as"]] = (p.a[o["as"]] + by) % 2**32


def step_of(words: list[str], o: Ops, p: Processor) -> int:
    """How far an .ip or .xp form moves its pointer."""
    if "xp" in words:
        return p.a[o["ad"]]
    return next(value for key, value in o.items() if key.startswith("imm"))


def window(p: Processor, high: bytes, low: bytes) -> bytes:
    start = p.state["SAR_BYTE"]
    return (low + high)[start : start + 16]


def fused(words: list[str], o: Ops, p: Processor, out: Out, size: int = 16) -> None:
    """The load, store and QUP parts of a mnemonic's end."""
    if "qup" in words:
        out["q", o["qs0"]] = window(p, p.q[o["qs1"]], p.q[o["qs0"]])
    if "ldbc" in words:
        out["q", o["qu"]] = p.load(size, p.a[o["as"]]) * (16 // size)
        move_pointer(o, p, out, size)
    elif "ld" in words:
        out["q", o["qu"]] = p.load(16, p.a[o["as"]])
        move_pointer(o, p, out, 16 if "incp" in words else step_of(words, o, p))
    elif "st" in words:
        store(out, p.a[o["as"]], p.q[o["qv"]])
        move_pointer(o, p, out, 16)


# --- loads and stores ----------------------------------------------------------------------------------
def do_vld(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    address, old = p.a[o["as"]], p.q[o["qu"]] if words[2] != "128" else b""
    if words[2] == "128":
        new = p.load(16, address)
    elif words[2] == "l":
        new = p.load(8, address) + old[8:]
    else:
        new = old[:8] + p.load(8, address)
    out["q", o["qu"]] = new
    move_pointer(o, p, out, step_of(words, o, p))


def do_vst(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    part = {"128": slice(0, 16), "l": slice(0, 8), "h": slice(8, 16)}[words[2]]
    store(out, p.a[o["as"]], p.q[o["qv"]][part])
    move_pointer(o, p, out, step_of(words, o, p))


def do_ld(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    address, what = p.a[o["as"]], words[2]
    if what == "128":
        out["SAR_BYTE"] = address % 16
        out["q", o["qu"]] = p.load(16, address)
    elif what == "accx":
        out["ACCX"] = number(p.load(8, address)[:5])
    elif what == "ua_state":
        out["UA_STATE"] = number(p.load(16, address))
    else:
        old = p.state[what.upper()].to_bytes(20, "little")
        new = p.load(16, address) + old[16:] if words[3] == "l" else old[:16] + p.load(4, address)
        out[what.upper()] = number(new)
    move_pointer(o, p, out, step_of(words, o, p))


def do_st(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    what = words[2]
    whole = p.state[what.upper()].to_bytes(20, "little")
    size = {"accx": slice(0, 8), "ua_state": slice(0, 16)}.get(what)
    part = size or (slice(0, 16) if words[3] == "l" else slice(16, 20))
    store(out, p.a[o["as"]], whole[part])
    move_pointer(o, p, out, step_of(words, o, p))


def do_ld_qr(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["q", o["qu"]] = p.load(16, (p.a[o["as"]] + o["imm"]) % 2**32)


def do_st_qr(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    store(out, (p.a[o["as"]] + o["imm"]) % 2**32, p.q[o["qv"]])


def do_mv_qr(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["q", o["qu"]] = p.q[o["qs"]]


def do_vldbc(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    size = int(words[2]) // 8
    out["q", o["qu"]] = p.load(size, p.a[o["as"]]) * (16 // size)
    if len(words) > 3:
        move_pointer(o, p, out, step_of(words, o, p))


def do_vldhbc(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    v = p.load(16, p.a[o["as"]])
    twice = b"".join(v[i : i + 2] * 2 for i in range(0, 16, 2))
    out["q", o["qu"]], out["q", o["qu1"]] = twice[:16], twice[16:]
    move_pointer(o, p, out, 16)


def indexed(o: Ops, p: Processor) -> int:
    return (p.a[o["as"]] + 4 * items(p.q[o["qs"]], "u16")[o["sel8"]]) % 2**32


def do_ldxq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    new = bytearray(p.q[o["qu"]])
    new[4 * o["sel4"] : 4 * o["sel4"] + 4] = p.load(4, indexed(o, p))
    out["q", o["qu"]] = bytes(new)


def do_stxq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    store(out, indexed(o, p), p.q[o["qv"]][4 * o["sel4"] : 4 * o["sel4"] + 4])


def do_ldf(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    size = int(words[2]) // 8
    for i, value in enumerate(items(p.load(size, p.a[o["as"]]), "u32")):
        out["f", o[f"fu{i}"]] = value
    move_pointer(o, p, out, step_of(words, o, p))


def do_stf(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    values = [p.f[o[f"fv{i}"]] for i in range(int(words[2]) // 32)]
    store(out, p.a[o["as"]], pack(values, 32))
    move_pointer(o, p, out, step_of(words, o, p))


# --- accumulators --------------------------------------------------------------------------------------
HALVES = ("QACC_L", "QACC_H")


def qacc(p: Processor, kind: str) -> list[int]:
    """All lanes: sixteen of 20 bits for 8-bit kinds, eight of 40 bits for 16-bit kinds."""
    width = 20 if kind.endswith("8") else 40
    lanes = []
    for name in HALVES:
        rest = p.state[name]
        for _ in range(160 // width):
            rest, lane = divmod(rest, 2**width)
            lanes.append(signed(lane, width) if kind[0] == "s" else lane)
    return lanes


def set_qacc(out: Out, lanes: list[int], kind: str) -> None:
    width = 20 if kind.endswith("8") else 40
    half = len(lanes) // 2
    for name, part in zip(HALVES, (lanes[:half], lanes[half:]), strict=True):
        out[name] = sum((lane % 2**width) * 2 ** (width * i) for i, lane in enumerate(part))


def do_zero(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    if words[2] == "q":
        out["q", o["qa"]] = bytes(16)
    else:
        out.update({"ACCX": 0} if words[2] == "accx" else {"QACC_L": 0, "QACC_H": 0})


def do_ldqa(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    set_qacc(out, items(p.load(16, p.a[o["as"]]), words[2]), words[2])
    move_pointer(o, p, out, step_of(words, o, p))


def do_mov(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    set_qacc(out, items(p.q[o["qs"]], words[2]), words[2])


def do_movi(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    at = 4 * o["sel4"]
    if words[3] == "a":
        out["a", o["au"]] = number(p.q[o["qs"]][at : at + 4])
    else:
        old = p.q[o["qu"]]
        out["q", o["qu"]] = old[:at] + p.a[o["as"]].to_bytes(4, "little") + old[at + 4 :]


def do_srs(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    t = floor_shift(signed(p.state["ACCX"], 40), p.a[o["as"]] % 64)
    out["ACCX"], out["a", o["au"]] = t % 2**40, sat(t, 32) % 2**32


def do_srcmb(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    bits = int(words[2][1:])
    count = p.a[o["as"]] % (32 if bits == 8 else 64)
    lanes = [floor_shift(lane, count) for lane in qacc(p, words[2])]
    set_qacc(out, lanes, words[2])
    out["q", o["qu"]] = pack([sat(lane, bits) for lane in lanes], bits)


# --- lane arithmetic -----------------------------------------------------------------------------------
def lanewise(words: list[str], o: Ops, p: Processor, out: Out, kind: str, result: str, function: Any) -> None:
    pairs = zip(items(p.q[o["qx"]], kind), items(p.q[o["qy"]], kind), strict=True)
    bits = int(kind[1:])
    out["q", o[result]] = pack([function(x, y, bits) for x, y in pairs], bits)
    fused(words, o, p, out)


def do_vadds(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    lanewise(words, o, p, out, words[2], "qa", lambda x, y, n: sat(x + y, n))


def do_vsubs(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    lanewise(words, o, p, out, words[2], "qa", lambda x, y, n: sat(x - y, n))


def do_vmax(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    lanewise(words, o, p, out, words[2], "qa", lambda x, y, n: x if x > y else y)


def do_vmin(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    lanewise(words, o, p, out, words[2], "qa", lambda x, y, n: x if x < y else y)


def do_vmul(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    count = p.state["SAR"]
    lanewise(
        words, o, p, out, words[2], "qz", lambda x, y, n: 0 if count >= 32 else floor_shift(x * y, count)
    )


def do_vcmp(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    holds = {"eq": lambda x, y: x == y, "lt": lambda x, y: x < y, "gt": lambda x, y: x > y}[words[2]]
    lanewise(words, o, p, out, words[3], "qa", lambda x, y, n: -1 if holds(x, y) else 0)


def do_andq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["q", o["qa"]] = bytes(x & y for x, y in zip(p.q[o["qx"]], p.q[o["qy"]], strict=True))


def do_orq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["q", o["qa"]] = bytes(x | y for x, y in zip(p.q[o["qx"]], p.q[o["qy"]], strict=True))


def do_xorq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["q", o["qa"]] = bytes(x ^ y for x, y in zip(p.q[o["qx"]], p.q[o["qy"]], strict=True))


def do_notq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["q", o["qa"]] = bytes(255 - x for x in p.q[o["qx"]])


def rectified(x: int, factor: int, ay: int, bits: int) -> int:
    if x > 0:
        return x
    count = ay % (32 if bits == 8 else 64)
    return 0 if count >= 32 else floor_shift(x * factor, count)


def do_vrelu(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    bits = int(words[2][1:])
    factor = signed(p.a[o["ax"]], bits)
    lanes = [rectified(x, factor, p.a[o["ay"]], bits) for x in items(p.q[o["qs"]], words[2])]
    out["q", o["qs"]] = pack(lanes, bits)


def do_vprelu(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    lanewise(words, o, p, out, words[2], "qz", lambda x, y, n: rectified(x, y, p.a[o["ay"]], n))


# --- multiply-accumulate -------------------------------------------------------------------------------
def do_vmulas(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    kind = words[2]
    xs, ys = items(p.q[o["qx"]], kind), items(p.q[o["qy"]], kind)
    if words[3] == "accx":
        old = signed(p.state["ACCX"], 40) if kind[0] == "s" else p.state["ACCX"]
        low, high = (-(2**39), 2**39 - 1) if kind[0] == "s" else (0, 2**40 - 1)
        total = old
        for x, y in zip(xs, ys, strict=True):
            total += x * y
        out["ACCX"] = limited(total, low, high) % 2**40
    else:
        accumulate(p, out, kind, xs, ys)
    fused(words, o, p, out, int(kind[1:]) // 8)


def do_vsmulas(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    kind = words[2]
    xs, ys = items(p.q[o["qx"]], kind), items(p.q[o["qy"]], kind)
    accumulate(p, out, kind, xs, [ys[o["sel16" if kind == "s8" else "sel8"]]] * len(xs))
    fused(words, o, p, out)


def accumulate(p: Processor, out: Out, kind: str, xs: list[int], ys: list[int]) -> None:
    bits = 20 if kind.endswith("8") else 40
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "s" else (0, 2**bits - 1)
    lanes = qacc(p, kind)
    for i in range(len(lanes)):
        lanes[i] = limited(lanes[i] + xs[i] * ys[i], low, high)
    set_qacc(out, lanes, kind)


# --- shifts and order ----------------------------------------------------------------------------------
def do_src(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    shifted = window(p, p.q[o["qs1"]], p.q[o["qs0"]])
    if "ld" in words:
        out["q", o["qs0"]] = shifted
        fused(words, o, p, out)
        return
    out["q", o["qa"]] = shifted
    if "qup" in words:
        out["q", o["qs0"]] = p.q[o["qs1"]]


def do_srcq(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    store(out, p.a[o["as"]], window(p, p.q[o["qs1"]], p.q[o["qs0"]]))
    move_pointer(o, p, out, 16)


def shift_pair(words: list[str], o: Ops, p: Processor, out: Out, left: bool) -> None:
    count = 1 + (o["sar16"] if "sar16" in o else p.a[o["as"]] % 16)
    pair = p.q[o["qs0"]] + p.q[o["qs1"]]
    pair = bytes(count) + pair[: 32 - count] if left else pair[count:] + bytes(count)
    out["q", o["qs0"]], out["q", o["qs1"]] = pair[:16], pair[16:]
    if "as" in o:
        move_pointer(o, p, out, p.a[o["ad"]])


def do_slci(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    shift_pair(words, o, p, out, True)


def do_srci(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    shift_pair(words, o, p, out, False)


do_slcxxp, do_srcxxp = do_slci, do_srci


def do_vsr(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    count = p.state["SAR"]
    lanes = [floor_shift(w, count) if count < 32 else 0 for w in items(p.q[o["qs"]], "s32")]
    out["q", o["qa"]] = pack(lanes, 32)


def do_vsl(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    count = p.state["SAR"]
    lanes = []
    for word in items(p.q[o["qs"]], "s32"):
        exact = word * 2**count
        lanes.append(exact if count < 32 else sat(exact, 32))
    out["q", o["qa"]] = pack(lanes, 32)


def do_vzip(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    size = int(words[2]) // 8
    mixed = b""
    for i in range(0, 16, size):
        mixed += p.q[o["qs0"]][i : i + size] + p.q[o["qs1"]][i : i + size]
    out["q", o["qs0"]], out["q", o["qs1"]] = mixed[:16], mixed[16:]


def do_vunzip(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    size = int(words[2]) // 8
    both = p.q[o["qs0"]] + p.q[o["qs1"]]
    parts = [both[i : i + size] for i in range(0, 32, size)]
    out["q", o["qs0"]], out["q", o["qs1"]] = b"".join(parts[::2]), b"".join(parts[1::2])


# --- complex numbers and FFT ---------------------------------------------------------------------------
def scaled(value: int, p: Processor) -> int:
    return 0 if p.state["SAR"] >= 32 else floor_shift(value, p.state["SAR"])


def product(x: list[int], y: list[int], k: int, conjugate: str, p: Processor) -> list[int]:
    """Real and imaginary part of x * y at lane k, with x or y conjugated first."""
    xr, xi, yr, yi = x[k], x[k + 1], y[k], y[k + 1]
    if conjugate == "x":
        xi = -xi
    if conjugate == "y":
        yi = -yi
    return [scaled(xr * yr - xi * yi, p), scaled(xr * yi + xi * yr, p)]


def do_cmul(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    x, y, z = (items(p.q[o[name]], "s16") for name in ("qx", "qy", "qz"))
    for k in {0: (0, 2), 1: (4, 6), 2: (0, 2), 3: (4, 6)}[o["sel4"]]:
        z[k : k + 2] = product(x, y, k, "x" if o["sel4"] >= 2 else "", p)
    out["q", o["qz"]] = pack(z, 16)
    fused(words, o, p, out)


def do_fft(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    globals()[f"fft_{words[2]}"](words, o, p, out)


def fft_cmul(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    x, y = items(p.q[o["qx"]], "s16"), items(p.q[o["qy"]], "s16")
    k = 2 * (o["sel8"] >> 1)
    result = product(x, y, k, "" if o["sel8"] & 1 else "y", p)
    if words[4] == "ld":
        z = items(p.q[o["qz"]], "s16")
        if o["sel8"] < 6:
            z[k : k + 2] = result
        out["q", o["qz"]] = pack(z, 16)
        out["q", o["qu"]] = p.load(16, p.a[o["as"]])
    else:
        v = items(p.q[o["qv"]], "s16")
        x = [floor_shift(lane, o["sar4"]) for lane in x]
        block = [v[0:6], x[0:4] + v[4:6], x[0:2] + v[4:6] + x[2:4], None][o["upd4"]]
        store(out, p.a[o["as"]], bytes(16) if block is None else pack(block + result, 16))
    move_pointer(o, p, out, p.a[o["ad"]])


def fft_r2bf(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    x, y = items(p.q[o["qx"]], "s16"), items(p.q[o["qy"]], "s16")
    if "st" in words:
        out["q", o["qa0"]] = pack([a - b for a, b in zip(x, y, strict=True)], 16)
        sums = [floor_shift(a + b, o["sar4"]) for a, b in zip(x, y, strict=True)]
        store(out, p.a[o["as"]], pack(sums, 16))
        move_pointer(o, p, out, 16)
        return
    if o["sel2"] == 0:
        first, second = x[0:4] + y[0:4], x[4:8] + y[4:8]
    else:
        first, second = x[0:2] + x[4:6] + y[0:2] + y[4:6], x[2:4] + x[6:8] + y[2:4] + y[6:8]
    plus = [a + b for a, b in zip(first, second, strict=True)]
    minus = [a - b for a, b in zip(first, second, strict=True)]
    out["q", o["qa0"]] = pack(plus[:4] + minus[:4], 16)
    out["q", o["qa1"]] = pack(plus[4:] + minus[4:], 16)


def fft_ams(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    k = 6 if "st" in words else 0 if "uaup" in words else 4 if "r32" in words else 2
    x, y, w = (items(p.q[o[name]], "s16") for name in ("qx", "qy", "qm"))
    total, rest = x[k] + y[k], x[k + 1] - y[k + 1]
    d, s = x[k] - y[k], x[k + 1] + y[k + 1]
    re, im = w[k], w[k + 1] if o["sel2"] == 0 else -w[k + 1]
    u, v = scaled(d * re - s * im, p), scaled(d * im + s * re, p)
    z1 = items(p.q[o["qz1"]], "s16")
    z1[k], z1[k + 1] = total - u, v - rest
    out["q", o["qz1"]] = pack(z1, 16)
    if "st" in words:
        block = items(p.a[o["as0"]].to_bytes(4, "little"), "s16") + items(p.q[o["qv"]], "s16")[:6]
        store(out, p.a[o["as"]], pack(block if o["sel2"] else [floor_shift(h, 1) for h in block], 16))
        out["a", o["as0"]] = (rest + v) % 2**16 * 2**16 + (total + u) % 2**16
        move_pointer(o, p, out, 16)
        return
    z = items(p.q[o["qz"]], "s16")
    z[k], z[k + 1] = total + u, rest + v
    out["q", o["qz"]] = pack(z, 16)
    ams_load(words, o, p, out)


def ams_load(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    data = p.load(16, p.a[o["as"]])
    if "uaup" in words:
        out["q", o["qu"]] = window(p, data, p.state["UA_STATE"].to_bytes(16, "little"))
        out["UA_STATE"] = number(data)
    elif "r32" in words:
        out["q", o["qu"]] = pack(items(data, "u32")[::-1], 32)
    else:
        out["q", o["qu"]] = data
    move_pointer(o, p, out, -16 if "decp" in words else 16)


def fft_vst(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    reverse = pack(items(p.q[o["qv"]], "u32")[::-1], 32)
    store(out, p.a[o["as"]], pack([floor_shift(h, o["sar2"]) for h in items(reverse, "s16")], 16))
    move_pointer(o, p, out, -16)


def do_bitrev(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    width = p.state["FFT_BIT_WIDTH"] or 8
    lanes = []
    for i in range(8):
        x = (p.a[o["ax"]] + i) % 2**width
        y = sum(2 ** (width - 1 - bit) for bit in range(width) if x >> bit & 1)
        lanes.append(0 if width == 3 and i >= 6 else max(x, y))
    out["q", o["qa"]] = pack(lanes, 16)
    out["a", o["ax"]] = (p.a[o["ax"]] + 8) % 2**32


# --- GPIO ----------------------------------------------------------------------------------------------
def do_wr_mask_gpio_out(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    value, mask, total = p.a[o["value"]], p.a[o["mask"]], 0
    for bit in (1 << i for i in range(8)):
        total += (value if mask & bit else p.state["GPIO_OUT"]) & bit
    out["GPIO_OUT"] = total


def do_set_bit_gpio_out(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["GPIO_OUT"] = p.state["GPIO_OUT"] | o["mask"]


def do_clr_bit_gpio_out(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["GPIO_OUT"] = p.state["GPIO_OUT"] - (p.state["GPIO_OUT"] & o["mask"])


def do_get_gpio_in(words: list[str], o: Ops, p: Processor, out: Out) -> None:
    out["a", o["au"]] = p.state["GPIO_IN"]
