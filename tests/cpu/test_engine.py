"""The engine: loading, calling, traps with symbols, budget, bounds, options."""

from __future__ import annotations

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.shadow import READ, WRITE
from emu.cpu.traps import Trap, TrapKind
from emu.image import SymbolError, load_image
from tests.cpu import images
from tests.cpu.images import engine_of, image_of
from tests.cpu.lab import CODE, DATA, assemble
from tests.image.elf_files import Name, Part, make_elf


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


COPY = """
copy: entry a1, 32
      loopnez a4, _end
      l8ui a8, a3, 0
      s8i a8, a2, 0
      addi a2, a2, 1
      addi a3, a3, 1
_end: retw
"""


def test_segments_are_loaded_and_zeroed() -> None:
    engine = engine_of("f: entry a1, 32\n l32i a2, a2, 0\n retw", b"\x78\x56\x34\x12")
    assert engine.call("f", [DATA]).a2 == 0x12345678
    assert engine.call("f", [DATA + 4]).a2 == 0


def test_calls_by_address_and_in_a_dirty_machine() -> None:
    engine = engine_of("f: entry a1, 32\n addi a2, a2, 1\n retw")
    for seed in range(5):
        assert engine.call(CODE, [seed], dirty=seed).a2 == seed + 1


def test_arena_and_views() -> None:
    engine = engine_of(COPY)
    source, target = engine.arena.start, engine.arena.start + 4096
    view = engine.memory.view(source, 100)
    view[:] = np.arange(100, dtype=np.uint8)
    engine.call("copy", [target, source, 100])
    assert np.array_equal(engine.memory.view(target, 100), view)


def test_stack_lies_in_free_data_ram() -> None:
    engine = engine_of(COPY)
    assert engine.stack.end == 0x3FD00000
    parts = [Part(CODE, b"\x36\x41\x00\x1d\xf0"), Part(0x3FCF0000, b"", "rw", 0x10000, ".bss")]
    full = Engine(load_image(make_elf(parts, [Name("f", CODE, 5)])), EngineOptions(tier=images.TIER))
    assert full.stack.end == 0x3FCF0000
    full.call("f")


def trap_of(engine: Engine, name: str, *arguments: int, budget: int = 10_000) -> Trap:
    with pytest.raises(Trap) as caught:
        engine.call(name, list(arguments), budget=budget)
    return caught.value


def test_endless_loop_ends_with_the_budget() -> None:
    trap = trap_of(engine_of("f: entry a1, 32\n _here: j _here"), "f", budget=5000)
    assert trap.kind == TrapKind.BUDGET
    assert trap.context.instructions >= 5000
    assert "f+0x3" in str(trap)


@pytest.mark.parametrize("budget", [(1 << 63) - 1, 1 << 63, 10**19, 1 << 64, (1 << 64) + 1, 1 << 200])
def test_any_budget_that_is_large_enough_is_no_reason_to_stop(budget: int) -> None:
    """More than 63 bits must not turn into a negative number, nor into a small one."""
    text = "f: entry a1, 32\n movi a3, 1000\n loop a3, _e\n addi a2, a2, 1\n _e: retw"
    assert engine_of(text).call("f", [1], budget=budget).a2 == 1001


@pytest.mark.parametrize("budget", [0, -1, -(1 << 63), -(1 << 70)])
def test_a_budget_of_nothing_executes_nothing(budget: int) -> None:
    engine = engine_of("f: entry a1, 32\n retw")
    assert trap_of(engine, "f", budget=budget).kind == TrapKind.BUDGET
    assert engine.state.instructions == 0


def test_endless_recursion_ends_with_a_trap() -> None:
    trap = trap_of(engine_of("f: entry a1, 32\n call8 f\n retw"), "f", budget=10_000_000)
    assert trap.kind == TrapKind.UNMAPPED_STORE or trap.kind == TrapKind.PROTECTION


def test_jump_into_data() -> None:
    trap = trap_of(engine_of("f: entry a1, 32\n jx a2"), "f", DATA)
    assert trap.kind == TrapKind.NOT_CODE
    assert "SRAM1" in str(trap)
    trap = trap_of(engine_of("f: entry a1, 32\n jx a2"), "f", 0x3C000000)
    assert trap.kind == TrapKind.NOT_CODE


