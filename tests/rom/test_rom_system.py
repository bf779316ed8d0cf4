"""Heap, log, locks, ends of the program and string functions, from compiled C."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.traps import Trap, TrapKind
from emu.rom import Rom, serve
from emu.rom.allocation import heap_of
from emu.toolchain import Toolchain
from tests.rom.programs import build, engine_of

SOURCE = (Path(__file__).parent / "system_functions.c").read_text()


@pytest.fixture(scope="module", params=["translator", "stepper"])
def machine(
    request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Engine, Rom]:
    engine = engine_of(build(toolchain, tmp_path_factory.mktemp("system"), SOURCE), tier=request.param)
    return engine, serve(engine)


@pytest.fixture
def engine(machine: tuple[Engine, Rom]) -> Engine:
    machine[1].reset()
    return machine[0]


@pytest.fixture
def rom(machine: tuple[Engine, Rom]) -> Rom:
    return machine[1]


def test_malloc_gives_every_alignment_that_the_chip_may(engine: Engine, rom: Rom) -> None:
    assert engine.call("sums", [200]).s32 == sum(range(200))
    assert not heap_of(rom).live
    places = {engine.call("keep", [24]).a2 % 16 for _ in range(40)}
    assert places == {0, 4, 8, 12}
    assert len(heap_of(rom).live) == 40
    assert "keep" in str(next(iter(heap_of(rom).live.values())))
    assert engine.call("line", [64, 3]).a2 % 64 == 0
    assert engine.call("keep", [1 << 21]).a2 == 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("over", "1 bytes behind a block were written, first 2 behind its end: 10 bytes"),
        ("twice", "is freed a second time"),
        ("wild", "0x3fc98000 was not allocated"),
    ],
)
def test_misuse_of_the_heap_is_found(engine: Engine, function: str, words: str) -> None:
    with pytest.raises(Trap) as caught:
        engine.call(function, [10])
    assert words in str(caught.value)


def test_a_write_after_free_is_found_at_the_end(engine: Engine, rom: Rom) -> None:
    engine.call("after")
    assert "a freed block was written: 4 bytes" in next(heap_of(rom).damage())


def test_output_is_collected(engine: Engine, rom: Rom) -> None:
    engine.call("prints", [-3, np.int64(-(10**12)), np.float64(2.5)])
    assert rom.printed() == ["a -3 b -1000000000000 c 2.500 end", "no newline"]
    rom.reset()
    engine.call("logs", [9, np.float64(0.25)])
    assert rom.log == ["I (5) tag: 9", "1 2 3 4 5 6 0.25 9"]


def test_errno_has_a_place_of_its_own(engine: Engine, rom: Rom) -> None:
    assert engine.call("error", [21]).s32 == 42
    assert not heap_of(rom).live
    rom.reset()
    assert engine.call("error", [4]).s32 == 8


def test_locks_are_free_and_tasks_are_refused(engine: Engine) -> None:
    assert engine.call("locked").s32 == 1
    with pytest.raises(Trap, match="needs FreeRTOS"):
        engine.call("tasks")


def test_the_end_of_a_program_is_told(engine: Engine) -> None:
    with pytest.raises(Trap, match=r"abort\(\) is called") as caught:
        engine.call("give_up")
    assert caught.value.kind is TrapKind.ABORT
    with pytest.raises(Trap, match=r"assertion n > 0 failed in dense, dense.c:12"):
        engine.call("asserts")


def test_qsort_calls_the_guests_comparison(engine: Engine) -> None:
    values = np.random.default_rng(3).integers(-999, 999, 50).astype(np.int16)
    engine.memory.write(engine.arena.start, values.tobytes())
    result = engine.call("sort", [engine.arena.start, 50])
    assert engine.memory.read(engine.arena.start, 100) == np.sort(values).tobytes()
    assert result.instructions > 50 * 5


def test_checksums_and_strings(engine: Engine) -> None:
    at, data = engine.arena.start, bytes(range(1, 100))
    engine.memory.write(at, data)
    assert engine.call("crc", [at, 99]).a2 == zlib.crc32(data)
    engine.memory.write(at, b"123456789\0")
    assert engine.call("ccitt", [at, 9]).a2 == 0xD64E  # CRC-16/GENIBUS of the check string
    engine.memory.write(at, b"12, 0x1f -7,,9\0")
    assert engine.call("tokens", [at, at + 64]).s32 == 4
    assert np.frombuffer(engine.memory.read(at + 64, 16), np.int32).tolist() == [12, 31, -7, 9]
    for value in (0, -1, 2**31 - 1, -(2**31)):
        assert engine.call("digits", [at, value]).s32 == len(str(value))
