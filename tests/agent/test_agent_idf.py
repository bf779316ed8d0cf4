"""The ESP-IDF project, which is not built here: C against stub headers, tables that fit together."""

from __future__ import annotations

import csv
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from host_agent import FIRMWARE, HERE, host_library, includes

IDF = FIRMWARE / "port" / "idf"
FLAGS = ["-std=gnu17", "-m32", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-pointer-to-int-cast"]


@pytest.mark.parametrize("line", ["UART0", "USB"])
@pytest.mark.parametrize("source", sorted(p.name for p in (IDF / "main").glob("*.c")))
def test_syntax_against_stubs(source: str, line: str) -> None:
    """Only what the stubs declare is checked: names and shapes as the documentation gives them."""
    defines = [f"-DCONFIG_EMU_LINE_{line}=1", "-DCONFIG_EMU_CLUSTER=1", "-DCONFIG_EMU_SECOND_CORE=1"]
    command = [
        host_library.host_compiler(),
        *[flag for flag in FLAGS if flag != "-m32"],
        *defines,
        f"-I{HERE / 'idf_stubs'}",
        f"-I{FIRMWARE / 'port' / 'bare_agent'}",
        *includes(),
        str(IDF / "main" / source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_option_that_is_used_is_defined() -> None:
    defined = set(re.findall(r"config (EMU_\w+)", (IDF / "main" / "Kconfig.projbuild").read_text()))
    code = "".join(path.read_text() for path in (IDF / "main").glob("*.[ch]"))
    used = set(re.findall(r"CONFIG_(EMU_\w+)", code))
    assert used <= defined


def test_partitions_do_not_overlap_and_hold_the_largest_model() -> None:
    from emu.link.flashing import MODEL_OFFSET

    lines = [line for line in (IDF / "partitions.csv").read_text().splitlines() if not line.startswith("#")]
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    places = sorted((int(row[3], 0), int(row[4], 0), row[0]) for row in rows)
    for (start, size, _), (after, _, _) in itertools.pairwise(places):
        assert start + size <= after
    model = next(p for p in places if p[2] == "model")
    assert model[0] == MODEL_OFFSET
    assert model[1] >= 3_293_552
    assert all(start % 0x10000 == 0 for start, _, name in places if name in ("factory", "model"))


def test_every_source_is_part_of_the_build() -> None:
    text = (IDF / "main" / "CMakeLists.txt").read_text()
    for path in (IDF / "main").glob("*.c"):
        assert f'"{path.name}"' in text
