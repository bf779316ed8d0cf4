"""UART0 as firmware sees it: real code on the engine, both tiers, both kinds of wire."""

from __future__ import annotations

import random
import threading
import time

import pytest

from emu.board import words
from emu.board.chip import CPU_HZ
from tests.board.boards import PATIENCE, build, powered, read_until, search, send_all


@pytest.fixture(scope="module")
def images(toolchain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    found = {name: build(toolchain, folder, name) for name in ("echo", "late")}
    (folder / "fast").mkdir()
    found["fast"] = build(toolchain, folder / "fast", "echo", "-DBAUD=3000000")
    rom = ("ets_isr_attach", "ets_isr_unmask")
    found["interrupts"] = build(toolchain, folder, "interrupts", symbols=rom)
    found["two_cores"] = build(toolchain, folder, "two_cores", symbols=("ets_set_appcpu_boot_addr",))
    return found


def take(board, size):
    """``size`` bytes that the board sends."""
    found, end = b"", time.monotonic() + PATIENCE
    while len(found) < size:
        found += board.line.fetch()
        assert time.monotonic() < end, f"{len(found)} of {size} bytes came"
        time.sleep(0.0005)
    return found


def exchange(board, data):
    """What comes back while ``data`` goes out."""
    sender = threading.Thread(target=send_all, args=(board, data))
    sender.start()
    found = take(board, len(data))
    sender.join()
    return found


@pytest.mark.parametrize(("tier", "size"), [("translator", 200_000), ("stepper", 700)])
def test_every_byte_value_comes_back(images, tier, size):
    data = bytes(range(256)) + random.Random(1).randbytes(size)
    with powered(elf=images["echo"], tier=tier) as board:
        assert read_until(board, b"ready\n").startswith(b"ESP-ROM:esp32s3-20210327\r\n")
        assert exchange(board, data) == data
        assert board.line.lost == 0


def test_a_timed_wire_at_3_mbaud_loses_nothing_when_firmware_keeps_up(images, record_property):
    data = random.Random(2).randbytes(30_000)
    with powered(elf=images["fast"], paced=True) as board:
        read_until(board, b"ready\n")
        began = board.machine.seconds
        assert exchange(board, data) == data
        assert board.line.lost == 0
        took = board.machine.seconds - began
        # 80 MHz / (26 + 10 / 16): 799 cycles a byte; in emulated time the wire is never faster.
        assert board.line.word(words.BYTE_CYCLES) == 799
        assert took * CPU_HZ >= len(data) * 799
        record_property("bytes per emulated second", round(len(data) / took))


def test_a_full_fifo_loses_what_comes_after_128_bytes(images):
    data = bytes(range(1, 201))
    with powered(elf=images["late"], paced=True) as board:
        read_until(board, b"ready\n")
        send_all(board, data)
        found = search(board, rb"count (\w+) overflow (\w+) bytes (\w+)\n")
        assert int(found[1], 16) == 128
        assert int(found[2], 16) == 1
        assert bytes.fromhex(found[3].decode())[3::4] == data[:128]
        assert board.line.lost == len(data) - 128


def test_an_ideal_wire_holds_back_what_does_not_fit(images):
    with powered(elf=images["late"]) as board:
        read_until(board, b"ready\n")
        send_all(board, bytes(range(1, 201)))
        assert search(board, rb"count (\w+) overflow (\w+) bytes").groups() == (b"00000080", b"00000000")
        assert board.line.lost == 0


@pytest.mark.parametrize("paced", [False, True])
def test_interrupts_reach_handlers_of_the_rom_while_other_frames_are_live(images, paced):
    data = random.Random(3).randbytes(3000)
    with powered(elf=images["interrupts"], paced=paced) as board:
        read_until(board, b"ready\n")
        assert exchange(board, data) == data
        assert b"broken" not in board.line.fetch()
        # An ideal wire fills the FIFO as fast as one call of the handler empties it.
        least = len(data) // 128 if paced else 1
        assert board.machine.cores[0].engine.interrupts.taken[1] >= least


def test_the_second_core_starts_and_shares_memory(images):
    with powered(elf=images["two_cores"]) as board:
        text = read_until(board, b"00009c40\n")
        lines = text.split(b"boot:")[1].split(b"\r\n")[1].split()
        assert [int(line, 16) for line in lines] == [2000 * i for i in range(1, 21)]


def test_firmware_that_polls_leaves_the_host_alone(images):
    with powered(elf=images["echo"]) as board:
        read_until(board, b"ready\n")
        send_all(board, b"x")
        read_until(board, b"x")
        before = board.machine.cores[0].engine.state.instructions
        start = board.machine.seconds
        while board.machine.seconds < start + 0.3:
            board.call(lambda: None)
        executed = board.machine.cores[0].engine.state.instructions - before
        assert executed < 0.3 * 240_000_000 / 100  # time went on without them
