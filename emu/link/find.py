"""Which ports lead to a board: the one given, or the same USB device under another name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from serial.tools import list_ports

ESPRESSIF = 0x303A
_BRIDGES = {
    (0x10C4, 0xEA60): "CP210x",
    (0x1A86, 0x7523): "CH340",
    (0x1A86, 0x55D4): "CH9102",
    (0x0403, 0x6001): "FT232R",
    (0x0403, 0x6010): "FT2232H",
}


@dataclass(frozen=True)
class Device:
    """A serial port of this machine."""

    url: str
    serial_number: str
    vid: int
    pid: int
    text: str

    @property
    def kind(self) -> str:
        """What it looks like: an ESP32-S3's own USB, a bridge, or unknown."""
        if self.vid == ESPRESSIF:
            return "USB-Serial/JTAG" if self.pid == 0x1001 else "Espressif USB"
        return _BRIDGES.get((self.vid, self.pid), "")


def devices(ports: Callable[[], Any] = list_ports.comports) -> list[Device]:
    """Serial ports of this machine, those of likely boards first."""
    found = [
        Device(p.device, p.serial_number or "", p.vid or 0, p.pid or 0, p.description or "") for p in ports()
    ]
    return sorted(found, key=lambda d: (not d.kind, d.url))


class Finder:
    """Names under which a board may be found; the last one that worked comes first."""

    def __init__(self, url: str, ports: Callable[[], Any] = list_ports.comports) -> None:
        self._given = url
        self._last = url
        self._ports = ports
        self._number = ""

    def candidates(self) -> Iterator[str]:
        """URLs to try, in order."""
        seen = set()
        for url in (self._last, self._given, *self._same_device()):
            if url not in seen:
                seen.add(url)
                yield url

    def opened(self, url: str) -> None:
        """Remember which device this is."""
        self._last = url
        for device in devices(self._ports):
            if device.url == url and device.serial_number:
                self._number = device.serial_number

    def _same_device(self) -> Iterator[str]:
        if self._number:
            yield from (d.url for d in devices(self._ports) if d.serial_number == self._number)
