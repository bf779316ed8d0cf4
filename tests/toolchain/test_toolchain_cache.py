"""The cache folder: made once by many, nothing left of what failed, clear words when it cannot be written."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from emu.toolchain import ToolchainError
from emu.toolchain.cache import cache_dir, make_once, remove


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path))
    return tmp_path


def is_whole(place: Path) -> bool:
    return (place / "last").exists()


def slow_build(fresh: Path, final: Path) -> None:
    with (final.parent / "builds").open("a") as log:
        log.write(f"{os.getpid()}\n")
    (fresh / "first").write_text("1")
    time.sleep(0.3)
    (fresh / "last").write_text("2")


def worker(root: str) -> None:
    os.environ["EMU_CACHE_DIR"] = root
    place = make_once("thing/x", slow_build, is_whole)
    assert sorted(path.name for path in place.iterdir()) == ["first", "last"]


def test_many_processes_build_once(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=worker, args=(str(folder),)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert len((folder / "thing/builds").read_text().splitlines()) == 1


def test_a_failed_build_leaves_nothing(folder: Path) -> None:
    def broken(fresh: Path, final: Path) -> None:
        (fresh / "first").write_text("1")
        raise ToolchainError("no network")

    with pytest.raises(ToolchainError, match="no network"):
        make_once("thing", broken, is_whole)
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_an_interrupted_older_folder_is_replaced(folder: Path) -> None:
    (folder / "thing").mkdir()
    (folder / "thing/first").write_text("old")
    place = make_once("thing", slow_build, is_whole)
    assert (place / "first").read_text() == "1"


def test_a_failed_rebuild_keeps_the_older_folder(folder: Path) -> None:
    (folder / "thing").mkdir()
    (folder / "thing/first").write_text("old")

    def broken(fresh: Path, final: Path) -> None:
        raise ToolchainError("no network")

    with pytest.raises(ToolchainError):
        make_once("thing", broken, is_whole)
    assert (folder / "thing/first").read_text() == "old"


def test_a_cache_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("not a folder")
    monkeypatch.setenv("EMU_CACHE_DIR", str(folder / "file"))
    with pytest.raises(ToolchainError, match="cannot write the cache folder") as caught:
        make_once("thing", slow_build, is_whole)
    assert "EMU_CACHE_DIR" in caught.value.mend


def test_place_of_the_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_dir() == folder
    monkeypatch.setenv("EMU_CACHE_DIR", "~/somewhere")
    assert cache_dir() == Path.home() / "somewhere"
    monkeypatch.delenv("EMU_CACHE_DIR")
    assert cache_dir().is_absolute()
    assert cache_dir().name == "esp32s3-emu"


def test_remove(folder: Path) -> None:
    make_once("thing", slow_build, is_whole)
    remove("thing")
    assert not (folder / "thing").exists()
    remove("thing")
