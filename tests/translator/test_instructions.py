"""Each row of the table through both tiers: random encodings, dirty states (see differential.py)."""

import pytest

from emu.cpu.translator.native import FULL, QUICK
from emu.cpu.translator.policy import stepper_reason
from tests.translator.differential import Campaign, known_rows

GROUPS = sorted({row.group for row in known_rows()})
BOUNDED = [
    row
    for row in known_rows()
    if row.mnemonic.startswith(("l", "s", "ee.v", "ee.st", "ee.ld", "call", "retw"))
]


def _check(campaign, rows, encodings, states):
    lazy = []
    for row in rows:
        tally = campaign.run(row, encodings, states)
        if not tally.translated and not stepper_reason(row):
            lazy.append(row.mnemonic)
    return lazy


ALWAYS_LEFT = {
    # Ask the engine for a service or raise whatever the state is.
    *("simcall", "waiti", "ill", "ill.n", "syscall", "break", "break.n", "rfdd", "rfdo", "rfi", "rfde"),
    *("lddr32.p", "sddr32.p", "iitlb", "idtlb", "witlb", "wdtlb", "ritlb0", "ritlb1", "rdtlb0", "rdtlb1"),
    *("pitlb", "pdtlb", "rer", "wer"),
    *(f"{access}.{name}" for access in ("rsr", "wsr", "xsr") for name in ("litbase", "eraccess")),
}
"""Rows that are left to the stepper in every state although no state of theirs says so."""


@pytest.mark.parametrize("group", GROUPS)
def test_both_tiers_agree_on_every_row_of_a_group(group):
    rows = [row for row in known_rows() if row.group == group]
    lazy = _check(Campaign(1), rows, encodings=4, states=10)
    assert set(lazy) <= ALWAYS_LEFT


def test_the_full_pipeline_changes_nothing():
    rows = known_rows()[::7]
    _check(Campaign(2, effort=FULL), rows, encodings=3, states=10)


def test_both_tiers_obey_the_permission_map():
    changes = {"bounds": True, "check_init": True}
    _check(Campaign(3, changes), BOUNDED[::3], encodings=3, states=12)


@pytest.mark.long
@pytest.mark.parametrize("group", GROUPS)
def test_long_a_thousand_cases_for_each_row(group):
    rows = [row for row in known_rows() if row.group == group]
    _check(Campaign(4, effort=QUICK), rows, encodings=40, states=25)
