"""Fixtures for tests that are written by hand. Each of them imports what it needs when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from emu.cpu.engine import Engine
    from emu.image import Image
    from emu.kernels.spec import Kernel
    from emu.verify.target import Target

Verify = Callable[..., None]


@pytest.fixture
def emu_target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """What --emu-target names: ``emu_target.call(kernel, case)`` runs a kernel on it.

    A board is locked for the test, so that workers take turns.
    """
    from emu.pytest_plugin.session import session_of

    with session_of(request.config).runner() as runner:
        yield runner.target


@pytest.fixture
def emu_engine(request: pytest.FixtureRequest, emu_image: Image) -> Engine:
    """A CPU with the image loaded, new for every test: ``emu_engine.call("function", [1, 2]).a2``.

    Skipped where the target is no image: there is no engine then.
    """
    from emu.cpu.engine import Engine
    from emu.pytest_plugin.session import settings_of

    target = settings_of(request.config).target
    if target != "image":
        pytest.skip(f"emu_engine needs --emu-target image, not {target}")
    return Engine(emu_image)


@pytest.fixture
def emu_image(request: pytest.FixtureRequest) -> Image:
    """The loaded firmware image: symbols, segments, source lines."""
    from emu.pytest_plugin.session import session_of

    return session_of(request.config).image


@pytest.fixture
def emu_elf(request: pytest.FixtureRequest) -> Path:
    """Path of the firmware image."""
    from emu.pytest_plugin.session import session_of

    return session_of(request.config).elf


@pytest.fixture
def emu_kernels(request: pytest.FixtureRequest) -> dict[str, Kernel]:
    """Kernels of the spec files by symbol; without a spec file the bundled ones."""
    from emu.pytest_plugin.session import session_of

    return session_of(request.config).kernels()


@pytest.fixture
def emu_verify(request: pytest.FixtureRequest) -> Verify:
    """``emu_verify("my_kernel", examples=50)``: run a kernel's examples; the test fails on a difference."""
    from emu.pytest_plugin.session import session_of

    session = session_of(request.config)

    def verify(symbol: str, examples: int | None = None) -> None:
        kernels = session.kernels()
        if symbol not in kernels:
            pytest.fail(f"no spec describes {symbol!r}; known: {', '.join(sorted(kernels))}", pytrace=False)
        verified = session.verify(kernels[symbol], None, examples)
        request.node.user_properties.extend(verified.properties)
        if verified.text:
            pytest.fail(verified.text, pytrace=False)

    return verify
