"""Runs the long campaigns in processes of their own, goes on where it stopped, and writes their record.

    python -m tests.robust.campaign FOLDER [NAME ...]   # run what FOLDER/NAME.jsonl does not have yet
    python -m tests.robust.campaign FOLDER --record     # docs/long-campaigns.json and .md from all of it

One line of FOLDER/NAME.jsonl is one chunk: its seeds, cases, how they ended, commit, sources, date. A chunk
that failed stays in the log with the seed and the message, is run again next time, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emu.cpu.translator.library import source_digest
from tests.robust.campaigns import CAMPAIGNS, run_chunk

ROOT = Path(__file__).parents[2]
SLOWEST = 7200.0
"""Seconds for a chunk: far above what one takes on a busy machine, far below for ever."""
Line = dict[str, Any]


class ChunkFailed(Exception):
    """A chunk found a difference, ended its process, or hung; the message has the seed."""


def run_in_child(name: str, number: int) -> dict[str, int]:
    """How the cases of a chunk ended. Raises ChunkFailed."""
    command = [sys.executable, "-m", "tests.robust.campaign", "--chunk", name, str(number)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SLOWEST, check=False)
    except subprocess.TimeoutExpired as late:
        out = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        raise ChunkFailed(f"hangs at {last_seed(out)}") from None
    last = done.stdout.rpartition("\nends ")[2]
    if done.returncode or not last.startswith("{"):
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise ChunkFailed(f"{how} at {last_seed(done.stdout)}\n{done.stderr[-3000:]}")
    found: dict[str, int] = json.loads(last)
    return found


def last_seed(out: str) -> str:
    """The case that was running, from the output of a child."""
    seeds = [line for line in out.splitlines() if line.startswith("seed ")]
    return seeds[-1] if seeds else "the start"


# --- running ------------------------------------------------------------------------------------------------
def run(folder: Path, names: Sequence[str]) -> bool:
    """Run the chunks that the folder does not have for the present sources; False when one failed."""
    folder.mkdir(parents=True, exist_ok=True)
    is_well = True
    for name in names:
        done = {line["chunk"] for line in _lines(folder, name) if _is_current(line)}
        for number in range(CAMPAIGNS[name].chunks):
            if number not in done:
                line = _run_one(name, number)
                with (folder / f"{name}.jsonl").open("a") as log:
                    log.write(json.dumps(line) + "\n")
                print(_told(line), flush=True)
                is_well = is_well and not line["failure"]
    return is_well


def _run_one(name: str, number: int) -> Line:
    started = time.monotonic()
    failure, ends = "", {}
    try:
        ends = run_in_child(name, number)
    except ChunkFailed as failed:
        failure = str(failed)
    return {
        "campaign": name,
        "chunk": number,
        "seeds": CAMPAIGNS[name].seeds(number),
        "cases": sum(ends.values()),
        "ends": ends,
        "failure": failure,
        "commit": _commit(),
        "sources": source_digest()[:16],
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.monotonic() - started, 1),
    }


def _is_current(line: Line) -> bool:
    return not line["failure"] and line["sources"] == source_digest()[:16]


def _told(line: Line) -> str:
    what = line["failure"] or f"{line['cases']} cases, 0 differences, {line['seconds']} s"
    return f"{line['campaign']} {line['chunk']} (seeds {line['seeds']}): {what}"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no repository"


def _lines(folder: Path, name: str) -> Iterator[Line]:
    path = folder / f"{name}.jsonl"
    if path.exists():
        yield from (json.loads(line) for line in path.read_text().splitlines())


def main(arguments: Sequence[str]) -> int:
    """See the module's docstring; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunk", nargs=2, metavar=("NAME", "NUMBER"), help="run one chunk here")
    parser.add_argument("--record", action="store_true", help="write the record, run nothing")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CAMPAIGNS))
    given = parser.parse_args(arguments)
    if given.chunk:
        ends = run_chunk(given.chunk[0], int(given.chunk[1]))
        print(f"\nends {json.dumps(dict(sorted(ends.items())))}", flush=True)
        return 0
    if given.folder is None:
        parser.error("a folder for the logs is needed")
    if given.record:
        from tests.robust import campaign_record

        campaign_record.write({name: list(_lines(given.folder, name)) for name in CAMPAIGNS})
        return 0
    unknown = set(given.names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"no campaign is named {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    return 0 if run(given.folder, given.names or list(CAMPAIGNS)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
