"""From LLVM text to callable native code: optimise, emit an object, link it into this process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

QUICK, SCALAR, FULL = "quick", "scalar", "full"
"""Effort. `QUICK`: the least that gives usable code, for what may not run often. `FULL`: O2 with the loop
vectoriser, five times the cost; measured: SLP vectorisation and unrolling would cost a fifth more and
gain nothing. `SCALAR`: the same at O1, for code without vector instructions: three quarters of the cost, and
as fast within a few percent.
"""
_LEVELS = {SCALAR: 1, FULL: 2}


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


@cache
def host_description() -> str:
    """What generated objects depend on: processor, its features, LLVM and llvmlite."""
    version = ".".join(map(str, llvm.llvm_version_info))
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_host_cpu_name()} {features} LLVM {version} llvmlite {llvmlite.__version__}"


@cache
def _machine(effort: str) -> Any:
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=0 if effort == QUICK else 2,
        reloc="pic",
        codemodel="small",
    )


@cache
def module_header() -> str:
    """Data layout and triple of this machine, for the top of a module."""
    machine = _machine(FULL)
    return f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"'


def optimise(text: str, effort: str) -> Any:
    """An optimised LLVM module. Raises RuntimeError for text that LLVM refuses: a fault of the translator."""
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=_LEVELS.get(effort, 1))
    options.loop_vectorization = effort != QUICK
    options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(_machine(effort), options)
    passes = _few_passes() if effort == QUICK else builder.getModulePassManager()
    passes.run(module, builder)
    return module


def _few_passes() -> Any:
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def object_code(text: str, effort: str = FULL) -> bytes:
    """A position-independent object file for this machine's processor."""
    code: bytes = _machine(effort).emit_object(optimise(text, effort))
    return code


class Loader:
    """Links objects into the process; each stays until :meth:`forget` or the loader's end."""

    def __init__(self) -> None:
        machine = _target().create_target_machine(reloc="pic", codemodel="small", jit=True)
        self._jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
        self._names = (f"unit{i}" for i in itertools.count())
        self._libraries: dict[int, Any] = {}

    def load(self, code: bytes, symbol: str) -> int:
        """Address of `symbol` of an object. Raises RuntimeError when the object does not link."""
        return self.load_all(code, (symbol,))[symbol]

    def load_all(self, code: bytes, symbols: Sequence[str]) -> dict[str, int]:
        """Addresses of several symbols of an object; the first one's is the object's name in
        :meth:`forget`.
        """
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            builder.export_symbol(symbol)
        library = builder.link(self._jit, next(self._names))
        addresses: dict[str, int] = {symbol: library[symbol] for symbol in symbols}
        self._libraries[addresses[symbols[0]]] = library
        return addresses

    def forget(self, address: int) -> None:
        """Unload the object that `load` put at `address`; it must not be running."""
        self._libraries.pop(address).close()
