"""Example N of a seed is the same in every process, whatever modules it has loaded."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from emu.kernels import load_all
from emu.verify.draws import pinned
from emu.verify.strategies import chunk_plans

ROOT = Path(__file__).parents[2]
SYMBOL = "gemm_s8"
SCRIPT = """
import sys
sys.path[:0] = [{folder!r}, {root!r}]
{imports}
from tests.verify.test_verify_draws import digests
print(digests())
"""
CONSTANTS = "\n".join(f"C{i} = {i * 0x9E3779B97F4A7C15 & (1 << 62) - 1}" for i in range(1, 400))


def digests() -> str:
    """Of many plans: of two kernels, in several chunks of two seeds."""
    kernels = load_all()
    text = [
        repr(chunk_plans(kernels[symbol], number, chunk))
        for symbol in (SYMBOL, "quantize_row_s8")
        for number in (0, 7)
        for chunk in range(4)
    ]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


def in_another_process(tmp_path: Path, imports: str) -> str:
    script = SCRIPT.format(folder=str(tmp_path), root=str(ROOT), imports=imports)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_other_modules_do_not_change_what_is_drawn(tmp_path: Path) -> None:
    """One process with few modules, one with everything and with a local module full of constants."""
    (tmp_path / "users_kernels.py").write_text(CONSTANTS)
    few = in_another_process(tmp_path, "")
    many = in_another_process(
        tmp_path, "import users_kernels, emu.cli, emu.bench, emu.models, emu.cpu.translator"
    )
    assert few == many
    assert few == digests()


def _drawn(is_pinned: bool) -> list[int]:
    found: list[int] = []

    @seed(5)
    @settings(max_examples=300, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.integers(0, (1 << 64) - 1), min_size=4, max_size=4))
    def collect(values: list[int]) -> None:
        found.extend(values)

    if not is_pinned:
        collect()
        return found
    with pinned():
        collect()
    return found


def test_it_is_over_afterwards() -> None:
    """Other users of Hypothesis in the process draw as before."""
    providers = pytest.importorskip("hypothesis.internal.conjecture.providers")
    before = {name: getattr(providers, name, None) for name in ("_get_local_constants", "CONSTANTS_CACHE")}
    first, again = _drawn(True), _drawn(True)
    assert first == again
    assert {name: getattr(providers, name, None) for name in before} == before
    _drawn(False)
