"""Array types of the annotations in this room and in the kernels."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

F32Array: TypeAlias = npt.NDArray[np.float32]
F64Array: TypeAlias = npt.NDArray[np.float64]
S8Array: TypeAlias = npt.NDArray[np.int8]
U8Array: TypeAlias = npt.NDArray[np.uint8]
U16Array: TypeAlias = npt.NDArray[np.uint16]
S32Array: TypeAlias = npt.NDArray[np.int32]
U32Array: TypeAlias = npt.NDArray[np.uint32]
U64Array: TypeAlias = npt.NDArray[np.uint64]
Count: TypeAlias = int | np.int32
"""A size or an index, as a Python integer or as compiled code passes it on."""
AnyArray: TypeAlias = npt.NDArray[Any]
