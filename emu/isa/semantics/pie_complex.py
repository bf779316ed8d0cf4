"""Complex products of 16-bit lanes: even lane real, odd lane imaginary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import SUFFIXES, advance, load_q, pie, pointer
from emu.isa.semantics.pie_numbers import cleared, contested


def narrow(m: Machine, exact: Bits) -> Bits:
    """Lanes of 64 bits shifted right by SAR, low 16 bits of each."""

    def shifted(value: Bits) -> Bits:
        return value.ashr(m.SAR).trunc(16)

    widths = {"wide": lambda: shifted(exact), "wrap32": lambda: shifted(exact.trunc(32).sext(64))}
    result = contested(m, "complex_sum_width", widths)
    counts = {"zero": lambda: cleared(result, m.SAR.uge(32)), "sign": lambda: result}
    return contested(m, "complex_count_32", counts)


def complex_product(m: Machine, x: Bits, y: Bits, lanes: Sequence[int], form: str) -> tuple[Bits, Bits]:
    """Real and imaginary 16-bit results of the numbers at ``lanes``; form "xy", "conj_x" or "conj_y"."""
    odd = [lane + 1 for lane in lanes]
    a, b = x.shuffle(x, lanes).sext(32), x.shuffle(x, odd).sext(32)
    c, d = y.shuffle(y, lanes).sext(32), y.shuffle(y, odd).sext(32)
    ac, bd, ad, bc = ((p * q).sext(64) for p, q in ((a, c), (b, d), (a, d), (b, c)))
    if form == "xy":
        return narrow(m, ac - bd), narrow(m, ad + bc)
    return narrow(m, ac + bd), narrow(m, ad - bc if form == "conj_x" else bc - ad)


def put_complex(z: Bits, lane: int, real: Bits, imaginary: Bits) -> Bits:
    """Lanes ``lane`` and ``lane + 1`` replaced."""
    return z.put(lane, real).put(lane + 1, imaginary)


@pie("ee.cmul.s16", suffix="")
@pie("ee.cmul.s16.ld.incp", suffix=".ld.incp")
@pie("ee.cmul.s16.st.incp", suffix=".st.incp")
def cmul(m: Machine, o: Operands, suffix: str) -> None:
    """Two products in the lower (sel4 even) or upper half of qz: x*y for sel4 0, 1, conj(x)*y for 2, 3."""
    select = o.index("sel4")
    lanes = [0, 2] if select % 2 == 0 else [4, 6]
    form = "xy" if select < 2 else "conj_x"
    real, imaginary = complex_product(m, o.qx.split(16), o.qy.split(16), lanes, form)
    z = o.qz.split(16)
    for number, lane in enumerate(lanes):
        z = put_complex(z, lane, real.get(number), imaginary.get(number))
    o.qz = z.join()
    SUFFIXES[suffix](m, o, 16)


def _fft_product(m: Machine, o: Operands, lane: int) -> tuple[Bits, Bits]:
    form = "xy" if o.index("sel8") % 2 else "conj_y"
    return complex_product(m, o.qx.split(16), o.qy.split(16), [lane], form)


@pie("ee.fft.cmul.s16.ld.xp")
def fft_cmul_ld(m: Machine, o: Operands) -> None:
    """One product at lanes 2*(sel8>>1): x*y for odd sel8, x*conj(y) for even; then as an ``.ld.xp``."""
    lane, z = o.index("sel8") // 2 * 2, o.qz.split(16)

    def computed() -> Bits:
        return put_complex(z, lane, *_fft_product(m, o, lane))

    if lane < 6:
        o.qz = computed().join()
    else:
        readings = {"unchanged": lambda: z, "lanes_6_7": computed}
        o.qz = contested(m, "fft_cmul_ld_select", readings).join()
    load_q(m, o, "ad")


_STORED = ([8, 9, 10, 11, 12, 13, 14, 15], [0, 1, 2, 3, 12, 13, 14, 15], [0, 1, 12, 13, 2, 3, 14, 15])
"""Lanes of ``qx >> sar4`` (0..7) and qv (8..15) that are stored, by upd4; the last two are replaced."""


@pie("ee.fft.cmul.s16.st.xp")
def fft_cmul_st(m: Machine, o: Operands) -> None:
    """Store 8 halfwords of qv and of ``qx >> sar4`` as upd4 says, the last two a product; as += ad."""
    x, v, update = o.qx.split(16).ashr(o.index("sar4")), o.qv.split(16), o.index("upd4")
    product = _stored_product(m, o).split(16)

    def like(number: int) -> Bits:
        return put_complex(x.shuffle(v, _STORED[number]), 6, product.get(0), product.get(1))

    readings: dict[str, Callable[[], Bits]] = {f"like_{n}": partial(like, n) for n in range(3)}
    readings["zeros"] = lambda: v & 0
    block = like(update) if update < 3 else contested(m, "fft_cmul_st_update", readings)
    m.vstore(128, pointer(o), block.join())
    advance(o, "ad")


def _stored_product(m: Machine, o: Operands) -> Bits:
    """Imaginary above real part of the product at lanes 6 and 7, or for sel8 < 6 where that is read."""

    def at(lane: int) -> Bits:
        real, imaginary = _fft_product(m, o, lane)
        return imaginary.cat(real)

    own = o.index("sel8") // 2 * 2
    if own == 6:
        return at(6)
    return contested(m, "fft_cmul_st_select", {"own_lanes": lambda: at(own), "lanes_6_7": lambda: at(6)})
