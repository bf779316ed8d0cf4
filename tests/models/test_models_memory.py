"""Memory of a picture on either target: far below what a build machine has."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMIT = 1500 << 20
_MEASURE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-c", "from emu.cli import main; main()", *sys.argv[1:]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
sys.exit(done.returncode)
"""


@pytest.mark.parametrize("target", ["mirror", "image"])
def test_a_picture_fits_a_small_machine(target, tmp_path, capsys):
    words = ["draw", "девушка в шляпе", "--steps", "1", "--target", target, "-o", str(tmp_path / "f.png")]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    peak = int(done.stdout.split()[-1])
    with capsys.disabled():
        print(f"\n  draw on the {target}: {peak / (1 << 20):,.0f} MB at most")
    assert 50 << 20 < peak < LIMIT
