"""Boolean registers."""

from __future__ import annotations

import pytest
from instruction_driver import CODE, check

TO = CODE + 0x20


def _bits(value: int) -> dict[str, int]:
    return {f"b{n}": value >> n & 1 for n in range(16)}


TWO = [("andb", 0b0001), ("andbc", 0b0010), ("orb", 0b0111), ("orbc", 0b1011), ("xorb", 0b0110)]
"""Result for (s, t) = (1,1), (1,0), (0,1), (0,0), from bit 0 upwards."""


@pytest.mark.parametrize(("name", "table"), TWO)
@pytest.mark.parametrize("case", range(4))
def test_two_booleans(name, table, case):
    s, t = 1 - case // 2, 1 - case % 2
    for old in (0, 1):
        check(f"{name} b3, b4, b15", {"b3": old, "b4": s, "b15": t}, {"b3": table >> case & 1})


def test_result_may_be_a_source():
    check("xorb b4, b4, b4", {"b4": 1}, {"b4": 0})


GROUPS = [("any4", 4, lambda x: x != 0), ("all4", 4, lambda x: x == 15)]
GROUPS += [("any8", 8, lambda x: x != 0), ("all8", 8, lambda x: x == 255)]


@pytest.mark.parametrize(("name", "size", "truth"), GROUPS)
def test_groups(name, size, truth):
    for first in range(0, 16, size):
        for inside in (0, 1, 1 << (size - 1), (1 << size) - 2, (1 << size) - 1):
            for outside in (0, 0xFFFF):
                rest = outside & ~(((1 << size) - 1) << first)
                given = _bits(rest | inside << first)
                target = (first + size) % 16
                check(f"{name} b{target}, b{first}", given, {f"b{target}": int(truth(inside))})


def test_group_result_may_lie_inside():
    check("any4 b1, b0", _bits(0b1000), {"b1": 1})
    check("all8 b15, b8", _bits(0xFF00), {"b15": 1})


@pytest.mark.parametrize("value", [0, 1])
def test_branches_and_moves(value):
    given = {"b7": value, "a3": 1, "a4": 2}
    check(f"bt b7, {TO:#x}", given, {}, TO if value else None)
    check(f"bf b7, {TO:#x}", given, {}, None if value else TO)
    check("movt a3, a4, b7", given, {"a3": 2 if value else 1})
    check("movf a3, a4, b7", given, {"a3": 1 if value else 2})
