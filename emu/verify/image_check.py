"""What can be wrong between a spec and an image, found before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from emu.image import Image
from emu.image.errors import SymbolError
from emu.image.map import NOWHERE, describe
from emu.image.names import demangled, find_function
from emu.kernels.spec import Kernel
from emu.verify.errors import UsageProblem
from emu.verify.marshal import Marshal
from emu.verify.prototype import disagreements
from emu.verify.selection import similar


def check_image(image: Image, kernels: Sequence[Kernel]) -> None:
    """Everything that can be known before running. Raises UsageProblem."""
    check_symbols(image, kernels)
    for kernel in kernels:
        _check_setup(image, kernel)
    wrong = disagreements(image, kernels)
    if wrong:
        raise UsageProblem(f"the spec does not fit {image.name}: {'; '.join(wrong[:5])}")
    for kernel in kernels:
        Marshal(image, kernel)


def _check_setup(image: Image, kernel: Kernel) -> None:
    for name in kernel.setup:
        try:
            if name != "init_array":
                find_function(image, name)
        except SymbolError as error:
            raise UsageProblem(f"kernel {kernel.symbol}, setup: {error}") from None


def check_symbols(image: Image, kernels: Sequence[Kernel]) -> None:
    """Every kernel must be a function of the image. Raises UsageProblem that names the missing ones."""
    if kernels and not len(image.symbols):
        raise UsageProblem(
            f"{image.name} has no symbols, so no function can be found in it; give the ELF file as it was "
            "before strip"
        )
    missing = []
    for kernel in kernels:
        try:
            _check_place(image, kernel.symbol, find_function(image, kernel.symbol).address)
        except SymbolError as error:
            if kernel.symbol in image.symbols or " is the name of several " in str(error):
                raise UsageProblem(str(error)) from error
            names = [demangled(s.name) for s in image.symbols.functions()]
            missing.append(f"{kernel.symbol}{similar(kernel.symbol, names)}")
    if missing:
        raise UsageProblem(
            f"{image.name} has no function {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''} "
            f"({len(missing)} of {len(kernels)} kernels are missing); choose kernels with --kernel, or "
            "describe your own with --spec"
        )


def _check_place(image: Image, name: str, address: int) -> None:
    if image.is_code(address):
        return
    where = describe(address)
    if where == "ROM":
        why = "in the chip's ROM, whose code is no part of the image"
    elif where == NOWHERE:
        why = "where the chip has no memory"
    else:
        why = f"in {where}, where the image has no code"
    raise UsageProblem(f"{image.name}: {name} is at {address:#010x}, {why}")
