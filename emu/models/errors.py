"""What can go wrong with a model, told so that a person can mend it."""

from __future__ import annotations

from emu.models.modelfile.reasons import Reason


class ModelError(Exception):
    """Base of everything that this room raises for bad input."""


class ModelFileError(ModelError):
    """A model file is refused.

    ``reason``: the same number that the firmware's loader returns. ``tensor``: the name of the tensor that is
    wrong, "" when it is the header. ``index``: its place in the index, -1 for the header, the number of
    entries for a missing tensor.
    """

    def __init__(self, reason: Reason, what: str, tensor: str = "", index: int = -1) -> None:
        where = f"tensor {tensor}: " if tensor else ""
        super().__init__(f"{where}{what} [{reason.name.lower()}]")
        self.reason, self.what, self.tensor, self.index = reason, what, tensor, index


class RunError(Exception):
    """A run on a target that cannot be used at all: no such model in the image, no room, a broken table."""


class PromptError(ModelError):
    """A text or a parameter of a run cannot be used."""


class NotFiniteError(ModelError):
    """A number became infinite or NaN where a kernel needs finite ones (status 4), at a stage and row."""

    def __init__(self, stage: str, row: int) -> None:
        super().__init__(f"stage {stage}: row {row} is not finite (status 4); the weights overflow binary32")
        self.stage, self.row = stage, row
