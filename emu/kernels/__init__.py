"""One mirror per firmware kernel, same name and same parameters as the C function, with its description.

Importing this package loads nothing; :func:`load_all` imports every module of the room, and with it numba.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from emu.kernels.spec import REGISTRY, Kernel


def load_all() -> Mapping[str, Kernel]:
    """Import every module of this room and return the registry, symbol to kernel.

    Raises SubnormalsDisabledError when floats of this process lose their subnormals: no mirror is exact then.
    """
    from emu.numerics.subnormals import require_subnormals

    require_subnormals()
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return REGISTRY


__all__ = ["REGISTRY", "Kernel", "load_all"]
