"""A mutant: one small change of a source file or of one instruction, so described that it can be repeated."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

GENERATORS = ("c", "assembly", "binary")
"""Where a mutant is planted: C text, assembly text, or the bytes of one instruction of the image."""


@dataclass(frozen=True)
class Mutant:
    """``start .. end - 1`` of ``file`` (bytes; for a binary mutant addresses) become ``text`` (hex there).

    ``line`` .. ``last_line``: the statement or instruction that is changed, 0 where nobody knows.
    ``function``: the function around it, "" for a macro of an assembly file.
    """

    generator: str
    rule: str
    file: str
    function: str
    line: int
    last_line: int
    start: int
    end: int
    text: str
    what: str
    """The change for people: ``a < b -> a <= b``."""

    @property
    def ident(self) -> str:
        """Short name, the same for the same change."""
        key = f"{self.file}\0{self.start}\0{self.end}\0{self.text}\0{self.what}"
        return f"{self.generator[0]}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"

    @property
    def where(self) -> str:
        """``file:line``, or the address of the instruction."""
        if self.generator == "binary":
            return f"{self.start:#010x} in {self.function}"
        return f"{self.file}:{self.line}"

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {"id": self.ident, **asdict(self)}


def mutant_of(record: dict[str, Any]) -> Mutant:
    """The mutant of :meth:`Mutant.record`."""
    return Mutant(**{name: record[name] for name in Mutant.__dataclass_fields__})


def apply_edit(source: bytes, mutant: Mutant) -> bytes:
    """The text of the file with the change made; no line moves."""
    return source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
