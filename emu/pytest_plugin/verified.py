"""One kernel's verdict in a pytest session: what the report says and what goes into JUnit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from emu.kernels.spec import Kernel
from emu.verify.campaign import new_campaign
from emu.verify.command import VerifyRequest
from emu.verify.describe import failure_lines, headline, replay_command
from emu.verify.errors import UsageProblem
from emu.verify.memory import Memory
from emu.verify.results import KernelResult, Piece
from emu.verify.sampled import Stretch, handler, save_failure
from emu.verify.verdict import Verdict

if TYPE_CHECKING:
    from emu.pytest_plugin.session import Session


@dataclass(frozen=True)
class Verified:
    """``text``: what is wrong, for people; "" when the kernel is equal. ``properties``: for JUnit."""

    verdict: Verdict
    text: str
    properties: list[tuple[str, object]]


def verify(session: Session, kernel: Kernel, spec: Path | None, examples: int | None) -> Verified:
    """Run the examples of a kernel; a failing case is shrunk, saved and remembered."""
    problem = _does_not_fit(session, kernel)
    if problem:
        return Verified(Verdict.TOOL_ERROR, problem, [("emu_verdict", "usage")])
    options = session.options(examples)
    memory = Memory(session.database())
    known = tuple(memory.recall(kernel))
    task = Stretch(kernel.symbol, 0, options.examples, known, "an earlier run")
    with session.runner() as runner:
        piece: Piece = handler([kernel], lambda: runner)(task, lambda done: None)
    campaign = new_campaign([kernel], options, options.examples)
    result = campaign.results[kernel.symbol]
    result.add(piece)
    _remember(memory, kernel, task, piece)
    save_failure(campaign, task, piece)
    return _told(session, result, spec)


def _does_not_fit(session: Session, kernel: Kernel) -> str:
    if session.settings.target != "image":
        return ""
    from emu.verify.image_check import check_image

    try:
        check_image(session.image, [kernel])
    except UsageProblem as error:
        return str(error)
    return ""


def _remember(memory: Memory, kernel: Kernel, task: Stretch, piece: Piece) -> None:
    if piece.failure is not None and not piece.failure.known:
        memory.remember(kernel, piece.failure.case)
    elif piece.failure is None and not piece.error:
        for case in task.known:
            memory.forget(kernel, case)


def _told(session: Session, result: KernelResult, spec: Path | None) -> Verified:
    settings = session.settings
    request = VerifyRequest(
        elf=settings.elf,
        spec=spec or next(iter(settings.specs), None),
        target=settings.target,
        port=settings.port,
    )
    selection = request.selection()
    properties: list[tuple[str, object]] = [
        ("emu_verdict", str(result.verdict)),
        ("emu_kernel", result.kernel.symbol),
        ("emu_target", settings.target),
        ("emu_examples", result.examples),
        ("emu_seed", settings.seed),
        ("emu_instructions", result.instructions),
    ]
    if settings.target == "image":
        properties.append(("emu_elf_sha256", session.image.sha256))
    if result.failure is None:
        text = result.error or (
            "" if result.verdict is Verdict.EQUAL else f"{result.examples} of {result.wanted} examples"
        )
        return Verified(result.verdict, f"{result.verdict}: {text}" if text else "", properties)
    failure = result.failure
    properties += [("emu_case_file", failure.file), ("emu_replay", replay_command(failure, selection))]
    lines = failure_lines(result.kernel, failure, selection)
    body = "\n".join(f"{label:9} {text}" for label, text in lines)
    return Verified(result.verdict, f"{headline(result.kernel, failure)}\n{body}", properties)
