"""Peers of ``emu bench kernels``: the firmware's C compiled for this machine, and others' matrix products.

Each peer is made by a function that raises LookupError with the reason when it is not there.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from emu.kernels.spec import Kernel, Tensor
from emu.toolchain.build import firmware_folder
from emu.toolchain.errors import ToolchainError
from emu.toolchain.plugin import host_compiler
from emu.verify.case import Case

Call = Callable[[], object]
_FLAGS = ("-O2", "-std=c11", "-ffp-contract=off", "-fno-builtin", "-shared", "-fPIC")
_KERNELS = ("dot_s8_c.c", "dot_int4_c.c", "dot_ternary_c.c")
_LEFT_OUT = ("memory.c",)


def native_library() -> ctypes.CDLL:
    """The scalar C of firmware/ compiled with the host's compiler and -O2."""
    try:
        root = firmware_folder()
        compiler = host_compiler()
    except ToolchainError as error:
        raise LookupError(error.problem) from error
    sources = [p for p in (root / "numerics").glob("*.c") if p.name not in _LEFT_OUT]
    sources += [root / "kernels" / name for name in _KERNELS]
    includes = [f"-I{root / name}" for name in ("include", "numerics", "kernels")]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "native.so"
        command = [*compiler, *_FLAGS, *includes, *map(str, sources), "-lm", "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LookupError(f"{compiler[0]} failed: {done.stderr.strip().splitlines()[-1]}")
        return ctypes.CDLL(str(out))


def native_call(
    library: ctypes.CDLL, kernel: Kernel, symbol: str, case: Case, outputs: dict[str, Any]
) -> Call:
    """A call of ``symbol`` with the case's arrays; ``outputs`` are written."""
    try:
        function = getattr(library, symbol)
    except AttributeError as error:
        raise LookupError(f"{symbol} is not in the native library") from error
    function.restype = ctypes.c_int32
    words: list[Any] = []
    for param in kernel.params:
        if isinstance(param, Tensor):
            array = case.arrays.get(param.name, outputs.get(param.name))
            words.append(ctypes.c_void_p(array.ctypes.data))  # type: ignore[union-attr]
        elif np.dtype(param.dtype).kind == "f":
            words.append(ctypes.c_float(float(case.scalars[param.name])))
        else:
            words.append(ctypes.c_uint32(int(case.scalars[param.name]) & 0xFFFFFFFF))
    return lambda: function(*words)


def onnx_product(a: Any, b: Any, exact: bool = False) -> Call:
    """MatMulInteger of onnxruntime on one thread: a uint8 [m][k], b int8 [k][n] constant.

    ``exact``: with session.x64quantprecision, which keeps onnxruntime from instructions that saturate.
    """
    try:
        import onnx  # type: ignore[import-not-found]
        import onnxruntime  # type: ignore[import-not-found]
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise LookupError(f"{error.name} is not installed: pip install 'esp32s3-emu[bench]'") from error
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, list(a.shape))],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [a.shape[0], b.shape[1]])],
        [numpy_helper.from_array(b, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda: session.run(None, {"a": a})


def torch_product(a: Any, b: Any) -> Call:
    """torch._int_mm on one thread: int8 [m][k] times int8 [k][n]."""
    try:
        import torch  # type: ignore[import-not-found]
    except ImportError as error:
        raise LookupError("torch is not installed (gigabytes; install it by hand to compare)") from error
    torch.set_num_threads(1)
    left, right = torch.from_numpy(a.view(np.int8)), torch.from_numpy(b)
    return lambda: torch._int_mm(left, right)
