"""What ``emu bisect`` does: put the pieces together, keep what was found, print it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from emu.bisect.findings import Finding
from emu.bisect.journal import Journal
from emu.bisect.kernel import bisect_kernel
from emu.bisect.ledgered import bisect_run, result_of
from emu.bisect.model import ModelBisect, Say
from emu.bisect.model_runs import ModelRun, usual_runs
from emu.bisect.report import json_object, print_answer, text_lines
from emu.bisect.spec_runs import spec_runs
from emu.image import Image, load_image
from emu.kernels import load_all
from emu.kernels.spec import Kernel
from emu.ledger.writer import RunWriter
from emu.models.modelfile.kinds import Kind
from emu.models.t2i.mirror import Request, T2iMirror
from emu.terminal import Terminal, narration
from emu.verify.casefile import load, save
from emu.verify.errors import UsageProblem
from emu.verify.image_check import check_image
from emu.verify.modelspec import check_stages, load_models
from emu.verify.records import write_whole
from emu.verify.reference import reference_elf
from emu.verify.selection import similar

EQUAL, DIFFERENT = 0, 1
NONE = "none"


@dataclass(frozen=True)
class Common:
    """``good``: an image, "" for the bundled one, "none" to do without."""

    elf: Path
    good: str = ""
    fused: str = "fused"
    out: Path | None = None
    json_file: Path | None = None
    fresh: bool = False
    quiet: bool = False

    def images(self) -> tuple[Image, Image | None]:
        """(bad, good); raises ImageError, UsageProblem."""
        bad = load_image(self.elf)
        if self.good == NONE:
            return bad, None
        path = Path(self.good) if self.good else reference_elf()
        good = load_image(path)
        if good.sha256 == bad.sha256:
            if self.good:
                raise UsageProblem(f"--good {self.good} is the same image as --elf {self.elf}")
            return bad, None
        return bad, good


@dataclass(frozen=True)
class ModelRequest:
    """``emu bisect model``. ``texts``: what the run is asked for, in the way of the model."""

    common: Common
    kind: Kind
    weights: tuple[str, ...] = ()
    text: str | None = None
    tokens: str = ""
    steps: int = 1
    golden: str = "mirror"
    tier: str = "translator"

    def runs(self) -> list[ModelRun]:
        """The runs to try, in order."""
        weights = self.weights or ("random:1", "extreme:1")
        if self.text is None and not self.tokens:
            return list(usual_runs(self.kind, weights))
        return [ModelRun(self.kind, source, self._name(), self._request(source)) for source in weights]

    def _name(self) -> str:
        return f"text {self.text!r}" if self.text is not None else f"tokens {self.tokens}"

    def _request(self, source: str) -> Any:
        if self.kind is Kind.TERNARY:
            return (self.text or "").encode()
        if self.kind is Kind.TINYLM:
            return self._numbers()
        from emu.models.sources import load_model

        mirror = T2iMirror(load_model(source, self.kind))
        tokens = mirror.tokens(self.text) if self.text is not None else np.array(self._numbers(), np.int32)
        return Request(tokens, 7, self.steps)

    def _numbers(self) -> list[int]:
        try:
            numbers = [int(word) for word in self.tokens.split(",")]
        except ValueError:
            raise UsageProblem(f"--tokens {self.tokens!r}: numbers with commas between them") from None
        return numbers


def bisect_model(request: ModelRequest) -> int:
    """Run the request, print the answer; the exit code."""
    bad, good = request.common.images()
    if request.golden == "good" and good is None:
        raise UsageProblem("--golden good wants a good image: name one with --good")
    kernels = tapless(dict(load_all()))
    runs = request.runs()
    journal = Journal(
        {
            "what": "model",
            "kind": request.kind.label,
            "bad": bad.sha256,
            "good": good.sha256 if good else "",
            "runs": [r.label for r in runs],
            "golden": request.golden,
            "fused": request.common.fused,
            "tier": request.tier,
        },
        request.common.out,
    )
    keeper = _Keeper(journal, kernels, request.common, bad)

    def find(say: Say) -> Finding:
        equal = set(journal.get("equal runs") or [])
        found = ModelBisect(
            bad,
            good,
            kernels,
            fused=request.common.fused,
            tier=request.tier,
            is_mirror_golden=request.golden == "mirror",
            say=say,
            keep=keeper.keep,
            explain=_explainer(bad, request.common),
        )
        found.on_equal = lambda label: journal.put("equal runs", [*(journal.get("equal runs") or []), label])
        return found.run([r for r in runs if r.label not in equal])

    return keeper.run(request.kind.label, find)


@dataclass(frozen=True)
class SpecRequest:
    """``emu bisect spec``: a model of yours. ``kernels``: spec of the kernels that it calls."""

    common: Common
    spec: Path
    kernels: Path | None = None
    examples: int = 20
    seed: int = 0
    example: int | None = None


def bisect_spec(request: SpecRequest) -> int:
    """Run the request, print the answer; the exit code."""
    models = load_models(request.spec)
    kernels = known(request.kernels) if request.kernels is not None else {}
    bad, good = request.common.images()
    if not request.common.good:
        good = None  # the bundled image has no such model
    runs = []
    for model in models.values():
        check_image(bad, [model.kernel()])
        check_stages(model, bad)
        runs += list(spec_runs(model, request.examples, request.seed, request.example))
    subject = {
        "what": "spec",
        "bad": bad.sha256,
        "good": good.sha256 if good else "",
        "spec": request.spec.read_text(),
        "kernels": request.kernels.read_text() if request.kernels else "",
        "runs": [r.label for r in runs],
        "seed": request.seed,
        "fused": request.common.fused,
    }
    keeper = _Keeper(Journal(subject, request.common.out), kernels, request.common, bad)
    return keeper.run(
        ", ".join(models),
        lambda say: ModelBisect(
            bad,
            good,
            kernels,
            fused=request.common.fused,
            tier="stepper",
            say=say,
            keep=keeper.keep,
            explain=_explainer(bad, request.common),
        ).run(runs),
    )


@dataclass(frozen=True)
class KernelRequest:
    """``emu bisect kernel``."""

    common: Common
    symbol: str
    spec: Path | None = None
    replay: Path | None = None
    examples: int = 200
    seed: int = 0


def bisect_one_kernel(request: KernelRequest) -> int:
    """Run the request, print the answer; the exit code."""
    kernels = known(request.spec)
    if request.symbol not in kernels:
        raise UsageProblem(f"no kernel is called {request.symbol}{similar(request.symbol, list(kernels))}")
    kernel = kernels[request.symbol]
    bad, good = request.common.images()
    check_image(bad, [kernel])
    case = None
    if request.replay is not None:
        replayed, case = load(request.replay, kernels)
        if replayed is not kernel:
            raise UsageProblem(f"{request.replay} is a case of {replayed.symbol}, not of {kernel.symbol}")
    subject = {
        "what": "kernel",
        "symbol": request.symbol,
        "bad": bad.sha256,
        "good": good.sha256 if good else "",
        "spec": request.spec.read_text() if request.spec else "",
        "case": request.replay.read_text() if request.replay else "",
        "fused": request.common.fused,
        "examples": request.examples,
        "seed": request.seed,
    }
    keeper = _Keeper(Journal(subject, request.common.out), kernels, request.common, bad)
    return keeper.run(
        request.symbol,
        lambda say: bisect_kernel(
            kernel,
            bad,
            good,
            case,
            request.common.fused,
            request.examples,
            request.seed,
            _explainer(bad, request.common),
        ),
    )


def known(spec: Path | None) -> dict[str, Kernel]:
    """The kernels of a spec file, or those of the bundled firmware. Raises UsageProblem."""
    if spec is None:
        return dict(load_all())
    from emu.verify.selection import known_kernels

    return known_kernels(spec)


def tapless(kernels: dict[str, Kernel]) -> dict[str, Kernel]:
    """Without those that belong to the tap itself."""
    return {symbol: kernel for symbol, kernel in kernels.items() if not symbol.startswith("digest_")}


def _explainer(bad: Image, common: Common) -> Callable[[Kernel, Any, Any], list[str]]:
    from emu.verify.causes import Causes
    from emu.verify.options import Options
    from emu.verify.target import MirrorTarget

    causes = Causes(Options(elf=common.elf, fused=common.fused), MirrorTarget(), bad)
    return causes.explain


@dataclass
class _Keeper:
    """Keeps a finding while it grows, and the answer when it is complete."""

    journal: Journal
    kernels: dict[str, Kernel]
    common: Common
    bad: Image
    _written: set[str] = field(default_factory=set)

    def keep(self, found: Finding) -> None:
        """Write down what there is."""
        self._case_file(found)
        self.journal.put("partial", json_object(found))

    def run(self, name: str, find: Callable[[Say], Finding]) -> int:
        """The answer of an earlier run where there is one, else a new one. ``name``: in the ledger."""
        terminal = Terminal.of(self.common.quiet, self.common.json_file)
        with RunWriter(bisect_run(str(self.journal.subject["what"]), self.bad)) as writer:
            document = self._answer(find, terminal)
            code = EQUAL if document["json"]["equal"] else DIFFERENT
            writer.add(result_of(name, document["json"]))
            writer.end(code)
        print_answer(terminal, document["lines"], code == EQUAL, self.journal.folder, writer.notes)
        if self.common.json_file is not None:
            write_whole(self.common.json_file, json.dumps(document["json"], indent=1).encode() + b"\n")
        return code

    def _answer(self, find: Callable[[Say], Finding], terminal: Terminal) -> dict[str, Any]:
        known: dict[str, Any] | None = None if self.common.fresh else self.journal.get("answer")
        if known is not None:
            terminal.usual.print(Text("... known from an earlier run (--fresh runs it again)", style="dim"))
            return known
        with narration(terminal.usual) as say:
            found = find(say)
        self._case_file(found)
        document = {"json": json_object(found), "lines": list(text_lines(found, self.kernels))}
        self.journal.put("answer", document)
        return document

    def _case_file(self, found: Finding) -> None:
        if found.kernel is None or found.kernel.symbol in self._written:
            return
        path = self.journal.folder / f"{found.kernel.symbol}.json"
        save(path, found.kernel.smallest.case)
        found.kernel.file = str(path)
        self._written.add(found.kernel.symbol)
