"""ACCX as pending sums: windows, limits, both kinds of bytes, hosts with and without a byte dot product."""

from pathlib import Path

import numpy as np
import pytest

from emu.cpu.translator import sums
from emu.cpu.translator.accumulator import LIMIT, WINDOW, is_large
from emu.cpu.translator.library import Library
from emu.cpu.translator.modes import Mode
from tests.translator.compare import Pair
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA, DATA_SIZE

TOP = 1 << 39


@pytest.fixture(params=[True, False], ids=["byte dot", "plain"])
def pair(tmp_path, request, monkeypatch):
    if request.param and not sums.has_byte_dot():
        pytest.skip("this host has no byte dot product")
    monkeypatch.setattr(sums, "has_byte_dot", lambda: request.param)
    made = Pair()
    made.translator._library = Library(Path(tmp_path))
    return made


def loop_of_macs(kind, count, body, tail=()):
    """``count`` times the instructions of ``body``, then those of ``tail``; q0..q3 are loaded before."""
    program = Program()
    program.place("main", 4)
    program.emit("l32r", t=2, literal=LITERALS)
    program.emit("l32r", t=7, literal=LITERALS + 4)
    for register in range(4):
        program.emit("ee.vld.128.ip", **{"qu": register, "as": 2, "imm16": 16})
    program.emit("loop", s=7, target="end")
    for key, values in body(kind):
        program.emit(key, **values)
    program.place("end")
    for key, values in tail:
        program.emit(key, **values)
    program.emit("ret")
    return (*program.assemble(), (DATA + 256, count))


def two_macs(kind):
    return [(f"ee.vmulas.{kind}.accx", {"qx": 0, "qy": 1}), (f"ee.vmulas.{kind}.accx", {"qx": 2, "qy": 3})]


def three_with_a_read(kind):
    return [*two_macs(kind), ("rur.accx_0", {"r": 8}), (f"ee.vmulas.{kind}.accx", {"qx": 1, "qy": 2})]


def with_a_load(kind):
    fused = {"qu": 0, "as": 2, "imm16": 0, "qx": 0, "qy": 1}
    return [(f"ee.vmulas.{kind}.accx.ld.ip", fused), *two_macs(kind)[:1]]


def data_of(x, y):
    """Bytes x in q0 and q2, y in q1 and q3."""
    data = np.zeros(DATA_SIZE, np.uint8)
    for register, value in enumerate((x, y, x, y)):
        data[256 + 16 * register : 272 + 16 * register] = value & 0xFF
    return data


EXTREMES = [(-128, -128), (127, -128), (-128, 127), (255, 255), (1, -1), (0, 0)]
STARTS = [0, 5, LIMIT - 1, LIMIT, TOP - 1, -1, -LIMIT, -LIMIT - 1, -TOP, TOP - (1 << 33), -TOP + (1 << 33)]


@pytest.mark.parametrize("kind", ["s8", "u8"])
@pytest.mark.parametrize("body", [two_macs, three_with_a_read, with_a_load])
def test_every_start_value_and_extreme(pair, kind, body):
    for number, start in enumerate(STARTS):
        for x, y in EXTREMES[number % 2 :: 2]:
            code, labels, words = loop_of_macs(kind, 30, body)
            states = {"ACCX": start % (1 << 40), "budget": 30_000}
            pair.check(f"{kind} {start} {x} {y}", code, labels, False, words, data_of(x, y), **states)
    assert pair.outcomes == {"RETURN": 33}


@pytest.mark.parametrize(("kind", "x", "y"), [("s8", 127, -128), ("s8", -128, -128), ("u8", 255, 255)])
def test_loops_longer_than_a_window(pair, kind, x, y):
    count = 3 * WINDOW // 2
    states = {"ACCX": 0, "budget": 10 * WINDOW}
    pair.check(f"long {kind}", *_parts(kind, count), data_of(x, y), **states)
    assert pair.outcomes == {"RETURN": 1}


def _parts(kind, count):
    code, labels, words = loop_of_macs(kind, count, two_macs)
    return code, labels, False, words


def test_saturation_in_the_middle_of_a_long_loop(pair):
    """From just below 2**38 the sum crosses it, then reaches the clamp and stays there."""
    start = TOP - 5000 * (1 << 18)
    states = {"ACCX": start, "budget": 10 * WINDOW}
    pair.check("saturates", *_parts("s8", 4000), data_of(-128, -128), **states)
    assert pair.sides[1].state.ACCX == TOP - 1
    states["ACCX"] = -start % (1 << 40)
    pair.check("saturates below", *_parts("s8", 4000), data_of(127, -128), **states)
    assert pair.sides[1].state.ACCX == TOP


def test_both_kinds_in_one_unit(pair):
    def mixed(kind):
        return [*two_macs("s8"), *two_macs("u8")[:1], *two_macs("s16")[:1]]

    for x, y in EXTREMES:
        code, labels, words = loop_of_macs("", 50, mixed)
        pair.check(f"mixed {x} {y}", code, labels, False, words, data_of(x, y), ACCX=12345)
    assert pair.outcomes == {"RETURN": 6}


def test_the_limit_separates_the_modes():
    inside = [0, LIMIT - 1, (1 << 40) - LIMIT, (1 << 40) - 1]
    outside = [LIMIT, TOP - 1, TOP, (1 << 40) - LIMIT - 1]
    assert [is_large(x) for x in inside + outside] == [False] * 4 + [True] * 4
    state = Pair().sides[0].state
    state.ACCX = LIMIT
    assert Mode.of(state).exact_accx
