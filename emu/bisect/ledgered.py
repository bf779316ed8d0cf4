"""Searches in the ledger: a run for each command, a result for what was searched in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from emu.image import Image
from emu.ledger.writer import Result, Run
from emu.verify.records import package_version


def bisect_run(what: str, image: Image | None) -> Run:
    """The run as the ledger keeps it. ``what``: model, spec, kernel or commits."""
    name, sha256 = (None, None) if image is None else (image.name, image.sha256)
    return Run(f"bisect {what}", "image", package_version(), name, sha256)


def result_of(name: str, answer: Mapping[str, Any]) -> Result:
    """An answer (:func:`emu.bisect.report.json_object`) as a result."""
    return Result(
        name,
        "equal" if answer["equal"] else "mismatch",
        seconds=sum(answer["seconds"].values()),
        message="; ".join(told(answer)),
        stages=answer["compared"],
    )


def told(answer: Mapping[str, Any]) -> Iterator[str]:
    """Stage, culprit and place, as far as they were found."""
    stage, found = answer["stage"], answer["instruction"]
    if stage is not None and stage["first"]:
        yield f"first wrong stage {stage['first']}"
    if answer["culprit"]:
        yield f"in {answer['culprit']}"
    if found is not None:
        where = found["where"]
        source = f" ({where['file']}:{where['line']})" if where["file"] else ""
        yield f"instruction {where['symbol']}+{where['offset']:#x}{source}"
