"""The agent's core under AddressSanitizer and UBSan: no conversation reads or writes elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from host_agent import HERE, host_library, includes, sources

FLAGS = ["-std=c11", "-O1", "-g", "-fno-builtin", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = Path(tmp_path_factory.mktemp("fuzz")) / "fuzz"
    files = [*sources(), str(HERE / "fuzz.c")]
    subprocess.run([host_library.host_compiler(), *FLAGS, *includes(), *files, "-o", str(out)], check=True)
    return out


def run(fuzzer: Path, seed: int, count: int) -> dict[str, int]:
    done = subprocess.run(
        [str(fuzzer), str(seed), str(count)],
        capture_output=True,
        text=True,
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    numbers = [int(n) for n in re.findall(r"\d+", done.stdout)]
    return dict(zip(("inputs", "answered", "damaged", "executed"), numbers, strict=True))


@pytest.mark.parametrize("seed", [1, 2])
def test_short_fuzzing(fuzzer: Path, seed: int) -> None:
    counts = run(fuzzer, seed, 200_000)
    print(counts)
    assert counts["inputs"] == 200_000
    assert counts["executed"] > 20_000, "most inputs must get past the frame decoder"
    assert counts["damaged"] > 5_000


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
def test_ten_million_inputs(fuzzer: Path, seed: int) -> None:
    assert run(fuzzer, seed, 1_000_000)["executed"] > 100_000
