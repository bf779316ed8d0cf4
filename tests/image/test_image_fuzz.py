"""Damaged files: an image or an ImageError, nothing else, and soon."""

from __future__ import annotations

import contextlib
import random
import time
from pathlib import Path

import pytest

from emu.image import ImageError, load_image
from tests.image.elf_files import CODE, DATA, OBJECT, Name, Part, make_elf

GOLDEN = Path(__file__).parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"
SLOWEST = 20.0
"""Seconds for one file: far above what a healthy file takes, far below a hang."""


def small() -> bytes:
    parts = [Part(CODE, bytes(64)), Part(DATA, b"abcd", "rw", 128, ".data")]
    return make_elf(
        parts, [Name("f", CODE, 32), Name("g", CODE + 32, 32), Name("x", DATA, 4, OBJECT, section=1)]
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A few changed bytes or words (headers preferred), a cut, or a doubled piece."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        shoff = int.from_bytes(data[32:36], "little")
        place = rng.choice((rng.randrange(52), rng.randrange(len(out)), shoff + rng.randrange(40 * 20)))
        if place >= len(out):
            continue
        if rng.random() < 0.5:
            out[place] = rng.randrange(256)
        else:
            word = rng.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, len(out), rng.getrandbits(32)))
            out[place & ~3 : (place & ~3) + 4] = word.to_bytes(4, "little")
    if rng.random() < 0.1:
        del out[rng.randrange(len(out)) :]
    if rng.random() < 0.05:
        at = rng.randrange(len(out) + 1)
        out[at:at] = out[: rng.randrange(64)]
    return bytes(out)


def survive(data: bytes) -> bool:
    """Load and look addresses up; True when it loaded."""
    started = time.monotonic()
    image = None
    with contextlib.suppress(ImageError):
        image = load_image(data, "damaged.elf")
    if image is not None:
        for segment in image.segments:
            image.locate(segment.address + min(7, segment.size - 1))
        for symbol in list(image.symbols)[:20]:
            image.locate(symbol.address)
    assert time.monotonic() - started < SLOWEST
    return image is not None


@pytest.mark.parametrize("seed", range(6))
def test_mutated_files(seed: int) -> None:
    rng = random.Random(seed)
    base = GOLDEN.read_bytes() if seed % 2 else small()
    loaded = [survive(mutate(base, rng)) for _ in range(60)]
    assert any(loaded)
    assert not all(loaded)


def test_random_bytes_behind_the_magic() -> None:
    rng = random.Random(99)
    for _ in range(300):
        survive(b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x02\x00\x5e\x00" + rng.randbytes(rng.randrange(400)))


def test_every_cut_of_a_small_file() -> None:
    data = small()
    for size in range(len(data)):
        assert not survive(data[:size])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_ten_thousand_mutated_files(seed: int) -> None:
    rng = random.Random(seed)
    bases = (small(), GOLDEN.read_bytes())
    for _ in range(500):
        survive(mutate(rng.choice(bases), rng))
