"""What ``emu golden`` does: each function prints what came out and gives the exit code."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from emu.goldens import cache, places
from emu.goldens.accept import Proposal, propose
from emu.goldens.check import Checked, check
from emu.goldens.definition import BUNDLED, PATTERNS, Definition
from emu.goldens.ledgered import GoldenRuns, checked_result
from emu.goldens.manifest import MANIFEST, Manifest, read_manifest
from emu.goldens.record import BOTH, Computed, TargetsDisagree, compute, make_manifest, store
from emu.goldens.report import print_changes, print_checked
from emu.goldens.run import TargetName
from emu.ledger.writer import Result
from emu.models.dump import check_suffix, provenance, write_dump
from emu.models.modelfile.kinds import Kind
from emu.models.names import chooser
from emu.terminal import Terminal, progress
from emu.verify.errors import UsageProblem
from emu.verify.records import write_whole
from emu.verify.verdict import EXIT_INTERRUPTED
from emu.verify.words import plural

EXIT_MISMATCH = 1


def run_record(
    names: tuple[str, ...], folder: Path, elf: Path | None, own: Mapping[str, Any], quiet: bool = False
) -> int:
    """Record goldens and print a line for each."""
    terminal = Terminal.of(quiet)
    todo = _to_record(names, folder, own)
    with GoldenRuns("golden record", elf) as runs, progress(terminal.usual, len(todo)) as step:

        def record(name: str) -> int:
            step(f"{name}: mirror and image", 0)
            computed = _computed(name, todo[name], elf, terminal, runs)
            if computed is None:
                return EXIT_MISMATCH
            manifest, data = make_manifest(todo[name], computed, elf, None)
            store(folder / name, manifest, data)
            kept = plural(len(computed.recording.tensors), "tensor")
            stages = plural(len(manifest.stages), "stage")
            terminal.usual.print(f"{name}: {stages}, {kept} ({len(data):,} bytes)", highlight=False)
            step(name, 1)
            return 0

        return _each(list(todo), "record", record, terminal, runs)


def _computed(
    name: str, definition: Definition, elf: Path | None, terminal: Terminal, runs: GoldenRuns
) -> Computed | None:
    """What both targets agree on, in the ledger; None, told, when they do not."""
    started = time.monotonic()
    try:
        computed = compute(name, definition, elf=elf)
    except TargetsDisagree as error:
        seconds = time.monotonic() - started
        runs.add("image", Result(name, "mismatch", 1, seconds=seconds, message=str(error)), {})
        terminal.wrong.print(str(error), highlight=False)
        return None
    seconds = time.monotonic() - started
    for target, recording in computed.by_target.items():
        stages = len(recording.digests)
        result = Result(name, "equal", 1, 0, recording.instructions, seconds, stages=stages)
        runs.add(target, result, recording.costs)
    return computed


def _each(
    names: list[str], command: str, work: Callable[[str], int], terminal: Terminal, runs: GoldenRuns
) -> int:
    """Do the work for one golden after the other until one fails; Ctrl-C says what is left."""
    code, interrupted, done = 0, False, 0
    try:
        for name in names:
            code = work(name)
            if code:
                break
            done += 1
    except (KeyboardInterrupt, click.Abort):  # what Ctrl-C at a question is
        code, interrupted = EXIT_INTERRUPTED, True
        _say_what_is_left(terminal, command, names[done:])
    for note in runs.end(code, interrupted):
        terminal.wrong.print(note, highlight=False)
    return code


def _say_what_is_left(terminal: Terminal, command: str, names: Sequence[str]) -> None:
    left = " ".join(dict.fromkeys(names))
    terminal.wrong.print(f"interrupted; what is left: emu golden {command} {left}", highlight=False)


def _to_record(names: tuple[str, ...], folder: Path, own: Mapping[str, Any]) -> dict[str, Definition]:
    given = {name: value for name, value in own.items() if value not in (None, ())}
    if given:
        return {_one_name(names): _own(given)}
    found: dict[str, Definition] = {}
    for name in names or BUNDLED:
        if (folder / name / MANIFEST).is_file():
            found[name] = read_manifest(folder / name).run
        elif name in BUNDLED:
            found[name] = BUNDLED[name]
        else:
            raise UsageProblem(
                f"no golden is called {name!r}; bundled: {', '.join(BUNDLED)}; one of your own needs --kind"
            )
    return found


def _one_name(names: tuple[str, ...]) -> str:
    if len(names) != 1 or not names[0].replace("-", "").replace("_", "").isalnum():
        raise UsageProblem("a golden of your own needs one name, of letters, digits, - and _")
    return names[0]


def _own(given: dict[str, Any]) -> Definition:
    if "kind" not in given:
        raise UsageProblem(f"--{next(iter(given))} belongs to a golden of your own; it needs --kind")
    kind = Kind.of(given.pop("kind"))
    usual = Definition(kind, "random:1", steps=8 if kind is Kind.T2I else 0, cfg=3.0, tensors=PATTERNS[kind])
    return Definition(**{**usual.__dict__, **given, "kind": kind})


def run_check(
    names: tuple[str, ...],
    folder: Path,
    target: str,
    elf: Path | None,
    json_file: Path | None,
    quiet: bool = False,
) -> int:
    """Check goldens and print a table. Every golden is read before the first one runs."""
    terminal = Terminal.of(quiet, json_file)
    manifests = {name: read_manifest(folder / name) for name in places.chosen(folder, names)}
    targets = BOTH if target == "both" else tuple(t for t in BOTH if t == target)
    todo = [(name, one) for name in manifests for one in targets]
    results: list[Checked] = []
    with GoldenRuns("golden check", elf) as runs:
        interrupted = _check_each(todo, manifests, elf, terminal, runs, results)
        print_checked(terminal, results)
        if json_file is not None:
            write_whole(json_file, json.dumps([_as_json(r) for r in results], indent=1).encode() + b"\n")
        code = EXIT_MISMATCH if any(r.changes for r in results) else 0
        if interrupted:
            code = code or EXIT_INTERRUPTED
            _say_what_is_left(terminal, "check", [name for name, _ in todo[len(results) :]])
        for note in runs.end(code, interrupted):
            terminal.wrong.print(note, highlight=False)
    return code


def _check_each(
    todo: Sequence[tuple[str, TargetName]],
    manifests: Mapping[str, Manifest],
    elf: Path | None,
    terminal: Terminal,
    runs: GoldenRuns,
    results: list[Checked],
) -> bool:
    """Check one after the other, ``results`` grow; whether Ctrl-C ended it."""
    try:
        with progress(terminal.usual, len(todo)) as step:
            for name, one in todo:
                step(f"{name}: {one}", 0)
                results.append(check(name, manifests[name], one, elf))
                runs.add(one, checked_result(results[-1]), results[-1].costs)
                step(f"{name}: {one}", 1)
    except KeyboardInterrupt:
        return True
    return False


def _as_json(result: Checked) -> dict[str, Any]:
    changes = [
        {"stage": c.stage, "recorded": _hexadecimal(c.recorded), "found": _hexadecimal(c.found)}
        for c in result.changes
    ]
    verdict = "mismatch" if changes else "equal"
    return {"golden": result.name, "target": result.target, "verdict": verdict, "stages": result.stages} | {
        "changes": changes
    }


def _hexadecimal(digest: int | None) -> str | None:
    return None if digest is None else f"{digest:016X}"


def run_accept(names: tuple[str, ...], folder: Path, elf: Path | None, yes: bool, quiet: bool = False) -> int:
    """Show changes and accept them, one golden after the other."""
    terminal = Terminal.of(quiet)
    with GoldenRuns("golden accept", elf) as runs:

        def accept(name: str) -> int:
            with progress(terminal.usual) as step:
                step(f"{name}: mirror and image", 0)
                computed = _computed(name, read_manifest(folder / name).run, elf, terminal, runs)
            if computed is None:
                return EXIT_MISMATCH
            _propose(propose(name, folder / name, computed, elf), name, yes, terminal)
            return 0

        return _each(places.chosen(folder, names), "accept", accept, terminal, runs)


def _propose(proposal: Proposal, name: str, yes: bool, terminal: Terminal) -> None:
    """Show what would change, ask, store."""
    if proposal.nothing:
        terminal.usual.print(f"{name}: nothing changes", highlight=False)
        return
    if proposal.changes:
        print_changes(terminal.wrong, name, proposal.changes, proposal.details)
    for origin in proposal.origins:
        terminal.wrong.print(f"{name}: {origin}", highlight=False, markup=False)
    if yes or click.confirm(f"accept {name}?"):
        proposal.store()
        terminal.usual.print(f"{name}: accepted", highlight=False)


def run_prune(folder: Path, dry_run: bool) -> int:
    """Remove what belongs to no golden."""
    needed = [read_manifest(folder / name) for name in places.names_in(folder)]
    found = [*places.strays(folder), *cache.strays(needed)]
    _remove(found, dry_run)
    told = plural(len(found), "file")
    print(f"{told} {'to be removed' if dry_run else 'removed'}; goldens that stay: {len(needed)}")
    return 0


def _remove(paths: Iterable[Path], dry_run: bool) -> None:
    for path in paths:
        print(path)
        if not dry_run:
            path.unlink(missing_ok=True)


def run_tensors(name: str, stages: tuple[str, ...], output: Path, folder: Path) -> int:
    """Write tensors of a golden to a file."""
    check_suffix(output)
    (one,) = places.chosen(folder, [name])
    manifest = read_manifest(folder / one)
    wanted = chooser(stages, list(manifest.stages))
    with progress(Terminal.of().usual) as step:
        step(f"{one}: mirror", 0)
        found = {s: v for s, v in cache.all_tensors(one, manifest).items() if wanted(s)}
    sha256 = str(manifest.provenance.get("model_sha256"))
    write_dump(output, found, provenance(manifest.run.weights, sha256, "golden", manifest.run.as_json()))
    print(f"{output}: {plural(len(found), 'stage')} of {name}")
    return 0
