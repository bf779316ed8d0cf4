"""Two engines side by side: equal ones, and differences whose place is known."""

from __future__ import annotations

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.debug.calls import Buffer, Call
from emu.debug.difference import Kind, json_object
from emu.debug.lockstep import first_difference
from tests.cpu.images import image_of

TIERS = [
    ("stepper", "stepper"),
    ("translator", "stepper"),
    ("stepper", "translator"),
    ("translator", "translator"),
]
FLOATS = """
sum: entry a1, 32
movi.n a5, 0
wfr f0, a5
loop a4, done
lsi f1, a2, 0
lsi f2, a3, 0
madd.s f0, f1, f2
addi.n a2, a2, 4
addi.n a3, a3, 4
done: rfr a2, f0
retw.n
"""
COUNT = 1000


def float_call(odd: int) -> Call:
    """A dot product in which one product needs more bits than a float has."""
    x, y = np.zeros((2, COUNT), np.float32)
    x[odd - 1], y[odd - 1] = -1, 1
    x[odd] = y[odd] = np.float32(1 + 2**-12)
    return Call("sum", [Buffer(x.tobytes(), "float32", "x"), Buffer(y.tobytes(), "float32", "y"), COUNT])


def engines(text: str, tiers: tuple[str, str], **options: object) -> tuple[Engine, Engine]:
    image = image_of(text)
    a, b = tiers
    return Engine(image, EngineOptions(tier=a, **options)), Engine(image, EngineOptions(tier=b))


@pytest.mark.parametrize("tiers", TIERS)
def test_equal_engines_do_not_differ(tiers: tuple[str, str]) -> None:
    assert first_difference(*engines(FLOATS, tiers), float_call(1)) is None


@pytest.mark.parametrize("tiers", TIERS)
@pytest.mark.parametrize("odd", [1, 617, COUNT - 1])
def test_a_rounding_is_found_at_its_instruction(tiers: tuple[str, str], odd: int) -> None:
    """One rounding against two: the products differ for one pair of elements only."""
    found = first_difference(*engines(FLOATS, tiers, fused="two-roundings"), float_call(odd))
    assert found is not None
    assert found.kind is Kind.EFFECT
    assert found.number == 4 + 5 * odd + 2
    assert found.a.where.symbol == "sum"
    for side in (found.a, found.b):
        assert any(line.startswith("=>") and "madd.s" in line for line in side.context)
        assert side.step is not None
        assert side.step.plan is not None
        assert side.step.plan.insn.mnemonic == "madd.s"
    assert [v.name for v in found.values] == ["f0"]
    text = str(found)
    assert "f0" in text
    assert "sum+" in text
    assert json_object(found)["values"][0]["name"] == "f0"
