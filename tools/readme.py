#!/usr/bin/env python3
"""Runs the commands whose output README.md shows, and puts the output there.

python tools/readme.py            rewrite the shown outputs
python tools/readme.py --check    exit 1 when they differ (times masked)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_SECONDS = re.compile(r"\b\d+\.\d\b( s$)?")


def emu(*arguments: str, cwd: Path) -> str:
    """Output of an ``emu`` command as a terminal of 100 columns shows it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "emu.cli", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())


def fused_build(folder: Path) -> Path:
    """The firmware with contraction left on."""
    from emu.toolchain import find_toolchain
    from emu.toolchain.build import build_firmware

    built = build_firmware(
        find_toolchain(), folder / "build", extra_flags=("-ffp-contract=fast",), allow_fused=True
    )
    return built.elf.rename(folder / "fused.elf")


def shortened(table: str, kept: int = 10) -> str:
    """The first lines and the last line; what is left out is counted."""
    lines = table.splitlines()
    left_out = len(lines) - kept - 1
    return "\n".join([*lines[:kept], f"... ({left_out} more lines)", lines[-1]])


def outputs() -> dict[str, str]:
    """Each shown output by its name in the README."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fused_build(folder)
        return {
            "verify": shortened(emu("verify", "--no-memory", cwd=folder)),
            "mismatch": emu(
                "verify", "--elf", "fused.elf", "--kernel", "quantize_row_s8", "--no-memory", cwd=folder
            ),
        }


def with_outputs(text: str, shown: dict[str, str]) -> str:
    """The README with its output blocks replaced."""
    for name, output in shown.items():
        text, found = re.subn(
            rf"(<!-- output: {name} -->\n```text\n).*?(```\n)",
            lambda match, output=output: f"{match[1]}{output}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
        if found != 1:
            raise SystemExit(f"README.md has {found} output blocks named {name}; one is expected")
    return text


def without_times(text: str) -> str:
    """Times masked, and the spaces that align them."""
    return re.sub(r" +", " ", _SECONDS.sub("T", text))


def main() -> int:
    """Rewrite or check."""
    old = README.read_text()
    new = with_outputs(old, outputs())
    if "--check" not in sys.argv[1:]:
        README.write_text(new)
        return 0
    if without_times(old) == without_times(new):
        return 0
    print("README.md shows other output than the commands print; run python tools/readme.py")
    return 1


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
