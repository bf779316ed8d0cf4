"""The constant tables: what the tool computes is what is stored, and damage is noticed."""

from __future__ import annotations

import importlib.util
import zlib
from pathlib import Path

import numpy as np
import pytest

from emu.numerics import tables

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "tools" / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tool_reproduces_every_table(tool):
    computed = tool.tables()
    assert {name.removesuffix(".f32") for name in computed} == set(tables.TABLE_CRC)
    for name, content in computed.items():
        assert zlib.crc32(content) == tables.TABLE_CRC[name.removesuffix(".f32")]
        assert tables.table(name.removesuffix(".f32")).astype("<f4").tobytes() == content


def test_the_tool_checks_and_writes(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "DATA", tmp_path / "data")
    monkeypatch.setattr("sys.argv", ["make_tables.py"])
    assert tool.main() == 0
    monkeypatch.setattr("sys.argv", ["make_tables.py", "--check"])
    assert tool.main() == 0
    damaged = tmp_path / "data" / "gelu_slope.f32"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\1")
    assert tool.main() == 1
    assert "gelu_slope.f32: 1024 numbers, CRC-32 0x768772E5, DIFFERENT" in capsys.readouterr().out


def test_the_other_form_of_gelu_differs():
    """x/2 * (1 + erf) in double cancels for large negative x: a table made that way has another CRC."""
    from math import erf, sqrt

    x = [-6 + 12 * i / 1023 for i in range(1024)]
    other = np.array([0.5 * v * (1 + erf(v / sqrt(2))) for v in x]).astype("<f4")
    assert zlib.crc32(other.tobytes()) != tables.TABLE_CRC["gelu_value"]
    assert np.abs(other - tables.table("gelu_value")).max() < 1e-6


def test_a_caller_gets_a_copy():
    tables.table("rope_frequency")[0] = 5
    assert tables.table("rope_frequency")[0] != 5


def test_damage_is_refused_by_name():
    good = tables.table("time_frequency").astype("<f4").tobytes()
    tables.check_table("time_frequency", good)
    with pytest.raises(
        tables.TableError, match=r"table time_frequency is damaged: .* 511 bytes, expected 0xD44194AD"
    ):
        tables.check_table("time_frequency", good[:-1])


def test_a_missing_file_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(tables.resources, "files", lambda package: tmp_path)
    tables._content.cache_clear()
    with pytest.raises(tables.TableError, match="table gelu_value cannot be read"):
        tables.table("gelu_value")
