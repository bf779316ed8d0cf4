"""The CI files of docs/ci and the examples of docs/pytest.md: read as YAML, and their commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.plugin.specs import GOOD

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "docs" / "ci"


def load(name: str) -> dict:
    # YAML 1.1 reads the key "on" as true
    return yaml.safe_load((CI / name).read_text())


def github_steps() -> list[dict]:
    return load("github.yml")["jobs"]["kernels"]["steps"]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of a CI file as its shell runs it; pytest of this environment, with the plugin."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    script = tools / "pytest"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest -p emu.pytest_plugin "$@"\n')
    script.chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project with one spec file."""
    (tmp_path / "emu_kernels.py").write_text(GOOD)
    (tmp_path / "pytest.ini").write_text("[pytest]\nemu_examples = 20\n")
    return tmp_path


def test_github_workflow_has_the_parts_that_it_needs():
    document = load("github.yml")
    assert set(document) == {"name", True, "jobs"}
    steps = github_steps()
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    cached = next(s for s in steps if "cache@" in s.get("uses", ""))["with"]["path"].split()
    kept = next(s for s in steps if "upload" in s.get("uses", ""))["with"]["path"].split()
    assert ".hypothesis" in cached
    assert {"kernels.xml", "emu-verify", ".hypothesis/examples"} <= set(kept)


def test_gitlab_file_has_the_parts_that_it_needs():
    document = load("gitlab.yml")
    jobs = {name: job for name, job in document.items() if isinstance(job, dict)}
    assert {job["stage"] for job in jobs.values()} == set(document["stages"])
    kernels = jobs["kernels"]
    assert kernels["artifacts"]["reports"]["junit"] == "kernels.xml"
    assert ".hypothesis" in kernels["cache"]["paths"]
    assert ".hypothesis/examples" in kernels["artifacts"]["paths"]


def test_both_install_the_same():
    install = next(s["run"] for s in github_steps() if s.get("name") == "Install")
    assert load("gitlab.yml")["kernels"]["before_script"] == [install]
    assert (
        re.match(r'name = "(.*)"', (ROOT / "pyproject.toml").read_text().split("[project]\n")[1])[1]
        in install
    )


def test_github_commands_run(project: Path):
    commands = [s["run"] for s in github_steps() if "run" in s and not s["run"].startswith("pip ")]
    assert len(commands) == 2
    for command in commands:
        done = run(command, project)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "kernels.xml").read_text().count("<testcase") == 2


def test_gitlab_commands_run(project: Path):
    document = load("gitlab.yml")
    for command in [*document["firmware"]["script"], *document["kernels"]["script"]]:
        done = run(command, project)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "kernels.xml").is_file()


def test_examples_of_the_page(project: Path):
    page = (ROOT / "docs" / "pytest.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (project / "emu_kernels.py").unlink()
    (project / "test_page.py").write_text(code)
    done = run("pytest -q", project)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_page_names_every_option_and_setting():
    from emu import pytest_plugin

    page = (ROOT / "docs" / "pytest.md").read_text()
    options = {f"--emu-{name}" for name, _, _ in pytest_plugin._OPTIONS}
    assert options == set(re.findall(r"\| `(--emu-[a-z]+)` \|", page))
    assert set(pytest_plugin._SETTINGS) <= set(re.findall(r"\| `(emu_[a-z]+)` \|", page))
