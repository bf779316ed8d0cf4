"""Hardware loops: counts, ends, nesting rules (known fault B008)."""

from __future__ import annotations

import pytest

from emu.cpu.state import ExitReason
from tests.cpu.lab import CODE, Bench, run


@pytest.mark.parametrize("distance", [4, 7, 40, 259])
@pytest.mark.parametrize("mnemonic", ["loop", "loopnez", "loopgtz"])
def test_lbeg_and_lend(mnemonic: str, distance: int) -> None:
    bench = Bench(f"{mnemonic} a2, {CODE + distance}")
    bench.state.set_a(2, 5)
    bench.stepper.step()
    assert (CODE + 3, CODE + distance, 4) == (bench.state.LBEG, bench.state.LEND, bench.state.LCOUNT)
    assert bench.state.PC == CODE + 3


@pytest.mark.parametrize(
    ("mnemonic", "count", "want"),
    [
        *(("loop", n, n) for n in (1, 2, 7)),
        *(("loopnez", n, n) for n in (0, 1, 7)),
        *(("loopgtz", n, n) for n in (0, 1, 7)),
        ("loopgtz", 0xFFFFFFFF, 0),
        ("loopgtz", 0x80000000, 0),
        ("loopgtz", 0x7FFFFFFF, 5),
        ("loop", 0, 5),
        ("loop", 0xFFFFFFFF, 5),
        ("loopnez", 0xFFFFFFFF, 5),
    ],
)
def test_trip_count(mnemonic: str, count: int, want: int) -> None:
    """The body leaves by a branch at 5, so that counts that wrap show that they were entered."""
    bench = run(
        f"""
            movi a3, 0
            {mnemonic} a2, end
            addi a3, a3, 1
            beqi a3, 5, out
            nop
    end:    j done
    out:    nop
    done:   ret
    """,
        {2: count},
    )
    assert bench.a(3) == min(want, 5)


def test_plain_loop_with_zero_wraps_lcount() -> None:
    bench = Bench(f"loop a2, {CODE + 7}")
    bench.state.set_a(2, 0)
    bench.stepper.step()
    assert bench.state.LCOUNT == 0xFFFFFFFF
    assert bench.state.PC == CODE + 3


def test_taken_branch_to_lend_leaves_the_loop() -> None:
    bench = run(
        """
            movi a3, 0
            loop a2, end
            addi a3, a3, 1
            bnez a4, end
    end:    ret
    """,
        {2: 9, 4: 1},
    )
    assert bench.a(3) == 1
    assert bench.state.LCOUNT == 8


def test_branch_that_falls_through_to_lend_repeats() -> None:
    bench = run(
        """
            movi a3, 0
            loop a2, end
            addi a3, a3, 1
            bnez a4, end
    end:    ret
    """,
        {2: 9, 4: 0},
    )
    assert bench.a(3) == 9
    assert bench.state.LCOUNT == 0


@pytest.mark.parametrize("last", ["add a3, a3, a4", "add.n a3, a3, a4", "mull a3, a3, a4"])
def test_every_last_instruction_repeats(last: str) -> None:
    bench = run(f"loop a2, end\n nop\n {last}\nend: ret", {2: 3, 3: 1, 4: 2})
    assert bench.a(3) == (8 if last.startswith("mull") else 7)


def test_where_the_end_label_lies_matters() -> None:
    """B001 in small: the same body with LEND before or behind its last instruction."""
    body = "movi a3, 0\n movi a4, 1\n loop a2, {}\n add a3, a3, a4\n last: addi a4, a4, 1\n end: ret"
    assert run(body.format("end"), {2: 3}).a(3) == 1 + 2 + 3
    assert run(body.format("last"), {2: 3}).a(3) == 3


def test_no_loop_while_excm_is_set() -> None:
    bench = Bench("loop a2, end\n addi a3, a3, 1\n end: ret")
    bench.state.set_a(2, 5)
    bench.state.set_a(3, 0)
    bench.state.PSEXCM = 1
    bench.run()
    assert bench.a(3) == 1
    assert bench.state.LCOUNT == 4


def test_jump_into_the_end_of_a_body_still_loops() -> None:
    """Only the fall-through to LEND counts, not how the body was entered."""
    bench = run(
        """
            movi a3, 0
            loop a2, end
            addi a3, a3, 1
            j last
            addi a3, a3, 64
    last:   nop
    end:    ret
    """,
        {2: 4},
    )
    assert bench.a(3) == 4


def test_endless_loop_ends_with_the_budget() -> None:
    bench = Bench("here: j here")
    assert bench.run(1000) == ExitReason.BUDGET
    assert bench.state.PC == CODE
    assert bench.state.budget == 0
