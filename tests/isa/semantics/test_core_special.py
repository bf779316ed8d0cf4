"""Special and user registers: where the bits lie, what is dropped, what a write does besides storing."""

from __future__ import annotations

import pytest
from instruction_driver import Cpu, check, check_raises

from emu.cpu.machine import Cause
from emu.isa.registers import BY_MNEMONIC, SPECIAL_BY_NAME
from emu.isa.table import rows

M1 = 0xFFFFFFFF
FCR = {
    "RoundMode": (0, 2), "InexactEnable": (2, 1), "UnderflowEnable": (3, 1), "OverflowEnable": (4, 1),
    "DivZeroEnable": (5, 1), "InvalidEnable": (6, 1), "FPreserved5": (7, 5), "FPreserved20": (12, 20),
}  # fmt: skip
FSR = {
    "FPreserved7": (0, 7), "InexactFlag": (7, 1), "UnderflowFlag": (8, 1), "OverflowFlag": (9, 1),
    "DivZeroFlag": (10, 1), "InvalidFlag": (11, 1), "FPreserved20a": (12, 20),
}  # fmt: skip
PS = {
    "PSINTLEVEL": (0, 4), "PSEXCM": (4, 1), "PSUM": (5, 1), "PSOWB": (8, 4), "PSCALLINC": (16, 2),
    "PSWOE": (18, 1),
}  # fmt: skip

# Registers whose word is one state from bit 0 on: written from the manual, not from the table under test.
WHOLE = {
    "lbeg": ("LBEG", 32), "lend": ("LEND", 32), "lcount": ("LCOUNT", 32), "sar": ("SAR", 6),
    "scompare1": ("SCOMPARE1", 32), "windowstart": ("WindowStart", 16), "ibreakenable": ("IBREAKENABLE", 2),
    "memctl": ("MEMCTL", 1), "atomctl": ("ATOMCTL", 6), "ddr": ("DDR", 32), "ibreaka0": ("IBREAKA0", 32),
    "ibreaka1": ("IBREAKA1", 32), "dbreaka0": ("DBREAKA0", 32), "dbreaka1": ("DBREAKA1", 32),
    **{f"epc{n}": (f"EPC{n}", 32) for n in range(1, 8)},
    **{f"excsave{n}": (f"EXCSAVE{n}", 32) for n in range(1, 8)},
    **{f"misc{n}": (f"MISC{n}", 32) for n in range(4)},
    "depc": ("DEPC", 32), "cpenable": ("CPENABLE", 8), "intenable": ("INTENABLE", 32),
    "exccause": ("EXCCAUSE", 6),
    "icount": ("ICOUNT", 32), "icountlevel": ("ICOUNTLEVEL", 4), "excvaddr": ("EXCVADDR", 32),
    }  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_plain_register(name):
    """Reading is zero-extended; writing drops what does not exist; exchanging does both."""
    state, width = WHOLE[name]
    mask = (1 << width) - 1
    for value in (0, M1, 0xA5A5A5A5, 0x5A5A5A5A):
        check(f"rsr.{name} a3", {state: value & mask}, {"a3": value & mask})
        check(f"wsr.{name} a3", {"a3": value, state: 1}, {state: value & mask})
        check(f"xsr.{name} a3", {"a3": value, state: 1}, {"a3": 1, state: value & mask})


def _spread(fields: dict[str, tuple[int, int]], value: int) -> dict[str, int]:
    return {name: value >> low & ((1 << width) - 1) for name, (low, width) in fields.items()}


def _word(fields: dict[str, tuple[int, int]], value: int) -> int:
    return sum(value & ((1 << width) - 1) << low for low, width in fields.values())


PATTERNS = (0, M1, 0xA5A5A5A5, 0x5A5A5A5A, 0x12345678)
PIECEWISE = [("ps", PS, "rsr.", "wsr."), ("fcr", FCR, "rur.", "wur."), ("fsr", FSR, "rur.", "wur.")]


