"""What a golden is a recording of: a model, its weights, one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from emu.goldens.errors import damaged
from emu.models.modelfile.kinds import Kind

PATTERNS: Final = {
    Kind.T2I: ("ctext", "z.init", "s0.c.mod", "s*.z", "rgb"),
    Kind.TERNARY: ("emb", "pool", "logits"),
    Kind.TINYLM: ("p0.logits",),
}
"""Stages whose tensors are kept in git when nothing else is asked for."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "weights": (str,),
    "text": (str,),
    "seed": (int,),
    "steps": (int,),
    "cfg": (int, float),
    "tensors": (list,),
}
_PROMPT: Final = "улыбающаяся девушка со светлыми волосами"  # noqa: RUF001


@dataclass(frozen=True)
class Definition:
    """One run of one model.

    ``weights``: ``random:SEED``, ``extreme:SEED`` or the path of a model file. ``text``: prompt, text to
    classify, or text to continue. ``seed``: of the noise (t2i) or of the sampler (tinylm). ``steps``: sampler
    steps (t2i) or tokens that follow the text, chosen greedily (tinylm). ``cfg``: guidance factor (t2i).
    ``tensors``: patterns of the stages whose tensors are kept.
    """

    kind: Kind
    weights: str = "random:1"
    text: str = ""
    seed: int = 0
    steps: int = 0
    cfg: float = 0.0
    tensors: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """The definition as it stands in a manifest."""
        found = {**self.__dict__, "kind": self.kind.label, "tensors": list(self.tensors)}
        if self.kind is not Kind.T2I:
            del found["cfg"]
        if self.kind is Kind.TERNARY:
            del found["seed"], found["steps"]
        return found

    @classmethod
    def from_json(cls, document: Any, where: str) -> Definition:
        """The definition of a manifest. Raises UsageProblem that names what is wrong in ``where``."""
        if not isinstance(document, Mapping):
            raise damaged(where, "run is no object")
        known = {name: document[name] for name in cls.__dataclass_fields__ if name in document}
        wanted = {
            "weights": str,
            "text": str,
            "seed": int,
            "steps": int,
            "cfg": (int, float),
            "tensors": list,
        }
        for name, kind in wanted.items():
            if name in known and (not isinstance(known[name], kind) or isinstance(known[name], bool)):  # type: ignore[arg-type]
                raise damaged(where, f"run.{name} is {known[name]!r}")
        labels = {kind.label: kind for kind in Kind}
        if known.get("kind") not in labels:
            raise damaged(where, f"run.kind is {known.get('kind')!r}; known are {', '.join(labels)}")
        return cls(**{**known, "kind": labels[known["kind"]], "tensors": tuple(known.get("tensors", ()))})


BUNDLED: Final[Mapping[str, Definition]] = {
    "t2i-random": Definition(Kind.T2I, "random:1", _PROMPT, 7, 8, 3.0, PATTERNS[Kind.T2I]),
    "t2i-extreme": Definition(Kind.T2I, "extreme:1", _PROMPT, 7, 2, -1.5, ("s1.z", "rgb")),
    "ternary-random": Definition(Kind.TERNARY, "random:1", "12+34", tensors=PATTERNS[Kind.TERNARY]),
    "ternary-extreme": Definition(Kind.TERNARY, "extreme:1", "255+255", tensors=("logits",)),
    "tinylm-random": Definition(
        Kind.TINYLM, "random:1", "Once upon a time", 0, 16, tensors=PATTERNS[Kind.TINYLM]
    ),
    "tinylm-extreme": Definition(Kind.TINYLM, "extreme:1", "Once upon a time", 0, 4),
}
"""The goldens of the models that come with the project, by name."""
