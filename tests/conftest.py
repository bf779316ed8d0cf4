"""What all tests share: the --long option and the compiler."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings

from emu.toolchain import Toolchain, ToolchainError, doctor, find_toolchain

# Tests are no runs that anybody wants in their history; those of the ledger name one of their own.
os.environ["EMU_LEDGER"] = "off"

# A shell that starts a job in the background makes it ignore Ctrl-C, and its children with it; the tests of
# Ctrl-C send one to theirs.
_in_main_thread = threading.current_thread() is threading.main_thread()
if _in_main_thread and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a test may compile or build what it tests: time says nothing about the example.
settings.register_profile("emu", deadline=None)
settings.load_profile("emu")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the long campaigns (marker `long`)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="long campaign; run with --long"))


@pytest.fixture(scope="module", autouse=True)
def _only_bundled_kernels_afterwards() -> Iterator[None]:
    """Kernels of spec files that tests load in this process are nobody else's."""
    yield
    spec = sys.modules.get("emu.kernels.spec")
    for symbol, kernel in list(spec.REGISTRY.items() if spec is not None else ()):
        mirror = getattr(kernel.mirror, "py_func", kernel.mirror)
        if not str(getattr(mirror, "__module__", "")).startswith("emu.kernels"):
            del spec.REGISTRY[symbol]


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """The compiler for the chip. Without one the test fails in CI and is skipped, aloud, elsewhere."""
    try:
        return find_toolchain()
    except ToolchainError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}\n{doctor.report()}", pytrace=False)
        pytest.skip(f"no compiler for the ESP32-S3; to mend: {error.mend}")
