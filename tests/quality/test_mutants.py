"""Does the harness find faults? Every planted fault of tests/mutants is built, found and shrunk.

Each patch names its kernels; a campaign of the default size must say "mismatch" for each of them and "equal"
for every other one, and the input it reports must be small.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.kernels import load_all
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware
from emu.verify.options import Options
from emu.verify.results import Piece
from emu.verify.runner import Runner
from emu.verify.strategies import cases
from emu.verify.targets import make_runner
from emu.verify.verdict import Verdict
from tests.mutants import Mutant, all_mutants

MUTANTS = all_mutants()
EXAMPLES = 200
EXAMPLES_ELSEWHERE = 10
NON_ZERO = 4


@pytest.fixture(scope="module")
def runner_of(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory):
    """Builds a mutant and opens it beside the mirrors."""

    def build(mutant: Mutant) -> Runner:
        folder: Path = tmp_path_factory.mktemp(mutant.name)
        elf = build_firmware(toolchain, folder, **mutant.build_options).elf
        return make_runner(Options(elf=elf, seed=0, bounds=False, out=folder))

    return build


def campaign(runner: Runner, symbol: str, examples: int = EXAMPLES) -> Piece:
    kernel = load_all()[symbol]
    piece = runner.run(kernel, 0, cases(kernel, runner.options.seed, 0, examples))
    assert not piece.error
    return piece


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if not m.equivalent], ids=lambda m: m.name)
def test_a_planted_fault_is_found_in_the_right_kernel_and_shrunk(mutant: Mutant, runner_of) -> None:
    runner = runner_of(mutant)
    for symbol in mutant.kernels:
        failure = campaign(runner, symbol).failure
        assert failure is not None, f"{symbol} was called equal"
        assert failure.outcome.verdict is Verdict.MISMATCH, failure.outcome.fault
        assert failure.weight <= NON_ZERO, f"{symbol}: shrunk to {failure.weight} elements only"
    for symbol in sorted(set(load_all()) - {*mutant.kernels, *mutant.rarely}):
        piece = campaign(runner, symbol, EXAMPLES_ELSEWHERE)
        assert piece.failure is None, f"{symbol} was blamed too"


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.equivalent], ids=lambda m: m.name)
def test_an_equivalent_change_is_not_called_a_fault(mutant: Mutant, runner_of) -> None:
    runner = runner_of(mutant)
    for symbol in mutant.kernels:
        assert campaign(runner, symbol).failure is None, f"{symbol} was called different"


def test_every_kind_of_planted_fault_is_there() -> None:
    """The kinds that the project promises to find; a missing patch would make its promise empty."""
    kinds = {
        "accumulator",
        "clamp",
        "code order",
        "contraction",
        "exponent",
        "index",
        "loop end",
        "nibble order",
        "post-increment",
        "quadrant",
        "rounding",
        "sign",
        "stride",
        "tail",
        "width",
    }
    assert {m.fault_class for m in MUTANTS} == kinds
