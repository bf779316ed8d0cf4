"""The flash chip: cells, commands, its file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.board.flash import BLOCK, MIB, SECTOR, Flash, FlashError, parse_size
from emu.board.spi import FlashCommands

SMALL = MIB


def commands(flash):
    unknown = []
    return FlashCommands(flash, unknown.append), unknown


def test_programming_clears_bits_and_erasing_sets_whole_sectors():
    flash = Flash(SMALL)
    flash.program(SECTOR - 2, b"\x0f\xf0\xaa\x55")
    flash.program(SECTOR - 2, b"\xf8\xff\xcc\x55")
    assert flash.read(SECTOR - 2, 4) == bytes((0x0F & 0xF8, 0xF0, 0xAA & 0xCC, 0x55))
    flash.erase(SECTOR, 1)
    assert flash.read(SECTOR - 2, 4) == b"\x08\xf0\xff\xff"


@given(st.integers(0, 300), st.binary(min_size=1, max_size=700))
def test_a_page_program_wraps_inside_its_page(offset, data):
    flash = Flash(SMALL)
    flash.program_page(offset, data)
    page, expected = offset & -256, bytearray(b"\xff" * 256)
    for i, value in enumerate(data):
        if i >= len(data) - 256:
            expected[(offset + i) % 256] &= value
    assert flash.read(page, 256) == bytes(expected)
    assert flash.read(page + 256, 256) == b"\xff" * 256


def test_writes_need_write_enable_each_time():
    flash = Flash(SMALL)
    chip, unknown = commands(flash)
    chip.do(0x02, 0, b"\x00", 0)
    assert flash.read(0, 1) == b"\xff"
    chip.do(0x06, 0, b"", 0)
    assert chip.do(0x05, 0, b"", 1) == b"\x02"
    chip.do(0x02, 0, b"\x00", 0)
    chip.do(0x02, 1, b"\x00", 0)
    assert flash.read(0, 2) == b"\x00\xff"
    assert not unknown


@pytest.mark.parametrize(
    ("command", "size"), [(0x20, SECTOR), (0x52, BLOCK // 2), (0xD8, BLOCK), (0xC7, SMALL)]
)
def test_erase_commands_take_the_whole_unit_around_their_address(command, size):
    flash = Flash(SMALL)
    flash.buffer.array[:] = 0
    chip, _ = commands(flash)
    chip.do(0x06, 0, b"", 0)
    chip.do(command, size + 5 if size < SMALL else 0, b"", 0)
    first = size if size < SMALL else 0
    assert flash.buffer.array[first : first + size].tobytes() == b"\xff" * size
    assert not flash.buffer.array[:first].any()
    assert not flash.buffer.array[first + size :].any()


def test_identity_tells_the_size_and_unknown_commands_are_told():
    for size in (SMALL, 16 * MIB):
        chip, unknown = commands(Flash(size))
        assert 1 << chip.do(0x9F, 0, b"", 3)[2] == size
        chip.do(0x77, 0, b"", 0)
        assert unknown == ["flash command 0x77"]


# B076: one meaning of sizes
@pytest.mark.parametrize("text", ["16MB", "16384KB", "16777216", "16MiB", "16m", "16384k"])
def test_sizes_are_powers_of_two_however_they_are_written(text):
    assert parse_size(text) == 16 * MIB


@pytest.mark.parametrize("text", ["16000000", "16 apples", "", "0", "3MB", "-8MB", "64MB", "8.0MB"])
def test_other_sizes_are_refused_with_what_they_were_read_as(text):
    with pytest.raises(FlashError, match="flash size"):
        parse_size(text)


def test_contents_stay_in_the_file_and_belong_to_one_board(tmp_path):
    path = tmp_path / "flash.bin"
    first = Flash(SMALL, path)
    first.program(5, b"kept")
    with pytest.raises(FlashError, match="another board"):
        Flash(SMALL, path)
    first.close()
    again = Flash(SMALL, path)
    assert again.read(0, 12) == b"\xff" * 5 + b"kept" + b"\xff" * 3
    again.close()
    with pytest.raises(FlashError, match="1048576 bytes, but the chip has 2097152"):
        Flash(2 * SMALL, path)


def test_a_path_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(FlashError, match="no-such-folder"):
        Flash(SMALL, tmp_path / "no-such-folder" / "flash.bin")
    with pytest.raises(FlashError, match=str(tmp_path)):
        Flash(SMALL, tmp_path)


KILLED = """
import sys
from pathlib import Path
from emu.board.flash import Flash, MIB
flash = Flash(MIB, Path(sys.argv[1]))
flash.erase(0, MIB)
print("go", flush=True)
for address in range(0, MIB, 64):
    flash.program(address, bytes(64))
    if address == 0x8000:
        print("half", flush=True)
        sys.stdin.read()
"""


def test_a_killed_process_leaves_what_was_programmed_as_a_power_cut_does(tmp_path):
    path = tmp_path / "flash.bin"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"go\n"
    assert process.stdout.readline() == b"half\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    cells = path.read_bytes()
    assert cells[: 0x8000 + 64] == bytes(0x8000 + 64)
    assert set(cells[0x8000 + 64 :]) == {0xFF}
    assert Flash(SMALL, path).read(0x8000, 65) == bytes(64) + b"\xff"
