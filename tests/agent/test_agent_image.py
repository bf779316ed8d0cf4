"""The agent's image in golden/agent: current, and laid out so that the ROM can load it and models can run."""

from __future__ import annotations

import json
from pathlib import Path

from emu.image import load_image
from emu.kernels.spec import REGISTRY
from emu.models import guest
from emu.toolchain.build import AGENT, source_hash
from emu.verify.reference import agent_elf
from emu.verify.selection import known_kernels

ROOT = Path(__file__).resolve().parents[2]
ROM_LOADER = 0x3FCD7E00
"""From here on the ROM works while it loads (its linker script: data of the loader)."""


def test_the_image_is_of_these_sources() -> None:
    """To mend: python tools/build_firmware.py."""
    manifest = json.loads((agent_elf().parent / "manifest.json").read_text())
    assert manifest["source_sha256"] == source_hash(ROOT / "firmware", AGENT)


def test_every_kernel_is_linked() -> None:
    known_kernels(None)
    image = load_image(agent_elf())
    assert [name for name in REGISTRY if name not in image.symbols] == []


def test_what_is_loaded_does_not_touch_the_loader() -> None:
    for segment in load_image(agent_elf()).segments:
        data = segment.address
        if 0x40378000 <= data < 0x403E0000:
            data -= 0x6F0000  # the same RAM as data
        if segment.data:
            assert data + len(segment.data) <= ROM_LOADER, hex(segment.address)


def test_the_pool_holds_the_arena_of_a_picture() -> None:
    image = load_image(agent_elf())
    start, end = (image.symbols.get(name).address for name in ("_pool_start", "_pool_end"))
    assert start % 64 == 0
    assert end - start >= guest.ARENA_BYTES
