"""What the engine noticed is told after a run: every kind of finding, on the terminal, as JSON and to GDB."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.cpu.diagnostics import TEXTS, Check, Diagnostics
from emu.debug.calls import Buffer, Call, start
from emu.debug.outcome import json_object, notice_lines, text_lines
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE, assemble
from tests.image.elf_files import Name, Part, make_elf

ODD = """
    f: entry a1, 32
       ee.vld.128.ip q0, a2, 0
       ee.vadds.s8 q1, q0, q0
       addi a8, a1, -64
       s32i a2, a8, 0
       l8ui a9, a2, 40
       add a2, a2, a7
       retw
"""


@pytest.mark.parametrize("check", TEXTS)
def test_every_kind_has_a_line(check: Check) -> None:
    """A kind that is added later cannot be forgotten here."""
    engine = engine_of("f: entry a1, 32\n retw")
    found = Diagnostics()
    counts = dict(found.counts()).get(check)
    if counts is None:
        found.note(check, CODE, "the first values")
        found.note(check, CODE + 3, "later values")
    else:
        counts.update({CODE: 1, CODE + 3: 1})
        found.first[check, CODE] = "the first values"
    (line,) = notice_lines(found, engine)
    assert TEXTS[check] in line
    assert "2 times in 2 places" in line
    assert f"{CODE:#010x} f+0x0: the first values" in line


def test_a_checked_call_tells_what_was_found() -> None:
    engine = engine_of(ODD, tier="stepper", check=True)
    started = start(engine, Call("f", [Buffer(bytes([127] * 20), "int8", "x", offset=3)]))
    engine.run()
    result = engine.finish(started.entered)
    text = "\n".join(text_lines(engine, started, result, None))
    expected = (Check.MISALIGNED, Check.SATURATION, Check.RED_ZONE, Check.BOUNDS, Check.REGISTERS)
    for check in expected:
        assert f"noticed: {TEXTS[check]}" in text
    told = json_object(engine, started, result, None)["noticed"]
    assert {entry["kind"] for entry in told} == {TEXTS[check] for check in expected}
    assert all(entry["where"].startswith(entry["address"]) for entry in told)
    assert "stack used" in text


def _emu(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(words))
    return done.exit_code, done.output


CALL = ("-", "crc32_bytes", "0", "u8:1,2,3", "64")


def test_the_option_of_run_and_trace() -> None:
    """64 bytes are read of a buffer of 3; nobody says so without the option."""
    words = ("run", "-", "--call", *CALL[1:])
    code, text = _emu(*words, "--check")
    assert code == 0
    assert f"noticed: {TEXTS[Check.BOUNDS]}" in text
    assert "crc32_bytes+0x" in text
    assert "noticed" not in _emu(*words)[1]
    code, text = _emu("trace", *CALL, "--check", "--count", "0", "--json")
    assert code == 0
    assert TEXTS[Check.BOUNDS] in {entry["kind"] for entry in json.loads(text)["noticed"]}


def test_contested_facts_are_told() -> None:
    engine = engine_of("f: entry a1, 32\n rur.accx_1 a2\n retw", tier="stepper")
    engine.state.ACCX = 1 << 39
    started = start(engine, Call("f"))
    engine.run()
    found = json_object(engine, started, engine.finish(started.entered), None)
    place = f"{CODE + 3:#010x}"
    assert found["contested"] == [{"fact": "rur_accx_1", "certain": True, "places": [place]}]
    line, _stack = notice_lines(engine.diagnostics, engine)
    assert f"the result depends on contested fact rur_accx_1 (docs/contested.md), at {place}" in line


DEVICE = "f: entry a1, 32\n l32i a2, a2, 0\n addi a2, a2, 7\n retw"


def _image(tmp_path: Path, text: str) -> str:
    made = assemble(text, CODE)
    (tmp_path / "f.elf").write_bytes(make_elf([Part(CODE, made.data)], [Name("f", CODE, len(made.data))]))
    return str(tmp_path / "f.elf")


@pytest.mark.parametrize("tier", ["stepper", "translator"])
def test_hardware_that_nobody_models_stops_or_is_told_once(tmp_path: Path, tier: str) -> None:
    elf = _image(tmp_path, DEVICE)
    words = ("run", elf, "--call", "f", "0x60008000", "--tier", tier)
    code, text = _emu(*words)
    assert code == 4
    assert "not modelled here" in text
    assert "log-once" in text
    code, text = _emu(*words, "--unmodelled", "log-once")
    assert code == 0
    assert "a2 = 0x00000007" in text
    assert "not modelled, was without effect: load of 4 bytes at 0x60008000" in text
    assert f"first at {CODE + 3:#010x} f+0x3" in text


def test_a_reading_is_chosen_on_the_command_line(tmp_path: Path) -> None:
    elf = _image(tmp_path, "f: entry a1, 32\n movi a3, -1\n wur.accx_1 a3\n rur.accx_1 a2\n retw")
    words = ("run", elf, "--call", "f")
    assert "a2 = 0x000000ff" in _emu(*words)[1]
    assert "a2 = 0xffffffff" in _emu(*words, "--reading", "rur_accx_1=sign_extended")[1]
    code, text = _emu(*words, "--reading", "rur_accx_1=upside_down")
    assert code == 2
    assert "choose one of zero_extended, sign_extended" in text
    assert _emu("trace", elf, "f", "--reading", "nothing=1")[0] == 2


def test_a_program_that_starts_up_tells_what_was_noticed(tmp_path: Path) -> None:
    """Not only calls: what a run from the entry point used without a model is told as well."""
    elf = _image(tmp_path, "f: movi a3, 0x600\n slli a3, a3, 20\n l32i a2, a3, 0\n _l: j _l")
    code, text = _emu("run", elf, "--unmodelled", "log-once", "--budget", "1000")
    assert code == 4
    assert "not modelled, was without effect: load of 4 bytes at 0x60000000" in text
