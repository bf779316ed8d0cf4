"""Machine-readable records of a campaign: JSON (version 1) and JUnit XML, written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from emu.terminal import STANDARD_OUTPUT
from emu.verify.campaign import Campaign
from emu.verify.compare import Difference, Mismatch, decimal, hexadecimal
from emu.verify.describe import drawn_command, failure_lines, headline, is_drawn, replay_command
from emu.verify.errors import ToolError
from emu.verify.noticed import Notice
from emu.verify.results import Failure, KernelResult
from emu.verify.verdict import Verdict, exit_code

FORMAT = "esp32s3-emu report"
VERSION = 1
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the final name and rename, so that a reader never sees half a file.

    A link stays one: what it leads to is replaced. A device or a pipe (/dev/stdout) is written into, as is
    standard output for ``-``. Raises ToolError with the reason.
    """
    try:
        if str(path) == STANDARD_OUTPUT:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
        elif str(path).startswith(("/dev/", "/proc/")) or (path.exists() and not path.is_file()):
            with path.open("ab") as stream:
                stream.write(data)
        else:
            _replace(path.resolve(), data)
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror or error}") from error


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name[:100])
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def xml_text(text: str) -> str:
    """The text with ? for what XML cannot hold."""
    return _NOT_XML.sub("?", text)


def package_version() -> str:
    """Version of the installed distribution, or "checkout"."""
    try:
        return version("esp32s3-emu")
    except PackageNotFoundError:
        return "checkout"


def report(campaign: Campaign, selection: str) -> dict[str, Any]:
    """The JSON document."""
    options = campaign.options
    verdicts = [r.verdict for r in campaign.results.values()]
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": package_version(),
        "target": options.target,
        "elf": str(options.elf) if options.elf else None,
        "elf_sha256": campaign.elf_sha256 or None,
        "tier": options.tier,
        "fused": options.fused,
        "budget": options.budget,
        "seed": options.seed,
        "examples": options.examples,
        "seconds": round(campaign.seconds, 3),
        "interrupted": campaign.interrupted,
        "exit_code": exit_code(verdicts),
        "notes": campaign.notes,
        "kernels": [_kernel(result, selection) for result in campaign.results.values()],
    }


def write_json(path: Path, campaign: Campaign, selection: str) -> None:
    """Write the JSON report."""
    write_whole(path, json.dumps(report(campaign, selection), indent=1).encode() + b"\n")


def _kernel(result: KernelResult, selection: str) -> dict[str, Any]:
    return {
        "kernel": result.kernel.symbol,
        "source": result.kernel.source,
        "verdict": str(result.verdict),
        "examples": result.examples,
        "wanted": result.wanted,
        "bad": result.bad,
        "instructions": result.instructions,
        "seconds": round(result.seconds, 3),
        "error": result.error or None,
        "checked_examples": result.noticed.examples,
        "stack_bytes": result.noticed.stack or None,
        "findings": [_finding(notice) for notice in result.noticed.ordered()],
        "failure": _failure(result, result.failure, selection) if result.failure else None,
    }


def _finding(notice: Notice) -> dict[str, Any]:
    where = notice.where
    return {
        "kind": notice.what,
        "address": f"{where.address:#010x}",
        "symbol": f"{where.symbol}+{where.offset:#x}" if where.symbol else None,
        "source": f"{where.file}:{where.line}" if where.file else None,
        "count": notice.count,
        "first": notice.first or None,
    }


def _failure(result: KernelResult, failure: Failure, selection: str) -> dict[str, Any]:
    fault = failure.outcome.fault
    return {
        "example": failure.number,
        "seed": failure.seed,
        "known_from": failure.known or None,
        "message": headline(result.kernel, failure),
        "dims": failure.case.dims,
        "refused_call": failure.case.fault or None,
        "nonzero_inputs": failure.weight,
        "mismatch": mismatch_record(failure.outcome.mismatch) if failure.outcome.mismatch else None,
        "fault": {"kind": fault.kind, "message": fault.message, "where": fault.where} if fault else None,
        "explanation": failure.explanation,
        "case_file": failure.file or None,
        "replay": replay_command(failure, selection),
        "as_drawn": drawn_command(result.kernel.symbol, failure, selection) if is_drawn(failure) else None,
    }


def mismatch_record(mismatch: Mismatch) -> dict[str, Any]:
    """A mismatch as JSON: values in hexadecimal and decimal, so that no reader has to round."""
    returned = mismatch.returned
    return {
        "returned": {"expected": returned[0], "actual": returned[1]} if returned else None,
        "differences": [_difference(d) for d in mismatch.differences],
        "damage": [asdict(d) for d in mismatch.damage],
    }


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "output": found.output,
        "dtype": found.dtype,
        "shape": found.shape,
        "index": found.index,
        "expected": hexadecimal(found.expected_bits, found.dtype),
        "actual": hexadecimal(found.actual_bits, found.dtype),
        "expected_decimal": decimal(found.expected_bits, found.dtype),
        "actual_decimal": decimal(found.actual_bits, found.dtype),
        "distance": found.distance,
        "largest": found.largest,
        "count": found.count,
        "total": found.total,
        "pattern": found.pattern,
    }


def write_junit(path: Path, campaign: Campaign, selection: str) -> None:
    """One test case per kernel: a mismatch is a failure, everything else that is not equal an error."""
    results = list(campaign.results.values())
    suite = ET.Element(
        "testsuite",
        name="emu verify",
        tests=str(len(results)),
        failures=str(sum(r.verdict is Verdict.MISMATCH for r in results)),
        errors=str(sum(r.verdict not in (Verdict.MISMATCH, Verdict.EQUAL) for r in results)),
        skipped="0",
        time=f"{campaign.seconds:.3f}",
    )
    for result in results:
        _testcase(suite, result, selection)
    root = ET.Element("testsuites")
    root.append(suite)
    write_whole(path, ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _testcase(suite: ET.Element, result: KernelResult, selection: str) -> None:
    case = ET.SubElement(
        suite, "testcase", classname="emu.verify", name=result.kernel.symbol, time=f"{result.seconds:.3f}"
    )
    if result.verdict is Verdict.EQUAL:
        return
    kind = "failure" if result.verdict is Verdict.MISMATCH else "error"
    if result.failure is not None:
        message = headline(result.kernel, result.failure)
        lines = failure_lines(result.kernel, result.failure, selection)
        body = "\n".join(f"{label:9} {text}" for label, text in lines)
    else:
        message = body = result.error or f"{result.examples} of {result.wanted} examples were run"
    child = ET.SubElement(case, kind, type=str(result.verdict), message=xml_text(message))
    child.text = xml_text(body)
