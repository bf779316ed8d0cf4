"""Packets of the protocol, answered (GDB's manual, appendix E: "Packets", "General Query Packets")."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from emu.cpu.memory import MemoryFault
from emu.debug.gdb.description import target_xml
from emu.debug.gdb.inferior import Inferior, Stop, Watch
from emu.debug.gdb.monitor import monitor
from emu.debug.gdb.registers import GENERAL_REGISTERS, UNMODELLED, by_name, registers

PACKET_SIZE = 0x4000
FEATURES = (
    f"PacketSize={PACKET_SIZE:x};qXfer:features:read+;QStartNoAckMode+;swbreak+;hwbreak+;vContSupported+"
)
_EXPEDITED = ("pc", "windowbase", "windowstart")
_WATCHES = {"2": "watch", "3": "rwatch", "4": "awatch"}
_BREAKS = {"0": "swbreak", "1": "hwbreak"}


class BadPacket(Exception):
    """A packet that is not of its form; answered with E01."""


@dataclass(frozen=True)
class Resume:
    """The program is to run; ``within``: the step range of ``vCont;r``."""

    is_step: bool = False
    within: range | None = None


@dataclass(frozen=True)
class Reply:
    """What to send; ``leaves``: the client goes (detach, kill), ``kills``: and the program ends."""

    data: bytes = b""
    leaves: bool = False
    kills: bool = False
    no_ack: bool = False


Answer = Reply | Resume


class Commands:
    """Answers packets for one program. Whatever is wrong with a packet becomes an error reply."""

    def __init__(self, inferior: Inferior) -> None:
        self.inferior = inferior
        self.state = inferior.engine.state
        self.memory = inferior.engine.memory
        self.last_stop = Stop()
        self._reports_breaks = True

    def answer(self, data: bytes) -> Answer:
        """The answer to the content of one packet."""
        try:
            return self._dispatch(data)
        except BadPacket:
            return Reply(b"E01")
        except MemoryFault:
            return Reply(b"E0e")

    def _dispatch(self, data: bytes) -> Answer:
        if not data:
            return Reply()
        if data[:1] == b"X":
            return self._write_binary(data)
        text = data.decode("latin-1")
        for prefix, handler in self._handlers():
            if text.startswith(prefix):
                return handler(self, text[len(prefix) :])
        return Reply()

    def _handlers(self) -> Iterator[tuple[str, Callable[[Commands, str], Answer]]]:
        """Prefixes in the order in which they are tried: longer ones first."""
        return iter(_HANDLERS)

    # --- registers ------------------------------------------------------------------------------------------
    def _read_all(self, _: str) -> Answer:
        fetched = (r.fetch(self.state) for n, r in registers().items() if n < GENERAL_REGISTERS)
        return _hex(b"".join(fetched))

    def _write_all(self, text: str) -> Answer:
        data = _bytes(text)
        at = 0
        for number, register in registers().items():
            if number >= GENERAL_REGISTERS or at + register.size > len(data):
                break
            register.store(self.state, data[at : at + register.size])
            at += register.size
        return _OK

    def _read_one(self, text: str) -> Answer:
        number = _number(text)
        if number in UNMODELLED:
            return Reply(b"xxxxxxxx")
        register = registers().get(number)
        return Reply(b"E01") if register is None else _hex(register.fetch(self.state))

    def _write_one(self, text: str) -> Answer:
        number, equals, value = text.partition("=")
        register = registers().get(_number(number))
        data = _bytes(value)
        if not equals or register is None or len(data) != register.size:
            raise BadPacket
        register.store(self.state, data)
        return _OK

    # --- memory ---------------------------------------------------------------------------------------------
    def _read_memory(self, text: str) -> Answer:
        address, size = _pair(text)
        size = min(size, PACKET_SIZE // 2 - 4)
        found = bytearray()
        while len(found) < size:
            region = self.memory.find((address + len(found)) & 0xFFFFFFFF)
            if region is None or region.buffer is None or address + len(found) > 0xFFFFFFFF:
                break
            length = min(size - len(found), region.end - address - len(found))
            found += self.memory.read(address + len(found), length)
        return Reply(b"E0e") if size and not found else _hex(bytes(found))

    def _write_memory(self, text: str) -> Answer:
        place, colon, digits = text.partition(":")
        address, size = _pair(place)
        data = _bytes(digits)
        if not colon or size != len(data):
            raise BadPacket
        return self._write(address, data)

    def _write_binary(self, packet: bytes) -> Answer:
        place, colon, data = packet[1:].partition(b":")
        address, size = _pair(place.decode("latin-1"))
        if not colon or size != len(data):
            raise BadPacket
        return self._write(address, data)

    def _write(self, address: int, data: bytes) -> Answer:
        if address + len(data) > 1 << 32:
            raise BadPacket
        self.memory.write(address, data)
        return _OK

    # --- running --------------------------------------------------------------------------------------------
    def _continue(self, text: str) -> Answer:
        self._set_pc(text)
        return Resume()

    def _step(self, text: str) -> Answer:
        self._set_pc(text)
        return Resume(is_step=True)

    def _continue_signal(self, text: str) -> Answer:
        signal, _, address = text.partition(";")
        _number(signal)
        return self._continue(address)

    def _step_signal(self, text: str) -> Answer:
        signal, _, address = text.partition(";")
        _number(signal)
        return self._step(address)

    def _set_pc(self, text: str) -> None:
        if text:
            self.state.PC = _number(text) & 0xFFFFFFFF

    def _continue_threads(self, text: str) -> Answer:
        """Only the first action counts: there is one thread."""
        action = text.split(";")[0].split(":")[0]
        if action[:1] in ("c", "C"):
            return Resume()
        if action[:1] in ("s", "S"):
            return Resume(is_step=True)
        if action[:1] == "r":
            start, comma, end = action[1:].partition(",")
            if not comma:
                raise BadPacket
            return Resume(within=range(_number(start), _number(end)))
        raise BadPacket

    def _why(self, _: str) -> Answer:
        return Reply(self.stop_text(self.last_stop))

    def stop_text(self, stop: Stop) -> bytes:
        """The stop reply for a stop, which ``?`` repeats from now on."""
        self.last_stop = stop
        if stop.exit_code is not None:
            return b"W%02x" % (stop.exit_code & 0xFF)
        pairs = []
        if stop.detail in _WATCHES.values():
            pairs.append(f"{stop.detail}:{stop.address:x}")
        elif stop.detail and self._reports_breaks:
            pairs.append(f"{stop.detail}:")
        for name in _EXPEDITED:
            register = by_name()[name]
            pairs.append(f"{register.number:x}:{register.fetch(self.state).hex()}")
        pairs.append("thread:1")
        return f"T{int(stop.signal):02x}{''.join(pair + ';' for pair in pairs)}".encode()

    # --- breakpoints ----------------------------------------------------------------------------------------
    def _insert(self, text: str) -> Answer:
        kind, address, size = _point(text)
        if kind in _BREAKS:
            self.inferior.breakpoints[_BREAKS[kind]].add(address)
        elif kind in _WATCHES:
            watch = Watch(_WATCHES[kind], address, max(1, size))
            if watch not in self.inferior.watches:
                self.inferior.watches.append(watch)
        else:
            return Reply()
        return _OK

    def _remove(self, text: str) -> Answer:
        kind, address, size = _point(text)
        if kind in _BREAKS:
            self.inferior.breakpoints[_BREAKS[kind]].discard(address)
        elif kind in _WATCHES:
            watch = Watch(_WATCHES[kind], address, max(1, size))
            self.inferior.watches = [w for w in self.inferior.watches if w != watch]
        else:
            return Reply()
        return _OK

    # --- queries --------------------------------------------------------------------------------------------
    def _supported(self, text: str) -> Answer:
        asked = text.lstrip(":").split(";")
        # A client that names its features without this one cannot read it in a stop reply.
        self._reports_breaks = "swbreak+" in asked or not any(asked)
        return Reply(FEATURES.encode())

    def _features(self, text: str) -> Answer:
        annex, _, place = text.partition(":")
        if annex != "target.xml":
            return Reply(b"E00")
        offset, length = _pair(place)
        xml = target_xml()
        length = min(length, PACKET_SIZE - 4)
        more = b"m" if offset + length < len(xml) else b"l"
        return Reply(more + xml[offset : offset + length])

    def _monitor(self, text: str) -> Answer:
        command = _bytes(text).decode("utf-8", "replace")
        return _hex(monitor(self.inferior, command).encode())


_OK = Reply(b"OK")


def _fixed(data: bytes) -> Callable[[Commands, str], Answer]:
    return lambda _, __: Reply(data)


_HANDLERS: tuple[tuple[str, Callable[[Commands, str], Answer]], ...] = (
    ("qSupported", Commands._supported),
    ("qXfer:features:read:", Commands._features),
    ("qRcmd,", Commands._monitor),
    ("qAttached", _fixed(b"1")),
    ("qfThreadInfo", _fixed(b"m1")),
    ("qsThreadInfo", _fixed(b"l")),
    ("qThreadExtraInfo", _fixed(b"63707530")),
    ("qOffsets", _fixed(b"Text=0;Data=0;Bss=0")),
    ("qSymbol", _fixed(b"OK")),
    ("qTStatus", _fixed(b"")),
    ("qCRC", _fixed(b"")),
    ("qC", _fixed(b"QC1")),
    ("QStartNoAckMode", lambda _, __: Reply(b"OK", no_ack=True)),
    ("vCont?", _fixed(b"vCont;c;C;s;S;r")),
    ("vCont;", Commands._continue_threads),
    ("vKill", lambda _, __: Reply(b"OK", leaves=True, kills=True)),
    ("H", _fixed(b"OK")),
    ("T", _fixed(b"OK")),
    ("?", Commands._why),
    ("g", Commands._read_all),
    ("G", Commands._write_all),
    ("p", Commands._read_one),
    ("P", Commands._write_one),
    ("m", Commands._read_memory),
    ("M", Commands._write_memory),
    ("c", Commands._continue),
    ("C", Commands._continue_signal),
    ("s", Commands._step),
    ("S", Commands._step_signal),
    ("Z", Commands._insert),
    ("z", Commands._remove),
    ("D", lambda _, __: Reply(b"OK", leaves=True)),
    ("k", lambda _, __: Reply(leaves=True, kills=True)),
)

_HEX = re.compile(r"[0-9a-fA-F]{1,16}")


def _hex(data: bytes) -> Reply:
    return Reply(data.hex().encode())


def _number(text: str) -> int:
    if not _HEX.fullmatch(text):
        raise BadPacket
    return int(text, 16)


def _pair(text: str) -> tuple[int, int]:
    first, comma, second = text.partition(",")
    if not comma:
        raise BadPacket
    return _number(first), _number(second)


def _bytes(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise BadPacket from None


def _point(text: str) -> tuple[str, int, int]:
    """Type, address and size of a breakpoint. Conditions behind them are ignored: none were offered."""
    parts = text.split(";")[0].split(",")
    if len(parts) != 3:
        raise BadPacket
    address = _number(parts[1])
    if address >> 32:
        raise BadPacket
    return parts[0], address, _number(parts[2])
