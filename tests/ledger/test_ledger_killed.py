"""`emu verify` with workers, killed at random moments: nothing finished is lost, nothing is corrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.goldens.wrong_image import wrong_image
from tests.ledger.killing import Campaign

FAULT = ("residual_gated", "add.s", "sub.s")
KERNELS = ("exp_array", "ln_array", "gelu_array", "crc32_bytes", "fmix32_array", "residual_gated")
SEED = 20


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """Six kernels on two workers, one of the kernels wrong, with a ledger and a cache of their own."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    elf = wrong_image(tmp_path / "wrong.elf", [FAULT])
    words = ["verify", "--elf", str(elf), "--no-memory", "--jobs", "2", "--examples", "80"]
    for name in KERNELS:
        words += ["--kernel", name]
    found = Campaign(tuple(words), tmp_path)
    assert found.expected["exit code"] == 1
    assert [name for name in KERNELS if found.expected[name][0] != "equal"] == [FAULT[0]]
    return found


def test_a_killed_verify_loses_nothing_that_was_finished(campaign: Campaign) -> None:
    """A sample: the whole run, only the parent, only a worker; then a run whose continuation dies too."""
    for number in range(4):
        print(campaign.round(number, SEED))


@pytest.mark.long
def test_fifty_killed_verifies_lose_nothing_that_was_finished(campaign: Campaign) -> None:
    for number in range(50):
        print(campaign.round(number, SEED), flush=True)
