"""What the engine noticed is told after a run: every kind of finding, on the terminal, as JSON and to GDB."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.cpu.diagnostics import TEXTS, Check, Diagnostics
from emu.debug.calls import Buffer, Call, start
from emu.debug.outcome import json_object, notice_lines, text_lines
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE

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
