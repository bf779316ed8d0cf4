"""Booting from flash: images of esptool are taken, damaged ones are refused as the ROM refuses them."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys

import pytest

from emu.board.boot import BootError, boot_lines, read_image
from emu.board.chip import Reset
from emu.board.flash import MIB, Flash
from tests.board.boards import build, powered, read_until, send_all

CODE, DATA = 0x40378000, 0x3FC98000


def image(segments, entry=CODE, chip=9, size_code=2, has_hash=True, magic=0xE9, count=None):
    """An application image. ``segments``: (address, bytes), lengths multiples of 4."""
    number = len(segments) if count is None else count
    header = struct.pack("<BBBBI", magic, number, 2, size_code << 4, entry)
    header += bytes((0xEE, 0, 0, 0)) + struct.pack("<HBHHI", chip, 0, 0, 0xFFFF, 0)[:11] + bytes([has_hash])
    header = header[:23] + bytes([has_hash])
    body, checksum = header, 0xEF
    for address, data in segments:
        body += struct.pack("<II", address, len(data)) + data
        for value in data:
            checksum ^= value
    body += bytes(15 - len(body) % 16) + bytes([checksum])
    return body + (hashlib.sha256(body).digest() if has_hash else b"")


GOOD = [(DATA, bytes(range(64))), (CODE, b"\x36\x41\x00\x1d\xf0\x00\x00\x00")]


def flashed(data, size=8 * MIB):
    flash = Flash(size)
    flash.program(0, data)
    return flash


def refusal(data, size=8 * MIB):
    with pytest.raises(BootError) as caught:
        read_image(flashed(data, size))
    return caught.value


def test_a_good_image_is_taken():
    found = read_image(flashed(image(GOOD)))
    assert found.entry == CODE
    assert [(s.address, s.data) for s in found.segments] == GOOD
    assert found.size_bytes == 4 * MIB


def test_an_image_of_esptool_boots_and_runs(toolchain, tmp_path):
    elf, binary = build(toolchain, tmp_path, "echo"), tmp_path / "echo.bin"
    command = ["-m", "esptool", "--chip", "esp32s3", "elf2image", "--flash-size", "4MB", "-o", binary, elf]
    subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True)
    flash = Flash(4 * MIB, tmp_path / "flash.bin")
    flash.program(0, binary.read_bytes())
    flash.close()
    with powered(flash=tmp_path / "flash.bin", flash_bytes=4 * MIB) as board:
        text = read_until(board, b"ready\n").decode()
        assert "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)" in text
        assert "load:0x40378000,len:" in text
        assert "entry 0x40378" in text
        send_all(board, b"hello")
        assert read_until(board, b"hello") == b"hello"


def test_an_empty_chip_waits_for_a_download():
    with powered() as board:
        text = read_until(board, b"invalid header: 0xffffffff\r\n")
        assert b"boot:0x8" in text


def test_bad_magic_and_segment_counts():
    assert "invalid header: 0x" in refusal(image(GOOD, magic=0xEA)).text
    for count in (0, 17, 255):
        assert f"invalid segment count: {count}" in refusal(image(GOOD, count=count)).text


def test_an_image_for_another_chip_names_both():
    error = refusal(image(GOOD, chip=5))
    assert "wrong chip id 0x0005" in error.text
    assert "number 5, this one has 9" in error.why


# B076: the header asks for 16 MiB, the chip has 4
def test_a_header_for_a_larger_chip_stops_with_both_numbers():
    error = refusal(image(GOOD, size_code=4), 4 * MIB)
    assert "16 MiB" in error.why
    assert "4 MiB" in error.why
    assert "0x1000000" in error.text
    read_image(flashed(image(GOOD, size_code=4), 16 * MIB))


# B075: checksum and hash
@pytest.mark.parametrize("at", [24 + 8 + 5, 24 + 8 + 64 + 8 + 1])
def test_a_flipped_bit_in_a_segment_fails_the_checksum(at):
    data = bytearray(image(GOOD))
    data[at] ^= 0x10
    assert refusal(bytes(data)).text.startswith("csum err:")


def test_a_wrong_hash_is_shown_with_the_right_one():
    data = bytearray(image(GOOD))
    data[-1] ^= 1
    error = refusal(bytes(data))
    assert error.text.startswith("SHA-256 comparison failed:\r\nCalculated: ")
    assert hashlib.sha256(bytes(data[:-32])).hexdigest() in error.text


def test_a_header_that_was_edited_after_hashing_is_found_by_the_hash_only():
    data = bytearray(image(GOOD))
    data[2] = 0  # the flash mode is not part of the checksum
    assert "SHA-256" in refusal(bytes(data)).text
    unhashed = bytearray(image(GOOD, has_hash=False))
    unhashed[2] = 0
    assert read_image(flashed(bytes(unhashed))).mode == "QIO"


def test_bytes_before_the_hash_may_be_anything_that_the_checksum_allows():
    data = bytearray(image(GOOD, has_hash=True))
    data[-34] = 0x5A  # padding in front of the checksum, inside what is hashed
    data[-32:] = hashlib.sha256(data[:-32]).digest()
    assert read_image(flashed(bytes(data))).entry == CODE


@pytest.mark.parametrize(
    "segments",
    [
        [(DATA, bytes(64)), (DATA + 32, bytes(64))],
        [(DATA + 32, bytes(64)), (DATA, bytes(36))],
        [(CODE + 0x20000, bytes(64)), (0x3FC88000 + 0x20020, bytes(16))],
    ],
)
def test_segments_over_each_other_are_refused_by_either_bus(segments):
    assert "overlapping segment 1" in refusal(image(segments)).text


@pytest.mark.parametrize("address", [0x3FCEE000, 0x3FCED700])
def test_segments_over_the_data_of_the_rom_are_refused(address):
    assert "overlap ROM data" in refusal(image([(address, bytes(64))])).text


@pytest.mark.parametrize("address", [0x20000000, 0x3FC80000, 0x403DFFF0, 0x60000000])
def test_segments_outside_of_memory_are_refused(address):
    assert "invalid segment address" in refusal(image([(address, bytes(64))])).text


def test_a_segment_longer_than_the_chip_is_refused():
    data = bytearray(image(GOOD))
    data[28:32] = struct.pack("<I", 0x7FFFFFFF)
    assert "invalid segment length" in refusal(bytes(data)).text


# B050: what the cache shows lies at the same place of its 64 KiB page in flash and in memory
@pytest.mark.parametrize(
    ("padding", "is_good"), [(0xFFF8, True), (0xFFF0, False), (0, False), (0xFFFC, False)]
)
def test_cached_segments_are_padded_to_their_place_in_the_page(padding, is_good):
    data = image([(0, bytes(padding)), (0x42000020, bytes(64))])
    if is_good:
        assert read_image(flashed(data)).segments[1].offset == 0x10020
    else:
        assert "doesn't match data" in refusal(data).text


def test_the_first_lines_of_the_rom():
    lines = boot_lines(Reset.BROWN_OUT, False, 0)
    assert "rst:0xf (BROWN_OUT_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)\r\n" in lines
    download = boot_lines(Reset.USB_UART, True, 0x40378123)
    assert "rst:0x15 (USB_UART_CHIP_RESET),boot:0x0 (DOWNLOAD(USB/UART0))\r\n" in download
    assert "Saved PC:0x40378123\r\n" in download
