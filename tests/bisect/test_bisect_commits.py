"""Across commits: the first bad one by halving, the hunk of the wrong instruction; builds are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.bisect.commits import Search
from emu.bisect.repository import Commit, Repository, hunk_of
from emu.cli import main
from emu.image import Location
from emu.kernels.spec import REGISTRY
from emu.toolchain import Toolchain

SPEC = """
import numpy as np
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

@kernel("scaled", Tensor("x", "int32", ("n",), values="[-1000,1000]"), Scalar("n", "int32", "n"),
        Tensor("y", "int32", ("n",), role="out"), dims=(Dim("n", 1, 20),))
def scaled(x, n, y):
    y[:] = 3 * x + 1
"""
SOURCE = """
#include <stdint.h>
void _start(void) { for (;;) ; }

/* A comment that grows: %(comment)s */
static int32_t plus_one(int32_t v)
{
    return v + 1;
}

void scaled(const int32_t *x, int32_t n, int32_t *y)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = plus_one(%(product)s);
}
%(tail)s
"""
BUILD = """
import sys
from pathlib import Path
from emu.toolchain import find_toolchain
from tests.robust.odd_image import SCRIPT

with (Path(__file__).parent / "built.log").open("a") as log:
    log.write("built\\n")
toolchain = find_toolchain()
toolchain.compile("app.c", "app.o", ["-O1", "-g", "-ffreestanding"])
Path("app.ld").write_text(SCRIPT)
toolchain.link(["app.o"], "app.elf", "app.ld")
"""
RIGHT, WRONG = "3 * x[i]", "3 * x[i] + (x[i] > 500)"


def git(folder: Path, *words: str) -> str:
    words = ("-c", "user.name=t", "-c", "user.email=t@t", *words)
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine commits: number 3 does not compile, number 6 brings the fault along with another change."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "-q", "-b", "main")
    for number in range(9):
        product = WRONG if number >= 6 else RIGHT
        tail = "broken" if number == 3 else f"int32_t other{number}(void) {{ return {number}; }}"
        text = SOURCE % {"comment": "very " * number, "product": product, "tail": tail}
        (folder / "app.c").write_text(text)
        git(folder, "add", "app.c")
        git(folder, "commit", "-q", "-m", f"change {number}")
    return folder


@pytest.fixture(scope="module")
def tools(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("tools")
    (folder / "spec.py").write_text(SPEC)
    (folder / "build.py").write_text(f"import sys; sys.path.insert(0, {str(Path.cwd())!r})\n" + BUILD)
    return folder / "spec.py", f"{sys.executable} {folder / 'build.py'}"


def run(repository: Path, tools: tuple[Path, str], tmp_path: Path, good: str, bad: str):
    spec, build = tools
    words = ["bisect", "commits", good, bad, "--kernel", "scaled", "--spec", str(spec)]
    words += ["--repo", str(repository), "--build", build, "--product", "app.elf"]
    REGISTRY.pop("scaled", None)  # a spec file is executed once for each process
    words += ["--out", str(tmp_path / "found"), "--json", str(tmp_path / "found.json")]
    return CliRunner().invoke(main, words)


def test_the_first_bad_commit_and_its_hunk(repository: Path, tools: tuple[Path, str], tmp_path: Path) -> None:
    result = run(repository, tools, tmp_path, "main~8", "main")
    assert result.exit_code == 1, result.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["first_bad"]["subject"] == "change 6"
    assert found["before"]["subject"] == "change 5"
    assert found["finding"]["kernel"]["symbol"] == "scaled"
    assert found["finding"]["instruction"]["where"]["file"].endswith("app.c")
    assert "+        y[i] = plus_one(3 * x[i] + (x[i] > 500));" in found["change"]["text"]
    assert "very" not in found["change"]["text"]
    log = tools[0].with_name("built.log")
    built = log.read_text().count("built")
    assert built <= 7
    verdicts = json.loads((tmp_path / "found" / "bisect.json").read_text())["entries"]["verdicts"]
    again = run(repository, tools, tmp_path, "main~8", "main")
    assert again.exit_code == 1, again.output
    assert "change 6" in again.output
    assert log.read_text().count("built") == built
    assert json.loads((tmp_path / "found" / "bisect.json").read_text())["entries"]["verdicts"] == verdicts


def test_a_good_commit_that_is_not_good_is_refused(
    repository: Path, tools: tuple[Path, str], tmp_path: Path
) -> None:
    result = run(repository, tools, tmp_path, "main~1", "main")
    assert result.exit_code == 2
    assert "differs too" in result.output


def test_commits_that_do_not_exist_are_refused(
    repository: Path, tools: tuple[Path, str], tmp_path: Path
) -> None:
    result = run(repository, tools, tmp_path, "nowhere", "main")
    assert result.exit_code == 2
    assert "git rev-parse" in result.output
    result = run(repository, tools, tmp_path, "main", "main")
    assert result.exit_code == 2
    assert "the same commit" in result.output


def commits(count: int) -> list[Commit]:
    return [Commit(f"{i:040x}", f"change {i}") for i in range(count)]


@pytest.mark.parametrize("first", range(1, 17))
def test_halving_finds_the_first_bad_commit(first: int) -> None:
    chain = commits(17)
    search = Search(chain, lambda c: int(c.name, 16) >= first)
    assert search.first_bad() == (chain[first], [])
    assert search.asked <= 5


def test_commits_that_cannot_be_judged_are_left_out_or_told() -> None:
    chain = commits(9)
    search = Search(chain, lambda c: None if int(c.name, 16) in (3, 4) else int(c.name, 16) >= 5)
    assert search.first_bad() == (chain[5], [chain[3], chain[4]])
    search = Search(chain, lambda c: None if int(c.name, 16) == 3 else int(c.name, 16) >= 7)
    assert search.first_bad() == (chain[7], [])


def test_a_hunk_is_told_by_file_and_line(repository: Path) -> None:
    there = Repository(repository)
    hunks = there.hunks(there.commit("main~3"), there.commit("main~2"))
    assert len(hunks) >= 2
    line = next(h for h in hunks if "x[i] > 500" in h.text).changed[0]
    hunk, why = hunk_of(hunks, [Location(0, "scaled", 0, "build/app.c", line)])
    assert hunk is not None
    assert "x[i] > 500" in hunk.text
    assert f"line {line}" in why
    assert hunk_of(hunks, [Location(0, "f", 0, "other.c", 3)]) == (None, "")
