import os
import subprocess
import sys
from pathlib import Path

import pytest

from emu.cpu import cache
from emu.cpu.cache import FileCache, default_folder

KEY = "ab" * 32


def test_what_was_put_is_found_by_another_object(tmp_path):
    FileCache(tmp_path).put(KEY, b"code")
    assert FileCache(tmp_path).get(KEY) == b"code"
    assert FileCache(tmp_path).get("cd" * 32) is None


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:40] + b"x" + d[41:], lambda d: d + b"y"]
)
def test_a_damaged_entry_counts_as_missing_and_is_replaced(tmp_path, damage):
    store = FileCache(tmp_path)
    store.put(KEY, b"a" * 100)
    (path,) = tmp_path.glob("*/*")
    path.write_bytes(damage(path.read_bytes()))
    assert store.get(KEY) is None
    assert not path.exists()
    store.put(KEY, b"b")
    assert store.get(KEY) == b"b"


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = FileCache(tmp_path / "file" / "below")
    store.put(KEY, b"code")
    assert store.get(KEY) is None


def test_nothing_but_entries_is_left_behind(tmp_path):
    store = FileCache(tmp_path)
    for i in range(20):
        store.put(f"{i:064x}", bytes(i))
    assert sorted(path.name for path in tmp_path.glob("*/*")) == [f"{i:064x}" for i in range(20)]


def test_the_oldest_files_go_when_there_are_too_many_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 1000)
    first = FileCache(tmp_path)
    first._is_pruned = True
    for i in range(10):
        first.put(f"{i:064x}", bytes(200))
        (path,) = tmp_path.glob(f"*/{i:064x}")
        os.utime(path, (i + 1, i + 1))
    first.get(f"{0:064x}")
    FileCache(tmp_path).put(KEY, b"newest")
    left = {path.name for path in tmp_path.glob("*/*")}
    assert KEY in left
    assert f"{0:064x}" in left, "used a moment ago"
    assert f"{1:064x}" not in left
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= 1000


def test_processes_that_write_the_same_keys_never_show_half_an_entry(tmp_path):
    program = (
        "import sys; from pathlib import Path; from emu.cpu.cache import FileCache\n"
        "store = FileCache(Path(sys.argv[1]))\n"
        "for round in range(60):\n"
        "    for i in range(8):\n"
        "        key = f'{i:064x}'; want = bytes([i]) * (1000 + 5000 * i)\n"
        "        found = store.get(key)\n"
        "        assert found in (None, want), len(found)\n"
        "        store.put(key, want)\n"
        "assert all(store.get(f'{i:064x}') for i in range(8))\n"
    )
    here = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": here}
    runs = [subprocess.Popen([sys.executable, "-c", program, tmp_path], env=environment) for _ in range(3)]
    assert [run.wait(60) for run in runs] == [0, 0, 0]


def test_the_folder_can_be_named(tmp_path, monkeypatch):
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path / "translated"
