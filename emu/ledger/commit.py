"""The commit of the folder that a run is started in: usually that of the firmware."""

from __future__ import annotations

import subprocess


def current_commit() -> tuple[str | None, bool]:
    """(commit, whether tracked files are changed); None outside a git checkout or without git."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None, False
    return commit, bool(_git("status", "--porcelain", "--untracked-files=no"))


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
