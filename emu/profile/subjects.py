"""What can be profiled: a run of a model on an image, or one call of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from emu.cpu.engine import Engine
from emu.image import Image
from emu.kernels import load_all
from emu.kernels.spec import Tensor
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.names import t2i_stages, ternary_stages, tinylm_stages
from emu.models.on_image import ImageModel, ImageT2i, ImageTernary, ImageTinylm
from emu.models.sources import load_model
from emu.models.t2i.mirror import Request
from emu.models.t2i.sizes import picture_macs
from emu.models.t2i.tokenizer import tokenize
from emu.verify.case import Plan, materialise
from emu.verify.errors import UsageProblem
from emu.verify.image_target import ImageTarget
from emu.verify.layout import Layout
from emu.verify.options import Options
from emu.verify.shapes import tensors

PROMPT = "улыбающаяся девушка со светлыми волосами"  # noqa: RUF001


@dataclass(frozen=True)
class Subject:
    """Something to run. ``run`` gives the number of executed instructions, the same every time.

    ``order``: its stages in order; ``macs``: multiply-accumulates, 0 when not known; ``flash``: bytes of
    weights that it reads from flash.
    """

    title: str
    engine: Engine
    run: Callable[[], int]
    order: list[str] = field(default_factory=list)
    macs: int = 0
    flash: int = 0
    steps: int = 0


_PAR = 24
"""Offset in struct emu_run of the function that shares work out."""


def _share_out(engine: Engine, function: str, argument: int) -> None:
    """Let runs share work out through ``par_one_core``: the same work, and its share can be counted.

    ``argument``: place of the struct emu_run among the arguments of ``function``, which begins a run.
    """
    par = engine.image.symbols.function("par_one_core").address.to_bytes(4, "little")
    engine.hook(function, lambda call: engine.memory.write(call.argument(argument) + _PAR, par))


def _model_instructions(model: ImageModel, run: Callable[[], object]) -> int:
    run()
    return model.outcome.instructions


def _weights(file: ModelFile, prefixes: tuple[str, ...] = ("",)) -> int:
    """Bytes of the tensors whose names begin with one of these; tables of embeddings are read by the row."""
    whole = {name: e.length for name, e in file.entries.items() if not _is_table(name)}
    return sum(size for name, size in whole.items() if name.startswith(prefixes))


def _is_table(name: str) -> bool:
    return name.startswith(("tok.", "emb", "txt.emb", "ple.w", "rope", "time.freq"))


def picture(elf: Image, source: str, steps: int, prompt: str = PROMPT, seed: int = 7) -> Subject:
    """The text-to-image model. Raises ModelError."""
    file = load_model(source, Kind.T2I)
    model = ImageT2i(file, elf)
    _share_out(model.engine, "t2i_run", 3)
    request = Request(tokenize(prompt, file.array("tok.words")), seed, steps)
    each_step = _weights(file, ("time", "mod", "final", "patch", "pos", *(f"b{i}." for i in range(6))))
    return Subject(
        f"t2i, {steps} steps",
        model.engine,
        lambda: _model_instructions(model, lambda: model.run(request)),
        t2i_stages(steps),
        picture_macs(steps, len(request.tokens)),
        steps * each_step + _weights(file, ("txt", "dec", "gelu")),
        steps,
    )


def ternary(elf: Image, source: str, text: str = "12+34") -> Subject:
    """The ternary transformer. Raises ModelError."""
    file = load_model(source, Kind.TERNARY)
    model = ImageTernary(file, elf)
    _share_out(model.engine, "ternary_run", 3)
    run: Callable[[], object] = lambda: model.run(text.encode())  # noqa: E731
    size = _weights(file)
    return Subject(
        "ternary, one text",
        model.engine,
        lambda: _model_instructions(model, run),
        ternary_stages(),
        flash=size,
    )


def tinylm(elf: Image, source: str, tokens: int) -> Subject:
    """The language model, reading tokens. Raises ModelError."""
    file = load_model(source, Kind.TINYLM)
    model = ImageTinylm(file, elf)
    _share_out(model.engine, "tinylm_start", 4)
    ids = np.random.default_rng(0).integers(0, 4096, tokens).tolist()

    def run() -> None:
        model.start(0, tokens)
        for token in ids:
            model.step(token)

    return Subject(
        f"tinylm, {tokens} tokens",
        model.engine,
        lambda: _model_instructions(model, run),
        tinylm_stages(range(tokens)),
        flash=tokens * _weights(file),
    )


def kernel(elf: Image, symbol: str, sizes: dict[str, int]) -> Subject:
    """One call of a kernel with everyday contents and aligned pointers; sizes not named are the smallest.

    Raises UsageProblem for an unknown kernel or size.
    """
    known = load_all()
    if symbol not in known:
        raise UsageProblem(f"{symbol} is neither a model nor a kernel; 'emu kernels' lists the kernels")
    spec = known[symbol]
    names = [d.name for d in spec.dims]
    wrong = [name for name in sizes if name not in names]
    if wrong:
        raise UsageProblem(f"{symbol} has no size {wrong[0]}; it has {', '.join(names) or 'none'}")
    dims = {d.name: sizes.get(d.name, d.low) for d in spec.dims}
    case = materialise(spec, Plan(dims, ("small",) * len(tensors(spec)), (0,) * len(tensors(spec)), 1, 0))
    target = ImageTarget(elf, Options(elf=Path(elf.name)))
    machine = target.machine(False)

    def run() -> int:
        layout = Layout(spec, case, machine.arena)
        places = {s.tensor.name: machine.engine.arena.start + s.start for s in layout.slots}
        words = [places[p.name] if isinstance(p, Tensor) else case.scalars[p.name] for p in spec.params]
        return machine.engine.call(symbol, words).instructions

    shown = ", ".join(f"{name}={value}" for name, value in dims.items())
    is_product = {"rows", "outs", "cols"} <= set(dims)
    macs = dims["rows"] * dims["outs"] * dims["cols"] if is_product else 0
    return Subject(f"{symbol}, {shown}" if shown else symbol, machine.engine, run, macs=macs)
