"""What ``emu golden`` does: each function prints what came out and gives the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from emu.goldens import cache, places
from emu.goldens.accept import propose
from emu.goldens.check import Checked, check
from emu.goldens.definition import BUNDLED, PATTERNS, Definition
from emu.goldens.manifest import MANIFEST, read_manifest
from emu.goldens.record import BOTH, TargetsDisagree, compute, make_manifest, store
from emu.goldens.report import print_changes, print_checked
from emu.models.dump import check_suffix, provenance, write_dump
from emu.models.modelfile.kinds import Kind
from emu.models.names import chooser
from emu.verify.errors import UsageProblem
from emu.verify.records import write_whole

EXIT_MISMATCH = 1


def run_record(names: tuple[str, ...], folder: Path, elf: Path | None, own: Mapping[str, Any]) -> int:
    """Record goldens and print a line for each."""
    console = Console()
    for name, definition in _to_record(names, folder, own).items():
        with console.status(f"{name}: mirror and image"):
            try:
                computed = compute(name, definition, elf=elf)
            except TargetsDisagree as error:
                console.print(str(error), highlight=False)
                return EXIT_MISMATCH
        manifest, data = make_manifest(definition, computed, elf, None)
        store(folder / name, manifest, data)
        kept = len(computed.recording.tensors)
        console.print(
            f"{name}: {len(manifest.stages):,} stages, {kept} tensors ({len(data):,} bytes)", highlight=False
        )
    return 0


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
    names: tuple[str, ...], folder: Path, target: str, elf: Path | None, json_file: Path | None
) -> int:
    """Check goldens and print a table. Every golden is read before the first one runs."""
    console = Console()
    manifests = {name: read_manifest(folder / name) for name in places.chosen(folder, names)}
    targets = BOTH if target == "both" else tuple(t for t in BOTH if t == target)
    results: list[Checked] = []
    for name, manifest in manifests.items():
        for one in targets:
            with console.status(f"{name}: {one}"):
                results.append(check(name, manifest, one, elf))
    print_checked(console, results)
    if json_file is not None:
        write_whole(json_file, json.dumps([_as_json(r) for r in results], indent=1).encode() + b"\n")
    return EXIT_MISMATCH if any(r.changes for r in results) else 0


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


def run_accept(names: tuple[str, ...], folder: Path, elf: Path | None, yes: bool) -> int:
    """Show changes and accept them, one golden after the other."""
    console = Console()
    for name in places.chosen(folder, names):
        with console.status(f"{name}: mirror and image"):
            try:
                proposal = propose(name, folder / name, elf)
            except TargetsDisagree as error:
                console.print(str(error), highlight=False)
                return EXIT_MISMATCH
        if proposal.nothing:
            console.print(f"{name}: nothing changes", highlight=False)
            continue
        if proposal.changes:
            print_changes(console, name, proposal.changes, proposal.details)
        for origin in proposal.origins:
            console.print(f"{name}: {origin}", highlight=False, markup=False)
        if yes or click.confirm(f"accept {name}?"):
            proposal.store()
            console.print(f"{name}: accepted", highlight=False)
    return 0


def run_prune(folder: Path, dry_run: bool) -> int:
    """Remove what belongs to no golden."""
    needed = [read_manifest(folder / name) for name in places.names_in(folder)]
    found = [*places.strays(folder), *cache.strays(needed)]
    _remove(found, dry_run)
    print(f"{len(found)} files {'would be' if dry_run else 'were'} removed; {len(needed)} goldens stay")
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
    found = {s: v for s, v in cache.all_tensors(one, manifest).items() if wanted(s)}
    sha256 = str(manifest.provenance.get("model_sha256"))
    write_dump(output, found, provenance(manifest.run.weights, sha256, "golden", manifest.run.as_json()))
    print(f"{output}: {len(found)} stages of {name}")
    return 0
