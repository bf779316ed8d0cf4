"""The registry against the C header: every function, its parameters in order, its types."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from emu.kernels.spec import Kernel, Scalar, Tensor
from tests.kernels.calls import KERNELS, draw

INCLUDE = Path(__file__).parents[2] / "firmware" / "include"
HEADERS = [INCLUDE / name for name in ("emu_kernels.h", "emu_model_kernels.h")]
DTYPES = {"float": "float32", "void": None} | {
    f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)
}


def prototypes() -> dict[str, tuple[str | None, list[tuple[str, str, bool, bool]]]]:
    """Symbol to (return dtype, parameters as (name, dtype, is pointer, is const))."""
    text = "".join(re.sub(r"/\*.*?\*/", "", h.read_text(), flags=re.DOTALL) for h in HEADERS)
    found = {}
    for kind, symbol, arguments in re.findall(r"^(\w+) (\w+)\(([^)]*)\);", text, flags=re.MULTILINE):
        parameters = []
        for argument in arguments.split(","):
            const, base, star, name = re.fullmatch(r"\s*(const )?(\w+)\s+(\*?)(\w+)\s*", argument).groups()
            parameters.append((name, DTYPES[base], bool(star), bool(const)))
        found[symbol] = (DTYPES[kind], parameters)
    return found


PROTOTYPES = prototypes()
INDICES = {"argmax_f32", "sample_f32"}
"""Kernels that return an index, not a status."""

FAMILIES = {
    "float32": {"any", "finite", "unit", "ln_domain", "moderate", "gelu", "table", "interval"},
    "int8": {"s8", "s8_full"},
    "uint8": {"u8", "codes"},
    "int32": {"s32", "interval"},
    "uint16": {"bits"},
    "uint32": {"bits"},
    "uint64": {"bits"},
}


def test_every_function_of_the_header_has_a_mirror_and_no_other_exists():
    assert len(PROTOTYPES) == 80
    assert set(KERNELS) == set(PROTOTYPES)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_parameters_are_those_of_the_prototype(kernel: Kernel):
    returns, parameters = PROTOTYPES[kernel.symbol]
    assert kernel.returns == returns
    assert [(p.name, p.dtype, isinstance(p, Tensor)) for p in kernel.params] == [p[:3] for p in parameters]
    for parameter, (_, _, _, const) in zip(kernel.params, parameters, strict=True):
        if isinstance(parameter, Tensor):
            assert (parameter.role == "in") == const


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_the_mirror_takes_the_same_parameters(kernel: Kernel):
    code = kernel.mirror.py_func.__code__
    assert list(code.co_varnames[: code.co_argcount]) == [p.name for p in kernel.params]
    assert (
        kernel.mirror.py_func.__name__ == kernel.symbol.removesuffix("_c")
        or "_c" in kernel.mirror.py_func.__name__
    )
    assert "section" in kernel.mirror.py_func.__doc__ or kernel.symbol.startswith(("digest", "crc32", "dot"))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_the_spec_is_complete(kernel: Kernel):
    assert kernel.source
    names = {d.name for d in kernel.dims} | set(kernel.derived)
    for parameter in kernel.params:
        if isinstance(parameter, Scalar) and isinstance(parameter.value, str):
            assert parameter.value in names
        if isinstance(parameter, Tensor) or parameter.value is None:
            values = "interval" if parameter.values[0] in "[(" else parameter.values
            assert values in FAMILIES[parameter.dtype] or (
                isinstance(parameter, Tensor) and parameter.role == "out" and values == "any"
            )
    if kernel.returns == "int32" and kernel.symbol not in INDICES:
        assert {f.status for f in kernel.faults} >= {1}


@pytest.mark.parametrize("symbol", KERNELS)
def test_filling_again_changes_nothing(symbol):
    """Shrinking fills an array again after it changed an element: a fill is a projection."""
    for seed in range(20):
        call = draw(symbol, seed)
        for parameter in call.kernel.params:
            if isinstance(parameter, Tensor) and parameter.fill is not None:
                array = call.array(parameter.name).copy()
                parameter.fill(call.dims, np.random.default_rng(7), array)
                once = array.copy()
                parameter.fill(call.dims, np.random.default_rng(7), array)
                assert array.tobytes() == once.tobytes()


@pytest.mark.parametrize("symbol", KERNELS)
def test_no_mirror_touches_what_it_does_not_own(symbol):
    """Inputs and the bytes around every buffer stay as they were (checked inside run)."""
    statuses = {draw(symbol, seed).run() for seed in range(60)}
    if KERNELS[symbol].returns == "int32" and symbol not in INDICES:
        assert statuses <= {0, 1, 4} if symbol == "embed_rows" else statuses <= {0, 4}
        assert 0 in statuses


def test_a_name_is_registered_once():
    from emu.kernels.spec import kernel

    with pytest.raises(ValueError, match="'rne_array' is registered twice"):
        kernel("rne_array")(lambda x: x)
