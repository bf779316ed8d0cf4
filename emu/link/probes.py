"""Single instructions that a board runs on given registers, to settle what documents leave open.

The firmware holds one stub for each probe (``firmware/agent/chip/probes.S``, written from this table by
``tools/agent_probes.py``): it loads a :class:`State`, executes the instruction and stores the state.
Operands: ``a8`` points into the scratch memory, ``a9`` .. ``a12``, ``q``, ``f`` come from the state.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

STATE_BYTES: Final = 272
MEMORY_OFFSET: Final = 272
MEMORY_BYTES: Final = 256
OUT_BYTES: Final = MEMORY_OFFSET + MEMORY_BYTES
FAR: Final = (4 * 0xFFFF, bytes.fromhex("0DF0ADBA"))
"""What lies behind a8 where the largest index of ee.ldxq.32 reaches."""
SYMBOL: Final = "selftest_probe"
SIGNATURE: Final = "i I<B=B"
COUNTS: Final = (0, 4, 8, 15, 16, 17, 20, 31, 32, 33, 40, 47, 63)
_WORDS = struct.Struct("<11I")


@dataclass
class State:
    """Registers before or after: ``q`` 8 x 16 bytes, ``qacc`` 2 x 20 bytes, ``accx`` 40 bits, ``a`` a9..a12.

    ``shift``: a8 minus the start of the scratch memory plus 64.
    """

    q: bytes = bytes(128)
    qacc: bytes = bytes(40)
    accx: int = 0
    sar: int = 0
    sar_byte: int = 0
    bit_width: int = 0
    a: tuple[int, int, int, int] = (0, 0, 0, 0)
    shift: int = 0
    cpenable: int = 0xFF
    f: bytes = bytes(32)

    def pack(self) -> bytes:
        """The bytes that the stub loads."""
        low, high = (self.qacc[i : i + 20].ljust(32, b"\0") for i in (0, 20))
        words = (
            self.accx & 0xFFFFFFFF,
            self.accx >> 32 & 0xFF,
            self.sar,
            self.sar_byte,
            self.bit_width,
            *self.a,
            self.shift & 0xFFFFFFFF,
            self.cpenable,
        )
        return self.q + low + high + _WORDS.pack(*words) + bytes(4) + self.f


@dataclass(frozen=True)
class Probe:
    """One instruction. ``facts``: contested facts that it can tell, () for plain behaviour; ``sweep``: the
    field of the state that takes all shift counts ("" none); ``group``: of the report.
    """

    mnemonic: str
    operands: Mapping[str, int]
    facts: tuple[str, ...] = ()
    sweep: str = ""
    group: str = "contested"
    changes: tuple[Mapping[str, object], ...] = field(default=({},))

    @property
    def name(self) -> str:
        """Mnemonic and operands."""
        values = ",".join(f"{k}={v}" for k, v in self.operands.items())
        return f"{self.mnemonic} {values}"


def _q(**more: int) -> dict[str, int]:
    return {"qz": 0, "qx": 1, "qy": 2, **more}


_AMS = {"qu": 5, "as": 8, "qz": 0, "qz1": 3, "qx": 1, "qy": 2, "qm": 4}
_LARGE = (0x7FFF, 0x8000, 0x8001, 0x7FFE)
_PAIR = "float_pair_coprocessor"
_OFF = tuple({"cpenable": mask} for mask in (0xFE, 0xF7))

PROBES: Final = (
    *(
        Probe("ee.srs.accx", {"au": 12, "as": 9, "sel2": s}, ("accumulator_sel2", "srs_count_40"), "a9")
        for s in (0, 1)
    ),
    *(
        Probe(f"ee.srcmb.s{bits}.qacc", {"qu": 0, "as": 9, "sel2": s}, ("accumulator_sel2", fact), "a9")
        for bits, fact in ((8, "srcmb8_count_20"), (16, "srcmb16_count_40"))
        for s in (0, 1)
    ),
    Probe("ee.vsr.32", {"qa": 0, "qs": 1}, ("vsr_count_33",), "sar"),
    Probe("ee.vsl.32", {"qa": 0, "qs": 1}, ("vsl_overflow", "vsl_count_33"), "sar"),
    *(
        Probe(f"ee.vmul.{t}", _q(), ("vmul_count_16", "vmul_count_32"), "sar")
        for t in ("s8", "u8", "s16", "u16")
    ),
    *(
        Probe(f"ee.vrelu.s{b}", {"qs": 0, "ax": 10, "ay": 11}, (*facts, "relu_multiplier"), "a11")
        for b, facts in ((8, ("relu_count_16",)), (16, ("relu_count_32",)))
    ),
    Probe("ee.vprelu.s8", _q(ay=11), ("relu_count_16",), "a11"),
    Probe("ee.vprelu.s16", _q(ay=11), ("relu_count_32",), "a11"),
    *(Probe("ee.cmul.s16", _q(sel4=s), ("complex_count_32", "complex_sum_width"), "sar") for s in range(4)),
    *(
        Probe(
            "ee.fft.cmul.s16.ld.xp",
            {"qu": 5, "as": 8, "ad": 9, "qz": 0, "qx": 1, "qy": 2, "sel8": s},
            ("complex_count_32", "complex_sum_width", "fft_cmul_ld_select"),
            "sar",
        )
        for s in range(8)
    ),
    *(
        Probe(
            "ee.fft.cmul.s16.st.xp",
            {"qx": 1, "qy": 2, "qv": 3, "as": 8, "ad": 9, "sel8": s, "upd4": u, "sar4": 1},
            ("fft_cmul_st_select", "fft_cmul_st_update"),
        )
        for s, u in ((0, 0), (3, 0), (5, 1), (6, 0), (7, 2), (6, 3), (7, 3))
    ),
    *(
        Probe("ee.fft.ams.s16.ld.incp", {**_AMS, "sel2": s}, ("complex_count_32", "ams_sum_width"), "sar")
        for s in (0, 1)
    ),
    *(
        Probe(f"ee.v{op}s.s{bits}", {"qa": 0, "qx": 1, "qy": 2}, ("lane_lower_clamp",))
        for op, bits in (("add", 16), ("add", 32), ("sub", 8), ("sub", 16), ("sub", 32))
    ),
    *(
        Probe(f"ee.vmulas.s{bits}.{where}", {"qx": 1, "qy": 2}, ("accumulator_lower_clamp",))
        for bits in (8, 16)
        for where in ("qacc", "accx")
    ),
    Probe("ee.ldxq.32", {"qu": 0, "qs": 6, "as": 8, "sel4": 1, "sel8": 2}, ("xq_index",)),
    Probe("ee.vzip.8", {"qs0": 1, "qs1": 1}, ("same_destination",)),
    Probe("ee.vadds.s8.ld.incp", {"qu": 0, "as": 8, "qa": 0, "qx": 1, "qy": 2}, ("same_destination",)),
    Probe("ee.fft.r2bf.s16.st.incp", {"qa0": 0, "qx": 1, "qy": 2, "as": 8, "sar4": 1}, ("r2bf_sum_width",)),
    Probe("ee.fft.vst.r32.decp", {"qv": 1, "as": 8, "sar2": 1}, ("fft_vst_shift",)),
    Probe("ee.bitrev", {"qa": 0, "ax": 10}, ("bitrev_width", "bitrev_width_3"), "bit_width"),
    Probe("ee.st.accx.ip", {"as": 8, "imm8": 0}, ("st_accx_sign",)),
    Probe("rur.accx_1", {"r": 12}, ("rur_accx_1",)),
    Probe(
        "ee.ldf.64.ip", {"fu1": 1, "fu0": 0, "as": 8, "imm8": 0}, ("float_pair_coprocessor",), changes=_OFF
    ),
    Probe(
        "ee.stf.64.ip", {"fv1": 1, "fv0": 0, "as": 8, "imm8": 0}, ("float_pair_coprocessor",), changes=_OFF
    ),
    *(
        Probe(name, operands, group="alignment", changes=tuple({"shift": s} for s in range(16)))
        for name, operands in (
            ("ee.vld.128.ip", {"qu": 0, "as": 8, "imm16": 16}),
            ("ee.vst.128.ip", {"qv": 1, "as": 8, "imm16": 16}),
            ("ee.vld.l.64.ip", {"qu": 0, "as": 8, "imm8": 8}),
            ("ee.vst.h.64.ip", {"qv": 1, "as": 8, "imm8": 8}),
            ("l32i", {"t": 12, "s": 8, "imm": 0}),
        )
    ),
    Probe("ee.zero.q", {"qa": 0}, group="cpenable", changes=_OFF),
    Probe("add.s", {"fr": 0, "fs": 1, "ft": 2}, group="cpenable", changes=_OFF),
    *(
        Probe(name, {"fr": 0, "fs": 1, "ft": 2}, group="float", changes=tuple({} for _ in range(24)))
        for name in ("add.s", "sub.s", "mul.s", "madd.s", "msub.s")
    ),
    *(
        Probe(name, {"r": 12, "fs": 1, "imm": 0}, group="float", changes=tuple({} for _ in range(24)))
        for name in ("round.s", "trunc.s", "floor.s", "ceil.s", "utrunc.s")
    ),
)

_FLOATS = (
    0x00000000,
    0x80000000,
    0x00000001,
    0x807FFFFF,
    0x00800000,
    0x3F800000,
    0xBF800000,
    0x3F000000,
    0x3FC00000,
    0x40200000,
    0x4B000001,
    0x4F000000,
    0xCF000000,
    0x7F7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0x7F800001,
    0xFFC12345,
)


def states(probe: Probe, number: int) -> Iterator[State]:
    """The inputs of a probe, always the same: extremes and random lanes, and the sweep of its count."""
    rng = np.random.Generator(np.random.Philox(key=[number, 0x70726F62]))
    counts: tuple[int | None, ...] = COUNTS if probe.sweep else (None,)
    if probe.sweep == "bit_width":
        counts = tuple(range(16))
    for change in probe.changes:
        for count in counts:
            for variant in range(3 if probe.facts and not probe.sweep else 2 if probe.facts else 1):
                yield _state(rng, probe, change, count, variant)


def _lanes(rng: np.random.Generator, variant: int) -> bytes:
    """Registers: the smallest values only, extremes of 8, 16 and 32 bits, random bits."""
    if variant == 0:
        pattern = (b"\x00\x80", b"\x80", b"\x00\x00\x00\x80")[int(rng.integers(3))]
        return (pattern * 128)[:128]
    lanes = np.frombuffer(rng.bytes(128), "<u2").copy()
    mask = rng.random(64) < (0.7 if variant == 1 else 0.1)
    lanes[mask] = np.array([*_LARGE, 0x0080, 0x8080, 0xFFFF, 1], "<u2")[rng.integers(0, 8, int(mask.sum()))]
    return lanes.tobytes()


def _accumulators(rng: np.random.Generator, variant: int) -> tuple[bytes, int]:
    if variant == 0:  # at the negative limit: 20-bit lanes, 40-bit lanes and ACCX
        lanes = (
            sum(0x80000 << 20 * i for i in range(8))
            if rng.random() < 0.5
            else sum(1 << 39 + 40 * i for i in range(4))
        )
        return lanes.to_bytes(20, "little") * 2, 1 << 39
    return rng.bytes(40), int(rng.integers(0, 1 << 40))


def _state(
    rng: np.random.Generator, probe: Probe, change: Mapping[str, object], count: int | None, variant: int
) -> State:
    qacc, accx = _accumulators(rng, variant)
    words = [int(w) for w in rng.integers(0, 1 << 32, 4)]
    words[1] = (0x80, 0x8000, 0x18180)[variant]
    state = State(
        q=_lanes(rng, variant),
        qacc=qacc,
        accx=accx,
        sar=int(rng.integers(0, 32)),
        sar_byte=int(rng.integers(0, 16)),
        bit_width=int(rng.integers(0, 8)),
        a=(16, words[1], int(rng.integers(0, 16)), words[3]),
        f=b"".join(_FLOATS[int(i)].to_bytes(4, "little") for i in rng.integers(0, len(_FLOATS), 8)),
    )
    if probe.mnemonic.startswith("ee.vmulas"):  # away from 0 on the side of the limit
        state.q = state.q[:16] + b"\x80" * 16 + b"\x7f" * 16 + state.q[48:]
        width = 20 if ".s8." in probe.mnemonic else 40
        limit = sum(1 << (width - 1 + width * i) for i in range(160 // width))
        state.qacc, state.accx = limit.to_bytes(20, "little") * 2, 1 << 39
    if probe.mnemonic == "ee.ldxq.32":
        index = (0xFFFF, 0, 3)[variant]
        state.q = state.q[:96] + index.to_bytes(2, "little") * 8 + state.q[112:]
    if count is not None:
        _set_count(state, probe.sweep, count)
    for name, value in change.items():
        setattr(state, name, value)
    return state


def _set_count(state: State, where: str, count: int) -> None:
    if where in ("a9", "a10", "a11", "a12"):
        values = list(state.a)
        values[int(where[1:]) - 9] = count
        state.a = (values[0], values[1], values[2], values[3])
    elif where == "sar":
        state.sar = count
    else:
        state.bit_width = count
