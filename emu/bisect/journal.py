"""What a bisection has found so far, on disk: an interrupted one goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emu.toolchain.cache import cache_dir
from emu.verify.options import Options
from emu.verify.record import source_fingerprint
from emu.verify.records import write_whole

NAME = "bisect.json"


class Journal:
    """Entries of one bisection in ``folder``, valid for one ``subject`` (all that could change them) and for
    this version of the sources.
    """

    def __init__(self, subject: Mapping[str, Any], folder: Path | None = None) -> None:
        sources = source_fingerprint("", Options())
        text = json.dumps({**subject, "sources": sources}, sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()
        self.folder = folder if folder is not None else cache_dir() / "bisect" / key[:24]
        self.subject = subject
        self._key = key
        self._entries: dict[str, Any] = self._load()

    def _load(self) -> dict[str, Any]:
        try:
            document = json.loads((self.folder / NAME).read_bytes())
            if document["key"] == self._key:
                return dict(document["entries"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return {}

    def get(self, name: str) -> Any:
        """An entry of an earlier run, None when there is none."""
        return self._entries.get(name)

    def put(self, name: str, value: Any) -> None:
        """Keep an entry. Raises ToolError when it cannot be written."""
        self._entries[name] = value
        document = {"key": self._key, "entries": self._entries}
        write_whole(self.folder / NAME, json.dumps(document, indent=1, default=str).encode())
