"""The bare port: start-up from a dirty machine, its window handlers, its record of a fault."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.image import load_image
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware, firmware_folder

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"
NESTED = """
#include "function.inc"
/* Each keeps n + 3 and multiples of n in every register that its call preserves; their sum and
   that of n - 1, n - 2, ... is the result. */
    function nested4, 32
    beqz    a2, .Lend4
    addi    a3, a2, 3
    addi    a6, a2, -1
    call4   nested4
    add     a2, a6, a3
.Lend4:
    retw
    end_function nested4

    function nested8, 32
    beqz    a2, .Lend8
    addi    a3, a2, 3
    addx2   a4, a2, a2
    addx4   a5, a2, a2
    addx8   a6, a2, a2
    slli    a7, a2, 5
    addi    a10, a2, -1
    call8   nested8
    add     a2, a10, a3
    add     a2, a2, a4
    add     a2, a2, a5
    add     a2, a2, a6
    add     a2, a2, a7
.Lend8:
    retw
    end_function nested8

    function nested12, 48
    beqz    a2, .Lend12
    addi    a3, a2, 3
    addx2   a4, a2, a2
    addx4   a5, a2, a2
    addx8   a6, a2, a2
    slli    a7, a2, 5
    slli    a8, a2, 6
    slli    a9, a2, 7
    slli    a10, a2, 8
    slli    a11, a2, 9
    addi    a14, a2, -1
    call12  nested12
    add     a2, a14, a3
    add     a2, a2, a4
    add     a2, a2, a5
    add     a2, a2, a6
    add     a2, a2, a7
    add     a2, a2, a8
    add     a2, a2, a9
    add     a2, a2, a10
    add     a2, a2, a11
.Lend12:
    retw
    end_function nested12

    function crash, 32
    movi    a2, 0
    l32i    a2, a2, 64
    retw
    end_function crash
"""
KEPT = {"nested4": 1, "nested8": 1 + 3 + 5 + 9 + 32, "nested12": 1 + 3 + 5 + 9 + 32 + 64 + 128 + 256 + 512}
"""Sum of the multiples of n in each function."""


@pytest.fixture(scope="module")
def nested(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image with functions that call themselves."""
    folder = Path(tmp_path_factory.mktemp("nested"))
    sources = Path(shutil.copytree(firmware_folder(), folder / "firmware"))
    (sources / "kernels" / "nested.S").write_text(NESTED)
    return build_firmware(toolchain, folder / "out", sources=sources).elf


def make_engine(elf: Path, exceptions: str) -> Engine:
    return Engine(load_image(elf), EngineOptions(tier="stepper", exceptions=exceptions))  # type: ignore[arg-type]


def word(engine: Engine, symbol: str, offset: int = 0) -> int:
    address = engine.image.symbols.get(symbol).address + offset
    return int.from_bytes(engine.memory.read(address, 4), "little")


def run_from(engine: Engine, symbol: str) -> Trap:
    """Run until the code stops, from a machine full of rubbish."""
    state_tools.dirty(engine.state, 5)
    engine.state.PC = engine.image.symbols.get(symbol).address
    engine.state.budget = 10_000
    with pytest.raises(Trap) as caught:
        engine.run()
    return caught.value


def test_start_reaches_main_and_waits() -> None:
    engine = make_engine(GOLDEN, "vectors")
    bss = engine.image.symbols.get("_bss_start").address
    size = engine.image.symbols.get("_bss_end").address - bss
    engine.memory.write(bss, b"\xa5" * size)
    engine.state.CPENABLE = 0
    trap = run_from(engine, "_start")
    assert "waiti" in str(trap)
    assert trap.where.symbol == "main"
    table = engine.image.symbols.get("emu_kernel_table").address
    assert word(engine, "emu_ready") == table
    assert engine.memory.read(bss, size).count(0) >= size - 4
    assert (engine.state.CPENABLE, engine.state.VECBASE << 10) == (0b1001, 0x40378000)
    assert (engine.state.PSWOE, engine.state.PSEXCM, engine.state.PSINTLEVEL) == (1, 0, 15)


@pytest.mark.parametrize("exceptions", ["vectors", "built-in"])
@pytest.mark.parametrize("function", sorted(KEPT))
@pytest.mark.parametrize("depth", [1, 3, 5, 8, 17, 60])
def test_nested_calls_keep_every_register(nested: Path, function: str, depth: int, exceptions: str) -> None:
    """Deep enough to spill and fill all 64 registers several times, by the image's own handlers."""
    result = make_engine(nested, exceptions).call(function, [depth], dirty=depth)
    assert result.a2 == KEPT[function] * depth * (depth + 1) // 2 + 3 * depth


def test_handlers_of_the_image_were_used(nested: Path) -> None:
    """The same call takes more instructions with handlers than without: they did run."""
    counts = [
        make_engine(nested, mode).call("nested8", [40]).instructions for mode in ("vectors", "built-in")
    ]
    assert counts[0] > counts[1]


def test_fault_is_recorded(nested: Path) -> None:
    """A load from address 64: the vector, the cause and the addresses stand in emu_fault."""
    engine = make_engine(nested, "vectors")
    run_from(engine, "_start")
    with pytest.raises(Trap, match="waiti"):
        engine.call("crash")
    record = [word(engine, "emu_fault", offset) for offset in (0, 4, 8, 12)]
    crash = engine.image.symbols.get("crash")
    assert record[0] == 1
    assert record[1] in (3, 28)
    assert crash.address <= record[2] < crash.address + crash.size
    assert record[3] == 64
