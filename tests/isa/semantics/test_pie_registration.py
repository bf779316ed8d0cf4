"""The vector unit is complete and nothing is defined beside the table."""

from __future__ import annotations

import re
from pathlib import Path

from pie_bench import PIE_ROWS

from emu.isa.semantics import pie_blocks, registry
from emu.isa.semantics.registry import effects
from emu.isa.table import rows

PACKAGE = Path(registry.__file__).parent


def test_every_pie_row_has_an_effect() -> None:
    assert len(PIE_ROWS) == 220
    assert [row.mnemonic for row in PIE_ROWS if row.mnemonic not in effects()] == []


def test_every_effect_has_a_row() -> None:
    assert set(effects()) <= {row.mnemonic for row in rows()}


def test_replaceable_steps_keep_their_names() -> None:
    """The translator looks them up by name."""
    found = re.findall(r"@block\ndef (\w+)", Path(pie_blocks.__file__).read_text(encoding="utf-8"))
    assert found == ["funnel_bytes", "dot_s8", "dot_u8", "dot_s16", "dot_u16", "mac_accx", "mac_qacc"]
