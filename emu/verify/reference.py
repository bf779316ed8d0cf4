"""Where the bundled reference image is, in a checkout and in an installed package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from emu.verify.errors import UsageProblem

NAME = "esp32s3-bare.elf"


def reference_elf() -> Path:
    """Path of the reference image: ``emu/golden`` is a link in a checkout, a copy in a package."""
    path = Path(str(resources.files("emu") / "golden" / "firmware" / NAME))
    if not path.is_file():
        raise UsageProblem(
            f"the reference image {path} is missing; build it with 'python tools/build_firmware.py', "
            "or name an image with --elf"
        )
    return path
