"""``emu bisect commits``: which commit brought a difference, and which of its lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emu.bisect.command import DIFFERENT, EQUAL, known, tapless
from emu.bisect.commits import Builder, Search, parse_range
from emu.bisect.findings import Finding
from emu.bisect.journal import Journal
from emu.bisect.kernel import bisect_kernel
from emu.bisect.ledgered import bisect_run, told
from emu.bisect.model import ModelBisect, Say
from emu.bisect.model_runs import ModelRun, usual_runs
from emu.bisect.replay import Replayer
from emu.bisect.report import json_object, print_answer, text_lines
from emu.bisect.repository import Commit, Hunk, Repository, hunk_of
from emu.bisect.stages import compare_digests
from emu.cpu.traps import Trap
from emu.image import Image, load_image
from emu.kernels.spec import Kernel
from emu.ledger.writer import Result, RunWriter
from emu.models.modelfile.kinds import Kind
from emu.terminal import Terminal, narration
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
    quiet: bool = False


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

    def __init__(self, kind: Kind, kernels: dict[str, Kernel], say: Say) -> None:
        self._kind, self._kernels, self._say = kind, kernels, say
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
        return ModelBisect(bad, good, self._kernels, say=self._say).run([self._run])


def bisect_commits(request: CommitsRequest) -> int:
    """Run the request, print the answer; the exit code."""
    terminal = Terminal.of(request.quiet, request.json_file)
    with RunWriter(bisect_run("commits", None)) as writer:
        with narration(terminal.usual) as say:
            answer = _search(request, say)
        writer.add(answer.result(request.kernel or request.model))
        writer.end(answer.code)
    print_answer(terminal, answer.lines, answer.code == EQUAL, answer.folder, writer.notes)
    if request.json_file is not None:
        write_whole(request.json_file, json.dumps(answer.document, indent=1).encode() + b"\n")
    return answer.code


@dataclass(frozen=True)
class _Answer:
    """What is printed and kept in ``folder``; ``document``: for programs."""

    code: int
    lines: list[str]
    document: dict[str, Any]
    folder: Path

    def result(self, name: str) -> Result:
        """For the ledger. Nothing is said of the commit that the command was started in."""
        if self.code == EQUAL:
            return Result(name, "found", message=self.lines[0])
        first, finding = self.document["first_bad"], self.document["finding"]
        message = "; ".join([f"first bad commit {first['commit'][:12]} ({first['subject']})", *told(finding)])
        return Result(name, "found", seconds=sum(finding["seconds"].values()), message=message)


def _search(request: CommitsRequest, say: Say) -> _Answer:
    repository = Repository(request.repository)
    good, bad, commits = parse_range(repository, request.good, request.bad)
    kernels = known(request.spec)
    subject = _subject(request, kernels, say)
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
    say(f"{bad}: what differs")
    if subject.find(load_image(builder.image(bad))).equal:
        line = f"equal: nothing differs in {bad}"
        return _Answer(EQUAL, [line], {"first_bad": None}, journal.folder)
    say(f"{good}: is it right?")
    if subject.is_bad(load_image(builder.image(good))):
        raise UsageProblem(f"{good} differs too; name an older commit as the good one")
    search = Search(commits, _judge(builder, subject, journal, say), dict(journal.get("verdicts") or {}))
    search.known[bad.name] = True
    first, doubtful = search.first_bad()
    before = good if first.name == commits[0].name else commits[commits.index(first) - 1]
    return _answer(repository, builder, subject, (before, first, doubtful), kernels, journal)


def _subject(request: CommitsRequest, kernels: dict[str, Kernel], say: Say) -> Subject:
    if bool(request.kernel) == bool(request.model):
        raise UsageProblem("say what differs: --kernel NAME or --model t2i|ternary|tinylm")
    if request.build and not request.product:
        raise UsageProblem("--build wants --product: the ELF file that it leaves, relative to the checkout")
    if request.model:
        return ModelSubject(Kind.of(request.model), tapless(kernels), say)
    if request.kernel not in kernels:
        raise UsageProblem(f"no kernel is called {request.kernel}")
    return KernelSubject(kernels[request.kernel])


def _judge(builder: Builder, subject: Subject, journal: Journal, say: Say) -> Callable[[Commit], bool | None]:
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


def _answer(
    repository: Repository,
    builder: Builder,
    subject: Subject,
    found: tuple[Commit, Commit, list[Commit]],
    kernels: dict[str, Kernel],
    journal: Journal,
) -> _Answer:
    before, first, doubtful = found
    images = [load_image(builder.image(c)) for c in (first, before)] if not doubtful else []
    answer = subject.explain(images[0], images[1]) if images else Finding()
    hunk, why = hunk_of(repository.hunks(before, first, builder.path), answer.places)
    lines = [f"first bad    {first}", f"before it    {before}"]
    lines += [f"or           {c} (cannot be judged)" for c in doubtful]
    lines += text_lines(answer, kernels) if images else []
    lines += _hunk_lines(hunk, why)
    document = _document(before, first, doubtful, answer, hunk, why)
    journal.put("answer", document)
    return _Answer(DIFFERENT, lines, document, journal.folder)


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
