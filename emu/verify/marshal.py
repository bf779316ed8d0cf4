"""From a case in an arena to what a function of an image gets: words, structs, globals, callbacks.

Everything that does not change from case to case (addresses, struct layouts) is looked up once for a kernel;
what cannot be found is told before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.cpu.calls import REGISTER_WORDS
from emu.image import Image
from emu.image.debug_types import CType
from emu.image.errors import SymbolError
from emu.image.map import area_of
from emu.image.names import find_function
from emu.image.prototypes import Prototypes
from emu.kernels.spec import (
    Address,
    Alias,
    Callback,
    Global,
    Inline,
    Kernel,
    Scalar,
    Struct,
    Tensor,
    is_argument,
)
from emu.verify.case import Case
from emu.verify.errors import UsageProblem
from emu.verify.families import Array
from emu.verify.layout import Block, Layout
from emu.verify.shapes import all_dims, elements_of
from emu.verify.structs import StructLayout, layout_of

CALLBACKS = 0x4FFF0000
"""Where function pointers that lead into Python point to: no memory, but code addresses."""
_PLACE = re.compile(r"\s*([^+\s][^+]*?)\s*(?:\+\s*(0[xX][0-9a-fA-F]+|\d+))?\s*")
Word = Any
"""int or numpy scalar, as emu.cpu.calls takes them."""


@dataclass(frozen=True)
class Place:
    """An address of the image, and the bytes that the symbol has from there on (0: unknown)."""

    address: int
    room: int


class Marshal:
    """One kernel on one image. Raises UsageProblem for what the image does not have."""

    def __init__(self, image: Image, kernel: Kernel) -> None:
        self.kernel = kernel
        self._image = image
        self.function = find_function(image, kernel.symbol).address
        self._prototypes: Prototypes | None = None
        self._structs: dict[str, StructLayout] = {}
        self._places: dict[str, Place] = {}
        self.callbacks: dict[int, Callback] = {}
        """Callbacks by the address that stands for them."""
        self._pointers: dict[str, int] = {}
        for index, param in enumerate(kernel.params):
            self._prepare(index, param)

    def _complain(self, what: str) -> UsageProblem:
        return UsageProblem(f"kernel {self.kernel.symbol}: {what}")

    # --- looked up once ----------------------------------------------------------------------------------
    def _prepare(self, index: int, param: Any) -> None:
        if isinstance(param, Struct):
            self._structs[param.name] = layout_of(self.kernel, param, self._struct_type(index, param))
            if param.at:
                self._find_place(param.name, param.at, self._structs[param.name].size)
            for member in param.members:
                self._prepare(index, member)
        elif isinstance(param, Global):
            self._find_place(param.name, param.at or param.name, 4 if param.pointer else self._bytes(param))
        elif isinstance(param, Callback):
            self._pointers[param.name] = CALLBACKS + 16 * len(self.callbacks)
            self.callbacks[self._pointers[param.name]] = param
            if param.at:
                self._find_place(param.name, param.at, 4)
        elif isinstance(param, Address):
            self._pointers[param.name] = self._address(param.name, param.of).address

    def _struct_type(self, index: int, param: Struct) -> CType | None:
        """The C type: of the parameter, or of the variable that it stands for."""
        self._prototypes = self._prototypes or Prototypes(self._image)
        if param.at:
            name, _, offset = param.at.partition("+")
            return None if offset else self._prototypes.variable(name.strip(), self.kernel.symbol)
        prototype = self._prototypes.function(self.kernel.symbol)
        place = sum(is_argument(p) for p in self.kernel.params[:index])
        if prototype is None or place >= len(prototype.parameters):
            return None
        kind = prototype.parameters[place].type
        return kind if param.by_value else kind.target

    def _bytes(self, tensor: Tensor) -> int:
        highest = all_dims(self.kernel, {d.name: d.high for d in self.kernel.dims})
        return elements_of(self.kernel, tensor, highest) * np.dtype(tensor.dtype).itemsize

    def _address(self, name: str, where: str) -> Place:
        match = _PLACE.fullmatch(where)
        if match is None:
            raise self._complain(f"{name} lies at {where!r}; that is no symbol and no symbol+offset")
        offset = int(match[2], 0) if match[2] else 0
        try:
            symbol = self._image.symbols.get(match[1])
        except SymbolError as error:
            try:
                symbol = find_function(self._image, match[1])
            except SymbolError:
                raise self._complain(f"{name}: {error}") from None
        return Place(symbol.address + offset, max(symbol.size - offset, 0) if symbol.size else 0)

    def _find_place(self, name: str, where: str, size: int) -> None:
        place = self._address(name, where)
        if place.room and size > place.room:
            raise self._complain(
                f"{name} needs {size:,} bytes at its largest, {where} has {place.room:,} in the image"
            )
        area = area_of(place.address, max(size, 1))
        if area is None or "w" not in area.perms:
            raise self._complain(
                f"{name}: {where} at {place.address:#010x} lies in {area.name if area else 'no memory'}, "
                "which nothing can write"
            )
        self._places[name] = place

    # --- for each case -----------------------------------------------------------------------------------
    def blocks(self) -> list[Block]:
        """The structs that have to be placed beside the buffers."""
        return [
            Block(p.name, self._structs[p.name].size, min(self._structs[p.name].align, 16))
            for p in self.kernel.params
            if isinstance(p, Struct) and not p.at and not p.by_value
        ]

    def enter(self, engine: Any, layout: Layout, case: Case) -> list[Word]:
        """Put structs and globals into memory; the words of the call."""
        base = engine.arena.start
        pointers = dict(self._pointers)
        for slot in layout.slots:
            pointers[slot.tensor.name] = base + slot.start
        for alias in self._each(Alias):
            pointers[alias.name] = pointers[alias.of] + alias.offset * self._item(alias)
        words: list[Word] = []
        for param in self.kernel.params:
            if isinstance(param, Struct):
                words = self._enter_struct(engine, layout, case, param, pointers, words)
            elif isinstance(param, Scalar):
                words.append(case.scalars[param.name])
            elif isinstance(param, Global) and not param.pointer:
                self._write(engine, self._places[param.name].address, self._contents(layout, param))
            elif param.name in self._places:
                word = pointers[param.name].to_bytes(4, "little")
                self._write(engine, self._places[param.name].address, word)
            else:
                words.append(pointers[param.name])
        return words

    def leave(self, engine: Any, layout: Layout) -> None:
        """Bring back what lies in the image or in structs, for the comparison."""
        for param in self.kernel.params:
            if isinstance(param, Global) and not param.pointer:
                self._bring_back(engine, layout, param, self._places[param.name].address)
            elif isinstance(param, Struct) and not param.by_value:
                start = self._struct_address(engine, layout, param)
                for member in param.members:
                    if isinstance(member, Inline):
                        at = start + self._structs[param.name].offsets[member.name]
                        self._bring_back(engine, layout, member, at)
                        layout.excuse(param.name, at - start, self._slot_size(layout, member))

    def _each(self, kind: type[Any]) -> Iterator[Any]:
        for param in self.kernel.params:
            for leaf in param.members if isinstance(param, Struct) else (param,):
                if isinstance(leaf, kind):
                    yield leaf

    def _item(self, alias: Alias) -> int:
        tensor = next(t for t in self._each(Tensor) if t.name == alias.of)
        return int(np.dtype(tensor.dtype).itemsize)

    @staticmethod
    def _write(engine: Any, address: int, data: bytes) -> None:
        if data:
            engine.memory.write(address, data)

    @staticmethod
    def _contents(layout: Layout, tensor: Tensor) -> bytes:
        slot = next(s for s in layout.slots if s.tensor.name == tensor.name)
        return layout.view(slot).tobytes()

    @staticmethod
    def _slot_size(layout: Layout, tensor: Tensor) -> int:
        return next(s.size for s in layout.slots if s.tensor.name == tensor.name)

    @staticmethod
    def _bring_back(engine: Any, layout: Layout, tensor: Tensor, address: int) -> None:
        slot = next(s for s in layout.slots if s.tensor.name == tensor.name)
        if slot.size:
            view: Array = layout.view(slot)
            view[:] = np.frombuffer(engine.memory.read(address, slot.size), view.dtype)

    def _struct_address(self, engine: Any, layout: Layout, struct: Struct) -> int:
        if struct.at:
            return self._places[struct.name].address
        return int(engine.arena.start) + layout.blocks[struct.name].start

    def _enter_struct(
        self,
        engine: Any,
        layout: Layout,
        case: Case,
        struct: Struct,
        pointers: dict[str, int],
        words: list[Word],
    ) -> list[Word]:
        shape = self._structs[struct.name]
        if struct.at:
            data = bytearray(engine.memory.read(self._places[struct.name].address, shape.size))
        else:
            data = bytearray(_noise(case.dirty, shape.size))
        for member in struct.members:
            at = shape.offsets[member.name]
            if isinstance(member, Inline):
                part = self._contents(layout, member)
            elif isinstance(member, Scalar):
                part = np.array(case.scalars[member.name]).tobytes()
            else:
                part = pointers[member.name].to_bytes(4, "little")
            data[at : at + len(part)] = part
        if struct.by_value:
            return _by_value(words, bytes(data), shape.align)
        if struct.at:
            self._write(engine, self._places[struct.name].address, bytes(data))
            return words
        return [*words, engine.arena.start + layout.put(struct.name, bytes(data))]


def _noise(dirty: int, size: int) -> bytes:
    """What members hold that nobody describes; all zero for seed 0."""
    if not dirty:
        return bytes(size)
    return np.random.Generator(np.random.Philox(key=np.array([dirty, 0x737472], np.uint64))).bytes(size)


def _by_value(words: list[Word], data: bytes, align: int) -> list[Word]:
    """A struct goes in words as they lie in memory, whole in registers or whole on the stack (Xtensa ABI)."""
    taken = 0
    for word in words:
        wide = isinstance(word, np.generic) and word.itemsize == 8
        taken += taken % 2 + 2 if wide else 1
    data = data + bytes(-len(data) % 4)
    added = list(words)
    if align > 4 and taken % 2:
        added.append(0)
        taken += 1
    if taken < REGISTER_WORDS < taken + len(data) // 4:
        added += [0] * (REGISTER_WORDS - taken)
    return added + [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
