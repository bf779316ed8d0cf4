"""Files that are no files: a pipe must not hang the run, a device must not fill the memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emu.image import ImageError, load_image
from emu.kernels.spec import Kernel, Scalar
from emu.verify.casefile import load
from emu.verify.errors import UsageProblem
from emu.verify.image_check import check_symbols
from emu.verify.specfile import load_spec
from tests.image.elf_files import CODE, Part, make_elf


@pytest.fixture(params=["pipe", "device"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "device":
        return Path("/dev/zero")
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path / "pipe.py"


def test_pipes_and_devices_are_refused(odd: Path) -> None:
    with pytest.raises(ImageError, match="a pipe or a device, not a file"):
        load_image(odd)
    with pytest.raises(UsageProblem, match="not a case file"):
        load(odd, {})
    with pytest.raises(UsageProblem, match="not a file"):
        load_spec(odd)


def test_names_that_no_system_call_takes() -> None:
    with pytest.raises(UsageProblem, match="null byte"):
        load(Path("a\0b"), {})


def test_an_image_without_symbols_says_so() -> None:
    image = load_image(make_elf([Part(CODE, bytes(64))], []), "stripped.elf")
    kernel = Kernel("f", (Scalar("n", "int32"),), lambda n: n)
    with pytest.raises(UsageProblem, match=r"stripped\.elf has no symbols.*before strip"):
        check_symbols(image, [kernel])
