"""Settings of a pytest session, and the targets that its tests share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

    from emu.image import Image
    from emu.kernels.spec import Kernel
    from emu.pytest_plugin.verified import Verified
    from emu.verify.options import TargetName
    from emu.verify.runner import Runner

_FILES = ("emu_*.py", "*_emu.py")


@dataclass(frozen=True)
class Settings:
    """Options of the command line, else those of the configuration file, else the defaults."""

    target: TargetName
    port: str
    elf: Path | None
    specs: tuple[Path, ...]
    files: tuple[str, ...]
    examples: int
    seed: int
    out: Path
    databases: tuple[Path, ...]
    root: Path

    def headline(self) -> str:
        """One line for the report."""
        where = f"board at {self.port}" if self.target == "board" else self.target
        image = f", {self.elf.name}" if self.elf is not None else ""
        return f"emu: {where}{image}, {self.examples} examples of each kernel, seed {self.seed}"


def settings_of(config: pytest.Config) -> Settings:
    """Read and check the settings. Raises pytest.UsageError for what is wrong with them."""
    where = config.inipath.parent if config.inipath is not None else config.rootpath
    start = config.invocation_params.dir

    def path(name: str) -> Path | None:
        value = config.getoption(f"emu_{name}", None)
        if value is not None:
            return start / Path(value).expanduser()
        value = config.getini(f"emu_{name}")
        return where / Path(value).expanduser() if value else None

    def paths(name: str) -> tuple[Path, ...]:
        values = config.getoption(f"emu_{name}", None)
        if values is not None:
            return tuple(start / Path(v).expanduser() for v in values)
        return tuple(where / Path(v).expanduser() for v in config.getini(f"emu_{name}") or ())

    settings = Settings(
        target=cast("TargetName", _text(config, "target") or "image"),
        port=_text(config, "port"),
        elf=path("elf"),
        specs=paths("spec"),
        files=tuple(config.getini("emu_files") or _FILES),
        examples=_number(config, "examples", 200, 1),
        seed=_number(config, "seed", 0, 0),
        out=path("out") or start / "emu-verify",
        databases=paths("database") or (start / ".hypothesis" / "examples",),
        root=start,
    )
    _check(settings)
    return settings


def _text(config: pytest.Config, name: str) -> str:
    value = config.getoption(f"emu_{name}", None)
    return str(value if value is not None else config.getini(f"emu_{name}") or "")


def _number(config: pytest.Config, name: str, default: int, least: int) -> int:
    text = _text(config, name)
    if not text:
        return default
    if not text.isdecimal() or int(text) < least:
        raise pytest.UsageError(f"--emu-{name} {text}: not a number from {least} on")
    return int(text)


def _check(settings: Settings) -> None:
    if settings.target not in ("mirror", "image", "board"):
        raise pytest.UsageError(f"emu_target = {settings.target}: mirror, image or board")
    if settings.target == "board" and not settings.port:
        raise pytest.UsageError("--emu-target board needs --emu-port, such as /dev/ttyACM0")
    if settings.port and settings.target != "board":
        raise pytest.UsageError("--emu-port belongs to --emu-target board")
    for what, file in (("elf", settings.elf), *(("spec", spec) for spec in settings.specs)):
        if file is not None and not file.is_file():
            raise pytest.UsageError(f"--emu-{what} {file}: no such file")


_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def session_of(config: pytest.Config) -> Session:
    """The session's one :class:`Session`, made when first asked for."""
    if _SESSION not in config.stash:
        session = config.stash[_SESSION] = Session(settings_of(config), hasattr(config, "workerinput"))
        config.add_cleanup(session.close)
    return config.stash[_SESSION]


class Session:
    """Image, kernels and targets of one process. ``shared``: others work beside it (pytest-xdist)."""

    def __init__(self, settings: Settings, shared: bool) -> None:
        self.settings = settings
        self._shared = shared
        self._runner: Runner | None = None
        self._specs: dict[Path, dict[str, Kernel]] = {}

    @cached_property
    def elf(self) -> Path:
        """The image's file."""
        from emu.verify.reference import reference_elf

        return self.settings.elf or reference_elf()

    @cached_property
    def image(self) -> Image:
        """The loaded image. Raises ImageError for what is none."""
        from emu.image import load_image

        return load_image(self.elf)

    def kernels_of(self, spec: Path) -> dict[str, Kernel]:
        """Kernels of one spec file, which is executed once. Raises UsageProblem."""
        from emu.pytest_plugin.specs import load

        spec = spec.resolve()
        if spec not in self._specs:
            self._specs[spec] = load(spec)
        return self._specs[spec]

    def kernels(self) -> dict[str, Kernel]:
        """Kernels of all spec files that are named or were collected; without any the bundled ones."""
        for spec in self.settings.specs:
            self.kernels_of(spec)
        if self._specs:
            return {s: k for kernels in self._specs.values() for s, k in kernels.items()}
        from emu.kernels import load_all

        return dict(load_all())

    def database(self) -> ExampleDatabase:
        """The first database, behind it the others to read."""
        from hypothesis.database import (
            DirectoryBasedExampleDatabase,
            MultiplexedDatabase,
            ReadOnlyDatabase,
        )

        first, *others = (DirectoryBasedExampleDatabase(path) for path in self.settings.databases)
        return MultiplexedDatabase(first, *(ReadOnlyDatabase(other) for other in others)) if others else first

    def options(self, examples: int | None = None) -> Any:
        """Options of a run on the session's target."""
        from emu.verify.options import Options

        s = self.settings
        return Options(
            target=s.target,
            elf=self.elf if s.target == "image" else s.elf,
            seed=s.seed,
            examples=examples or s.examples,
            jobs=1,
            out=s.out,
            port=s.port,
        )

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """The targets. Where processes share a board, they take turns, and each one closes it again."""
        if self.settings.target != "board" or not self._shared:
            yield self._made()
            return
        from filelock import FileLock

        from emu.toolchain.cache import cache_dir

        name = hashlib.sha256(self.settings.port.encode()).hexdigest()[:16]
        folder = cache_dir() / "ports"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{name}.lock"):
            try:
                yield self._made()
            finally:
                self.close()

    def _made(self) -> Runner:
        from emu.verify.targets import make_runner

        if self._runner is None:
            self._runner = make_runner(self.options())
        return self._runner

    def verify(self, kernel: Kernel, spec: Path | None, examples: int | None = None) -> Verified:
        """Run a kernel's examples, those that failed before first."""
        from emu.pytest_plugin.verified import verify

        return verify(self, kernel, spec, examples)

    def close(self) -> None:
        """Close the target, if there is one."""
        if self._runner is not None:
            self._runner.target.close()
            self._runner = None