@pytest.mark.parametrize(("name", "fields", "read", "write"), PIECEWISE)
@pytest.mark.parametrize("value", PATTERNS)
def test_register_in_pieces(name, fields, read, write, value):
    check(f"{read}{name} a3", _spread(fields, value), {"a3": _word(fields, value)})
    check(f"{write}{name} a3", {"a3": value}, _spread(fields, value))


@pytest.mark.parametrize("value", PATTERNS)
def test_exchange_ps(value):
    given = _spread(PS, 0x40020)
    check("xsr.ps a3", given | {"a3": value}, _spread(PS, value) | {"a3": 0x40020})


@pytest.mark.parametrize("level", range(2, 8))
@pytest.mark.parametrize("value", PATTERNS)
def test_eps_keeps_the_bits_of_ps(level, value):
    """13 bits of state, read and written at the places that they have in PS; rfi hands them on."""
    cpu = Cpu()
    cpu.set("a3", value)
    cpu.run(f"wsr.eps{level} a3", f"rsr.eps{level} a4", f"xsr.eps{level} a3", f"rsr.eps{level} a5")
    word = _word(PS, value)
    assert (cpu.get("a3"), cpu.get("a4"), cpu.get("a5")) == (word, word, word)
    target = cpu.state.PC
    cpu.set(f"EPC{level}", target)
    cpu.memory.write(target, bytes(_instruction(f"rfi {level}")))
    cpu.stepper.step()
    assert {name: cpu.get(name) for name in PS} == _spread(PS, value)


def _instruction(text: str) -> bytes:
    from instruction_driver import assemble

    return assemble(text)


def test_windowbase():
    check("rsr.windowbase a3", {"WindowBase": 9}, {"a3": 9})
    check("wsr.windowbase a3", {"WindowBase": 0, "a3": 0x1B}, {"WindowBase": 11})
    check("xsr.windowbase a3", {"WindowBase": 2, "a3": 5}, {"a3": 2, "WindowBase": 5})


def test_vecbase_drops_its_low_bits():
    check("rsr.vecbase a3", {"VECBASE": 0x403780 >> 2}, {"a3": 0x403780 >> 2 << 10})
    check("wsr.vecbase a3", {"a3": 0x403783FF}, {"VECBASE": 0x403780 >> 2})
    check("xsr.vecbase a3", {"a3": M1, "VECBASE": 1}, {"a3": 0x400, "VECBASE": 0x3FFFFF})


@pytest.mark.parametrize("number", [0, 1])
def test_dbreakc_has_its_enables_on_top(number):
    name = f"DBREAKC{number}"
    check(f"wsr.{name.lower()} a3", {"a3": M1, name: 0}, {name: 0xFF})
    check(f"wsr.{name.lower()} a3", {"a3": 0x8000003F, name: 0}, {name: 0xBF})
    check(f"rsr.{name.lower()} a3", {name: 0x55}, {"a3": 0x40000015})
    check(f"xsr.{name.lower()} a3", {name: 0x80, "a3": 0x3C}, {"a3": 0x80000000, name: 0x3C})


def test_debugcause():
    check("rsr.debugcause a3", {"DEBUGCAUSE": 0x2A, "DBNUM": 9}, {"a3": 0x92A})
    check("wsr.debugcause a3", {"a3": M1}, {"DEBUGCAUSE": 0x3F, "DBNUM": 0xF})
    check(
        "xsr.debugcause a3",
        {"DEBUGCAUSE": 1, "DBNUM": 2, "a3": 0x403},
        {"DEBUGCAUSE": 3, "DBNUM": 4, "a3": 0x201},
    )


def test_booleans_as_one_word():
    check("rsr.br a3", {f"b{n}": n % 3 == 0 for n in range(16)}, {"a3": 0x9249})
    check("wsr.br a3", {"a3": 0xFFFF8001}, {f"b{n}": n in (0, 15) for n in range(16)})
    ones = {f"b{n}": 1 for n in range(16)}
    check("xsr.br a3", ones | {"a3": 0x10000}, {f"b{n}": 0 for n in range(16)} | {"a3": 0xFFFF})


