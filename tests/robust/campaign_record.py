"""The record of the long campaigns: docs/long-campaigns.json, and the page that tells it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.robust.campaigns import CAMPAIGNS

ROOT = Path(__file__).parents[2]
JSON = ROOT / "docs" / "long-campaigns.json"
PAGE = ROOT / "docs" / "long-campaigns.md"
FORMAT = "esp32s3-emu long campaigns"
Line = dict[str, Any]
Record = dict[str, Any]


def record(lines: Mapping[str, Sequence[Line]]) -> Record:
    """What the logs of the campaigns say: the newest good run of each chunk, and every failure."""
    return {
        "format": FORMAT,
        "version": 1,
        "campaigns": {n: _campaign(n, lines.get(n, ())) for n in CAMPAIGNS},
    }


def _campaign(name: str, lines: Sequence[Line]) -> Record:
    newest = {line["chunk"]: line for line in lines if not line["failure"]}
    ends: Counter[str] = Counter()
    for line in newest.values():
        ends.update(line["ends"])
    return {
        "title": CAMPAIGNS[name].title,
        "wanted": CAMPAIGNS[name].total,
        "cases": sum(line["cases"] for line in newest.values()),
        "ends": dict(sorted(ends.items())),
        "failures": [
            {key: line[key] for key in ("chunk", "seeds", "failure", "commit", "date")}
            for line in lines
            if line["failure"]
        ],
        "runs": [
            _run(commit, newest) for commit in dict.fromkeys(line["commit"] for line in newest.values())
        ],
    }


def _run(commit: str, newest: Mapping[int, Line]) -> Record:
    """The chunks that one commit ran."""
    chunks = {number: line for number, line in sorted(newest.items()) if line["commit"] == commit}
    return {
        "commit": commit,
        "sources": sorted({line["sources"] for line in chunks.values()}),
        "chunks": _spans(list(chunks)),
        "first_seeds": next(iter(chunks.values()))["seeds"],
        "last_seeds": list(chunks.values())[-1]["seeds"],
        "cases": sum(line["cases"] for line in chunks.values()),
        "from": min(line["date"] for line in chunks.values()),
        "to": max(line["date"] for line in chunks.values()),
        "seconds": round(sum(line["seconds"] for line in chunks.values())),
    }


def _spans(numbers: Sequence[int]) -> str:
    """``0-4, 7`` for chunks in order."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


# --- the page -----------------------------------------------------------------------------------------------
_HEAD = """# Long campaigns: what was really run

Written by `python -m tests.robust.campaign FOLDER --record` from the logs of its chunks; the numbers are in
long-campaigns.json beside it. `python -m tests.robust.campaign FOLDER` goes on where the logs end, and runs
a chunk again when the sources (emu/cpu, emu/isa) have changed since. A *case* ends as it must: the process
lives, the end is one of those named, within its budget, and, where two tiers run it, every register, state
and byte of memory is the same on both. Logs with fewer cases than the record has do not replace it.
"""


def page(found: Record) -> str:
    """The record for people."""
    return "\n".join([_HEAD, *_summary(found), *_details(found)])


def _summary(found: Record) -> Iterator[str]:
    yield "| campaign | cases | of | differences and crashes |"
    yield "|---|---|---|---|"
    for entry in found["campaigns"].values():
        failures = f"{len(entry['failures'])} chunks failed, see below" if entry["failures"] else "0"
        yield f"| {entry['title']} | {entry['cases']:,} | {entry['wanted']:,} | {failures} |"
    yield ""


def _details(found: Record) -> Iterator[str]:
    for name, entry in found["campaigns"].items():
        yield f"## {name}\n"
        title = entry["title"][0].upper() + entry["title"][1:]
        yield f"{title}: {entry['cases']:,} of {entry['wanted']:,} cases.\n"
        yield from map(_run_text, entry["runs"])
        for bad in entry["failures"]:
            first = bad["failure"].splitlines()[0]
            yield f"- failed: chunk {bad['chunk']}, {first}, commit {bad['commit']}, {bad['date']}"
        ends = ", ".join(f"{how} {times:,}" for how, times in entry["ends"].items())
        yield f"\nEnds: {ends or 'none yet'}.\n"


def _run_text(run: Record) -> str:
    when = run["from"] if run["from"] == run["to"] else f"{run['from']} to {run['to']}"
    seeds = f"seeds {run['first_seeds']} to {run['last_seeds']}"
    return (
        f"- commit {run['commit']} (sources {', '.join(run['sources'])}), {when}: {run['cases']:,} cases, "
        f"chunks {run['chunks']}, {seeds}, {run['seconds']:,} s"
    )


def write(lines: Mapping[str, Sequence[Line]]) -> None:
    """Write both files. A campaign of which the record has more cases than the logs stays as it was."""
    found = record(lines)
    if JSON.exists():
        before = json.loads(JSON.read_text(encoding="utf-8"))["campaigns"]
        for name, entry in found["campaigns"].items():
            if name in before and before[name]["cases"] > entry["cases"]:
                found["campaigns"][name] = before[name]
    JSON.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
