"""Every code block of every page is run, in order, or carries a mark that says why not."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from emu.toolchain import Toolchain
from emu.toolchain.build import firmware_folder
from tests.docs.page import all_pages, name_of, read_page
from tests.docs.running import run_page


@pytest.fixture(scope="session")
def chip_cc(toolchain: Toolchain) -> str:
    """The compiler for the chip as one command, with the firmware's headers."""
    words = ["env", *(f"{name}={value}" for name, value in toolchain.env.items()), str(toolchain.gcc)]
    return shlex.join([*words, "-ffreestanding", "-mlongcalls", f"-I{firmware_folder() / 'include'}"])


@pytest.mark.parametrize("path", all_pages(), ids=name_of)
def test_every_block_is_run_or_says_why_not(path: Path) -> None:
    read_page(path)


@pytest.mark.parametrize("path", [p for p in all_pages() if "\n```" in p.read_text()], ids=name_of)
def test_the_blocks_of_a_page_do_what_it_says(
    path: Path, tmp_path: Path, chip_cc: str, request: pytest.FixtureRequest
) -> None:
    for line in run_page(read_page(path), tmp_path, chip_cc, request.config.getoption("--long")):
        print(line)
