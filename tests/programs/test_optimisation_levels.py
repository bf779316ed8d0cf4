"""B014, B015: C at every optimisation level computes the bits that the instructions in the ELF say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.isa.decode import IllegalInstruction, decode
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from emu.verify.strategies import cases
from emu.verify.targets import make_runner

LEVELS = ("-O0", "-O1", "-Os", "-O2", "-O3")
TIERS = ("stepper", "translator")
SOURCE = """
void _start(void) { for (;;) ; }
float minus(float a, float b, float c) { return a - b * c; }
float plus(float a, float b, float c) { return b * c + a; }
float printed(float a, float b, float c) { volatile float product = b * c; return a - product; }
float chain(const float *x, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s = s - x[i] * x[n - 1 - i];
    return s;
}
"""
SCRIPT = """
ENTRY(_start)
SECTIONS { .text 0x40378000 : { *(.literal*) *(.text*) } .data 0x3FC98000 : { *(.data .bss) } }
"""
VALUES = [
    (10.0, 2.0, 3.0),
    (2.0**-22 + 1, 1 + 2.0**-23, 1 + 2.0**-23),
    (0.1, 10.0, 0.1),
    (1.0, 10.0, 0.1),
    (16777216.0, 4097.0, 4095.0),
]


def _f32(value: Fraction) -> np.float32:
    """Correctly rounded from an exact value that is far from the ends of the format."""
    near = np.float32(float(value))
    around = [np.nextafter(near, np.float32(s * np.inf)) for s in (-1, 1)]
    return min((near, *around), key=lambda v: (abs(Fraction(float(v)) - value), int(v.view(np.uint32)) & 1))


def _minus(a: np.float32, b: np.float32, c: np.float32, is_fused: bool) -> np.float32:
    if not is_fused:
        return np.float32(a - np.float32(b * c))
    return _f32(Fraction(float(a)) - Fraction(float(b)) * Fraction(float(c)))


@pytest.fixture(scope="module", params=[(level, mode) for level in LEVELS for mode in ("off", "fast")])
def built(
    request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, str]:
    level, mode = request.param
    folder = tmp_path_factory.mktemp("levels")
    (folder / "f.c").write_text(SOURCE)
    toolchain.compile(folder / "f.c", folder / "f.o", [level, f"-ffp-contract={mode}", "-ffreestanding"])
    (folder / "f.ld").write_text(SCRIPT)
    toolchain.link([folder / "f.o"], folder / "f.elf", folder / "f.ld")
    return folder / "f.elf", level, mode


def _is_fused(engine: Engine, symbol: str) -> bool:
    """The function's code has a multiply-add."""
    found = engine.image.symbols.get(symbol)
    pc, end = found.address, found.address + found.size
    while pc < end:
        try:
            insn = decode(engine.memory.read(pc, 4), pc)
        except IllegalInstruction:
            return False
        if insn.mnemonic in ("madd.s", "msub.s"):
            return True
        pc = insn.next_pc
    return False


@pytest.mark.parametrize("tier", TIERS)
def test_results_are_those_of_the_instructions(built: tuple[Path, str, str], tier: str) -> None:
    elf, level, mode = built
    engine = Engine(load_image(elf), EngineOptions(tier=tier))  # type: ignore[arg-type]
    fused = {name: _is_fused(engine, name) for name in ("minus", "plus", "printed")}
    if mode == "off":
        assert not any(fused.values()), "contraction was switched off"
    if mode == "fast" and level == "-O2":
        assert fused == {"minus": True, "plus": True, "printed": False}
    for given in VALUES:
        a, b, c = (np.float32(v) for v in given)
        got = {name: engine.call(name, [a, b, c]).f32 for name in fused}
        for name, sign in (("minus", 1), ("printed", 1), ("plus", -1)):
            expected = _minus(a, np.float32(sign * b), c, fused[name])
            assert got[name].view(np.uint32) == expected.view(np.uint32), (name, level, mode, given)
    ten = [engine.call(name, [np.float32(10), np.float32(2), np.float32(3)]).f32 for name in fused]
    assert ten == [4, 16, 4], "fr - fs * ft, never the other way round"


def test_splitting_the_multiply_adds_gives_what_contraction_off_gives(
    built: tuple[Path, str, str], toolchain: Toolchain
) -> None:
    """The engine's option against the compiler's: a sum over 33 products, in order."""
    elf, _, _ = built
    engine = Engine(load_image(elf), EngineOptions(fused="two-roundings"))
    x = np.random.default_rng(3).standard_normal(33).astype(np.float32)
    engine.memory.write(engine.arena.start, x.tobytes())
    expected = np.float32(0)
    for i in range(33):
        expected = np.float32(expected - np.float32(x[i] * x[32 - i]))
    got = engine.call("chain", [engine.arena.start, 33]).f32
    assert got.view(np.uint32) == expected.view(np.uint32)


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O1", "-Os", "-O3"])
def test_the_whole_firmware_at_other_levels(level: str, toolchain: Toolchain, tmp_path: Path) -> None:
    """Every kernel of the image, compiled at another level, equals its mirror."""
    from emu.kernels import load_all

    result = build_firmware(toolchain, tmp_path / "out", extra_flags=[level])
    assert result.elf.read_bytes() != reference_elf().read_bytes()
    runner = make_runner(Options(elf=result.elf))
    for kernel in load_all().values():
        if kernel.symbol in load_image(result.elf).symbols:
            piece = runner.run(kernel, 0, cases(kernel, 0, 0, 40))
            assert (piece.bad, piece.error) == (0, ""), kernel.symbol
