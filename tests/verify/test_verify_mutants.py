"""Every planted fault of tests/mutants, built from its patch, is found by the default campaign, and small.

Kernels that a mutant names must differ, all others must not; equivalent mutants differ nowhere: what no
input can show is known as such (the mutant says why), and a campaign that "finds" it would be wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.kernels import load_all
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware
from emu.verify.case import Case
from emu.verify.options import Options
from emu.verify.strategies import cases
from emu.verify.targets import make_runner
from emu.verify.verdict import Verdict
from tests.mutants import Mutant, all_mutants

KERNELS = load_all()
EXAMPLES = 200
MUTANTS = all_mutants()


def neighbours(mutant: Mutant) -> list[str]:
    """A few kernels that the mutant must leave alone: those that share code or shape with the broken ones."""
    families = {name.split("_")[0] for name in (*mutant.kernels, *mutant.rarely)}
    alike = [s for s in KERNELS if s.split("_")[0] in families and s not in mutant.kernels + mutant.rarely]
    return alike[:3] or ["crc32_bytes"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_mutant(mutant: Mutant, toolchain: Toolchain, tmp_path: Path):
    elf = build_firmware(toolchain, tmp_path, **mutant.build_options).elf
    runner = make_runner(Options(elf=elf, shrink_seconds=60.0))
    for symbol in mutant.kernels:
        piece = runner.run(KERNELS[symbol], 0, cases(KERNELS[symbol], 0, 0, EXAMPLES))
        assert not piece.error
        if mutant.equivalent:
            assert piece.bad == 0, f"{symbol}: {mutant.why}"
            continue
        failure = piece.failure
        assert failure is not None, f"{mutant.name}: no difference in {symbol}: {mutant.why}"
        assert failure.outcome.verdict in (Verdict.MISMATCH, Verdict.BOARD_FAULT)
        assert failure.weight <= 4
        again = make_runner(Options(elf=elf)).check(KERNELS[symbol], failure.case)
        assert again.verdict is failure.outcome.verdict
        _assert_minimal(runner, symbol, failure.case)
    for symbol in neighbours(mutant):
        piece = runner.run(KERNELS[symbol], 0, cases(KERNELS[symbol], 0, 0, 60))
        assert (piece.bad, piece.error) == (0, ""), f"{mutant.name} also changes {symbol}"


def _assert_minimal(runner, symbol: str, case: Case) -> None:
    """No element that is left can be made neutral without losing the difference."""
    from emu.verify import reduce

    kernel = KERNELS[symbol]
    for name in reduce.free_tensors(kernel, case):
        for position in reduce.nonneutral(kernel, case, name):
            array = case.arrays[name].copy()
            tensor = next(t for t in kernel.params if t.name == name)
            array[position] = reduce.neutral_of(tensor)
            smaller = reduce.with_elements(case, name, array)
            assert not runner.check(kernel, smaller).mismatch, f"{symbol}: {name}[{position}] is not needed"


def test_contraction_names_the_fused_instruction(toolchain: Toolchain, tmp_path: Path):
    mutant = next(m for m in MUTANTS if m.name == "contraction")
    elf = build_firmware(toolchain, tmp_path, **mutant.build_options).elf
    runner = make_runner(Options(elf=elf))
    two = make_runner(Options(elf=elf, fused="two-roundings"))
    for symbol in mutant.kernels:
        kernel = KERNELS[symbol]
        failure = runner.run(kernel, 0, cases(kernel, 0, 0, EXAMPLES)).failure
        assert failure is not None
        assert failure.explanation, symbol
        assert failure.explanation[0].startswith("contraction:")
        assert any(".c:" in line or ".h:" in line for line in failure.explanation[1:])
        assert all("madd.s" in line or "msub.s" in line for line in failure.explanation[1:] if "0x" in line)
        assert two.run(kernel, 0, cases(kernel, 0, 0, EXAMPLES)).bad == 0
