"""Images onto a board through esptool: into RAM, or into flash with a model beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emu.link.errors import LinkFault

CHIP = "esp32s3"
BOOT_OFFSET = 0
"""Where the ROM looks for an image of the chip's flash."""
MODEL_OFFSET = 0x200000
"""Where the agent shows a model from (docs/your-board.md; partitions.csv of the ESP-IDF project)."""


def bootable(elf: Path) -> bytes:
    """The ELF file as the ROM loads it. Raises LinkFault with esptool's reason."""
    from esptool.cmds import elf2image

    with _told(f"{elf} cannot be made an image"):
        made = elf2image(elf.read_bytes(), CHIP, None, flash_size="4MB")
    image = made if isinstance(made, bytes) else next((m for m in made or () if isinstance(m, bytes)), None)
    if image is None:
        raise LinkFault(f"{elf} cannot be made an image: esptool gave none")
    return image


def load_into_ram(port: str, elf: Path, baud: int, reset: str) -> None:
    """Start the image from RAM; it is gone after the next reset. Flash is not touched."""
    from esptool.cmds import load_ram

    image = bootable(elf)
    with _connected(port, baud, reset) as esp, _told("the image cannot be loaded"):
        load_ram(esp, image)


def write_into_flash(
    port: str, pieces: Sequence[tuple[int, bytes]], baud: int, reset: str, stub: bool = True
) -> None:
    """Write ``pieces`` (offset, bytes), verify them, and reset the board."""
    from esptool.cmds import attach_flash, reset_chip, run_stub, write_flash

    with _connected(port, baud, reset) as esp, _told("the flash cannot be written"):
        writer: Any = run_stub(esp) if stub else esp
        attach_flash(writer)
        write_flash(writer, [(offset, data) for offset, data in pieces], force=True)
        reset_chip(writer, "hard-reset")


@contextmanager
def _connected(port: str, baud: int, reset: str) -> Iterator[Any]:
    from esptool.cmds import detect_chip

    with _told(f"no ESP32-S3 in download mode at {port}"):
        esp: Any = detect_chip(port, baud, reset)
    try:
        if esp.CHIP_NAME != "ESP32-S3":
            raise LinkFault(f"the chip at {port} is an {esp.CHIP_NAME}, not an ESP32-S3")
        yield esp
    finally:
        esp._port.close()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """esptool's errors as ours."""
    import serial
    from esptool import FatalError

    try:
        yield
    except (FatalError, serial.SerialException, OSError) as error:
        raise LinkFault(f"{what}: {error}") from error
