"""Specs for whole models of yours: a Python generator that yields named stages.

    from emu.kernels.spec import Tensor
    from emu.verify.modelspec import At, model

    @model("net_run", Tensor("x", "int8", (64,), values="s8"), Tensor("y", "int32", (10,), role="out"))
    def net(x, y):
        a = relu(conv(x))
        yield "conv1", a
        y[:] = dense(a)
        yield "logits", y

The parameters are those of the C function, as in a spec of a kernel. A stage is seen in the firmware where
it calls ``EMU_STAGE("conv1", ...)`` (firmware/include/emu_tap.h), or, in a firmware that cannot be changed,
where ``stages={"conv1": At("relu_done", "&buffer")}`` says. A spec file is Python that is executed: trust it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from emu.cpu.hooks import GuestCall
from emu.image import Image
from emu.kernels.spec import Dim, Dims, Kernel
from emu.numerics.types import AnyArray
from emu.verify.errors import UsageProblem

TAP = "emu_stage_seen"
"""What EMU_STAGE calls: (name, data, type, count)."""
DTYPES = ("float32", "int8", "uint8", "int32", "int16", "uint16", "uint32")
"""numpy types by the numbers of ``enum emu_tap_type``."""

_PLACE = re.compile(r"&?([A-Za-z_.$][\w.$]*)(?:\+(0x[0-9a-fA-F]+|\d+))?")
_REGISTER = re.compile(r"(arg|a)(\d+)")


@dataclass(frozen=True)
class At:
    """Where a stage is complete, and where its data are then.

    ``where``: a symbol, ``symbol+0x12`` or an address; the stage is looked at just before the instruction
    there runs, the ``hit``-th time that it is reached. ``data``: ``&symbol``, ``&symbol+16``, ``argN`` (word
    N of the arguments, at a function's first instruction), ``aN`` (register, inside of a function), or
    ``[...]``: the word that lies there.
    """

    where: str
    data: str
    hit: int = 1


@dataclass(frozen=True)
class ModelSpec:
    """A model function of a firmware: ``generator`` takes the parameters of the C function and yields (name,
    array) for every stage in order. ``stages``: places of those that have no tap in the firmware.
    """

    symbol: str
    params: tuple[Any, ...]
    generator: Callable[..., Iterator[tuple[str, AnyArray]]]
    stages: Mapping[str, At] = field(default_factory=dict)
    dims: tuple[Dim, ...] = ()
    derived: Mapping[str, Callable[[Dims], int]] = field(default_factory=dict)
    returns: str | None = None

    def kernel(self, tell: Callable[[str, AnyArray], None] = lambda name, values: None) -> Kernel:
        """The whole function as a kernel; ``tell`` is told each stage of its mirror."""

        def mirror(*arguments: Any) -> Any:
            return _drive(self, arguments, tell)

        return Kernel(
            self.symbol, self.params, mirror, dims=self.dims, derived=self.derived, returns=self.returns
        )


MODELS: dict[str, ModelSpec] = {}


def model(
    symbol: str, *params: Any, stages: Mapping[str, At] | None = None, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated generator as the truth about the function ``symbol``."""

    def register(generator: Callable[..., Any]) -> Callable[..., Any]:
        if symbol in MODELS:
            raise ValueError(f"model {symbol!r} is registered twice")
        MODELS[symbol] = ModelSpec(symbol, params, generator, dict(stages or {}), **more)
        return generator

    return register


def _drive(spec: ModelSpec, arguments: tuple[Any, ...], tell: Callable[[str, AnyArray], None]) -> Any:
    """Run the generator to its end; its return value."""
    run = spec.generator(*arguments)
    if not hasattr(run, "__next__"):
        raise TypeError(f"the mirror of {spec.symbol} yields no stage (yield NAME, ARRAY)")
    names = set[str]()
    while True:
        try:
            stage = next(run)
        except StopIteration as end:
            return end.value
        if not (isinstance(stage, tuple) and len(stage) == 2 and isinstance(stage[0], str)):
            raise TypeError(f"the mirror of {spec.symbol} yielded {stage!r:.60}, not (NAME, ARRAY)")
        name, values = stage[0], np.asarray(stage[1])
        if name in names:
            raise ValueError(f"the mirror of {spec.symbol} yielded stage {name!r} twice")
        if values.dtype.name not in DTYPES:
            raise TypeError(f"stage {name!r} is {values.dtype.name}; it must be one of {', '.join(DTYPES)}")
        names.add(name)
        tell(name, np.array(values))


def is_model_spec(path: Path) -> bool:
    """Whether a spec file describes models: it imports this module."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r"^\s*(from|import)\s+emu\.verify\.modelspec\b", text, re.MULTILINE) is not None


def load_models(path: Path) -> dict[str, ModelSpec]:
    """Execute a spec file and return the models that it registered. Raises UsageProblem."""
    from emu.verify.specfile import _execute

    before = set(MODELS)
    _execute(path)
    found = {symbol: spec for symbol, spec in MODELS.items() if symbol not in before}
    if not found:
        raise UsageProblem(f"spec file {path} registers no model (@model from emu.verify.modelspec)")
    return found


def check_stages(spec: ModelSpec, image: Image) -> None:
    """Raises UsageProblem for an image that shows no stage of the model."""
    if TAP not in image.symbols and not spec.stages:
        raise UsageProblem(
            f"{image.name} shows no stages: build it with -DEMU_TAPS (EMU_STAGE of emu_tap.h), or give "
            "the model's spec places for its stages (stages={NAME: At(...)})"
        )


def address_of(image: Image, text: str) -> int:
    """The address of ``symbol``, ``&symbol+16`` or ``0x4037...``. Raises UsageProblem, SymbolError."""
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    match = _PLACE.fullmatch(text)
    if match is None:
        raise UsageProblem(f"{text!r} is no place: write symbol, symbol+0x12 or an address")
    return image.symbols.get(match[1]).address + int(match[2] or "0", 0)


def pointer_of(call: GuestCall, text: str) -> int:
    """The address that ``At.data`` means at this moment. Raises UsageProblem, MemoryFault, SymbolError."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return int.from_bytes(call.data(pointer_of(call, text[1:-1]), 4), "little")
    base, _, offset = text.partition("+")
    register = _REGISTER.fullmatch(base.strip())
    if register is None:
        return address_of(call.engine.image, text.replace(" ", ""))
    number = int(register[2])
    value = call.argument(number) if register[1] == "arg" else call.register(number)
    return value + int(offset or "0", 0) & 0xFFFFFFFF
