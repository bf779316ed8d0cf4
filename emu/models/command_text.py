"""What ``emu classify`` and ``emu generate`` do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from emu.models.command_draw import check_stage_options, write_stages
from emu.models.errors import PromptError
from emu.models.modelfile.kinds import Kind
from emu.models.names import chooser, in_order, ternary_stages, tinylm_stages
from emu.models.sources import load_model, seed_number
from emu.models.stages import Digests, Recorder, Tap, chain
from emu.models.ternary.mirror import TernaryMirror, stage_shapes
from emu.models.tinylm.layout import CONTEXT
from emu.models.tinylm.mirror import STAGES, TinylmMirror
from emu.terminal import progress


@dataclass(frozen=True)
class TextRequest:
    """Options that both commands share."""

    target: str
    source: str
    elf: Path | None
    stages: Sequence[str]
    dump: Path | None
    digests: Path | None

    @property
    def patterns(self) -> tuple[str, ...]:
        """Stages to keep."""
        return tuple(self.stages) or (("*",) if self.dump else ())


def run_classify(texts: list[str], top: int, request: TextRequest) -> int:
    """Print the likeliest classes of each text. Raises ModelError, Trap, OSError."""
    check_stage_options(request.stages, request.dump)
    if len(texts) > 1 and (request.dump or request.digests):
        raise PromptError("--dump and --digests write the stages of one text")
    file = load_model(request.source, Kind.TERNARY)
    recorder, digests = Recorder(request.patterns), Digests()
    wanted = chooser(request.patterns, ternary_stages()) if request.patterns else None
    target = _ternary(file, request)
    for text in texts:
        data = text.encode("utf-8", "surrogateescape")
        with progress(Console(stderr=True)) as step:
            step(f"{text!r} on the {request.target}", 0)
            if request.target == "mirror":
                logits = target.run(data, chain(recorder, digests) if _tapped(request) else None)
            else:
                tap = _shaped(recorder, dict(stage_shapes(file.outputs))) if wanted else None
                logits = target.run(data, tap, wanted, request.digests is not None)
                digests.values = target.outcome.digests
        best = np.argsort(-logits, kind="stable")[:top]
        print(f"{text}: " + ", ".join(f"{int(c)} ({float(logits[c]):.6g})" for c in best))
    write_stages(recorder.stages, digests.values, request, file, {"text": texts[0]})
    return 0


def _shaped(tap: Tap, shapes: dict[str, tuple[int, ...]]) -> Tap:
    """A tap that gets stages in their shapes; the image hands them over flat."""
    return lambda name, values: tap(name, values.reshape(shapes[name]))


def _position_shapes(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    known = dict(STAGES)
    return {name: known[name.partition(".")[2]] for name in names}


def _tapped(request: TextRequest) -> bool:
    return bool(request.patterns) or request.digests is not None


def _ternary(file: Any, request: TextRequest) -> Any:
    if request.target == "mirror":
        return TernaryMirror(file)
    from emu.models.on_image import ImageTernary

    assert request.elf is not None
    return ImageTernary(file, request.elf)


def run_generate(prompt: str, tokens: int, temperature: float, seed: str, request: TextRequest) -> int:
    """Print the text and what follows it. Raises ModelError, Trap, OSError."""
    check_stage_options(request.stages, request.dump)
    file = load_model(request.source, Kind.TINYLM)
    mirror = TinylmMirror(file, seed_number(seed))
    ids = mirror.tokenizer.encode(prompt.encode("utf-8", "surrogateescape")).tolist()
    if not ids:
        raise PromptError("the prompt is empty; a text begins with at least one byte")
    if len(ids) >= CONTEXT:
        raise PromptError(f"the prompt has {len(ids)} tokens; the context holds {CONTEXT}")
    count = min(tokens, CONTEXT - len(ids) + 1)
    recorder, digests = Recorder(request.patterns), Digests()
    names = tinylm_stages(range(len(ids) + count - 1))
    wanted = chooser(request.patterns, names) if request.patterns else None
    if request.target == "mirror":
        step = _on_mirror(mirror, chain(recorder, digests) if _tapped(request) else None)
        target: Any = mirror
    else:
        target = _on_image(file, request, seed_number(seed), len(names))
        tap = _shaped(recorder, _position_shapes(names)) if wanted else None
        step = lambda token: target.step(token, tap, wanted)  # noqa: E731
    started = time.perf_counter()
    with progress(Console(stderr=True), len(ids) + count - 1) as bar:
        for _ in _continue(target, step, ids, count, temperature):
            bar(f"tokens on the {request.target}", 1)
    seconds = time.perf_counter() - started
    print(mirror.tokenizer.decode(ids).decode("utf-8", "replace"))
    if request.target == "image":
        digests.values = in_order(target.outcome.digests, names)
    what = {"prompt": prompt, "tokens": ids, "temperature": temperature, "seed": seed}
    write_stages(recorder.stages, digests.values, request, file, what)
    rate = f"{count} tokens after {len(ids) - count} of the prompt, {seconds:.3f} s on the {request.target}"
    Console(stderr=True).print(rate, highlight=False)
    return 0


def _on_mirror(mirror: TinylmMirror, tap: Any) -> Any:
    return lambda token: mirror.step(token, tap)


def _on_image(file: Any, request: TextRequest, seed: int, stages: int) -> Any:
    from emu.models.on_image import ImageTinylm

    assert request.elf is not None
    target = ImageTinylm(file, request.elf)
    target.start(seed, stages // 33 + 1, request.digests is not None)
    return target


def _continue(target: Any, step: Any, ids: list[int], count: int, temperature: float) -> Any:
    """Read the prompt, then choose ``count`` tokens; ``ids`` grows, every position is computed once."""
    prompt = len(ids)
    for place in range(prompt + count - 1):
        logits = step(ids[place])
        if place >= prompt - 1:
            ids.append(target.choose(logits, temperature))
        yield place
