"""Loads and stores at every alignment, atomics, ordering."""

from __future__ import annotations

import pytest
from instruction_driver import CODE, DATA, Cpu, check

from emu.isa.encode import assemble_one

WORDS = {f"[{DATA + 4 * i:#x}]": 0x83828180 + 0x04040404 * i for i in range(4)}


def _place(offset: int) -> str:
    return f"[{DATA + offset:#x}]"


LOADS = [
    ("l8ui a3, a4, 0", {"a4": DATA}, 0x80),
    ("l8ui a3, a4, 255", {"a4": DATA - 248}, 0x87),
    ("l16ui a3, a4, 0", {"a4": DATA}, 0x8180),
    ("l16ui a3, a4, 510", {"a4": DATA - 507}, 0x8483),
    ("l16si a3, a4, 0", {"a4": DATA}, 0xFFFF8180),
    ("l16si a3, a4, 2", {"a4": DATA + 1}, 0xFFFF8483),
    ("l32i a3, a4, 4", {"a4": DATA}, 0x87868584),
    ("l32i a3, a4, 1020", {"a4": DATA - 1019}, 0x84838281),
    ("l32i.n a3, a4, 60", {"a4": DATA - 58}, 0x85848382),
    ("l32ai a3, a4, 8", {"a4": DATA}, 0x8B8A8988),
    ("l32e a3, a4, -64", {"a4": DATA + 64}, 0x83828180),
    ("l32e a3, a4, -4", {"a4": DATA + 8}, 0x87868584),
    ("l32i a4, a4, 0", {"a4": DATA}, 0x83828180),
]


@pytest.mark.parametrize(("text", "given", "loaded"), LOADS)
def test_load(text, given, loaded):
    target = text.split()[1].rstrip(",")
    check(text, WORDS | given, {target: loaded})


@pytest.mark.parametrize("offset", range(8))
def test_word_loads_take_any_alignment(offset):
    data = bytes(range(0x80, 0x90))
    word = int.from_bytes(data[offset : offset + 4], "little")
    check("l32i a3, a4, 0", WORDS | {"a4": DATA + offset}, {"a3": word})


STORES = [
    ("s8i a3, a4, 1", {"a3": 0x11223344, "a4": DATA}, {_place(0): 0x83824480}),
    ("s16i a3, a4, 2", {"a3": 0x11223344, "a4": DATA}, {_place(0): 0x33448180}),
    ("s16i a3, a4, 2", {"a3": 0x1122, "a4": DATA + 1}, {_place(0): 0x22828180, _place(4): 0x87868511}),
    ("s32i a3, a4, 4", {"a3": 0x11223344, "a4": DATA}, {_place(4): 0x11223344}),
    ("s32i a3, a4, 0", {"a3": 0x44, "a4": DATA + 3}, {_place(0): 0x44828180, _place(4): 0x87000000}),
    ("s32i.n a3, a4, 8", {"a3": 1, "a4": DATA}, {_place(8): 1}),
    ("s32nb a3, a4, 12", {"a3": 2, "a4": DATA}, {_place(12): 2}),
    ("s32ri a3, a4, 12", {"a3": 3, "a4": DATA}, {_place(12): 3}),
    ("s32e a3, a4, -16", {"a3": 4, "a4": DATA + 16}, {_place(0): 4}),
    ("s32i a4, a4, 0", {"a4": DATA}, {_place(0): DATA}),
]


@pytest.mark.parametrize(("text", "given", "expected"), STORES)
def test_store(text, given, expected):
    check(text, WORDS | given, expected)


def test_l32r_reads_the_word_before_the_code():
    """The literal's address counts from the next word boundary, always backwards."""
    cpu = Cpu()
    cpu.memory.write(CODE + 8, (0xCAFE0123).to_bytes(4, "little"))
    for pc in range(CODE + 0x40, CODE + 0x44):
        cpu.memory.write(pc, assemble_one("l32r", 3, CODE + 8, pc=pc))
        cpu.state.PC = pc
        cpu.state.set_a(3, 0)
        cpu.stepper.step()
        assert cpu.state.get_a(3) == 0xCAFE0123
        assert pc + 3 == cpu.state.PC


ATOMICS = [
    (
        "s32c1i a3, a4, 4",
        {"a3": 5, "a4": DATA, "SCOMPARE1": 0x87868584},
        {"a3": 0x87868584, _place(4): 5},
    ),
    ("s32c1i a3, a4, 4", {"a3": 5, "a4": DATA, "SCOMPARE1": 0x87868585}, {"a3": 0x87868584}),
    ("s32c1i a4, a4, 0", {"a4": DATA, "SCOMPARE1": 0x83828180}, {"a4": 0x83828180, _place(0): DATA}),
]


@pytest.mark.parametrize(("text", "given", "expected"), ATOMICS)
def test_compare_and_store(text, given, expected):
    check(text, WORDS | given, expected)


ORDER = ["memw", "extw", "isync", "dsync", "esync", "rsync", "excw"]


@pytest.mark.parametrize("text", ORDER)
def test_ordering_instructions_change_nothing(text):
    check(text, {}, {})