def test_calling_data_or_nothing() -> None:
    engine = engine_of(COPY)
    with pytest.raises(SymbolError, match="is data"):
        engine.call("table")
    with pytest.raises(SymbolError, match="did you mean copy"):
        engine.call("copi")
    trap = trap_of(engine, "copy", 0, 0, 4)
    assert trap.kind in (TrapKind.UNMAPPED_LOAD, TrapKind.UNMAPPED_STORE)


@pytest.mark.parametrize("code", ["waiti 0", "simcall", "wdtlb a2, a3", "rer a2, a3"])
def test_what_is_not_modelled_stops_with_its_name(code: str) -> None:
    trap = trap_of(engine_of(f"f: entry a1, 32\n {code}\n retw"), "f")
    needs_host = code.split()[0] in ("waiti", "simcall")
    assert trap.kind == (TrapKind.SERVICE if needs_host else TrapKind.DEVICE)
    assert code.split()[0] in str(trap)


def test_services_can_be_provided() -> None:
    seen: list[tuple[int, ...]] = []

    def read(engine: Engine, values: tuple[int, ...]) -> int:
        seen.append(values)
        return 0x55

    engine = engine_of("f: entry a1, 32\n rer a2, a2\n retw", services={"rer": read})
    assert engine.call("f", [0x101]).a2 == 0x55
    assert seen == [(0x101,)]


def bounded(check_init: bool = False) -> tuple[Engine, int, int]:
    engine = engine_of(COPY, bounds=True, check_init=check_init)
    source, target = engine.arena.start + 101, engine.arena.start + 4096 + 7
    engine.memory.shadow.allow(source, 32, READ)
    engine.memory.write(source, bytes(range(32)))
    engine.memory.shadow.allow(target, 32, READ | WRITE)
    return engine, target, source


def test_bounds_allow_exactly_the_buffers() -> None:
    engine, target, source = bounded()
    engine.call("copy", [target, source, 32])
    assert engine.memory.read(target, 32) == bytes(range(32))
    trap = trap_of(engine, "copy", target, source + 1, 32)
    assert (trap.kind, trap.address) == (TrapKind.BOUNDS_READ, source + 32)
    trap = trap_of(engine, "copy", target + 1, source, 32)
    assert (trap.kind, trap.address) == (TrapKind.BOUNDS_WRITE, target + 32)
    trap = trap_of(engine, "copy", target, source - 1, 1)
    assert (trap.kind, trap.address) == (TrapKind.BOUNDS_READ, source - 1)
    trap = trap_of(engine, "copy", source, target, 1)
    assert trap.kind == TrapKind.BOUNDS_WRITE
    assert "copy+" in str(trap)


def test_bounds_allow_the_image_and_the_stack() -> None:
    text = "f: entry a1, 64\n s32i a2, a1, 16\n l32i a3, a1, 16\n l32i a4, a2, 0\n s32i a4, a2, 4\n retw"
    engine = engine_of(text, bytes(8), bounds=True)
    engine.call("f", [DATA])
    trap = trap_of(engine, "f", engine.stack.start - 4096)
    assert trap.kind == TrapKind.BOUNDS_READ


def test_uninitialised_memory_is_found_when_asked_for() -> None:
    engine, target, source = bounded(check_init=True)
    trap = trap_of(engine, "copy", target, target + 4, 1)
    assert (trap.kind, trap.address) == (TrapKind.UNINITIALISED, target + 4)
    engine.call("copy", [target, source, 32])
    engine.call("copy", [target, target + 4, 1])


def test_uninitialised_stack_of_an_earlier_call_counts_as_such() -> None:
    text = "f: entry a1, 64\n s32i a2, a1, 16\n retw\n .align 4\n g: entry a1, 64\n l32i a2, a1, 16\n retw"
    engine = engine_of(text, bounds=True, check_init=True)
    engine.call("f", [5])
    assert trap_of(engine, "g").kind == TrapKind.UNINITIALISED


def test_contraction_option(tier: str) -> None:
    """B015: one rounding gives 2**-46, two roundings give 0."""
    text = """
    f: entry a1, 32
       wfr f0, a2
       wfr f1, a3
       madd.s f1, f0, f0
       rfr a2, f1
       retw
    """
    a, c = 0x3F800001, 0xBF800002
    fused = engine_of(text)
    assert fused.call("f", [a, c]).a2 == 0x28800000
    if tier == "stepper":
        assert fused.diagnostics.fused == {CODE + 9: 1}
    assert engine_of(text, fused="two-roundings").call("f", [a, c]).a2 == 0


