"""A golden's manifest: JSON, version 1, the same bytes whenever the same thing is recorded.

Nothing in it depends on the moment or the machine: no date, no path outside the project, no processor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.goldens.definition import Definition
from emu.goldens.errors import damaged
from emu.verify.errors import UsageProblem
from emu.verify.records import write_whole

FORMAT: Final = "esp32s3-emu golden"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
TENSORS: Final = "tensors.safetensors"
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Manifest:
    """What a golden says.

    ``run``: what was recorded; ``provenance``: versions, hashes, targets, rounding rules; ``stages``: digest
    by name, in order; ``tensors``: SHA-256 of the tensor file, "" when no tensor is kept.
    """

    run: Definition
    provenance: Mapping[str, Any]
    stages: Mapping[str, int]
    tensors: str = ""
    folder: Path = field(default=Path(), compare=False)

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "run": self.run.as_json(),
            "provenance": dict(self.provenance),
            "tensors_sha256": self.tensors or None,
            "stages": {name: f"{digest:016X}" for name, digest in self.stages.items()},
        }

    def write(self, folder: Path) -> None:
        """Write the manifest, whole or not at all. Raises ToolError."""
        text = json.dumps(self.as_json(), indent=1, ensure_ascii=False)
        write_whole(folder / MANIFEST, text.encode() + b"\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a golden's folder. Raises UsageProblem when it is missing, damaged or too new."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > _LARGEST:
            raise damaged(str(path), "larger than any manifest")
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageProblem(f"{path}: {error.strerror}; no golden is recorded there") from error
    except (ValueError, RecursionError) as error:
        raise damaged(str(path), f"no JSON ({error})") from error
    return _manifest(document, path)


def _manifest(document: Any, path: Path) -> Manifest:
    where = str(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise damaged(where, f"no format {FORMAT!r}")
    if document.get("version") != VERSION:
        raise UsageProblem(
            f"{where}: golden version {document.get('version')!r}, this program reads version {VERSION}; "
            "update the program, or record the golden again"
        )
    stages, provenance = document.get("stages"), document.get("provenance")
    if not isinstance(stages, dict) or not isinstance(provenance, dict):
        raise damaged(where, "stages or provenance is missing")
    sha256 = document.get("tensors_sha256") or ""
    if not isinstance(sha256, str):
        raise damaged(where, "tensors_sha256 is no text")
    run = Definition.from_json(document.get("run"), where)
    digests = {name: _digest(name, text, where) for name, text in stages.items()}
    return Manifest(run, provenance, digests, sha256, path.parent)


def _digest(name: str, text: Any, where: str) -> int:
    if isinstance(text, str) and len(text) == 16:
        try:
            return int(text, 16)
        except ValueError:
            pass
    raise damaged(where, f"the digest of stage {name} is {text!r}, not 16 hexadecimal digits")
