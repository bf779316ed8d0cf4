"""LBEG, LEND and LCOUNT written and exchanged by hand, on QEMU and on ours; and what QEMU's core lacks."""

from __future__ import annotations

import random

import pytest
from qemu_program import RECORD, Case, Program, run_qemu, run_stepper, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no comparison with QEMU: {why_not()}")

SIGILL = -4


def _line(rng: random.Random) -> list[str]:
    """Values stay above 0xC0000000, where no code lies: no loop starts."""
    register = rng.choice(("lbeg", "lend", "lcount"))
    access = rng.choice(("wsr", "xsr", "rsr"))
    return [f"{access}.{register} a{rng.randrange(2, 8)}"]


@pytest.mark.parametrize("seed", range(20))
def test_loop_registers(seed):
    rng = random.Random(seed)
    values = {f"a{n}": rng.getrandbits(32) | 0xC0000001 for n in range(2, 8)}
    code = [text for _ in range(12) for text in _line(rng)]
    program = Program([Case([*code, "movi a2, 0", "xsr.lcount a2"], values)])
    found, status, messages = run_qemu(program)
    assert status == 0, messages
    assert found[:RECORD] == run_stepper(program)[:RECORD]


@pytest.mark.parametrize(
    "text", ["recip0.s f0, f1", "rsqrt0.s f0, f1", "mulsh a2, a3, a4", "muluh a2, a3, a4"]
)
def test_what_the_core_lacks_is_illegal_there(text):
    """If this changes, the row can be compared and the coverage table has to say so."""
    assert run_qemu(Program([Case([text])]))[1] == SIGILL
