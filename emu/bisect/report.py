"""A finding as lines for people and as a JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from emu.bisect.findings import Finding, KernelFinding, StageFinding
from emu.bisect.instruction import FirstWrong
from emu.debug.difference import Side
from emu.image import Location
from emu.kernels.spec import Kernel
from emu.terminal import Terminal
from emu.verify.compare import Difference
from emu.verify.describe import count_text, first_text, input_lines, mismatch_lines
from emu.verify.records import mismatch_record

FORMAT = "esp32s3-emu bisect"
VERSION = 1
_SHOWN = 6
_REGISTERS = 4

_HOW = {
    "effect": "the same instruction has another effect than in {0}",
    "code": "another instruction than in {0}",
    "load": "a load that {0} never makes",
    "store": "a store that {0} never makes",
    "missing": "an access of {0} is missing from here on",
    "trap": "a trap",
    "last write": "it wrote the first wrong element",
}


def text_lines(found: Finding, kernels: dict[str, Kernel]) -> Iterator[str]:
    """The answer from the top down: stage, kernel, input, instruction."""
    if found.equal:
        yield f"equal: {found.compared:,} stages compared" if found.compared else "equal"
        return
    if found.stage is not None:
        yield from _stage_lines(found.stage)
    if found.kernel is not None:
        yield from _kernel_lines(found.kernel, kernels[found.kernel.symbol])
    if found.wrong_call is not None:
        call = found.wrong_call
        yield f"kernel       {call.symbol or 'none: a tap'}; {call.what}"
        yield f"             from {call.caller}"
    if found.function:
        yield f"function     {found.function}"
    if found.instruction is not None:
        yield from _instruction_lines(found.instruction, found.against)
    if len(found.places) > 1:
        yield f"see also     {', '.join(f'{p.file}:{p.line}' for p in found.places[1:] if p.file)}"
    for note in found.notes:
        yield f"note         {note}"
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found.seconds.items())
    if spent:
        yield f"time         {spent}"


def print_answer(
    terminal: Terminal, lines: Sequence[str], is_equal: bool, folder: Path, notes: Sequence[str]
) -> None:
    """The lines of an answer, where it is kept, and ``notes`` of the ledger."""
    told = terminal.usual if is_equal else terminal.wrong
    for line in lines:
        told.print(Text(line), soft_wrap=True)
    terminal.usual.print(Text(f"kept in      {folder}"), soft_wrap=True)
    for note in notes:
        terminal.wrong.print(Text(note), soft_wrap=True)


def _stage_lines(stage: StageFinding) -> Iterator[str]:
    yield f"run          {stage.run}: {len(stage.wrong)} of {stage.compared} stages differ"
    if stage.end:
        yield f"end          {stage.end}"
    if stage.stage:
        yield f"first stage  {stage.stage}"
    if stage.difference is not None:
        yield f"             {first_text(stage.difference)}"
        yield f"             {count_text(stage.difference)}"
    if stage.own is not None and stage.stage:
        verdict = "wrong itself" if stage.is_wrong_itself else "right; its input is wrong"
        yield f"isolated     on golden inputs the stage is {verdict}"
        others = [name for name in stage.own if name != stage.stage]
        if others:
            more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            yield f"             also wrong on golden inputs: {', '.join(others[:_SHOWN])}{more}"


def _kernel_lines(kernel: KernelFinding, spec: Kernel) -> Iterator[str]:
    where = f"call {kernel.calls} of those that were replayed, " if kernel.calls else ""
    sizes = ", ".join(f"{d.name}={kernel.dims[d.name]}" for d in spec.dims if d.name in kernel.dims)
    yield f"kernel       {kernel.symbol}: {where}{sizes or 'no sizes'}"
    if kernel.seen.mismatch is not None:
        yield f"             {mismatch_lines(kernel.seen.mismatch)[0][1]}"
    small = kernel.smallest
    sizes = ", ".join(f"{d.name}={small.case.dims[d.name]}" for d in spec.dims if d.name in small.case.dims)
    plural = "" if small.weight == 1 else "s"
    yield f"small input  {sizes or 'no sizes'}; {small.weight} non-zero element{plural} (from {small.source})"
    for line in input_lines(spec, small.case):
        yield f"             {line}"
    if small.outcome.mismatch is not None:
        yield f"             {mismatch_lines(small.outcome.mismatch)[0][1]}"
    if small.outcome.fault is not None:
        yield f"             {small.outcome.fault.message.splitlines()[0]}"
    for cause in kernel.causes:
        yield f"cause        {cause}"
    if kernel.file:
        yield f"case file    {kernel.file}"


def _instruction_lines(found: FirstWrong, against: str) -> Iterator[str]:
    yield f"instruction  number {found.number:,}: {_HOW[found.how].format(against)}"
    yield f"             {found.bad.where}"
    for value in found.values[:_SHOWN]:
        if found.good is not None:
            yield f"             {value.name}: {value.b:#x}, right is {value.a:#x}"
        else:
            place = f" at {value.address:#010x}" if value.address is not None else ""
            yield f"             {value.name}{place}: {value.b:#x}"
    for note in found.notes:
        yield f"             {note}"
    if found.parted is not None:
        yield f"             the code differs from {found.parted[1]} on"
        yield f"             (good image: {found.parted[0]})"
    yield from (f"             {line}" for line in found.bad.context)
    yield from _registers(found.bad)


def _registers(side: Side) -> Iterator[str]:
    cells = [f"{name}={value:08x}" for name, value in side.registers.items()]
    for at in range(0, min(len(cells), 4 * _REGISTERS), _REGISTERS):
        yield f"             {'  '.join(cells[at : at + _REGISTERS])}"


def json_object(found: Finding) -> dict[str, Any]:
    """Everything that was found; what was not is null."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "equal": found.equal,
        "compared": found.compared,
        "stage": _stage(found.stage) if found.stage is not None else None,
        "kernel": _kernel(found.kernel) if found.kernel is not None else None,
        "wrong_call": _wrong_call(found) if found.wrong_call is not None else None,
        "function": found.function or None,
        "culprit": found.culprit or None,
        "instruction": _instruction(found.instruction) if found.instruction is not None else None,
        "places": [_location(place) for place in found.places],
        "against": found.against or None,
        "notes": found.notes,
        "seconds": found.seconds,
    }


