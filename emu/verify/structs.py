"""Where the members of a struct lie: from debug information, from the spec, or as C lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from emu.image.debug_types import CType, Member
from emu.kernels.spec import Inline, Kernel, Scalar, Struct, Tensor
from emu.verify.errors import UsageProblem
from emu.verify.shapes import all_dims, shape_of

POINTER_BYTES = 4
_LARGEST = 1 << 16


@dataclass(frozen=True)
class StructLayout:
    """``offsets`` by member name as in the struct's ``members`` (``struct.member``)."""

    size: int
    align: int
    offsets: Mapping[str, int]


def short(struct: Struct, name: str) -> str:
    """A member's name without the struct's."""
    return name.removeprefix(f"{struct.name}.")


def member_size(kernel: Kernel, member: Any, dims: Mapping[str, int]) -> tuple[int, int]:
    """Bytes and alignment of a member in the struct itself."""
    if isinstance(member, Inline):
        size = np.dtype(member.dtype).itemsize
        return prod(shape_of(kernel, member, dims)) * size, size
    if isinstance(member, Scalar):
        size = np.dtype(member.dtype).itemsize
        return size, size
    return POINTER_BYTES, POINTER_BYTES


def layout_of(kernel: Kernel, struct: Struct, kind: CType | None) -> StructLayout:
    """The layout; ``kind``: the C struct when debug information has it. Raises UsageProblem."""
    dims = all_dims(kernel, {d.name: d.high for d in kernel.dims})
    if kind is not None and kind.kind == "struct" and kind.size:
        return _from_debug_info(kernel, struct, kind, dims)
    unknown = set(struct.offsets) - {short(struct, m.name) for m in struct.members}
    if unknown:
        raise _complain(kernel, struct, f"offsets names {', '.join(sorted(unknown))}, no member")
    return _as_c_does(kernel, struct, dims)


def _complain(kernel: Kernel, struct: Struct, what: str) -> UsageProblem:
    return UsageProblem(f"kernel {kernel.symbol}, struct {struct.name}: {what}")


def _as_c_does(kernel: Kernel, struct: Struct, dims: Mapping[str, int]) -> StructLayout:
    at, widest = 0, 1
    offsets: dict[str, int] = {}
    for member in struct.members:
        size, align = member_size(kernel, member, dims)
        at = struct.offsets.get(short(struct, member.name), -(-at // align) * align)
        offsets[member.name] = at
        at, widest = at + size, max(widest, align)
    needed = max((offsets[m.name] + member_size(kernel, m, dims)[0] for m in struct.members), default=0)
    size = struct.size or -(-needed // widest) * widest
    if not needed <= size <= _LARGEST:
        raise _complain(kernel, struct, f"its members need {needed:,} bytes, its size is {size:,}")
    return StructLayout(size, widest, offsets)


def _from_debug_info(kernel: Kernel, struct: Struct, kind: CType, dims: Mapping[str, int]) -> StructLayout:
    if struct.type and struct.type.split()[-1] != kind.text.split()[-1]:
        raise _complain(kernel, struct, f"it is {kind.text} in C, {struct.type} in the spec")
    if struct.size and struct.size != kind.size:
        raise _complain(kernel, struct, f"{kind.text} has {kind.size} bytes in C, {struct.size} in the spec")
    offsets = {}
    for member in struct.members:
        path = short(struct, member.name)
        at, found = _find(kernel, struct, kind, path)
        if struct.offsets.get(path, at) != at:
            wrong = f"member {path} lies at byte {at} in C, {struct.offsets[path]} in the spec"
            raise _complain(kernel, struct, wrong)
        _check_member(kernel, struct, member, found, dims)
        offsets[member.name] = at
    return StructLayout(kind.size, kind.align, offsets)


def _find(kernel: Kernel, struct: Struct, kind: CType, path: str) -> tuple[int, Member]:
    at = 0
    parts = path.split(".")
    for depth, part in enumerate(parts):
        found = next((m for m in kind.members if m.name == part), None)
        if found is None:
            names = ", ".join(m.name for m in kind.members) or "none"
            raise _complain(kernel, struct, f"{kind.text} has no member {part} (its members: {names})")
        at += found.offset
        if depth == len(parts) - 1:
            return at, found
        kind = found.type
    raise AssertionError(path)


def _check_member(
    kernel: Kernel, struct: Struct, member: Any, found: Member, dims: Mapping[str, int]
) -> None:
    path, c = short(struct, member.name), found.type
    if found.bits:
        raise _complain(kernel, struct, f"member {path} is a bit field, which a spec cannot describe")
    if isinstance(member, Inline):
        size, _ = member_size(kernel, member, dims)
        item = c.target if c.kind == "array" else c
        if size > c.size or not same_number(member.dtype, item, exact=True):
            text = f"{member.dtype}[{size // np.dtype(member.dtype).itemsize}]"
            raise _complain(kernel, struct, f"member {path} is {c.text} in C, {text} in the spec")
    elif isinstance(member, Scalar):
        if c.pointer or not same_number(member.dtype, c, exact=True):
            raise _complain(kernel, struct, f"member {path} is {c.text} in C, {member.dtype} in the spec")
    elif not c.pointer and c.size != POINTER_BYTES:
        raise _complain(kernel, struct, f"member {path} is {c.text} in C, a pointer in the spec")
    elif isinstance(member, Tensor) and not same_number(member.dtype, c.target, exact=True):
        raise _complain(kernel, struct, f"member {path} is {c.text} in C, {member.dtype} * in the spec")


def same_number(dtype: str, c: CType | None, exact: bool) -> bool:
    """Equal size and kind; without ``exact`` signs may differ, which no register shows. Unknown types fit."""
    if c is None or c.kind not in ("base", "enum") or not c.code:
        return True
    wanted = np.dtype(dtype)
    if wanted.itemsize != c.size:
        return False
    if c.kind == "enum":
        return wanted.kind in "iu"
    return wanted.kind == c.code if exact else (wanted.kind == "f") == (c.code == "f")
