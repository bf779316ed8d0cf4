"""What a kernel is: parameters in C order, dimensions, alignment rules, mirror and symbol.

A kernel file in this room holds one or more mirrors and registers each with :func:`kernel`. The mirror takes
the same parameters in the same order as the C function: one numpy array per pointer (1-D, C order, exactly
the elements the function may touch), one numpy scalar of the declared dtype per scalar parameter. It writes
its results into the output arrays and returns what the C function returns. ``emu.verify`` derives everything
else.

Two rules make a mirror and its firmware function comparable without exceptions:

* Every writable buffer starts with the same bytes on both sides, and all of it is compared afterwards. What
  the function does not write (gaps of a strided output, rows after a refused one, everything after a bad
  argument) must therefore stay as it was.
* A mirror that checks alignment looks at the address of the array that it is given. The array must stand at
  the same offset modulo 16 as the guest buffer: see :func:`emu.kernels.arrays.place`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

Role = Literal["in", "out", "inout"]
Dims = Mapping[str, int]


@dataclass(frozen=True)
class Dim:
    """A generated size: ``low..high`` in steps of ``multiple``; ``special`` values are tried more often."""

    name: str
    low: int
    high: int
    multiple: int = 1
    special: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tensor:
    """A pointer parameter.

    ``shape``: entries are ints, dimension names, or functions of the drawn dimensions (e.g. a padded size).
    ``align``: alignment in bytes that the function requires of the pointer; the generator never breaks it
    unless it tests the misaligned status. ``align=1`` tensors are placed at every offset 0..15, but always at
    a multiple of the item size when ``natural`` is true. ``fill``: a function (dims, rng, array) that
    corrects an array after generation: padding, packed layouts, tables. It is a projection (filling twice
    changes nothing more, given the same rng), so it can be applied again after an element was shrunk.
    ``margin``: bytes on both sides, up to 64, that the function may read though they must not matter: vector
    code reads whole blocks, and one block ahead.
    ``neutral``: the element value that contributes nothing; shrinking replaces elements by it and counts the
    others. ``valid`` gives the mask (or slice) of elements that are compared; the default, all, is right
    whenever untouched elements stay as they were.

    ``values`` names a family of contents (emu.verify.strategies):

    ============= ==================================================================================
    any           every bit pattern of the dtype; for floats NaN, infinities, subnormals, -0 included
    bits          the same for unsigned integers (seeds, states, accumulators)
    finite        every finite float: exponent field below 255, subnormals and -0 included
    unit          floats in [0, 1), +0 but not -0
    ln_domain     normal floats in (0, 1]
    moderate      finite floats of everyday size, 2^-20 to 2^20 in magnitude, both signs, and zeros
    gelu          moderate floats, mostly within [-8, 8], with -6, 6 and their neighbours
    s8, s8_full   int8 in -127..127, and with -128
    u8, s32       every uint8, every int32 (both ends often)
    codes         uint8 bytes that ``fill`` turns into packed codes; long equal runs are wanted too
    table         nothing is generated: ``fill`` writes the whole array
    [low,high)    an interval of the dtype; round brackets leave an end out
    ============= ==================================================================================

    An exhaustive run of an ``elementwise`` kernel visits the patterns of ``domain`` that belong to the family
    of its input: "finite" leaves out exponent field 255.
    """

    name: str
    dtype: str
    shape: tuple[int | str | Callable[[Dims], int], ...]
    role: Role = "in"
    align: int = 1
    natural: bool = True
    values: str = "any"
    fill: Callable[[Dims, np.random.Generator, np.ndarray[Any, Any]], None] | None = None
    neutral: int = 0
    valid: Callable[[Dims], Any] | None = None
    margin: int = 0


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter: a dimension (by name), a function of the dimensions, or generated ``values``."""

    name: str
    dtype: str
    value: str | Callable[[Dims], Any] | None = None
    values: str = "any"


@dataclass(frozen=True)
class Global(Tensor):
    """Data of the image that the function uses besides its parameters; the mirror gets it behind them.

    ``at``: a symbol of the image, or ``symbol+8``; default: the name. The bytes there get the contents before
    the call and are compared after it (``role``), or, with ``pointer``, the word there is set to the address
    of a buffer that holds them: a table of base pointers, for example.
    """

    at: str = ""
    pointer: bool = False


@dataclass(frozen=True)
class Inline(Tensor):
    """A member of a :class:`Struct` whose elements lie in the struct itself: an array, or state that the
    function changes (a :class:`Scalar` member must stay as it is)."""


@dataclass(frozen=True)
class Alias:
    """A pointer to ``offset`` elements behind the start of another parameter's buffer: work in place."""

    name: str
    of: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """A pointer to ``of``, a symbol of the image (or ``symbol+8``): a function, a vtable. The mirror gets
    ``value`` in its place."""

    name: str
    of: str
    value: Any = None


