"""Resets: by software, by watchdogs, by lines, by faults; what the ROM prints and what survives."""

from __future__ import annotations

import time

import pytest

from emu.board.chip import Reset
from emu.board.faults import Fault, parse_fault
from emu.board.modem import ModemLines
from emu.board.settings import BoardError
from emu.link.panic import decode_panic
from tests.board.boards import build, powered, read_until, search, send_all


@pytest.fixture(scope="module")
def elf(toolchain, tmp_path_factory):
    return build(toolchain, tmp_path_factory.mktemp("resets"), "resets")


def started(board):
    """(text of the ROM, cause, RTC store) of the next start."""
    found = search(board, rb"cause (\w+) store (\w+)\n")
    cause, store = found.groups()
    return found.string.decode("latin-1"), int(cause, 16), int(store, 16)


@pytest.mark.parametrize(
    ("letter", "cause", "line", "kept"),
    [
        (b"s", Reset.RTC_SW_SYS, "rst:0x3 (RTC_SW_SYS_RST)", True),
        (b"c", Reset.RTC_SW_CPU, "rst:0xc (RTC_SW_CPU_RST)", True),
        (b"t", Reset.TG0WDT_SYS, "rst:0x7 (TG0WDT_SYS_RST)", True),
        (b"r", Reset.RTCWDT_RTC, "rst:0x10 (RTCWDT_RTC_RST)", False),
    ],
)
def test_the_guest_resets_itself(elf, letter, cause, line, kept):
    with powered(elf=elf) as board:
        assert started(board)[1:] == (Reset.POWERON, 0)
        send_all(board, letter)
        text, found, store = started(board)
        assert line in text
        assert "Saved PC:0x403" in text
        assert (found, store) == (cause, 1 if kept else 0)
        assert board.resets == {Reset.POWERON: 1, cause: 1}


def test_a_watchdog_that_is_fed_does_not_bite(elf):
    with powered(elf=elf) as board:
        started(board)
        send_all(board, b"t" + b"f" * 20)
        text, cause, _ = started(board)
        assert cause == Reset.TG0WDT_SYS
        assert "TG0WDT_SYS_RST" in text


# B074: power; B073: watchdogs; each tells itself in the words that the host side knows
@pytest.mark.parametrize(
    ("kind", "cause", "told"),
    [
        ("brownout", Reset.BROWN_OUT, "power"),
        ("watchdog", Reset.TG1WDT_SYS, "watchdog"),
        ("rtcwdt", Reset.RTCWDT_RTC, "watchdog"),
        ("panic", Reset.RTC_SW_CPU, "panic"),
    ],
)
def test_faults_are_told_as_boards_tell_them(elf, kind, cause, told):
    with powered(elf=elf) as board:
        started(board)
        board.fault(Fault(kind))
        text, found, _ = started(board)
        assert found == cause
        event = decode_panic(text.splitlines(), board.image)
        assert event is not None
        assert event.kind == told, event


def test_a_brown_out_comes_again_as_often_as_it_is_asked_for(elf):
    with powered(elf=elf) as board:
        started(board)
        for count in (1, 2, 3):
            board.fault(parse_fault("brownout@5ms"))
            text = started(board)[0]
            assert text.count("Brownout detector was triggered") == 1
            assert "rst:0xf (BROWN_OUT_RST)" in text
            assert board.resets[Reset.BROWN_OUT] == count


def test_the_task_watchdog_warns_and_the_run_goes_on(elf):
    with powered(elf=elf) as board:
        started(board)
        board.fault(Fault("taskwdt"))
        text = read_until(board, b"Backtrace: 0x403").decode()
        assert "Task watchdog got triggered" in text
        assert decode_panic(text.splitlines()) is None
        assert sum(board.resets.values()) == 1
        send_all(board, b"s")
        assert started(board)[1] == Reset.RTC_SW_SYS


def test_a_panic_names_the_place_that_the_processor_was_at(elf):
    with powered(elf=elf) as board:
        started(board)
        board.fault(Fault("panic"))
        event = decode_panic(started(board)[0].splitlines(), board.image)
        assert event.where == "main" or event.trace[0].startswith("main"), event


def test_a_board_that_hangs_is_silent_until_it_is_reset(elf):
    with powered(elf=elf) as board:
        started(board)
        board.fault(Fault("hang"))
        board.call(lambda: None)
        assert board.activity.name == "halted"
        send_all(board, b"s")
        time.sleep(0.05)
        assert board.line.fetch() == b""
        board.reset()
        assert started(board)[1] == Reset.POWERON


@pytest.mark.parametrize("text", ["brown", "brownout@", "brownout@2", "panic@-1s", "panic@2s3", "", "@2s"])
def test_faults_that_do_not_exist_are_refused(text):
    with pytest.raises(BoardError, match="fault"):
        parse_fault(text)


# B070, B071: lines
def test_lines_reset_into_the_application_or_into_download_mode(elf):
    with powered(elf=elf) as board:
        started(board)
        lines = ModemLines(board)
        lines.rts = True
        lines.rts = False
        assert started(board)[1] == Reset.POWERON
        lines.dtr, lines.rts = False, True
        lines.dtr = True
        lines.rts = False
        time.sleep(0.05)
        lines.dtr = False
        text = read_until(board, b"waiting for download\r\n").decode()
        assert "boot:0x0 (DOWNLOAD(USB/UART0))" in text
        assert decode_panic(text.splitlines()).kind == "download"
        lines.rts = True
        lines.rts = False
        assert started(board)[1] == Reset.POWERON


def test_opening_a_port_with_both_lines_does_not_reset(elf):
    with powered(elf=elf) as board:
        started(board)
        lines = ModemLines(board)
        lines.dtr = True
        lines.rts = True
        time.sleep(0.1)
        board.call(lambda: None)
        assert sum(board.resets.values()) == 1


def test_lines_one_after_the_other_do_reset(elf):
    """A port that is opened with RTS first: the chip starts again, and the host has to notice."""
    with powered(elf=elf) as board:
        started(board)
        lines = ModemLines(board)
        lines.rts = True
        lines.dtr = True
        assert started(board)[1] == Reset.POWERON
        assert board.resets == {Reset.POWERON: 2}
