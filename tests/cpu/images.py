"""Images for engine tests, from a few lines of assembler."""

from __future__ import annotations

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import Image, load_image
from tests.cpu.lab import CODE, DATA, assemble
from tests.image.elf_files import OBJECT, Name, Part, make_elf

DATA_SIZE = 256
TIER = "stepper"
TIERS = ("stepper", "translator")


def image_of(text: str, data: bytes = b"") -> Image:
    """Every label that does not begin with ``_`` is a function; ``table`` names the data at DATA."""
    made = assemble(text, CODE, table=DATA)
    names = [Name(n, at) for n, at in made.labels.items() if n != "table" and not n.startswith("_")]
    names.append(Name("table", DATA, DATA_SIZE, OBJECT, section=1))
    parts = [Part(CODE, made.data), Part(DATA, data, "rw", DATA_SIZE, ".data")]
    return load_image(make_elf(parts, names), "test.elf")


def engine_of(text: str, data: bytes = b"", **options: object) -> Engine:
    """An engine with that image, on the tier that the fixture ``tier`` chose."""
    return Engine(image_of(text, data), EngineOptions(**{"tier": TIER, **options}))  # type: ignore[arg-type]
