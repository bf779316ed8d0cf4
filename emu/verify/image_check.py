"""What can be wrong between a spec and an image, found before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from emu.image import Image
from emu.image.errors import SymbolError
from emu.kernels.spec import Kernel
from emu.verify.errors import UsageProblem
from emu.verify.prototype import disagreements
from emu.verify.selection import similar


def check_image(image: Image, kernels: Sequence[Kernel]) -> None:
    """Everything that can be known before running. Raises UsageProblem."""
    check_symbols(image, kernels)
    wrong = disagreements(image, kernels)
    if wrong:
        raise UsageProblem(f"the spec does not fit {image.name}: {'; '.join(wrong[:5])}")


def check_symbols(image: Image, kernels: Sequence[Kernel]) -> None:
    """Every kernel must be a function of the image. Raises UsageProblem that names the missing ones."""
    if kernels and not len(image.symbols):
        raise UsageProblem(
            f"{image.name} has no symbols, so no function can be found in it; give the ELF file as it was "
            "before strip"
        )
    missing = []
    for kernel in kernels:
        if kernel.symbol not in image.symbols:
            names = [s.name for s in image.symbols.functions()]
            missing.append(f"{kernel.symbol}{similar(kernel.symbol, names)}")
            continue
        try:
            image.symbols.function(kernel.symbol)
        except SymbolError as error:
            raise UsageProblem(str(error)) from error
    if missing:
        raise UsageProblem(
            f"{image.name} has no function {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''} "
            f"({len(missing)} of {len(kernels)} kernels are missing); choose kernels with --kernel, or "
            "describe your own with --spec"
        )
