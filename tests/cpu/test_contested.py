"""Contested facts on which a run depends are told on both tiers: for certain, or as possible."""

from __future__ import annotations

from emu.cpu.engine import Engine
from emu.debug.calls import Call, start
from emu.debug.outcome import json_object, notice_lines
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE

SHIFTS = """
    f: entry a1, 32
       ssr a2
       ee.vsr.32 q1, q0
       beqz a3, _skip
       ee.bitrev q2, a4
    _skip: retw
       .align 4
    g: entry a1, 32
       rur.accx_1 a2
       retw
"""


def told(engine: Engine) -> dict[str, tuple[list[int], bool]]:
    return {u.name: ([p.address for p in u.places], u.is_certain) for u in engine.contested()}


def test_the_stepper_tells_what_was_touched() -> None:
    engine = engine_of(SHIFTS, tier="stepper")
    engine.call("f", [3, 0, 0], dirty=1)
    assert told(engine) == {}
    engine.state.set_q(0, -1 & (1 << 128) - 1)
    engine.call("f", [31, 1, 0])
    assert set(told(engine)) <= {"bitrev_width", "bitrev_width_3"}
    engine.diagnostics.clear()
    engine.state.ACCX = 1 << 39
    engine.call("g")
    place = engine.image.symbols.get("g").address + 3
    assert told(engine) == {"rur_accx_1": ([place], True)}


def test_translated_code_tells_what_it_may_have_touched() -> None:
    engine = engine_of(SHIFTS, tier="translator")
    assert told(engine) == {}
    engine.call("g")
    place = engine.image.symbols.get("g").address + 3
    assert told(engine) == {"rur_accx_1": ([place], False)}
    engine.call("f", [3, 0, 0])
    found = told(engine)
    assert set(found) == {"rur_accx_1", "vsr_count_33", "bitrev_width", "bitrev_width_3"}
    assert found["vsr_count_33"] == ([CODE + 6], False)
    assert not any(certain for _, certain in found.values())


def test_what_the_translator_leaves_to_the_stepper_is_certain() -> None:
    """A contested instruction behind a hook is stepped: it is noticed, and told once."""
    engine = engine_of(SHIFTS, tier="translator")
    place = engine.image.symbols.get("g").address + 3
    engine.hook(place, lambda call: None)
    engine.state.ACCX = 1 << 39
    engine.call("g")
    assert told(engine) == {"rur_accx_1": ([place], True)}


def test_plain_code_tells_nothing() -> None:
    for tier in ("stepper", "translator"):
        engine = engine_of("f: entry a1, 32\n add a2, a2, a2\n ee.zero.q q0\n retw", tier=tier)
        engine.call("f", [4])
        assert engine.contested() == ()


def test_the_outcome_of_a_call_has_them() -> None:
    engine = engine_of(SHIFTS, tier="translator")
    started = start(engine, Call("g"))
    engine.run()
    result = engine.finish(started.entered)
    place = engine.image.symbols.get("g").address + 3
    assert json_object(engine, started, result, None)["contested"] == [
        {"fact": "rur_accx_1", "certain": False, "places": [f"{place:#010x}"]}
    ]
    (line,) = notice_lines(engine.diagnostics, engine)
    assert "may depend" in line
    assert f"rur_accx_1 (docs/contested.md), at {place:#010x} g+0x3" in line


def test_a_selected_reading_is_contested_too() -> None:
    text = SHIFTS
    engine = engine_of(text, tier="translator", readings={"rur_accx_1": "sign_extended"})
    engine.state.ACCX = 1 << 39
    assert engine.call("g").a2 == 0xFFFFFF80
    assert "rur_accx_1" in told(engine)
