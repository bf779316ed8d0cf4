import pytest

from emu.cpu.translator.native import FULL, QUICK
from tests.cpu.ir_harness import check


@pytest.mark.parametrize("effort", [FULL, QUICK])
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_agree_with_the_reference_values(seed, effort):
    check(seed, steps=60, rounds=40, effort=effort)