@pytest.mark.parametrize("number", range(4))
def test_mac_registers(number):
    check(f"rsr.m{number} a3", {f"m{number}": 0x87654321}, {"a3": 0x87654321})
    check(f"wsr.m{number} a3", {"a3": 0x87654321}, {f"m{number}": 0x87654321})
    check(f"xsr.m{number} a3", {"a3": 5, f"m{number}": 6}, {"a3": 6, f"m{number}": 5})


ACC = 0x8123456789
ACCUMULATOR = [
    ("rsr.acclo a3", {}, {"a3": 0x23456789}),
    ("rsr.acchi a3", {}, {"a3": 0xFFFFFF81}),
    ("wsr.acclo a3", {"a3": 0xCAFEBABE}, {"ACC": 0x81CAFEBABE}),
    ("wsr.acchi a3", {"a3": 0xCAFEBABE}, {"ACC": 0xBE23456789}),
    ("xsr.acclo a3", {"a3": 7}, {"a3": 0x23456789, "ACC": 0x8100000007}),
    ("xsr.acchi a3", {"a3": 7}, {"a3": 0xFFFFFF81, "ACC": 0x0723456789}),
]


@pytest.mark.parametrize(("text", "given", "expected"), ACCUMULATOR)
def test_mac_accumulator(text, given, expected):
    check(text, {"ACC": ACC} | given, expected)


CONSTANTS = [
    ("rsr.prid a3", {"PRID": 0xCDCD}, {"a3": 0xCDCD}),
    ("rsr.configid0 a3", {"CONFIGID0": 0xC2F0FFFE}, {"a3": 0xC2F0FFFE}),
    ("rsr.configid1 a3", {"CONFIGID1": 0x23090F1F}, {"a3": 0x23090F1F}),
    ("wsr.configid0 a3", {"a3": 5}, {}),
    ("wsr.mmid a3", {"a3": 5}, {"MMID": 5}),
]


@pytest.mark.parametrize(("text", "given", "expected"), CONSTANTS)
def test_constant_and_write_only_registers(text, given, expected):
    check(text, given, expected)


ABSENT = [f"{kind}.{name} a3" for name in ("litbase", "eraccess") for kind in ("rsr", "wsr", "xsr")]


@pytest.mark.parametrize("text", ABSENT)
def test_registers_of_options_that_the_core_lacks(text):
    check_raises(text, {}, Cause.ILLEGAL_INSTRUCTION)


def test_reset_values_of_the_configuration_numbers():
    """Core header: XCHAL_HW_CONFIGID0 and 1."""
    cpu = Cpu()
    cpu.run("rsr.configid0 a3", "rsr.configid1 a4")
    assert (cpu.get("a3"), cpu.get("a4")) == (0xC2F0FFFE, 0x23090F1F)


SOFTWARE, EDGE = 1 << 7 | 1 << 29, 1 << 10 | 1 << 22 | 1 << 28 | 1 << 30
INTERRUPTS = [
    ("rsr.interrupt a3", {"INTERRUPT": 0x80}, {"a3": 0x80}),
    ("wsr.intset a3", {"a3": M1, "INTERRUPT": 1}, {"INTERRUPT": 1 | SOFTWARE}),
    ("wsr.intset a3", {"a3": 0x80, "INTERRUPT": 1 << 29}, {"INTERRUPT": SOFTWARE}),
    ("wsr.intclear a3", {"a3": M1, "INTERRUPT": M1}, {"INTERRUPT": M1 & ~(SOFTWARE | EDGE)}),
    ("wsr.intclear a3", {"a3": 0x80, "INTERRUPT": M1}, {"INTERRUPT": M1 & ~0x80}),
    ("wsr.ccompare0 a3", {"a3": 9, "INTERRUPT": M1}, {"CCOMPARE0": 9, "INTERRUPT": M1 & ~(1 << 6)}),
    ("wsr.ccompare1 a3", {"a3": 9, "INTERRUPT": M1}, {"CCOMPARE1": 9, "INTERRUPT": M1 & ~(1 << 15)}),
    ("wsr.ccompare2 a3", {"a3": 9, "INTERRUPT": M1}, {"CCOMPARE2": 9, "INTERRUPT": M1 & ~(1 << 16)}),
    (
        "xsr.ccompare1 a3",
        {"a3": 9, "CCOMPARE1": 8, "INTERRUPT": M1},
        {"a3": 8, "CCOMPARE1": 9, "INTERRUPT": M1 & ~(1 << 15)},
    ),
    ("xsr.ccompare0 a3", {"a3": 9, "CCOMPARE0": 8, "INTERRUPT": 0}, {"a3": 8, "CCOMPARE0": 9}),
    ("xsr.ccompare2 a3", {"a3": 9, "CCOMPARE2": 8, "INTERRUPT": 0}, {"a3": 8, "CCOMPARE2": 9}),
    ("rsr.ccompare0 a3", {"CCOMPARE0": 8}, {"a3": 8}),
    ("rsr.ccompare1 a3", {"CCOMPARE1": 8}, {"a3": 8}),
    ("rsr.ccompare2 a3", {"CCOMPARE2": 8}, {"a3": 8}),
]


