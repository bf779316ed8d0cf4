"""Two engines side by side: equal ones, and differences whose place is known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.translator import dispatch
from emu.cpu.translator.discover import Code
from emu.debug.calls import Buffer, Call
from emu.debug.difference import Difference, Kind, json_object
from emu.debug.errors import DebugInputError
from emu.debug.lockstep import first_difference
from emu.debug.lockstep_tiers import smallest
from emu.debug.trace import Trace
from emu.image import load_image
from emu.isa.semantics import effects
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware
from tests.cpu.images import image_of

ROOT = Path(__file__).resolve().parents[2]
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


MIXED = """
mix: entry a1, 32
movi a6, 1
loop a3, end
l8ui a5, a2, 0
add a6, a6, a5
slli a7, a6, 3
xor a6, a6, a7
addi.n a2, a2, 1
end: mov.n a2, a6
retw.n
"""


def faulty_translator(monkeypatch: pytest.MonkeyPatch, from_size: int) -> None:
    """Units of that many instructions or more translate xor as or."""
    genuine = dispatch.translate

    def translate(code: Code, *rest: Any) -> Any:
        plans = [step.plan for step in code.steps if step.insn.mnemonic == "xor"]
        if len(code.steps) < from_size:
            return genuine(code, *rest)
        try:
            for plan in plans:
                plan.effect = effects()["or"]
            return genuine(code, *rest)
        finally:
            for plan in plans:
                plan.effect = effects()["xor"]

    monkeypatch.setattr(dispatch, "translate", translate)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("from_size", [1, 2, 4, 9])
def test_a_faulty_translation_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, order: int, from_size: int
) -> None:
    """Bytes whose or and xor agree for a while: the first that does not is the place."""
    faulty_translator(monkeypatch, from_size)
    image = image_of(MIXED)
    pair = [
        Engine(image, EngineOptions(tier="translator", cache_dir=tmp_path)),
        Engine(image, EngineOptions(tier="stepper")),
    ][::order]
    data = bytes(600) + b"\x01" + bytes(50)
    steps = list(Trace(Engine(image, EngineOptions(tier="stepper")), Call("mix", [Buffer(data), len(data)])))
    places = [
        s.number for s in steps if s.plan and s.plan.insn.mnemonic == "xor" and s.reads["a6"] & s.reads["a7"]
    ]
    found = first_difference(pair[0], pair[1], Call("mix", [Buffer(data), len(data)]))
    assert found is not None
    assert found.a.where.symbol == "mix"
    if from_size == 1:
        assert found.number == places[0]
        assert not found.notes
        assert [v.name for v in found.values] == ["a6"]
        assert found.a.step is not None
        assert found.a.step.plan is not None
        assert found.a.step.plan.insn.mnemonic == "xor"
    else:
        limit = int(re.search(r"units of up to (\d+) instructions", found.notes[0])[1])  # type: ignore[index]
        assert found.number - 4 * limit <= places[0] <= found.number


def test_traps_alike_and_traps_of_one_side() -> None:
    image = image_of(MIXED)
    call = Call("mix", [0x10, 4])
    for tiers in TIERS:
        assert first_difference(*engines(MIXED, tiers), call) is None
    bounded = Engine(image, EngineOptions(tier="stepper", bounds=True))
    free = Engine(image, EngineOptions(tier="stepper"))
    found = first_difference(bounded, free, Call("mix", [Buffer(bytes(4)), 5]))
    assert found is not None
    assert found.kind is Kind.TRAP
    assert "outside" in found.a.trap
    assert found.b.trap == ""


def test_engines_that_cannot_be_compared() -> None:
    a, b = engines(MIXED, ("stepper", "stepper"))
    with pytest.raises(DebugInputError, match="itself"):
        first_difference(a, a, Call("mix", [0, 0]))
    b.memory.write(b.arena.start + 7, b"x")
    with pytest.raises(DebugInputError, match="before the call"):
        first_difference(a, b, Call("mix", [0, 0]))


@pytest.mark.parametrize("known", [1, 2, 3, 100, 101])
def test_search_for_the_smallest(known: int) -> None:
    for place in range(1, known + 1):
        assert smallest(lambda n, place=place: n >= place, known) == place


# --- two images --------------------------------------------------------------------------------------------


def two(text_a: str, text_b: str, call: Call, call_b: Call | None = None) -> Difference | None:
    a, b = (Engine(image_of(t), EngineOptions(tier="stepper")) for t in (text_a, text_b))
    return first_difference(a, b, call, call_b)


COPY = """
copy: entry a1, 32
again: beqz a4, out
l8ui a5, a2, 0
addi a5, a5, {more}
s8i a5, a3, 0
addi a2, a2, 1
addi a3, a3, 1
addi a4, a4, -1
j again
out: {last}
retw.n
"""
BACKWARDS = """
copy: entry a1, 32
add a2, a2, a4
add a3, a3, a4
again: beqz a4, out
addi a2, a2, -1
addi a3, a3, -1
l8ui a6, a2, 0
addi a6, a6, 1
{extra}
s8i a6, a3, 0
addi a4, a4, -1
j again
out: movi a2, 0
retw.n
"""
PADDING = "pad: entry a1, 32\nretw.n\n.align 4\n.word 1, 2, 3\n"
SOURCE = bytes(range(20))
PLAIN = COPY.format(more=1, last="movi a2, 0")
NOTHING = "copy: entry a1, 32\nmovi a2, 0\nretw.n\n"


def copy_call(returns: int = 1) -> Call:
    return Call("copy", [Buffer(SOURCE, "uint8", "x"), Buffer(bytes(20), "uint8", "y"), 20], returns=returns)


def test_the_same_code_elsewhere_does_not_differ() -> None:
    text = PLAIN
    assert two(text, PADDING + text, copy_call()) is None


def test_pointers_to_the_same_thing_are_equal_and_others_are_not() -> None:
    text = ".word {}\ncopy: entry a1, 32\nl32r a5, {:#x}\ns32i.n a5, a3, 0\nmov.n a2, a5\nretw.n\n"
    here = text.format("copy", 0x40378000)
    assert two(here, PADDING + ".align 4\n" + text.format("copy", 0x40378014), copy_call()) is None
    found = two(here, PADDING + ".align 4\n" + text.format("pad", 0x40378014), copy_call())
    assert found is not None
    assert found.kind is Kind.EFFECT
    assert found.number == 1
    assert [v.name for v in found.values] == ["a5"]


def test_another_constant_is_another_stream_and_its_first_byte_is_named() -> None:
    found = two(PLAIN, COPY.format(more=2, last="movi a2, 0"), copy_call())
    assert found is not None
    assert found.kind is Kind.BYTES
    assert (found.values[0].name, found.values[0].a, found.values[0].b) == ("y[0]", 1, 2)
    assert len(found.values) == 20
    assert "differs from instruction 3 on" in found.notes[0]
    for side in (found.a, found.b):
        assert side.step is not None
        assert side.step.plan is not None
        assert side.step.plan.insn.mnemonic == "s8i"
    assert found.number == 4


def test_another_order_of_stores_does_not_matter() -> None:
    forwards = PLAIN
    assert two(forwards, BACKWARDS.format(extra=""), copy_call()) is None


def test_one_wrong_byte_in_other_code() -> None:
    """Bit 3 is dropped: elements 7 to 14 differ; a writes element 7 first, b last."""
    found = two(PLAIN, BACKWARDS.format(extra="extui a6, a6, 0, 3"), copy_call())
    assert found is not None
    assert [v.name for v in found.values] == [f"y[{i}]" for i in range(7, 20)]
    assert found.values[0].a == 8
    assert found.values[0].b == 0
    assert found.number == 1 + 8 * 7 + 3
    assert found.b.step is not None
    assert found.b.step.number == 3 + 9 * 12 + 6
    assert json_object(found)["values"][0]["address"]


def test_a_byte_that_one_side_never_writes() -> None:
    found = two(PLAIN, NOTHING, copy_call())
    assert found is not None
    assert found.values[0].name == "y[0]"
    assert any("never written in b" in note for note in found.notes)
    turned = two(NOTHING, PLAIN, copy_call())
    assert turned is not None
    assert any("never written in a" in note for note in turned.notes)


def test_results() -> None:
    texts = PLAIN, COPY.format(more=1, last="addi a2, a2, 5")
    found = two(*texts, copy_call())
    assert found is not None
    assert found.kind is Kind.RESULT
    assert two(*texts, copy_call(returns=0)) is None


def test_a_trap_in_one_image() -> None:
    found = two(PLAIN, COPY.format(more=1, last="ill"), copy_call())
    assert found is not None
    assert found.kind is Kind.TRAP
    assert found.a.trap == ""
    assert "illegal" in found.b.trap


def test_a_mutant_of_the_reference_image(toolchain: Toolchain, tmp_path: Path) -> None:
    patch = ROOT / "tests" / "mutants" / "loop-end-early.patch"
    good = build_firmware(toolchain, tmp_path / "good").elf
    bad = build_firmware(toolchain, tmp_path / "bad", [patch]).elf
    rng = np.random.default_rng(1)
    x, w = rng.integers(-128, 128, (3, 80)).astype(np.int8), rng.integers(-128, 128, 80).astype(np.int8)
    call = Call(
        "dot_rows_s8",
        [
            *(Buffer(x.tobytes(), "int8", "x"), 80, 3, Buffer(w.tobytes(), "int8", "w"), 80),
            *(Buffer(bytes(12), "int32", "acc"), 1),
        ],
    )
    options = EngineOptions(tier="stepper")
    found = first_difference(Engine(load_image(good), options), Engine(load_image(bad), options), call)
    assert found is not None
    assert found.kind is Kind.BYTES
    assert found.values[0].name == "acc[0]"
    assert found.values[0].a == int(x[0].astype(int) @ w.astype(int)) & 0xFFFFFFFF
    assert "dot_rows_s8.S" in found.notes[0]
    optimised = build_firmware(toolchain, tmp_path / "other", extra_flags=["-O1"]).elf
    other = Call("dot_rows_s8_c", call.arguments)
    a, b = (Engine(load_image(elf), options) for elf in (good, optimised))
    assert first_difference(a, b, other) is None


def test_the_command(tmp_path: Path) -> None:
    def emu(*words: object) -> tuple[int, str]:
        result = CliRunner().invoke(main, [str(w) for w in words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    assert emu("lockstep", "-", "crc32_bytes", "0", "u8:1,2,3", "3") == (0, "no difference\n")
    code, text = emu(
        "lockstep", "-", "crc32_bytes", "0", "u8:1,2,3", "3", "--tiers", "stepper,stepper", "--json"
    )
    assert (code, json.loads(text)) == (0, None)
    files = []
    for name, more in (("a", 1), ("b", 2)):
        files.append(tmp_path / f"{name}.elf")
        files[-1].write_bytes(image_of(COPY.format(more=more, last="movi a2, 0")).data)
    code, text = emu("lockstep", files[0], "copy", "x=u8:1,2", "y=zeros:2", "2", "--with", files[1])
    assert code == 1
    assert "y[0] at 0x" in text
    assert "02 in a, 03 in b" in text
    code, text = emu("lockstep", "-", "crc32_bytes", "--tiers", "stepper")
    assert code == 2
    code, text = emu("lockstep", "-", "crc32_bytes", "--with", files[0])
    assert code == 2
    assert "no symbol" in text
