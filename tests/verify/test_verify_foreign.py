"""Every kind of parameter on a foreign image: right mirrors are equal, slightly wrong ones are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from emu.image import load_image
from emu.kernels.spec import REGISTRY, Kernel
from emu.spec import In, Size, kernel
from emu.toolchain import Toolchain
from emu.verify.image_check import check_image
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.runner import Runner
from emu.verify.specfile import load_spec, validate
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget
from tests.verify.foreign_build import HERE, build_foreign

EXAMPLES = 40


def _kernels() -> dict[str, Kernel]:
    before = dict(REGISTRY)
    found = load_spec(HERE / "foreign_spec.py")
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]
    return found


KERNELS = _kernels()


@pytest.fixture(scope="module")
def elf(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_foreign(toolchain, tmp_path_factory.mktemp("foreign"))


@pytest.fixture(scope="module")
def runner(elf: Path) -> Runner:
    options = Options(elf=elf, shrink_seconds=0.0)
    return Runner(MirrorTarget(), ImageTarget(elf, options), options)


def test_the_specs_fit_the_image(elf: Path) -> None:
    validate(KERNELS)
    check_image(load_image(elf), list(KERNELS.values()))


@pytest.mark.parametrize("symbol", list(KERNELS))
def test_right_mirrors_are_equal(symbol: str, runner: Runner) -> None:
    piece = runner.run(KERNELS[symbol], 0, cases(KERNELS[symbol], 0, 0, EXAMPLES))
    assert not piece.error
    assert (piece.bad, piece.examples) == (0, EXAMPLES), piece.failure
    assert bool(piece.leak) == (symbol == "heapy")


def spoiled(kernel: Kernel) -> Kernel:
    """The mirror computes the right thing and then changes the last bit of it."""

    def mirror(*arguments: Any) -> Any:
        value = kernel.mirror(*arguments)
        if isinstance(value, tuple):
            return (*value[:-1], value[-1] ^ 1)
        if value is not None:
            return int(value) + 1 if kernel.returns != "float64" else np.nextafter(value, np.float64(0.25))
        for name in ("y", "x"):
            place = next((i for i, p in enumerate(kernel.params) if p.name == name), -1)
            if place >= 0 and arguments[place].size and arguments[place].flags.writeable:
                arguments[place][-1] ^= 1
                return None
        return None

    return replace(kernel, mirror=mirror)


@pytest.mark.parametrize("symbol", list(KERNELS))
def test_wrong_results_are_seen(symbol: str, runner: Runner) -> None:
    kernel = spoiled(KERNELS[symbol])
    piece = runner.run(kernel, 0, cases(kernel, 0, 0, EXAMPLES))
    assert piece.bad > EXAMPLES // 2, piece.error


@pytest.mark.parametrize(("symbol", "member", "output"), [
    ("layer", "acc", "layer.acc"), ("Scale::run", "calls", "self.calls"), ("lookup", "zero", "zero"),
])  # fmt: skip
def test_state_in_structs_and_globals_is_compared(
    symbol: str, member: str, output: str, runner: Runner
) -> None:
    kernel = KERNELS[symbol]

    def mirror(*arguments: Any) -> Any:
        value = kernel.mirror(*arguments)
        state = getattr(arguments[0], member, None)
        (state if state is not None else arguments[3])[0] ^= 1
        return value

    wrong = replace(kernel, mirror=mirror)
    piece = runner.run(wrong, 0, cases(wrong, 0, 0, 20))
    assert piece.failure is not None
    assert piece.failure.outcome.mismatch is not None
    assert [d.output for d in piece.failure.outcome.mismatch.differences] == [output]


@pytest.mark.parametrize("flag", ["-gdwarf-4", "-gdwarf-5"])
def test_both_versions_of_debug_information(flag: str, toolchain: Toolchain, tmp_path: Path) -> None:
    image = load_image(build_foreign(toolchain, tmp_path, flag))
    check_image(image, list(KERNELS.values()))


def test_without_debug_information_the_spec_suffices(elf: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    bare = tmp_path / "bare.elf"
    bare.write_bytes(elf.read_bytes())
    toolchain.run("strip", ["-g", bare])
    options = Options(elf=bare, shrink_seconds=0.0)
    runner = Runner(MirrorTarget(), ImageTarget(bare, options), options)
    places = {
        "Scale::run": {"mult": 4, "calls": 8, "_vptr$Scale": 0},
        "layer": {"w": 0, "bias": 4, "q.mult": 8, "q.shift": 12, "acc": 16, "act": 32},
        "by_value": {},
        "later": {},
        "poly": {},
    }
    for symbol, offsets in places.items():
        kernel = KERNELS[symbol]
        if offsets:
            first = replace(kernel.params[0], offsets=offsets)
            kernel = replace(kernel, params=(first, *kernel.params[1:]))
        piece = runner.run(kernel, 0, cases(kernel, 0, 0, 20))
        assert (piece.error, piece.bad) == ("", 0), symbol


def test_a_compiled_mirror_has_hints_too(elf: Path) -> None:
    @kernel("heapy", n=(1, 40))
    @njit
    def heapy(x: In("int8", "n"), n: Size("n"), leak: Size(0)) -> np.int32:
        total = 0
        for i in range(n):
            total += x[i]
        return total

    found = REGISTRY.pop("heapy")
    assert heapy.py_func.__name__ == "heapy"
    options = Options(elf=elf, shrink_seconds=0.0)
    piece = Runner(MirrorTarget(), ImageTarget(elf, options), options).run(found, 0, cases(found, 0, 0, 20))
    assert (piece.error, piece.bad, piece.leak) == ("", 0, "")
