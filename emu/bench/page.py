"""docs/performance.md: one section for each suite, replaced when that suite is measured again."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from emu.bench.report import Report, markdown

HEAD = """# Performance

Every table is printed by the command above it and written here by the same command with `--markdown
docs/performance.md`. Each figure is the median of interleaved rounds of one run (in each round everyone
is measured once, in turn), with the distance of the farthest round from it. Absolute figures swing on a
shared machine; ratios are taken round by round and swing less. A peer that was not there is named.
"""
ORDER = ("engine", "kernels", "mirror", "models", "verify")
_SECTION = re.compile(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)


def update(path: Path, reports: Sequence[Report]) -> None:
    """Put the reports into the page; sections of other suites stay. Raises OSError."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = dict(_SECTION.findall(old))
    for report in reports:
        sections[report.suite] = f"{markdown(report)}\nMeasured on: {machine()}.\n"
    names = [name for name in ORDER if name in sections]
    body = [f"<!-- begin {name} -->\n{sections[name]}<!-- end {name} -->\n" for name in names]
    path.write_text("\n".join([HEAD, *body]), encoding="utf-8")


def machine() -> str:
    """Processor and versions that the figures depend on."""
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    from emu.bench import native, qemu

    parts = [f"{_processor()}, {os.cpu_count()} processors", f"Python {platform.python_version()}"]
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    parts += [f"numba {numba.__version__}", f"llvmlite {llvmlite.__version__} (LLVM {llvm_version})"]
    parts += [peer.version() for peer in (qemu, native) if not peer.why_not()]
    return ", ".join(parts)


def _processor() -> str:
    """The processor's name, or its kind where the system does not tell."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()
