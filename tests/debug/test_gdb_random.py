"""Random debugger sessions: both tiers tell the same story of the same program."""

from __future__ import annotations

import random

import pytest
from rsp import Session

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.debug.calls import Call, start
from emu.image import Image, load_image
from tests.cpu.images import image_of
from tests.cpu.lab import CODE, DATA, assemble
from tests.image.elf_files import Part, make_elf

TEXT = """
       .align 4
    f: entry a1, 48
       movi a3, 4
       loop a3, _e
       addi a4, a4, 1
       s32i a4, a5, 0
    _e: mov.n a10, a4
       beqz a2, _o
       addi a11, a2, -1
       mov.n a10, a11
       mov.n a13, a5
       call8 f
    _o: mov.n a2, a4
       retw
    """
MADE = assemble(TEXT, CODE)
ADDRESSES = range(CODE, CODE + len(MADE.data))
"""Also in the middle of instructions, where a breakpoint is never reached."""


def image(is_stripped: bool) -> Image:
    if not is_stripped:
        return image_of(TEXT, bytes(64))
    parts = [Part(CODE, MADE.data), Part(DATA, bytes(64), "rw", 64, ".data")]
    return load_image(make_elf(parts, []), "stripped.elf")


def story(tier: str, seed: int) -> tuple[list[str], int, int, bytes]:
    """What the debugger saw, then instructions, PC and data when it left."""
    rng = random.Random(seed)
    engine = Engine(image(seed % 2 == 1), EngineOptions(tier=tier))  # type: ignore[arg-type]
    session = Session(engine, start(engine, Call(MADE.labels["f"], [2, 0, 0, DATA])))
    client, seen = session.client(), []
    for _ in range(50):
        place = rng.choice(ADDRESSES)
        watched = f"{DATA + rng.randrange(-4, 8):x},{rng.choice([1, 2, 4])}"
        packets = ["s", "s", "c", "vCont;s:1", f"Z{rng.choice('01')},{place:x},1", f"z0,{place:x},1"]
        packets += [f"Z{rng.choice('234')},{watched}", f"z2,{watched}", f"m{CODE:x},40"]
        answer = client.ask(rng.choice(packets))
        seen.append(f"{answer} {client.register('pc'):x}")
        if answer[:1] in ("W", "X"):
            break
    found = seen, engine.state.instructions, engine.state.PC, engine.memory.read(DATA, 64)
    client.close()
    if session.thread.is_alive():
        session.kill()
    session.server.__exit__()
    assert session.trouble is None, session.trouble
    return found


@pytest.mark.parametrize("seed", range(12))
def test_both_tiers_tell_the_same_story(seed: int) -> None:
    assert story("stepper", seed) == story("translator", seed)
