"""A campaign over kernels as a report: the failing cases are run again to see their tensors."""

from __future__ import annotations

import re

from emu.image import Image, load_image
from emu.image.names import find_function
from emu.kernels.spec import Kernel
from emu.report.code import code_around
from emu.report.document import CodeLine, Document, Failure, Grid, Row, Tone
from emu.report.document import Tensor as Section
from emu.report.tensors import tensor_section
from emu.verify.campaign import Campaign
from emu.verify.describe import drawn_command, failure_lines, headline, is_drawn, replay_command
from emu.verify.errors import TargetFault, ToolError, UsageProblem
from emu.verify.report import short, summary
from emu.verify.results import Failure as Found
from emu.verify.results import KernelResult
from emu.verify.shapes import columns_of, grid_shape, shape_of, tensors, valid_mask
from emu.verify.targets import make_runner
from emu.verify.verdict import Verdict

TONES: dict[Verdict, Tone] = {
    Verdict.EQUAL: "good",
    Verdict.MISMATCH: "bad",
    Verdict.BOARD_FAULT: "bad",
    Verdict.LINK_FAULT: "warn",
    Verdict.TOOL_ERROR: "warn",
    Verdict.NOT_RUN: "dim",
}
_ADDRESS = re.compile(r"0x4[0-9a-f]{7}")


def kernels_document(campaign: Campaign, selection: str, unit: str = "examples") -> Document:
    """The page of a campaign. ``selection``: options that a replay needs."""
    results = list(campaign.results.values())
    verdicts = {r.verdict for r in results}
    worst = next((v for v in TONES if v in verdicts and v is not Verdict.EQUAL), Verdict.EQUAL)
    failures = [f for r in results if (f := _failure(campaign, r, selection)) is not None]
    return Document(
        verdict=str(worst),
        tone=TONES[worst],
        headline=summary(campaign, unit),
        facts=_facts(campaign),
        notes=list(campaign.notes),
        table=_table(results, unit),
        failures=failures,
    )


def _facts(campaign: Campaign) -> list[tuple[str, str]]:
    options = campaign.options
    facts = [("target", options.target), ("image", str(options.elf) if options.elf else "none")]
    facts += [("image SHA-256", campaign.elf_sha256)] if campaign.elf_sha256 else []
    facts += [("seed", str(options.seed)), ("examples for each kernel", f"{options.examples:,}")]
    return [*facts, ("engine", f"{options.tier}, multiply-add {options.fused}")]


def _table(results: list[KernelResult], unit: str) -> Grid:
    columns = ("kernel", unit, "differ", "instructions", "seconds", "verdict")
    return Grid(columns, tuple(_row(result) for result in results))


def _row(r: KernelResult) -> Row:
    counted = short(r.instructions) if r.instructions else "-"
    cells = (r.kernel.symbol, f"{r.examples:,}", f"{r.bad:,}", counted, f"{r.seconds:.1f}", str(r.verdict))
    return Row(cells, TONES[r.verdict], _anchor(r) if r.failure or r.error else "")


def _anchor(result: KernelResult) -> str:
    return "kernel-" + re.sub(r"\W", "-", result.kernel.symbol)


def _failure(campaign: Campaign, result: KernelResult, selection: str) -> Failure | None:
    if result.failure is None:
        if not result.error:
            return None
        title = f"{result.verdict}: {result.kernel.symbol}"
        return Failure(_anchor(result), title, TONES[result.verdict], (("error", result.error),))
    found = result.failure
    facts = [f for f in failure_lines(result.kernel, found, selection) if f[0] not in ("replay", "")]
    replay = [replay_command(found, selection)]
    replay += [drawn_command(result.kernel.symbol, found, selection)] if is_drawn(found) else []
    title, code = _code(campaign, result.kernel, found)
    return Failure(
        _anchor(result),
        headline(result.kernel, found),
        TONES[result.verdict],
        tuple(facts),
        _tensors(campaign, result.kernel, found),
        title,
        code,
        tuple(replay),
    )


def _tensors(campaign: Campaign, kernel: Kernel, found: Found) -> tuple[Section, ...]:
    """Outputs of a mismatch as drawn, which show the structure; nothing where no target can be run again."""
    if found.drawn_outcome.mismatch is None or campaign.options.target == "board":
        return ()
    case = found.drawn
    try:
        runner = make_runner(campaign.options)
        expected, actual = runner.reference.call(kernel, case), runner.target.call(kernel, case)
    except (TargetFault, ToolError, UsageProblem):
        return ()
    sections = []
    for tensor in tensors(kernel):
        if tensor.role == "in":
            continue
        columns = columns_of(kernel, tensor, case.dims, case.scalars)
        shape = grid_shape(shape_of(kernel, tensor, case.dims), columns)
        mask = valid_mask(kernel, tensor, case.dims)
        pair = expected.outputs[tensor.name], actual.outputs[tensor.name]
        section = tensor_section(tensor.name, shape, *pair, mask)
        sections += [section] if section is not None else []
    return tuple(sections)


def _code(campaign: Campaign, kernel: Kernel, found: Found) -> tuple[str, tuple[CodeLine, ...]]:
    """The instruction that a cause or a trap names, or the first wrong one of the shrunk case."""
    if campaign.options.elf is None or campaign.options.target != "image":
        return "", ()
    image = load_image(campaign.options.elf)
    named = [a for text in found.explanation for a in _ADDRESS.findall(text)]
    fault = found.outcome.fault
    if named:
        return _titled(image, int(named[0], 16), "named as the cause")
    if fault is not None:
        return _titled(image, fault.pc, "trapped") if fault.pc is not None else ("", ())
    return _first_wrong(image, kernel, found, campaign.options.fused)


def _titled(image: Image, address: int, why: str) -> tuple[str, tuple[CodeLine, ...]]:
    return f"{image.locate(address)}: {why}", code_around(image, address)


def _first_wrong(image: Image, kernel: Kernel, found: Found, fused: str) -> tuple[str, tuple[CodeLine, ...]]:
    from emu.bisect.kernel_instruction import in_kernel

    try:
        wrong, against = in_kernel(kernel, found.case, image, None, fused)
    except (ToolError, UsageProblem):
        wrong, against = None, ""
    if wrong is None:
        start = find_function(image, kernel.symbol).address
        return f"{image.locate(start)}: the function; no single instruction is known", code_around(
            image, start
        )
    return _titled(image, wrong.bad.where.address, f"{wrong.how}, compared with {against}")
