"""The AMX product on machines without AMX: its code, the choice of it, and the text when it cannot run.

What the code computes is tested in test_gemm_under_bochs.py.
"""

from __future__ import annotations

import platform
import re

import llvmlite.binding as llvm
import pytest

from emu.numerics.gemm import variant
from emu.toolchain.errors import ToolchainError
from tests.numerics.bochs import mended
from tests.numerics.other_cpu import compile_for, disassembly

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="AMX is an extension of x86-64")
EVERYTHING = dict.fromkeys((need for needs in variant.NEEDS.values() for need in needs), True)


@on_x86
def test_the_code_for_sapphire_rapids():
    text = disassembly(compile_for("sapphirerapids", "amx"))
    products = re.findall(r"\btdpbsud\s+%tmm(\d),%tmm(\d),%tmm(\d)", text)
    # AT&T order: weights (unsigned), activations (signed), sums
    assert {(int(w), int(x), int(c)) for w, x, c in products} == {
        (6 + v, 4 + r, 2 * r + v) for r in range(2) for v in range(2)
    }
    assert not re.search(r"\btdp(?!bsud)", text)
    assert re.search(r"\bldtilecfg\b", text)
    assert re.search(r"\btilerelease\b", text)


@on_x86
def test_the_variant_is_the_first_where_it_can_run(monkeypatch):
    monkeypatch.setattr(variant.llvm, "get_host_cpu_features", lambda: EVERYTHING)
    monkeypatch.setattr(variant, "_tiles_granted", lambda: True)
    monkeypatch.delenv("EMU_GEMM", raising=False)
    assert variant.available() == ("amx", "vnni", "avx2", "plain")
    assert variant.chosen.__wrapped__() == "amx"


def test_a_system_that_keeps_the_tiles(monkeypatch):
    monkeypatch.setattr(variant.llvm, "get_host_cpu_features", lambda: EVERYTHING)
    monkeypatch.setattr(variant, "_tiles_granted", lambda: False)
    monkeypatch.delenv("EMU_GEMM", raising=False)
    assert variant.chosen.__wrapped__() == "vnni"
    monkeypatch.setenv("EMU_GEMM", "amx")
    with pytest.raises(
        variant.VariantError, match=r"amx: the operating system does not grant .* it can run vnni"
    ):
        variant.chosen.__wrapped__()


@pytest.mark.parametrize("missing", variant.NEEDS["amx"])
def test_a_processor_without_one_feature(monkeypatch, missing):
    asked = []
    monkeypatch.setattr(variant.llvm, "get_host_cpu_features", lambda: {**EVERYTHING, missing: False})
    monkeypatch.setattr(variant, "_tiles_granted", lambda: asked.append(1) or True)
    assert variant.available() == ("vnni", "avx2", "plain")
    assert not asked, "permission is asked for only where there are tiles"
    monkeypatch.setenv("EMU_GEMM", "amx")
    with pytest.raises(
        variant.VariantError, match=f"EMU_GEMM=amx: this processor lacks {missing}; it can run vnni"
    ):
        variant.chosen.__wrapped__()


def test_no_tiles_are_granted_where_there_are_none():
    """The request itself, to this machine's system."""
    granted = variant._tiles_granted.__wrapped__()
    assert not granted or llvm.get_host_cpu_features().get("amx-tile")


def _operation(name: str, x: str, y: str) -> str:
    lines = [
        f"  const {t} {v}byte[4] = {{ {t}({v} & 0xff), {t}({v} >> 24) }};" for t, v in ((x, "x"), (y, "y"))
    ]
    return "\n".join([f"BX_CPP_INLINE Bit32u {name}(Bit32u x, Bit32u y)\n{{", *lines, "  return 0;", "}", ""])


def test_mending_the_emulator():
    names = ("DPBDSS", "DPBDSU", "DPBDUS", "DPBDUU")
    wrong = "".join(_operation(name, "Bit8u", "Bit8u") for name in names)
    kinds = {"S": "Bit8s", "U": "Bit8u"}
    right = "".join(_operation(name, kinds[name[4]], kinds[name[5]]) for name in names)
    assert mended(wrong) == mended(right) == right
    with pytest.raises(ToolchainError, match="is unknown: no ybyte in DPBDUS"):
        mended(wrong.replace("ybyte", "zbyte").replace("zbyte", "ybyte", 1))
