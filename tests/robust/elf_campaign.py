"""Damaged ELF files: each is refused with a message, or runs to a classified end between protected pages."""

from __future__ import annotations

import random
from functools import cache

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.image import Image, ImageError, load_image
from tests.image.test_image_fuzz import GOLDEN, mutate, small

BUDGET = 300
TRANSLATED_EVERY = 10


@cache
def _bases() -> tuple[bytes, ...]:
    return small(), GOLDEN.read_bytes()


def run(rng: random.Random, seed: int) -> str:
    """How a damaged file ended: refused, or how its code did. Raises what is neither."""
    data = mutate(rng.choice(_bases()), rng)
    try:
        image = load_image(data, f"damaged-{seed}.elf")
        _look_up(image)
        return _execute(image, seed)
    except ImageError as error:
        return _told("REFUSED", error)


def _told(how: str, error: Exception) -> str:
    """The end, once it is sure that the error says something."""
    assert str(error).strip()
    return how


def _look_up(image: Image) -> None:
    for segment in image.segments:
        image.locate(segment.address + min(7, segment.size - 1))
    for symbol in list(image.symbols)[:20]:
        image.locate(symbol.address)


def _execute(image: Image, seed: int) -> str:
    options = EngineOptions(
        tier="stepper" if seed % TRANSLATED_EVERY else "translator",
        exceptions=("built-in", "vectors")[seed // TRANSLATED_EVERY % 2],  # type: ignore[arg-type]
        guard_pages=True,
        psram_bytes=1 << 16,
        mmu=seed % 7 == 0,
    )
    engine = Engine(image, options)
    how = _enter(engine, image.entry)
    for symbol in list(image.symbols)[seed % 5 :: 40][:3]:
        _call(engine, symbol.address)
    return how


def _enter(engine: Engine, address: int) -> str:
    state = engine.state
    state.PC, state.budget = address, BUDGET
    state.set_a(1, engine.stack.end - 64)
    try:
        how = engine.advance().name
    except Trap as trap:
        how = _told(trap.kind.name, trap)
    assert state.instructions <= BUDGET
    return how


def _call(engine: Engine, address: int) -> None:
    try:
        engine.call(address, [engine.arena.start, 7, engine.arena.start + 64, 3], budget=BUDGET, dirty=5)
    except Trap as trap:
        _told(trap.kind.name, trap)
