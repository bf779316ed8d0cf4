"""Hardware that nobody models: the run stops with its name, or it is logged once; never nothing."""

from __future__ import annotations

import itertools
import logging

import pytest

from emu.cpu.traps import Trap, TrapKind
from emu.image.peripherals import PERIPHERALS, peripheral_at, register_text
from tests.cpu import images
from tests.cpu.images import engine_of

ACCESS = "f: entry a1, 32\n {code}\n retw"


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


def trap_of(code: str, *arguments: int, **options: object) -> Trap:
    with pytest.raises(Trap) as caught:
        engine_of(ACCESS.format(code=code), **options).call("f", list(arguments), budget=100)
    return caught.value


@pytest.mark.parametrize("exceptions", ["built-in", "vectors"])
@pytest.mark.parametrize(
    ("code", "address", "name"),
    [
        ("l32i a2, a2, 4", 0x6001F044, "timer group 0 + 0x48"),
        ("s32i a3, a2, 0", 0x60004004, "GPIO + 0x4"),
        ("l8ui a2, a2, 0", 0x60038000, "USB serial/JTAG + 0x0"),
        ("s16i a3, a2, 0", 0x6000A000, "reserved device address"),
        ("l32i a2, a2, 0", 0x600D0FFC, "world controller + 0xffc"),
        ("s32c1i a3, a2, 0", 0x600C0000, "system registers + 0x0"),
        ("ee.vld.128.ip q0, a2, 16", 0x60000000, "UART0 + 0x0"),
    ],
)
def test_a_device_register_stops_with_the_name_of_the_peripheral(
    code: str, address: int, name: str, exceptions: str
) -> None:
    trap = trap_of(code, address, exceptions=exceptions)
    assert trap.kind == TrapKind.DEVICE
    assert name in trap.message
    assert "log-once" in trap.message
    assert f"{trap.address:#010x}" in trap.message
    assert trap.where.symbol == "f"


def test_memory_that_does_not_exist_is_not_a_device() -> None:
    assert trap_of("l32i a2, a2, 0", 0x600D1000).kind == TrapKind.UNMAPPED_LOAD
    assert trap_of("s32i a2, a2, 0", 0x20000000).kind == TrapKind.UNMAPPED_STORE


def test_logged_once_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    text = "f: entry a1, 32\n movi a4, 5\n _l: s32i a4, a2, 0\n l32i a3, a2, 0\n addi a4, a4, -1\n"
    text += " bnez a4, _l\n l32i a4, a2, 8\n mov.n a2, a3\n retw"
    engine = engine_of(text, unmodelled="log-once")
    with caplog.at_level(logging.WARNING, "emu.cpu"):
        assert engine.call("f", [0x60000000]).a2 == 0
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    assert "store of 4 bytes at 0x60000000 (UART0 + 0x0), at " in lines[0]
    assert "load of 4 bytes at 0x60000000" in lines[1]
    assert "load of 4 bytes at 0x60000008" in lines[2]
    assert all("f+0x" in line for line in lines)
    assert list(engine.unmodelled.seen) == [line.split(": ", 1)[1].rsplit(", at ", 1)[0] for line in lines]


def test_a_region_of_a_board_comes_first() -> None:
    class Uart:
        def read(self, address: int, size: int) -> int:
            return address & 0xFF | size << 8

        def write(self, address: int, size: int, value: int) -> None:
            raise AssertionError("nothing is written")

    engine = engine_of(ACCESS.format(code="l16ui a2, a2, 6"))
    engine.memory.add_device("UART0", 0x60000000, 4096, Uart())
    assert engine.call("f", [0x60000010]).a2 == 0x216
    with pytest.raises(Trap, match="UART1"):
        engine.call("f", [0x60010000])


@pytest.mark.parametrize("stack", [0x60000100, 0x60000000, 0, 8, 0xFFFFFFFF, 0x3FC88004])
def test_a_backtrace_reads_no_devices(stack: int) -> None:
    """A trap while the stack pointer is a device's address: nothing is read to follow its callers."""

    class Uart:
        def read(self, address: int, size: int) -> int:
            raise AssertionError("a backtrace must not read devices")

        write = read  # type: ignore[assignment]

    for has_device in (False, True):
        engine = engine_of(ACCESS.format(code="ill"))
        if has_device:
            engine.memory.add_device("UART0", 0x60000000, 4096, Uart())  # type: ignore[arg-type]
        engine.begin("f")
        engine.state.set_a(0, 2 << 30 | 0x378123)
        engine.state.set_a(1, stack)
        engine.state.PC += 3
        engine.state.budget = 10
        with pytest.raises(Trap) as caught:
            engine.run()
        assert caught.value.kind == TrapKind.ILLEGAL
        assert "called from 0x40378120" in str(caught.value)


SERVICES = ["witlb a2, a3", "wdtlb a2, a3", "iitlb a2", "idtlb a2", "ritlb0 a2, a3", "ritlb1 a2, a3"]
SERVICES += ["rdtlb0 a2, a3", "rdtlb1 a2, a3", "pitlb a2, a3", "pdtlb a2, a3", "rer a2, a3", "wer a2, a3"]


@pytest.mark.parametrize("code", SERVICES)
def test_tlbs_and_external_registers(code: str, caplog: pytest.LogCaptureFixture) -> None:
    trap = trap_of(code, 0x40000000, 2)
    assert trap.kind == TrapKind.DEVICE
    assert trap.message.startswith(code.split()[0])
    engine = engine_of(ACCESS.format(code=f"{code}\n {code}"), unmodelled="log-once")
    with caplog.at_level(logging.WARNING, "emu.cpu"):
        engine.call("f", [0, 0])
    assert len(caplog.records) == 1


DEBUG = ["wsr.ibreakenable a2", "xsr.icountlevel a2", "wsr.dbreakc0 a2", "xsr.dbreakc1 a2"]


@pytest.mark.parametrize("code", DEBUG)
def test_hardware_breakpoints_are_not_ignored(code: str, tier: str) -> None:
    trap = trap_of(code, 0x80000001)
    assert trap.kind == TrapKind.DEVICE
    assert "breakpoints" in trap.message
    assert trap.where.offset == 3
    engine_of(ACCESS.format(code=code)).call("f", [0])
    engine_of(ACCESS.format(code="wsr.ibreaka0 a2\n wsr.dbreaka1 a2")).call("f", [5])


def test_what_needs_a_host_stops_in_any_case() -> None:
    assert trap_of("simcall", unmodelled="log-once").kind == TrapKind.SERVICE
    assert trap_of("syscall", unmodelled="log-once").kind == TrapKind.SERVICE


def test_bad_choices_are_refused() -> None:
    with pytest.raises(ValueError, match="unmodelled"):
        engine_of(ACCESS.format(code="nop"), unmodelled="ignore")


def test_the_table_of_peripherals_is_in_order() -> None:
    for before, after in itertools.pairwise(PERIPHERALS):
        assert before.end <= after.start
    assert peripheral_at(0x60004EFF) is peripheral_at(0x60004000)
    assert register_text(0x60004F00).startswith("GPIO sigma-delta")
    assert peripheral_at(0x5FFFFFFF) is None
    assert peripheral_at(0x60001000) is None
