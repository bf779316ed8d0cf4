"""Nothing that a case does to the machine reaches the next case, and what it breaks is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from odd_image import build, returning_n, with_buffer

from emu.kernels.spec import Kernel
from emu.toolchain import Toolchain
from emu.verify.options import Options
from emu.verify.results import Failure, Piece
from emu.verify.runner import Runner
from emu.verify.strategies import cases
from emu.verify.targets import make_runner

DAMAGING = (
    "recurses",
    "large_frame",
    "writes_code",
    "writes_free_ram",
    "rounds_up",
    "disables_fpu",
    "moves_vectors",
    "arms_timer",
)


@pytest.fixture(scope="module")
def odd(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(toolchain, Path(tmp_path_factory.mktemp("odd")))


@pytest.fixture(params=["translator", "stepper"])
def runner(odd: Path, request: pytest.FixtureRequest) -> Runner:
    return make_runner(Options(elf=odd, tier=request.param, budget=100_000, bounds=False))


def run(runner: Runner, kernel: Kernel, count: int = 24) -> Piece:
    piece = runner.run(kernel, 0, cases(kernel, 0, 0, count))
    assert not piece.error
    return piece


def failure(runner: Runner, kernel: Kernel) -> Failure:
    found = run(runner, kernel).failure
    assert found is not None, f"{kernel.symbol} was not caught"
    return found


@pytest.mark.parametrize("symbol", DAMAGING)
def test_the_next_kernel_runs_on_a_whole_machine(runner: Runner, symbol: str) -> None:
    assert run(runner, returning_n("innocent")).bad == 0
    run(runner, returning_n(symbol))
    assert run(runner, returning_n("innocent")).bad == 0


def test_what_is_written_to_free_ram_is_gone_in_the_next_case(runner: Runner) -> None:
    kernel = returning_n("writes_free_ram")
    bad = [n for n, case in cases(kernel, 0, 0, 60) if runner.check(kernel, case).bad]
    again = [n for n, case in reversed(list(cases(kernel, 0, 0, 60))) if runner.check(kernel, case).bad]
    assert bad == again[::-1]
    assert len(bad) < 30, "only cases that call twice may see the first call"


@pytest.mark.parametrize("symbol", ["recurses", "large_frame"])
def test_stack_overflow_is_named(runner: Runner, symbol: str) -> None:
    fault = failure(runner, returning_n(symbol)).outcome.fault
    assert fault is not None
    assert fault.kind == "stack overflow"
    assert "more than the 32,768 bytes" in fault.message
    assert symbol in fault.message


@pytest.mark.parametrize(
    ("symbol", "state"),
    [("rounds_up", "FCR.RoundMode"), ("disables_fpu", "CPENABLE"), ("moves_vectors", "VECBASE")],
)
def test_control_states_must_be_kept(runner: Runner, symbol: str, state: str) -> None:
    fault = failure(runner, returning_n(symbol)).outcome.fault
    assert fault is not None
    assert fault.kind == "calling convention broken"
    assert state in fault.message
    assert "called from" not in fault.message


def test_state_kept_between_calls_is_the_cause_told(runner: Runner) -> None:
    assert any("state kept between calls" in x for x in failure(runner, returning_n("counts")).explanation)


def test_calls_that_lead_nowhere_name_the_caller(runner: Runner) -> None:
    fault = failure(runner, returning_n("calls_rom")).outcome.fault
    assert fault is not None
    assert "while memcpy is served, at 0x400011f4 memcpy" in fault.message, "with random arguments"
    assert "calls_rom+" in fault.message
    fault = failure(runner, returning_n("calls_null")).outcome.fault
    assert fault is not None
    assert "jump to 0x00000000" in fault.message
    assert "calls_null+" in fault.message


@pytest.mark.parametrize("symbol", ["reads_far", "writes_far"])
def test_far_accesses_always_trap(runner: Runner, symbol: str) -> None:
    piece = run(runner, with_buffer(symbol))
    assert piece.bad == piece.examples
    assert piece.failure is not None
    assert piece.failure.outcome.fault is not None
    assert "bytes behind the end of y" in piece.failure.outcome.fault.message
