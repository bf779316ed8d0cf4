"""Every row outside of the vector group has an effect, and every mnemonic is named by a test of this
folder.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from instruction_driver import CODE, Cpu

from emu.cpu.traps import Trap, TrapKind
from emu.isa.registers import BY_MNEMONIC
from emu.isa.semantics import MODULES, effects
from emu.isa.table import rows

OURS = [row for row in rows() if row.group != "pie"]


def test_every_row_has_an_effect():
    covered = [row for row in OURS if row.mnemonic in effects()]
    print(f"{len(covered)} of {len(OURS)} rows outside of the vector group have an effect")
    assert len(OURS) == 534
    assert not [row.mnemonic for row in OURS if row.mnemonic not in effects()]


@pytest.mark.parametrize(
    "mnemonic", ["s32ri", "salt", "saltu", "bt", "bf", "mul16s", "mula.aa.ll", "lsip", "const.s"]
)
def test_instructions_that_other_emulators_lacked(mnemonic):
    """B063."""
    assert mnemonic in effects()


@pytest.mark.parametrize("data", [b"\x10\xe5\x78", b"\xb3\xf4\xd5", b"\xcd\xc2", b"\xae\x17\x9b\xf7"])
def test_unknown_bytes_stop_with_the_bytes_and_the_address(data):
    """B063: never skipped as if they did nothing."""
    cpu = Cpu()
    cpu.stepper.use_vectors = False
    cpu.memory.write(CODE, data)
    with pytest.raises(Trap) as caught:
        cpu.stepper.step()
    assert caught.value.kind is TrapKind.ILLEGAL
    assert cpu.state.PC == CODE
    assert f"{CODE:#x}" in str(caught.value)
    assert data[:2].hex(" ") in str(caught.value)


def test_no_effect_without_a_row():
    known = {row.mnemonic for row in rows()}
    assert not sorted(set(effects()) - known)


# Mnemonics that tests build from parts: f"{name}.s ...", f"rsr.{name}", f"{form} {registers}".
_BUILT = {
    **{
        f"{name}.s": "test_fp_convert"
        for name in ("trunc", "round", "floor", "ceil", "utrunc", "float", "ufloat")
    },
    **dict.fromkeys(BY_MNEMONIC, "test_core_special"),
    **{row.mnemonic: "test_core_mac16" for row in OURS if row.group == "mac16" and row.mnemonic != "mul.s"},
    **dict.fromkeys(
        ("bt", "bf", "any4", "any8", "all4", "all8", "andb", "andbc", "orb", "orbc", "xorb"),
        "test_core_boolean",
    ),
}


def test_every_mnemonic_is_named_by_a_test():
    here = Path(__file__).parent
    text = "\n".join(path.read_text() for path in here.glob("test_*.py") if path.name != Path(__file__).name)
    named = set(re.findall(r"""[\"'{|]\s*([a-z0-9_]+(?:\.[a-z0-9_.]+)?)(?=[\s\"'|])""", text))
    sequences = (here / "fp_code.py").read_text()
    named |= set(re.findall(r"([a-z0-9]+\.s) f", sequences))
    missing = sorted({row.mnemonic for row in OURS} - named - set(_BUILT))
    assert not missing
    for mnemonic, module in _BUILT.items():
        assert (here / f"{module}.py").exists(), mnemonic


def test_special_register_tests_reach_every_access():
    """Run the module's own tables against the register table: each rsr, wsr, xsr, rur, wur is in one of
    them.
    """
    import test_core_special as special

    text = inspect.getsource(special)
    whole = {f"{kind}.{name}" for name in special.WHOLE for kind in ("rsr", "wsr", "xsr")}
    pieces = {f"{access}{name}" for name, _, read, write in special.PIECEWISE for access in (read, write)}
    wide = {f"{kind}.{name}" for name in special.WIDE for kind in ("rur", "wur")}
    small = {f"{kind}.{name}" for name, *_ in [*special.USER, ("threadptr",)] for kind in ("rur", "wur")}
    numbered = {
        f"{kind}.{name}{n}"
        for kind in ("rsr", "wsr", "xsr")
        for name, count in (("m", 4), ("dbreakc", 2))
        for n in range(count)
    } | {f"{kind}.eps{n}" for kind in ("rsr", "wsr", "xsr") for n in range(2, 8)}
    spelled = set(re.findall(r"((?:rsr|wsr|xsr|rur|wur)\.[a-z0-9_]+) a", text))
    absent = {text.split()[0] for text in special.ABSENT}
    missing = sorted(set(BY_MNEMONIC) - absent - whole - pieces - wide - small - numbered - spelled)
    assert not missing


def test_modules_say_what_they_define():
    for name in MODULES:
        assert import_module(f"emu.isa.semantics.{name}").__doc__, name
