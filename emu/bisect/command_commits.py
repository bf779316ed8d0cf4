"""``emu bisect commits``: which commit brought a difference, and which of its lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from emu.bisect.command import DIFFERENT, EQUAL, _progress, known, tapless
from emu.bisect.commits import Builder, Search, parse_range
from emu.bisect.findings import Finding
from emu.bisect.journal import Journal
from emu.bisect.kernel import bisect_kernel
from emu.bisect.model import ModelBisect
from emu.bisect.model_runs import ModelRun, usual_runs
from emu.bisect.replay import Replayer
from emu.bisect.report import json_object, text_lines
from emu.bisect.repository import Commit, Hunk, Repository, hunk_of
from emu.bisect.stages import compare_digests
from emu.cpu.traps import Trap
from emu.image import Image, load_image
from emu.kernels.spec import Kernel
from emu.models.modelfile.kinds import Kind
from emu.toolchain import ToolchainError
from emu.verify.case import Case
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.image_check import check_image
from emu.verify.records import write_whole

_HUNK_LINES = 40


@dataclass(frozen=True)
class CommitsRequest:
    """``kernel`` or ``model``: what differs in ``bad`` and not in ``good``. ``build``, ``product``: how an
    image is made in a checkout, without them the project's own firmware.
    """

    good: str
    bad: str
    kernel: str = ""
    model: str = ""
    spec: Path | None = None
    repository: Path = Path()
    build: str = ""
    product: str = ""
    out: Path | None = None
    json_file: Path | None = None


class Subject:
    """What is looked at in every image. :meth:`find` chooses the case or run in which the bad image fails."""

    def find(self, bad: Image) -> Finding:
        """What differs in the bad image; equal when nothing does."""
        raise NotImplementedError

    def is_bad(self, image: Image) -> bool | None:
        """Whether the same differs in an image; None when it has no such thing."""
        raise NotImplementedError

    def explain(self, bad: Image, good: Image) -> Finding:
        """The whole answer for two images."""
        raise NotImplementedError


class KernelSubject(Subject):
    """One kernel, on the case that the bad image gets wrong."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._cases: list[Case] = []

    def find(self, bad: Image) -> Finding:
        """See Subject."""
        check_image(bad, [self._kernel])
        found = bisect_kernel(self._kernel, bad)
        if found.kernel is not None:
            self._cases = [found.kernel.smallest.case]
        return found

    def is_bad(self, image: Image) -> bool | None:
        """See Subject."""
        try:
            check_image(image, [self._kernel])
            return any(Replayer(image).check(self._kernel, case).bad for case in self._cases)
        except (UsageProblem, ToolError):
            return None

    def explain(self, bad: Image, good: Image) -> Finding:
        """See Subject."""
        return bisect_kernel(self._kernel, bad, good, self._cases[0])


class ModelSubject(Subject):
    """One model, in the run that the bad image gets wrong."""

    def __init__(self, kind: Kind, kernels: dict[str, Kernel], console: Console) -> None:
        self._kind, self._kernels, self._console = kind, kernels, console
        self._run: ModelRun | None = None

    def find(self, bad: Image) -> Finding:
        """See Subject."""
        for model_run in usual_runs(self._kind):
            self._run = model_run
            if self.is_bad(bad):
                return Finding()
        return Finding(equal=True)

    def is_bad(self, image: Image) -> bool | None:
        """See Subject."""
        assert self._run is not None
        try:
            found, failed = self._run.prepare(image).digests()
        except Trap:
            return True
        return compare_digests(self._run.golden(), found, failed) is not None

    def explain(self, bad: Image, good: Image) -> Finding:
        """See Subject."""
        assert self._run is not None
        return ModelBisect(bad, good, self._kernels, say=_progress(self._console)).run([self._run])