@dataclass(frozen=True)
class Callback:
    """A function pointer that leads into Python: ``function`` gets one numpy scalar for each of ``args``
    (dtypes by name) and gives a ``returns`` (None: void). The mirror gets the function, with the same types.

    ``at``: the pointer is no parameter, but a word of the image at that symbol.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[str, ...] = ()
    returns: str | None = None
    at: str = ""


@dataclass(frozen=True)
class Struct:
    """A struct parameter: a pointer to one (``this`` of a method too), or the struct itself (``by_value``).

    ``members``: a :class:`Tensor` is a pointer member with its buffer, an :class:`Inline` an array in the
    struct, a :class:`Scalar` a number; Alias, Address and Callback as for parameters. Member names may be
    paths (``quant.shift``). Members that are not listed hold noise. ``type``: name of the C type, whose
    layout the debug information gives; without it ``offsets`` (bytes, by member) and ``size``, or else the
    members lie one behind the other as C lays them out. ``at``: the struct is no parameter, but data of the
    image at that symbol. The mirror gets an object with the members as attributes.
    """

    name: str
    members: tuple[Tensor | Scalar | Alias | Address | Callback, ...]
    type: str = ""
    offsets: Mapping[str, int] = field(default_factory=dict)
    size: int = 0
    by_value: bool = False
    at: str = ""

    def __post_init__(self) -> None:
        """Members are known by ``struct.member`` everywhere."""
        prefix = f"{self.name}."
        named = tuple(
            m if m.name.startswith(prefix) else replace(m, name=prefix + m.name) for m in self.members
        )
        object.__setattr__(self, "members", named)


Param = Tensor | Scalar
AnyParam = Tensor | Scalar | Alias | Address | Callback | Struct
"""Every kind of parameter; the bundled kernels, and boards, have those of Param alone."""


def is_argument(param: AnyParam) -> bool:
    """Whether a parameter is passed in the call, and not placed in the image's data."""
    if isinstance(param, Global):
        return False
    return not (isinstance(param, Callback | Struct) and param.at)


@dataclass(frozen=True)
class Fault:
    """A call that the function must refuse: it returns ``status`` and leaves every buffer as it was.

    Dimensions and buffers are drawn as for a valid call. Then the ``scalars`` named here get another value
    (an int, or a function of the drawn dimensions), and each pointer in ``misalign`` is placed at an offset
    that is not a multiple of its ``align``. Buffers keep their drawn sizes: the function returns before it
    touches them.
    """

    name: str
    status: int
    scalars: Mapping[str, int | Callable[[Dims], int]] = field(default_factory=dict)
    misalign: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alternatives:
    """Values of a refused scalar, by name: a :class:`Fault` with it stands for a call with each."""

    rules: Mapping[str, Callable[[Dims], int]]

    def __call__(self, dims: Dims) -> int:
        """The first one."""
        return next(iter(self.rules.values()))(dims)


def each(fault: Any) -> Iterator[Any]:
    """The refusals that a fault stands for; anything else as it is."""
    if not isinstance(fault, Fault) or not isinstance(fault.scalars, Mapping):
        yield fault
        return
    names = dict.fromkeys(n for r in fault.scalars.values() if isinstance(r, Alternatives) for n in r.rules)
    for name in names or ("",):
        scalars = {s: r.rules[name] if isinstance(r, Alternatives) else r for s, r in fault.scalars.items()}
        yield replace(fault, name=f"{fault.name}, {name}" if name else fault.name, scalars=scalars)


def together(first: Fault, second: Fault) -> Fault:
    """Both in one call: refused with the status of ``first``, which is looked at first."""
    misalign = tuple(dict.fromkeys((*first.misalign, *second.misalign)))
    name = f"{first.name}{AND}{second.name}"
    return Fault(name, first.status, {**second.scalars, **first.scalars}, misalign)


AND = " + "
"""Between the names of two refusals in one call."""


@dataclass(frozen=True)
class Kernel:
    """One firmware function and its mirror. ``returns`` is a dtype name or None (void).

    ``derived``: sizes computed from the drawn ones, in order; shapes and scalars may name them like
    dimensions.
    """

    symbol: str
    params: tuple[Any, ...]
    """Each an AnyParam, in C order; those that are no arguments (:func:`is_argument`) behind the others."""
    mirror: Callable[..., Any]
    dims: tuple[Dim, ...] = ()
    derived: Mapping[str, Callable[[Dims], int]] = field(default_factory=dict)
    returns: str | None = None
    elementwise: tuple[str, str] | None = None
    """(first input, first output) when y[i] depends on x[i] alone: enables ``--exhaustive``."""
    domain: tuple[int, int] | None = None
    """For exhaustive runs: first and last bit pattern (inclusive) of the input; None means all 2^32."""
    source: str = ""
    """Section of docs/numerics.md that the kernel follows."""
    faults: tuple[Fault, ...] = ()
    """Calls that must be refused, each with its status. A function looks for them in ascending order of the
    status, so that two at a time have the lower one (status 0: a call that has nothing to do)."""
    extremes: tuple[Mapping[str, int], ...] = ()
    """Sizes that some cases take over, in turn: legal, but far from what is drawn (a stride of more than a
    half word). They may lie outside of a dimension's range."""
    requires: Callable[[Mapping[str, Any]], bool] | None = None
    """What callers promise: a function of the sizes and the generated scalars, by name."""
    setup: tuple[str, ...] = ()
    """Functions of the image without parameters that are called first; ``init_array`` stands for all static
    constructors."""
    served: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Functions of the image, or of the ROM, that Python takes the place of (emu.rom.RomFunction)."""
    own: tuple[str, ...] = ()
    """Functions of the image that run although the engine would serve them (malloc, printf, locks)."""


REGISTRY: dict[str, Kernel] = {}


def kernel(
    symbol: str,
    *params: AnyParam,
    dims: tuple[Dim, ...] = (),
    returns: str | None = None,
    source: str = "",
    **extra: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated mirror as kernel ``symbol``. Raises ValueError when the name is taken."""

    def register(mirror: Callable[..., Any]) -> Callable[..., Any]:
        if symbol in REGISTRY:
            raise ValueError(f"kernel {symbol!r} is registered twice")
        if isinstance(extra.get("faults"), tuple):  # what else it is, is told when the spec is checked
            extra["faults"] = tuple(single for fault in extra["faults"] for single in each(fault))
        REGISTRY[symbol] = Kernel(symbol, params, mirror, dims=dims, returns=returns, source=source, **extra)
        return mirror

    return register
