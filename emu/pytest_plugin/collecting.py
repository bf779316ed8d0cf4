"""Kernels of spec files as test items."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from emu.kernels.spec import Kernel
from emu.pytest_plugin.session import Session, session_of, settings_of
from emu.verify.errors import UsageProblem


class Collector:
    """Hooks of a session that wants kernels as tests."""

    def __init__(self, config: pytest.Config) -> None:
        settings = settings_of(config)
        self._specs = {spec.resolve() for spec in settings.specs}
        self._patterns = settings.files
        self._tests = tuple(config.getini("python_files"))

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[Any], list[Any]]:
        """A spec file is collected as one, and not as a module of tests besides."""
        found = yield
        if self._is_spec(file_path):
            return [SpecFile.from_parent(parent, path=file_path)]
        return found

    def _is_spec(self, path: Path) -> bool:
        if path.suffix != ".py" or path.name == "conftest.py":
            return False
        if path.resolve() in self._specs:
            return True
        is_test = any(fnmatchcase(path.name, pattern) for pattern in self._tests)
        return not is_test and any(fnmatchcase(path.name, pattern) for pattern in self._patterns)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Spec files named by an option or setting are there wherever the session looks for tests."""
        there = {item.path.resolve() for item in items if isinstance(item, KernelItem)}
        for spec in settings_of(session.config).specs:
            if spec.resolve() not in there:
                there.add(spec.resolve())
                items.extend(SpecFile.from_parent(session, path=spec).items())


class SpecFile(pytest.File):
    """A spec file: one item for each kernel that it registers."""

    def collect(self) -> Iterator[KernelItem]:
        """The kernels in the order of the file. Raises CollectError for what is wrong with it."""
        try:
            kernels = session_of(self.config).kernels_of(self.path)
        except UsageProblem as error:
            raise self.CollectError(str(error)) from None
        for symbol, kernel in kernels.items():
            yield KernelItem.from_parent(self, name=symbol, kernel=kernel)

    def items(self) -> list[KernelItem]:
        """The same for files that were not reached by collection. Raises pytest.UsageError."""
        try:
            return list(self.collect())
        except self.CollectError as error:
            raise pytest.UsageError(str(error)) from None


class KernelItem(pytest.Item):
    """One kernel: equal, or the smallest failing case and how to see it again."""

    def __init__(self, *, kernel: Kernel, **rest: Any) -> None:
        super().__init__(**rest)
        self.kernel = kernel
        self.funcargs: dict[str, Any] = {}
        """None; but other plugins (pytest-embedded) ask every item for its fixtures."""
        self.add_marker("emu")

    @property
    def emu(self) -> Session:
        """The session's targets."""
        return session_of(self.config)

    def runtest(self) -> None:
        """Verify the kernel. Raises KernelFailed unless it is equal."""
        verified = self.emu.verify(self.kernel, self.path)
        self.user_properties.extend(verified.properties)
        if verified.text:
            raise KernelFailed(f"{verified.text}\nagain     pytest {self.nodeid}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report of the verdict, without a Python traceback."""
        if isinstance(excinfo.value, KernelFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """File, line of the mirror, and name."""
        code = getattr(getattr(self.kernel.mirror, "py_func", self.kernel.mirror), "__code__", None)
        line = code.co_firstlineno - 1 if code is not None else None
        return self.path, line, f"kernel {self.name}"


class KernelFailed(Exception):
    """A kernel that is not equal; the text is the report."""
