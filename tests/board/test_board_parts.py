"""Parts of the chip that firmware uses: the cache's MMU, USB serial/JTAG, and what is missing."""

from __future__ import annotations

import random
import threading
import time

import pytest

from emu.board.registers import Registers
from tests.board.boards import PATIENCE, build, powered, read_until, search, send_all


@pytest.fixture(scope="module")
def images(toolchain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    found = {name: build(toolchain, folder, name) for name in ("mmu", "usb_echo")}
    found["missing"] = build(toolchain, folder, "missing", symbols=("ets_aes_setkey",))
    return found


# B052: one table; bit 15 of an entry selects PSRAM
def test_software_maps_psram_and_flash_through_one_table(images):
    with powered(elf=images["mmu"], flash_bytes=1 << 20) as board:
        board.flash.program(0x30010, (0x00C0FFEE).to_bytes(4, "little"))
        board.reset()
        text = search(board, rb"([0-9a-f]{40})\n").group(1)
        assert [text[i : i + 8] for i in range(0, 40, 8)] == [
            b"cafe0001",
            b"cafe0001",  # the same page at another entry
            b"00c0ffee",
            b"00c0ffee",  # through the instruction window
            b"00004000",
        ]


def test_usb_serial_jtag_carries_every_byte_in_packets(images):
    data = bytes(range(256)) + random.Random(9).randbytes(5000)
    with powered(elf=images["usb_echo"], console="usb") as board:
        read_until(board, b"usb ready\n")
        sender = threading.Thread(target=send_all, args=(board, data))
        sender.start()
        found, end = b"", time.monotonic() + PATIENCE
        while len(found) < len(data) and time.monotonic() < end:
            found += board.line.fetch()
            time.sleep(0.001)
        sender.join()
        assert found == data


def test_what_nobody_models_is_told_once_and_a_missing_function_stops_the_board(images, caplog):
    with powered(elf=images["missing"]) as board:
        read_until(board, b"00000000\n")
        end = time.monotonic() + PATIENCE
        while board.activity.name == "running" and time.monotonic() < end:
            time.sleep(0.01)
        assert board.activity.name == "halted"
        assert "ets_aes_setkey" in board.activity.why
        assert "main" in board.activity.why
        told = [line for line in board.machine.not_modelled if "I2C0" in line]
        assert len(told) == 2  # the store and the load, each once
        assert sum("I2C0 + 0x0" in record.message for record in caplog.records) == 2


class Notes:
    """Stands in for what answers for registers that nobody models."""

    def __init__(self):
        self.uses = []

    def read(self, address, size):
        self.uses.append(("read", address))
        return 0

    def write(self, address, size, value):
        self.uses.append(("write", address))


def test_registers_take_parts_of_words_and_tell_what_they_do_not_know():
    class Memory:
        unmodelled = Notes()

    registers = Registers(0x1000, {0: 0x11223344}, plain=(0,))
    registers.memory = Memory()
    assert registers.read(0x1001, 1) == 0x33
    assert registers.read(0x1002, 2) == 0x1122
    registers.write(0x1003, 1, 0xAA)
    assert registers.read(0x1000, 4) == 0xAA223344
    registers.write(0x1010, 4, 7)
    assert registers.read(0x1010, 4) == 7
    assert Memory.unmodelled.uses == [("write", 0x1010), ("read", 0x1010)]
    registers.reset()
    assert registers.read(0x1000, 8) & 0xFFFFFFFF == 0x11223344
