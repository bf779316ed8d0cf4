"""The host's frame decoder under atheris (coverage-guided), or under random bytes where it is not installed.

    python tests/link/fuzz_decoder.py SECONDS [atheris | random]

An input is a stream of bytes and where it is cut: whole frames, frames with damage, text, rubbish. Whatever
comes: no exception, what is kept stays small, frames do not depend on the cuts, and one that was not touched
is found.
Prints how many inputs there were.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from emu.link.errors import LinkFault
from emu.link.frames import Damage, Frame, Piece, Splitter, encode
from emu.link.requests import Place, parse_called, parse_functions, parse_ran, parse_regions
from emu.link.wire import FIRST_PAYLOAD, Hello, Status

ENOUGH = 10_000_000


def stream_of(data: bytes) -> tuple[bytes, list[Frame], list[int]]:
    """(bytes on the line, untouched frames, cuts) that an input stands for."""
    line, frames, cuts, at = bytearray(), [], [], 0
    while at + 4 <= len(data):
        kind, size, cut, flip = data[at : at + 4]
        payload = data[at + 4 : at + 4 + size] * (1 + (kind >> 4) % 4)
        at += 4 + size
        if kind % 4 == 0:
            line += payload
        else:
            frame = Frame(kind, size * 0x01010101, cut, flip, payload[:FIRST_PAYLOAD])
            one = bytearray(encode(frame))
            if kind % 4 == 1:
                one[flip % len(one)] ^= 1 << cut % 8
            else:
                frames.append(frame)
            line += b"\0" + one
        cuts.append(len(line) * cut // 256)
    return bytes(line), frames, cuts


def pieces_of(line: bytes, cuts: list[int]) -> list[Piece]:
    """What a splitter gives for the line in portions."""
    splitter, found, at = Splitter(), [], 0
    for cut in (*sorted(cuts), len(line)):
        found += splitter.feed(line[at:cut])
        assert len(splitter.text_waiting()) <= Splitter.TEXT_LIMIT
        at = cut
    return found + splitter.flush()


def parse(payload: bytes) -> None:
    """Everything that reads a payload: an answer, or the error that the client names."""
    Hello.of(payload)
    Status.of(payload)
    for parser in (parse_regions, _functions, _called, _ran):
        with contextlib.suppress(LinkFault):
            parser(payload)


def _functions(payload: bytes) -> object:
    return parse_functions(payload, 0)


def _called(payload: bytes) -> object:
    return parse_called(payload, (Place(0, 0, 4),))


def _ran(payload: bytes) -> object:
    return parse_ran(payload, 1)


def one(data: bytes) -> None:
    """One input."""
    line, frames, cuts = stream_of(data)
    whole, portions = pieces_of(line, []), pieces_of(line, cuts)
    got = [p for p in portions if isinstance(p, Frame)]
    assert [p for p in whole if isinstance(p, Frame)] == got
    wanted = iter(got)
    assert all(any(frame == g for g in wanted) for frame in frames), "an untouched frame is missing"
    for piece in portions:
        if isinstance(piece, Frame):
            parse(piece.payload)
        elif isinstance(piece, Damage):
            assert piece.data


def random_inputs(seconds: float, seed: int) -> int:
    """Random inputs for so long; their number."""
    rng, end, count = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end and count < ENOUGH:
        one(rng.randbytes(rng.randrange(200)))
        count += 1
    return count


def main() -> None:
    """See above."""
    seconds, how = float(sys.argv[1]), (sys.argv[2:] or ["random"])[0]
    if how == "random":
        print(f"{random_inputs(seconds, 1):,} random inputs, no complaint")
        return
    import atheris  # type: ignore[import-not-found]

    atheris.instrument_all()
    options = [sys.argv[0], f"-max_total_time={int(seconds)}", f"-runs={ENOUGH}", "-max_len=600"]
    atheris.Setup(options, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
