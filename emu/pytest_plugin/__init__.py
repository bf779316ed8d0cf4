"""pytest: kernels of a spec file as test items, and fixtures for tests that call firmware functions.

Loaded by pytest in every session of an environment that has this package, so it imports nothing but pytest
and does nothing until an ``--emu-...`` option, an ``emu_...`` setting or one of its fixtures is used.
See docs/pytest.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emu.pytest_plugin.fixtures import (
    emu_elf,
    emu_engine,
    emu_image,
    emu_kernels,
    emu_target,
    emu_verify,
)

__all__ = ["emu_elf", "emu_engine", "emu_image", "emu_kernels", "emu_target", "emu_verify"]

COLLECTOR = "emu-kernels"
_OPTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("target", {"choices": ("mirror", "image", "board")}, "What runs the kernels; default: image."),
    ("port", {"metavar": "URL"}, "With --emu-target board: /dev/ttyACM0, socket://host:port, ..."),
    ("elf", {"metavar": "FILE"}, "Firmware image; default: the bundled reference image."),
    (
        "spec",
        {"metavar": "FILE", "action": "append"},
        "Spec file whose kernels become tests (it is executed); may be repeated.",
    ),
    ("examples", {"metavar": "N"}, "Examples of each kernel; default: 200."),
    ("seed", {"metavar": "N"}, "Seed of the examples; default: 0."),
    ("out", {"metavar": "DIR"}, "Folder for failing cases; default: emu-verify."),
    (
        "database",
        {"metavar": "DIR", "action": "append"},
        "Hypothesis example database for failing cases, tried first next time; further ones are only read. "
        "Default: .hypothesis/examples.",
    ),
)
_SETTINGS = {
    "emu_target": ("mirror, image or board", "string"),
    "emu_port": ("serial line of the board", "string"),
    "emu_elf": ("firmware image, relative to this file", "string"),
    "emu_spec": ("spec files whose kernels become tests, relative to this file", "linelist"),
    "emu_files": ("patterns of spec files among the collected files", "args"),
    "emu_examples": ("examples of each kernel", "string"),
    "emu_seed": ("seed of the examples", "string"),
    "emu_out": ("folder for failing cases, relative to this file", "string"),
    "emu_database": ("example databases, relative to this file; the first one is written", "linelist"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and settings, all of them named after this package."""
    group = parser.getgroup("emu", "ESP32-S3 kernels against their Python mirrors")
    for name, how, text in _OPTIONS:
        group.addoption(f"--emu-{name}", default=None, help=text, **how)
    for name, (text, kind) in _SETTINGS.items():
        parser.addini(name, text, type=kind, default=None)  # type: ignore[arg-type]


def is_used(config: pytest.Config) -> bool:
    """Whether this session wants kernels as tests."""
    options = (config.getoption(f"emu_{name}", None) for name, _, _ in _OPTIONS)
    return any(o is not None for o in options) or any(config.getini(name) for name in _SETTINGS)


def pytest_configure(config: pytest.Config) -> None:
    """Collect kernels only in a session that asks for it."""
    if is_used(config) and not config.pluginmanager.has_plugin(COLLECTOR):
        from emu.pytest_plugin.collecting import Collector

        config.addinivalue_line("markers", "emu: a kernel of a spec file, run against its mirror")
        config.pluginmanager.register(Collector(config), COLLECTOR)


def pytest_report_header(config: pytest.Config, start_path: Path) -> list[str]:
    """What is tested, in sessions that test it."""
    if not is_used(config):
        return []
    from emu.pytest_plugin.session import settings_of

    return [settings_of(config).headline()]
