"""MD5 and inflate of the ROM (rom/md5_hash.h, rom/miniz.h); the states of their streams are kept by the host,
under the address of the guest's context."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

from emu.board.rom.common import load_word, machine, store_word
from emu.rom.functions import RomCall, RomFunction

ZLIB_HEADER, MORE_INPUT = 1, 2
FAILED, DONE, NEEDS_INPUT, HAS_OUTPUT = -1, 0, 1, 2
"""Results of tinfl_decompress."""


def _md5_init(call: RomCall) -> None:
    machine(call).streams[call[0]] = hashlib.md5()


def _md5_update(call: RomCall) -> None:
    """``(context, data, size)``"""
    digest: Any = machine(call).streams.setdefault(call[0], hashlib.md5())
    digest.update(call.read(call[1], call[2]))


def _md5_final(call: RomCall) -> None:
    """``(digest, context)``"""
    digest: Any = machine(call).streams.pop(call[1], hashlib.md5())
    call.write(call[0], digest.digest())


def _inflate(call: RomCall) -> int:
    """``tinfl_decompress(state, in, size of in, start of out, out, size of out, flags)``.

    A state whose first word is 0 is a new stream. Both sizes come back as what was used.
    """
    state, source, source_size, _start, target, target_size = call.guest.arguments(6)
    flags, streams = call[6], machine(call).streams
    if load_word(call, state) == 0 or state not in streams:
        streams[state] = zlib.decompressobj(15 if flags & ZLIB_HEADER else -15)
        store_word(call, state, 1)
    stream: Any = streams[state]
    data, room = call.read(source, load_word(call, source_size)), load_word(call, target_size)
    try:
        made = stream.decompress(data, room) if room else b""
    except zlib.error:
        return FAILED
    call.write(target, made)
    left = len(stream.unused_data) if stream.eof else len(stream.unconsumed_tail)
    store_word(call, source_size, len(data) - left if room else 0)
    store_word(call, target_size, len(made))
    if stream.eof:
        return DONE
    if len(made) == room:
        return HAS_OUTPUT
    return NEEDS_INPUT if flags & MORE_INPUT else FAILED


FUNCTIONS: dict[str, RomFunction] = {
    "MD5Init": _md5_init,
    "MD5Update": _md5_update,
    "MD5Final": _md5_final,
    "tinfl_decompress": _inflate,
}
