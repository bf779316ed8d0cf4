"""What a self-test found, as a file: the engine reads it as its choice of readings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from emu.cpu.readings import ReadingError, choose

FORMAT: Final = "esp32s3-emu facts"
VERSION: Final = 1


def save_facts(path: Path, document: dict[str, Any]) -> None:
    """Write a result file."""
    path.write_text(json.dumps({"format": FORMAT, "version": VERSION, **document}, indent=1) + "\n")


def load_facts(path: Path) -> dict[str, str]:
    """The settled readings of a result file, by fact. Raises ReadingError for a file that is none."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise KeyError("format")
        readings = {str(name): str(value) for name, value in document["readings"].items()}
    except OSError as error:
        raise ReadingError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadingError(f"{path} is no result file of `emu selftest` ({error})") from error
    choose(readings)
    return readings
