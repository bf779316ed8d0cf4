"""Output of the guest: printf and its relatives, ESP-IDF's log; collected in ``Rom.log``."""

from __future__ import annotations

from emu.cpu.traps import TrapKind
from emu.rom.arguments import Rest, VaList
from emu.rom.functions import RomCall, rom_function
from emu.rom.printf_text import Arguments, FormatError, format_text


def _format(call: RomCall, text: int, arguments: Arguments) -> bytes:
    try:
        return format_text(call.string(text), arguments, call.string)
    except FormatError as error:
        raise call.trap(TrapKind.SERVICE, f"{call.name}: {error}") from None


def _print(call: RomCall, text: bytes) -> int:
    call.rom.print(text.decode("utf-8", "replace"))
    return len(text)


@rom_function("printf", "iprintf", by_symbol=True)
@rom_function("ets_printf", "esp_rom_printf", by_symbol=True)
def printf(call: RomCall) -> int:
    """The number of bytes."""
    return _print(call, _format(call, call[0], Rest(call, 1)))


@rom_function("vprintf", "esp_rom_vprintf", by_symbol=True)
def vprintf(call: RomCall) -> int:
    """The same from a va_list."""
    return _print(call, _format(call, call[0], VaList(call, 1)))


@rom_function("fprintf", "fiprintf", by_symbol=True)
def fprintf(call: RomCall) -> int:
    """Every stream is the log."""
    return _print(call, _format(call, call[1], Rest(call, 2)))


@rom_function("vfprintf", "vfiprintf", by_symbol=True)
def vfprintf(call: RomCall) -> int:
    """The same from a va_list."""
    return _print(call, _format(call, call[1], VaList(call, 2)))


@rom_function("_fprintf_r", "_fiprintf_r", by_symbol=True)
def fprintf_r(call: RomCall) -> int:
    """With newlib's context in front."""
    return _print(call, _format(call, call[2], Rest(call, 3)))


@rom_function("puts", by_symbol=True)
def puts(call: RomCall) -> int:
    """A line."""
    return _print(call, call.string(call[0]) + b"\n")


@rom_function("putchar", "ets_write_char_uart", "esp_rom_output_putc", "esp_rom_uart_putc", by_symbol=True)
def putchar(call: RomCall) -> int:
    """One byte."""
    _print(call, bytes([call[0] & 0xFF]))
    return call[0] & 0xFF


@rom_function("uart_tx_one_char", "uart_tx_one_char2", "esp_rom_uart_tx_one_char")
def transmit(call: RomCall) -> int:
    """0: it went out."""
    _print(call, bytes([call[0] & 0xFF]))
    return 0


@rom_function("esp_log_write", by_symbol=True)
def log_write(call: RomCall) -> None:
    """``esp_log_write(level, tag, format, ...)``; the format has level, time and tag in it."""
    _print(call, _format(call, call[2], Rest(call, 3)))


@rom_function("esp_log_writev", by_symbol=True)
def log_writev(call: RomCall) -> None:
    """The same from a va_list."""
    _print(call, _format(call, call[2], VaList(call, 3)))


@rom_function("esp_log", by_symbol=True)
def log(call: RomCall) -> None:
    """``esp_log(config, tag, format, ...)`` of ESP-IDF 5.5 and later: a line without colours."""
    _print(call, call.string(call[1]) + b": " + _format(call, call[2], Rest(call, 3)) + b"\n")


@rom_function("esp_log_timestamp", "esp_log_early_timestamp", by_symbol=True)
def timestamp(call: RomCall) -> int:
    """Milliseconds since the start; no time passes here."""
    return 0


@rom_function("esp_log_level_get", by_symbol=True)
def level_get(call: RomCall) -> int:
    """ESP_LOG_INFO."""
    return 3


@rom_function("esp_log_level_set", "fflush", "_fflush_r", "uart_tx_flush", by_symbol=True)
def nothing(call: RomCall) -> int:
    """Nothing waits to be written."""
    return 0


def _store(call: RomCall, place: int, size: int | None, text: bytes) -> int:
    """What fits, and a closing 0; the length that all of it has."""
    if size is None:
        call.write(place, text + b"\0")
    elif size:
        call.write(place, text[: size - 1] + b"\0")
    return len(text)


@rom_function("sprintf", "siprintf", by_symbol=True)
def sprintf(call: RomCall) -> int:
    """As much as it is."""
    return _store(call, call[0], None, _format(call, call[1], Rest(call, 2)))


@rom_function("snprintf", "sniprintf", by_symbol=True)
def snprintf(call: RomCall) -> int:
    """At most so many bytes."""
    return _store(call, call[0], call[1], _format(call, call[2], Rest(call, 3)))


@rom_function("vsprintf", "vsiprintf", by_symbol=True)
def vsprintf(call: RomCall) -> int:
    """From a va_list."""
    return _store(call, call[0], None, _format(call, call[1], VaList(call, 2)))


@rom_function("vsnprintf", "vsniprintf", by_symbol=True)
def vsnprintf(call: RomCall) -> int:
    """From a va_list, at most so many bytes."""
    return _store(call, call[0], call[1], _format(call, call[2], VaList(call, 3)))