def _stage(stage: StageFinding) -> dict[str, Any]:
    return {
        "run": stage.run,
        "first": stage.stage or None,
        "wrong": list(stage.wrong),
        "compared": stage.compared,
        "difference": _difference(stage.difference) if stage.difference is not None else None,
        "wrong_on_golden_inputs": list(stage.own) if stage.own is not None else None,
        "end": stage.end or None,
    }


def _difference(found: Difference) -> dict[str, Any]:
    from emu.verify.compare import Mismatch

    record: dict[str, Any] = mismatch_record(Mismatch([found]))["differences"][0]
    return record


def _kernel(kernel: KernelFinding) -> dict[str, Any]:
    small = kernel.smallest
    mismatch, fault = small.outcome.mismatch, small.outcome.fault
    return {
        "symbol": kernel.symbol,
        "calls_before": kernel.calls,
        "dims": kernel.dims,
        "smallest": {
            "dims": small.case.dims,
            "nonzero_inputs": small.weight,
            "source": small.source,
            "mismatch": mismatch_record(mismatch) if mismatch is not None else None,
            "fault": fault.message if fault is not None else None,
        },
        "causes": kernel.causes,
        "case_file": kernel.file or None,
    }


def _wrong_call(found: Finding) -> dict[str, Any]:
    call = found.wrong_call
    assert call is not None
    return {"kernel": call.symbol or None, "what": call.what, "caller": _location(call.caller)}


def _location(place: Location) -> dict[str, Any]:
    return {
        "address": f"{place.address:#010x}",
        "symbol": place.symbol,
        "offset": place.offset,
        "file": place.file,
        "line": place.line,
    }


def _instruction(found: FirstWrong) -> dict[str, Any]:
    return {
        "how": found.how,
        "number": found.number,
        "where": _location(found.bad.where),
        "good": _location(found.good.where) if found.good is not None else None,
        "parted": [_location(place) for place in found.parted] if found.parted is not None else None,
        "values": [
            {"name": v.name, "good": hex(v.a) if found.good is not None else None, "bad": hex(v.b)}
            | ({"address": f"{v.address:#010x}"} if v.address is not None else {})
            for v in found.values
        ],
        "notes": list(found.notes),
        "context": list(found.bad.context),
        "registers": {name: f"{value:#x}" for name, value in found.bad.registers.items()},
        "trap": found.bad.trap or None,
    }