@pytest.mark.parametrize(("text", "given", "expected"), INTERRUPTS)
def test_interrupts_and_timers(text, given, expected):
    check(text, given, expected)


def test_ccount_goes_on_from_what_was_written():
    """One cycle an instruction; it wraps at 2**32 (B064)."""
    cpu = Cpu()
    cpu.set("a3", 0xFFFFFFFE)
    cpu.run("wsr.ccount a3", "rsr.ccount a4", "nop", "rsr.ccount a5", "xsr.ccount a3", "rsr.ccount a6")
    first = cpu.get("a4")
    assert first in (0xFFFFFFFE, 0xFFFFFFFF)
    assert cpu.get("a5") == (first + 2) & M1
    assert cpu.get("a3") == (first + 3) & M1
    assert cpu.get("a6") == (0xFFFFFFFE + first - 0xFFFFFFFE) & M1


WIDE = {
    "accx_0": ("ACCX", 0), "accx_1": ("ACCX", 32),
    **{f"qacc_{h}_{n}": (f"QACC_{h.upper()}", 32 * n) for h in "hl" for n in range(5)},
    **{f"ua_state_{n}": ("UA_STATE", 32 * n) for n in range(4)},
}  # fmt: skip
BITS = {"ACCX": 40, "QACC_H": 160, "QACC_L": 160, "UA_STATE": 128}


@pytest.mark.parametrize("name", WIDE)
def test_words_of_wide_states(name):
    """A write changes its own 32 bits (accx_1: 8) only; a read of accx_1 is zero-extended (contested)."""
    state, low = WIDE[name]
    size = min(32, BITS[state] - low)
    old = int.from_bytes(bytes(range(0x91, 0x91 + 20)), "little") & ((1 << BITS[state]) - 1)
    piece = old >> low & ((1 << size) - 1)
    check(f"rur.{name} a3", {state: old}, {"a3": piece})
    new = old ^ (piece ^ 0xDEADBEEF & ((1 << size) - 1)) << low
    check(f"wur.{name} a3", {state: old, "a3": 0xDEADBEEF}, {state: new})


USER = [("gpio_out", "GPIO_OUT", 8), ("sar_byte", "SAR_BYTE", 4), ("fft_bit_width", "FFT_BIT_WIDTH", 4)]


@pytest.mark.parametrize(("name", "state", "width"), [*USER, ("threadptr", "THREADPTR", 32)])
def test_small_user_registers(name, state, width):
    mask = (1 << width) - 1
    check(f"rur.{name} a3", {state: 0xA5A5A5A5 & mask}, {"a3": 0xA5A5A5A5 & mask})
    check(f"wur.{name} a3", {"a3": 0x5A5A5A5A}, {state: 0x5A5A5A5A & mask})


def test_every_access_instruction_has_a_register():
    """The opcode's number field is the register's number (T: bits 15..8, for rur 11..4)."""
    for row in rows():
        if row.group not in ("sr", "ur"):
            continue
        register = BY_MNEMONIC[row.mnemonic]
        shift = 4 if row.mnemonic.startswith("rur") else 8
        assert row.match >> shift & 0xFF == register.number, row.mnemonic
    assert SPECIAL_BY_NAME["INTERRUPT"].write == "wsr.intset"
