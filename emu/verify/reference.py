"""Where the bundled reference image is, in a checkout and in an installed package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from emu.verify.errors import UsageProblem

NAME = "esp32s3-bare.elf"
AGENT_NAME = "esp32s3-agent.elf"


def reference_elf() -> Path:
    """Path of the reference image: ``emu/golden`` is a link in a checkout, a copy in a package."""
    return _bundled("firmware", NAME)


def agent_elf() -> Path:
    """Path of the image of the agent for boards (docs/wire.md)."""
    return _bundled("agent", AGENT_NAME)


def _bundled(folder: str, name: str) -> Path:
    path = Path(str(resources.files("emu") / "golden" / folder / name))
    if not path.is_file():
        raise UsageProblem(
            f"the image {path} is missing; build it with 'python tools/build_firmware.py', "
            "or name an image with --elf"
        )
    return path