def bisect_commits(request: CommitsRequest, console: Console) -> int:
    """Run the request, print the answer; the exit code."""
    repository = Repository(request.repository)
    good, bad, commits = parse_range(repository, request.good, request.bad)
    kernels = known(request.spec)
    subject = _subject(request, kernels, console)
    builder = Builder(repository, request.build, request.product)
    journal = Journal(
        {
            "what": "commits",
            "good": good.name,
            "bad": bad.name,
            "subject": f"{request.kernel}{request.model}",
            "spec": request.spec.read_text() if request.spec else "",
            "build": f"{request.build} {request.product}",
        },
        request.out,
    )
    say = _progress(console)
    say(f"{bad}: what differs")
    if subject.find(load_image(builder.image(bad))).equal:
        console.print(Text(f"equal: nothing differs in {bad}"))
        return EQUAL
    say(f"{good}: is it right?")
    if subject.is_bad(load_image(builder.image(good))):
        raise UsageProblem(f"{good} differs too; name an older commit as the good one")
    search = Search(commits, _judge(builder, subject, journal, say), dict(journal.get("verdicts") or {}))
    search.known[bad.name] = True
    first, doubtful = search.first_bad()
    before = good if first.name == commits[0].name else commits[commits.index(first) - 1]
    return _tell(request, repository, builder, subject, (before, first, doubtful), kernels, journal, console)


def _subject(request: CommitsRequest, kernels: dict[str, Kernel], console: Console) -> Subject:
    if bool(request.kernel) == bool(request.model):
        raise UsageProblem("say what differs: --kernel NAME or --model t2i|ternary|tinylm")
    if request.build and not request.product:
        raise UsageProblem("--build wants --product: the ELF file that it leaves, relative to the checkout")
    if request.model:
        return ModelSubject(Kind.of(request.model), tapless(kernels), console)
    if request.kernel not in kernels:
        raise UsageProblem(f"no kernel is called {request.kernel}")
    return KernelSubject(kernels[request.kernel])


def _judge(
    builder: Builder, subject: Subject, journal: Journal, say: Callable[[str], None]
) -> Callable[[Commit], bool | None]:
    def judge(commit: Commit) -> bool | None:
        try:
            verdict = subject.is_bad(load_image(builder.image(commit)))
        except ToolchainError as error:
            say(f"{commit}: cannot be judged: {str(error).splitlines()[0]}")
            verdict = None
        else:
            say(f"{commit}: {'differs' if verdict else 'equal' if verdict is not None else 'no such thing'}")
        journal.put("verdicts", {**(journal.get("verdicts") or {}), commit.name: verdict})
        return verdict

    return judge


def _tell(
    request: CommitsRequest,
    repository: Repository,
    builder: Builder,
    subject: Subject,
    found: tuple[Commit, Commit, list[Commit]],
    kernels: dict[str, Kernel],
    journal: Journal,
    console: Console,
) -> int:
    before, first, doubtful = found
    images = [load_image(builder.image(c)) for c in (first, before)] if not doubtful else []
    answer = subject.explain(images[0], images[1]) if images else Finding()
    hunk, why = hunk_of(repository.hunks(before, first, builder.path), answer.places)
    lines = [f"first bad    {first}", f"before it    {before}"]
    lines += [f"or           {c} (cannot be judged)" for c in doubtful]
    lines += text_lines(answer, kernels) if images else []
    lines += _hunk_lines(hunk, why)
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    document = _document(before, first, doubtful, answer, hunk, why)
    journal.put("answer", document)
    console.print(Text(f"kept in      {journal.folder}"), soft_wrap=True)
    if request.json_file is not None:
        write_whole(request.json_file, json.dumps(document, indent=1).encode() + b"\n")
    return DIFFERENT


def _hunk_lines(hunk: Hunk | None, why: str) -> list[str]:
    if hunk is None:
        return ["change       no hunk can be told from the instruction"]
    body = hunk.text.splitlines()
    cut = [f"             ... {len(body) - _HUNK_LINES} more lines"] if len(body) > _HUNK_LINES else []
    return [
        f"change       {hunk.file}: {why}",
        *(f"             {line}" for line in body[:_HUNK_LINES]),
        *cut,
    ]


def _document(
    before: Commit, first: Commit, doubtful: list[Commit], answer: Finding, hunk: Hunk | None, why: str
) -> dict[str, Any]:
    change = None if hunk is None else {"file": hunk.file, "first": hunk.first, "text": hunk.text, "why": why}
    return {
        "first_bad": {"commit": first.name, "subject": first.subject},
        "before": {"commit": before.name, "subject": before.subject},
        "doubtful": [commit.name for commit in doubtful],
        "finding": json_object(answer),
        "change": change,
    }
