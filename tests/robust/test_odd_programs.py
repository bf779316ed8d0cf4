"""Programs that do odd things: both tiers end in the same way, in the same state, with the same memory.

Code that changes itself or is loaded anew, jumps into instructions, loops that end in strange places, stacks
that overflow, budgets that end anywhere, interrupts at every instruction, code in every region of the chip.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from emu.cpu.engine import Engine
from emu.cpu.interrupts import timer_number
from emu.image import Image, load_image
from tests.cpu.images import image_of
from tests.cpu.lab import CODE, DATA, assemble
from tests.image.elf_files import Name, Part, make_elf
from tests.robust.tiers import Both

ALIAS = CODE - 0x3FC88000
"""What the address of code has more than that of the same byte on the data bus."""
PATIENCES = (0, 3, 20_000)
"""Units get full effort at once, soon, or hardly ever."""


def each_patience(both: Both) -> Iterator[None]:
    for patience in PATIENCES:
        both.engines[1].tier.patience = patience  # type: ignore[attr-defined]
        yield


def word(text: str) -> int:
    return int.from_bytes(assemble(text, CODE).data[:4], "little")


def placed(body: Callable[[int], str], is_alias: bool) -> str:
    """A text that names the address of its label ``_t``, through either bus."""
    at = assemble(body(0), CODE, table=DATA).labels["_t"]
    return body(at - (ALIAS if is_alias else 0))


def returned(both: Both, *arguments: int, budget: int = 20_000) -> int:
    """The result of f, which must return."""
    end = both.run("f", arguments, budget=budget)
    assert end.how == "RETURN", end.text
    return end.values["ar10"]


# --- code that changes ---------------------------------------------------------------------------
ONE, SEVEN = word("addi a2, a2, 1\n nop"), word("addi a2, a2, 7\n nop")


def _ahead(sync: str) -> Callable[[int], str]:
    return lambda target: (
        f"""
       .align 4
    _one: .word {ONE:#x}
    _seven: .word {SEVEN:#x}
    _where: .word {target:#x}
    f: entry a1, 48
       mov.n a4, a3
    _again: l32r a5, _one
       bbci a4, 0, _even
       l32r a5, _seven
    _even: l32r a6, _where
       s32i a5, a6, 0
       {sync}
       j _t
       .align 4
    _t: addi a2, a2, 1
       nop
       addi a4, a4, -1
       bnez a4, _again
       retw
    """
    )


@pytest.mark.parametrize("sync", ["isync", "nop"])
@pytest.mark.parametrize("is_alias", [False, True])
def test_an_instruction_ahead_is_replaced_in_every_round(is_alias: bool, sync: str) -> None:
    both = Both(image_of(placed(_ahead(sync), is_alias)))
    for _ in each_patience(both):
        for rounds in (1, 2, 3, 50, 301):
            assert returned(both, 0, rounds) == 7 * -(-rounds // 2) + rounds // 2


def _in_loop(target: int) -> str:
    return f"""
       .align 4
    _both: .word {ONE ^ SEVEN:#x}
    _where: .word {target:#x}
    f: entry a1, 48
       l32r a5, _both
       l32r a6, _where
       j _start
       .align 4
    _start: loop a3, _end
       l32i a7, a6, 0
       xor a7, a7, a5
       s32i a7, a6, 0
       j _t
       .align 4
    _t: addi a2, a2, 1
       nop
    _end: retw
    """


@pytest.mark.parametrize("is_alias", [False, True])
def test_a_hardware_loop_replaces_its_own_body(is_alias: bool) -> None:
    both = Both(image_of(placed(_in_loop, is_alias)))
    for _ in each_patience(both):
        for rounds in (1, 2, 3, 51, 300):
            assert returned(both, 0, rounds) == 7 * -(-rounds // 2) + rounds // 2


def _by_vector(target: int) -> str:
    return f"""
       .align 4
    _where: .word {target:#x}
    f: entry a1, 48
       l32r a6, _where
       ee.vld.128.ip q0, a4, 16
       mov.n a5, a6
       ee.vst.128.ip q0, a5, 16
       j _t
       .align 16
    _t: addi a2, a2, 1
       nop
       addi a2, a2, 1
       nop
       addi a2, a2, 1
       addi a4, a4, 0
       addi a3, a3, -1
       bnez a3, f+3
       retw
    """


@pytest.mark.parametrize("is_alias", [False, True])
def test_a_vector_store_replaces_five_instructions(is_alias: bool) -> None:
    pieces = [f"addi a2, a2, {i + 1}\n addi a2, a2, {2 * i}\n nop\n nop\n addi a2, a2, 1" for i in range(8)]
    tail = assemble("addi a4, a4, 0").data[:1]
    data = b"".join(assemble(piece).data + tail for piece in pieces)
    both = Both(image_of(placed(_by_vector, is_alias), data))
    for _ in each_patience(both):
        for rounds in (1, 2, 8):
            assert returned(both, 0, rounds, DATA) == sum(3 * i + 2 for i in range(rounds))


PLACE = CODE + 0x2000
LOADER = f"""
       .align 4
    _to: .word {PLACE - ALIAS:#x}
    _at: .word {PLACE:#x}
    f: entry a1, 48
    _again: l32r a5, _to
       slli a6, a4, 5
       add a6, a6, a3
       movi a7, 8
       loop a7, _copied
       l32i a8, a6, 0
       s32i a8, a5, 0
       addi a6, a6, 4
       addi a5, a5, 4
    _copied: isync
       mov.n a10, a2
       l32r a8, _at
       callx8 a8
       mov.n a2, a10
       addi a4, a4, -1
       bgez a4, _again
       retw
    """


def test_functions_that_are_loaded_to_the_same_place_in_turn() -> None:
    text = "entry a1, 32\n addi a2, a2, {0}\n movi a3, {1}\n add a2, a2, a3\n retw"
    functions = [assemble(text.format(k, 3 * k), PLACE).data.ljust(32, b"\0") for k in range(1, 8)]
    both = Both(image_of(LOADER, b"".join(functions)))
    for _ in each_patience(both):
        for last in range(7):
            assert returned(both, 0, DATA, last) == sum(4 * k for k in range(1, last + 2))


# --- control flow ---------------------------------------------------------------------------
LANDING = """
       .align 4
    f: entry a1, 32
       add a3, a3, a2
       jx a3
       .align 4
    _b: ee.vld.128.ip q0, a4, 16
       movi a5, 300
       add.n a2, a2, a5
       ee.vmulas.s8.accx.ld.ip q1, a4, 16, q0, q0
       l32i a6, a4, 0
       retw
    """


def test_jumps_into_the_middle_of_instructions() -> None:
    at = assemble(LANDING, CODE, table=DATA).labels["_b"]
    both = Both(image_of(LANDING, bytes(range(64))))
    ends = Counter(both.run("f", [off, at, DATA], budget=300).how.split()[0] for off in range(-6, 30))
    assert ends["RETURN"] >= 5
    assert len(ends) >= 3


LOOPS = """
       .align 4
    f: entry a1, 48
       wsr.lbeg a2
       wsr.lend a3
       wsr.lcount a4
    _b: addi a5, a5, 1
       add.n a6, a6, a5
       ee.zero.q q0
       addi a7, a7, 1
       bltui a7, 16, _k
       addi.n a6, a6, 1
    _k: nop.n
       ee.vadds.s8 q1, q0, q0
       addi a5, a5, 3
       retw
    """


def test_hardware_loops_that_begin_and_end_anywhere() -> None:
    begin = assemble(LOOPS, CODE, table=DATA).labels["_b"]
    both, rng, ends = Both(image_of(LOOPS)), random.Random(5), Counter()
    for _ in each_patience(both):
        for _ in range(60):
            loop = (begin + rng.randrange(-2, 30), begin + rng.randrange(-2, 34))
            end = both.run("f", [*loop, rng.choice([0, 1, 2, 5, 100])], budget=500)
            ends[end.how.split()[0]] += 1
    assert ends["RETURN"] > 60
    assert len(ends) >= 3


def test_a_function_far_longer_than_a_unit() -> None:
    length = 4000
    body = "".join(f" addi a3, a3, {i % 100}\n" for i in range(length))
    text = f".align 4\n f: entry a1, 48\n movi a3, 0\n _l: nop\n{body} addi a2, a2, -1\n bgei a2, 1, _m\n"
    both = Both(image_of(text + " mov.n a2, a3\n retw\n _m: j _l\n"))
    for _ in each_patience(both):
        assert returned(both, 3) == 3 * sum(i % 100 for i in range(length))
        assert both.run("f", [3], budget=length + 77).how == "BUDGET"


# --- budgets, stacks, interrupts ---------------------------------------------------------------------------
MIXED = """
       .align 4
    f: entry a1, 48
       movi a3, 5
       loop a2, _e
       addi a3, a3, 1
       s32i a3, a1, 0
    _e: mov.n a10, a2
       call8 g
       add a2, a10, a3
       retw
       .align 4
    g: entry a1, 32
       beqz a2, _d
       addi a10, a2, -1
       call8 g
    _d: retw
    """


def test_the_budget_may_end_in_front_of_every_instruction() -> None:
    both = Both(image_of(MIXED))
    for _ in each_patience(both):
        length = both.run("f", [7]).instructions
        for budget in range(length + 2):
            end = both.run("f", [7], budget=budget)
            assert end.instructions == min(budget, length)


DEEP = """
       .align 4
    f: entry a1, 48
       s32i a2, a1, 0
       addi a10, a2, 1
       call8 f
       l32i a3, a1, 0
       add a2, a10, a3
       retw
       .align 4
    g: entry a1, 4000
       call12 g
       retw
       .align 4
    h: entry a1, 32
       call4 h
       retw
    """


@pytest.mark.parametrize("symbol", ["f", "g", "h"])
def test_recursion_without_an_end_overflows_the_stack(symbol: str) -> None:
    end = Both(image_of(DEEP)).run(symbol, [0], budget=60_000)
    assert end.how.startswith("UNMAPPED_STORE")


CHAIN = """
       .align 4
    f: entry a1, 48
       beqz a2, _o
       addi a10, a2, -1
       movi a3, 3
       loop a3, _e
       ee.vld.128.ip q0, a4, 16
       add a5, a5, a3
    _e: mov.n a12, a4
       call8 f
       add a2, a10, a5
       ssi f1, a1, 0
       madd.s f1, f2, f2
    _o: retw
    """


def test_two_timers_at_every_instruction_of_loops_and_calls() -> None:
    """Inside loops, window handlers and one another."""
    cycles = [0]

    def arm(engine: Engine) -> None:
        state = engine.state
        state.INTENABLE = 1 << timer_number(0) | 1 << timer_number(1)
        for timer in (0, 1):
            due = state.CCOUNT + state.instructions + cycles[0] + 2 * timer
            setattr(state, f"CCOMPARE{timer}", due & 0xFFFFFFFF)

    both = Both(image_of(CHAIN, bytes(range(256))), vectors=True, prepare=arm)
    length = both.run("f", [9, 0, DATA]).instructions
    for number, _ in enumerate(each_patience(both)):
        for cycles[0] in range(1 + number, length, 4):
            assert both.run("f", [9, 0, DATA]).how == "RETURN"


# --- places ---------------------------------------------------------------------------
REGIONS = {
    "SRAM0": 0x40370000,
    "SRAM1": 0x40380000,
    "its end": 0x403DFF80,
    "flash": 0x42000020,
    "another page of flash": 0x42010020,
    "RTC fast": 0x600FE000,
    "RTC slow": 0x50000000,
}
LINK = """
       .align 4
    _next: .word {next}
    _pad: .word 0
    f{i}: entry a1, 32
       addi a2, a2, -1
       bltz a2, _out
       mov.n a10, a2
       l32r a8, _next
       callx8 a8
       addi a2, a10, {i}
    _out: retw
    """


def _round_trip() -> Image:
    """A function in each region, which calls the one in the next."""
    parts, names, places = [], [], list(REGIONS.values())
    for i, base in enumerate(places):
        following = places[(i + 1) % len(places)] + 8
        made = assemble(LINK.format(i=i, next=following), base)
        parts.append(Part(base, made.data, name=f".text{i}"))
        names.append(Name(f"f{i}" if i else "f", made.labels[f"f{i}"], 20, section=i))
    return load_image(make_elf(parts, names), "regions.elf")


def test_calls_between_all_regions_that_hold_code() -> None:
    both = Both(_round_trip())
    for _ in each_patience(both):
        for depth in (0, 1, 6, 7, 20):
            expected = -1 + sum(i % len(REGIONS) for i in range(depth))
            assert returned(both, depth) == expected & 0xFFFFFFFF


@pytest.mark.parametrize("cut", range(5))
def test_code_that_runs_off_the_end_of_memory(cut: int) -> None:
    end = 0x403E0000
    code = assemble("f: entry a1, 32\n movi a3, 5\n nop\n addi a2, a2, 1\n ee.zero.q q0", end - 64).data
    place = (end - len(code) + cut) & ~3
    image = load_image(make_elf([Part(place, code[: end - place])], [Name("f", place, 8)]), "edge.elf")
    assert Both(image).run("f", [1]).how.startswith("NOT_CODE")