def test_readings_can_be_chosen(tier: str) -> None:
    text = "f: entry a1, 32\n wur.accx_0 a2\n wur.accx_1 a3\n rur.accx_1 a2\n retw"
    assert engine_of(text).call("f", [0, 0xFF]).a2 == 0xFF
    other = engine_of(text, readings={"rur_accx_1": "sign_extended"})
    assert other.call("f", [0, 0xFF]).a2 == 0xFFFFFFFF
    if tier == "stepper":
        assert "rur_accx_1" in other.diagnostics.contested


@pytest.mark.parametrize(
    "options",
    [
        {"tier": "interpreter"},
        {"fused": "yes"},
        {"exceptions": "none"},
        {"readings": {"nothing": "x"}},
        {"stack_bytes": 100},
        {"psram_bytes": 64 << 20},
    ],
)
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        EngineOptions(**options)  # type: ignore[arg-type]


def test_fsr_is_tracked_only_when_it_is_read() -> None:
    assert not engine_of("f: entry a1, 32\n retw").track_fsr
    assert engine_of("f: entry a1, 32\n rur.fsr a5\n retw").track_fsr
    assert engine_of("f: entry a1, 32\n retw", track_fsr=True).track_fsr


def test_two_engines_do_not_share_memory() -> None:
    image = image_of("f: entry a1, 32\n l32i a2, a2, 0\n retw")
    one, two = (Engine(image, EngineOptions(tier=images.TIER)) for _ in range(2))
    one.memory.write(DATA, b"\x01\x00\x00\x00")
    assert one.call("f", [DATA]).a2 == 1
    assert two.call("f", [DATA]).a2 == 0


def test_reset_gives_the_state_of_a_chip() -> None:
    engine = engine_of(COPY)
    engine.call("copy", [DATA, DATA + 8, 4], dirty=3)
    engine.reset()
    assert (engine.state.CPENABLE, engine.state.PSEXCM, engine.state.get_a(3)) == (0xFF, 1, 0)
    assert engine.state.read_pages == engine.memory.read_pages_address


def test_flash_windows_are_mapped_in_blocks_and_read_only() -> None:
    """As ESP-IDF lays an image out: code and constants in the cache windows, variables in RAM."""
    text = "f: entry a1, 32\n l32i a4, a2, 0\n s32i a4, a3, 0\n mov.n a2, a4\n retw"
    code, constants = 0x42000020, 0x3C020020
    parts = [
        Part(code, assemble(text, code).data),
        Part(constants, b"\x2a\x00\x00\x00", "r", name=".rodata"),
        Part(DATA, b"", "rw", 16, ".bss"),
    ]
    engine = Engine(load_image(make_elf(parts, [Name("f", code, 20)])), EngineOptions(tier=images.TIER))
    assert engine.call("f", [constants, DATA]).a2 == 42
    assert engine.memory.read(DATA, 4) == b"\x2a\x00\x00\x00"
    assert engine.call("f", [0x3C02FFFC, DATA]).a2 == 0
    assert trap_of(engine, "f", 0x3C030000, DATA).kind == TrapKind.UNMAPPED_LOAD
    assert trap_of(engine, "f", 0x3C02FFFD, DATA).kind == TrapKind.UNMAPPED_LOAD
    trap = trap_of(engine, "f", constants, constants + 4)
    assert trap.kind == TrapKind.PROTECTION
    assert "flash" in str(trap)
    assert trap_of(engine, "f", constants, code).kind == TrapKind.PROTECTION


@pytest.mark.parametrize("spoil", ["wsr.cpenable a3", "wsr.lcount a3", "wur.fcr a4", "wsr.windowstart a4"])
def test_a_call_does_not_inherit_control_registers(spoil: str) -> None:
    """What one call did to CPENABLE, FCR, loops or windows must not change the next one's result."""
    text = f"""
    f: entry a1, 32
       wfr f0, a2
       add.s f0, f0, f0
       rfr a2, f0
       retw
       .align 4
    g: entry a1, 32
       movi a3, 0
       movi a4, 3
       {spoil}
       l32i a2, a3, 0
    """
    engine = engine_of(text)
    assert trap_of(engine, "g").kind == TrapKind.UNMAPPED_LOAD
    assert engine.call("f", [np.float32(1 + 2**-23)]).f32 == np.float32(2 + 2**-22)
