"""Hypothesis strategies from a kernel's spec, and the numbered stream of cases that a campaign runs.

Hypothesis draws the structure of a *family* of cases: sizes (tails, extremes, multiples and their
neighbours), one kind of contents per tensor, a pointer offset 0..15 for each pointer, seeds, and single
elements for small tensors. Each family gives :data:`VARIANTS` cases; the first is the draw itself, the others
move offsets, sizes and seeds with a counter-based generator. Case ``n`` of a seed depends on nothing but the
spec, the seed and ``n``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from emu.kernels.spec import Dim, Fault, Kernel, Tensor
from emu.verify.case import MASK64, Case, Plan, materialise
from emu.verify.contents import kinds_for
from emu.verify.draws import pinned
from emu.verify.families import family
from emu.verify.shapes import all_dims, elements, scalars, tensors

CHUNK = 200
"""Cases that one run of Hypothesis gives; example numbers are chunk * CHUNK + position."""
VARIANTS = 4
USUAL_ELEMENTS = 24_000
LARGE_ELEMENTS = 200_000
_PICKED = 16
_SMALL = 15
"""A dimension with so few steps is tried as a whole."""
_LARGE_ONE_IN = 4
"""Of so many families, one has large variants: narrow accumulators overflow only there."""
_REFUSED_ONE_IN = 2
_MANY_REFUSED = 12
"""Of so many families, one has a call that must be refused; each has one when there are many kinds."""
_EXTREME_ONE_IN = 5
"""Of so many families, one has a case with sizes from the spec's list of extremes."""
_HUGE = 10_000
"""A dimension with more values than this is no size (the bits of a scale, for example): neighbours mean
nothing.
"""


def size_pool(dim: Dim) -> list[int]:
    """Sizes worth trying, the telling ones repeated: small, multiples of 16 and 64 and neighbours, ends."""
    step = dim.multiple
    if dim.high - dim.low <= _SMALL * step:
        every = [*range(dim.low, dim.high + 1, step)]
        # one row, one column and nothing at all hide faults: they are tried, but not often
        return every + 2 * [v for v in every if v >= dim.low + 2 * step] + [*dim.special]
    small = [dim.low + i * step for i in range(2, 20)]
    near = [m + d for m in (16, 32, 48, 64, 96, 128, 192, 256) for d in (-1, 0, 1)]
    far = [int(2 ** (k / 4)) for k in range(24, 53)]
    pool = [*small, *small, *near, *near, *far, *dim.special, *dim.special, *dim.special]
    pool += [dim.low, dim.low, dim.low + step, dim.low + step, dim.high]
    return [v for v in (_rounded(dim, v) for v in pool) if dim.low <= v <= dim.high]


def sizes(dim: Dim) -> st.SearchStrategy[int]:
    """Values of a dimension: mostly from :func:`size_pool`, else anywhere in its range."""
    steps = (dim.high - dim.low) // dim.multiple
    anywhere = st.integers(0, steps).map(lambda k: dim.low + k * dim.multiple)
    pooled = st.sampled_from(size_pool(dim))
    if steps <= _SMALL:
        return pooled
    return st.one_of(pooled, anywhere) if steps >= _HUGE else st.one_of(pooled, pooled, pooled, anywhere)


def _rounded(dim: Dim, value: int) -> int:
    if value in dim.special or value == dim.high:
        return value
    return value - (value - dim.low) % dim.multiple


def fit(kernel: Kernel, dims: dict[str, int], limit: int) -> dict[str, int]:
    """Halve the sizes that matter most until all tensors together have at most ``limit`` elements, if they
    can.
    """
    total = elements(kernel, all_dims(kernel, dims))
    while total > limit:
        halved = [_halved(kernel, dims, dim) for dim in kernel.dims]
        total_now, best = min(
            ((elements(kernel, all_dims(kernel, h)), i) for i, h in enumerate(halved)), default=(total, 0)
        )
        if total_now >= total:
            break
        total, dims = total_now, halved[best]
    return dims


def _halved(kernel: Kernel, dims: dict[str, int], dim: Dim) -> dict[str, int]:
    return {**dims, dim.name: _rounded(dim, max(dim.low, dims[dim.name] // 2))}


@lru_cache(maxsize=64)
def offset_choices(tensor: Tensor) -> tuple[int, ...]:
    """Pointer offsets (mod 16) that the spec allows, a sampling pool: none in one of three.

    Functions with a quicker way for aligned data take it only then.
    """
    step = max(tensor.align, np.dtype(tensor.dtype).itemsize if tensor.natural else 1)
    every = tuple(range(0, 16, step)) if step < 16 else (0,)
    return every + every[:1] * (len(every) // 2)


def plans(kernel: Kernel) -> st.SearchStrategy[Plan]:
    """Strategy of plans for ``kernel``; shrinks towards small sizes, zero offsets and picked elements."""
    sizes_of = {d.name: sizes(d) for d in kernel.dims}
    kinds = [kinds_for(family(t.values, t.dtype)) for t in tensors(kernel)]
    n_scalars = sum(s.value is None for s in scalars(kernel))

    @st.composite
    def plan(draw: st.DrawFn) -> Plan:
        dims = fit(kernel, {name: draw(strategy) for name, strategy in sizes_of.items()}, USUAL_ELEMENTS)
        chosen = tuple(draw(st.sampled_from(pool)) for pool in kinds)
        offsets = tuple(draw(st.sampled_from(offset_choices(t))) for t in tensors(kernel))
        content, dirty = draw(st.integers(0, MASK64)), draw(st.integers(0, MASK64))
        picks: tuple[int, ...] = ()
        if elements(kernel, all_dims(kernel, dims)) <= 4 * _PICKED and draw(st.booleans()):
            picks = tuple(draw(st.lists(st.integers(0, 255), min_size=_PICKED, max_size=_PICKED)))
        scalar_picks = tuple(draw(st.integers(-8, 40)) for _ in range(n_scalars))
        return Plan(dims, chosen, offsets, content, dirty, picks, scalar_picks)

    return plan()


def vary(kernel: Kernel, plan: Plan, variant: int, number: int) -> Plan:
    """Relative number ``variant`` of a drawn plan: new seeds and offsets, some sizes moved by one step, some
    kinds changed.
    """
    if variant == 0:
        return plan
    key = np.array([plan.content, number * VARIANTS + variant], np.uint64)
    words = iter(np.random.Philox(key=key).random_raw(64).tolist())
    dims = dict(plan.dims)
    large = variant > 1 and number % _LARGE_ONE_IN == 1
    for dim in kernel.dims:
        dims[dim.name] = _moved(dim, dims[dim.name], next(words), variant, large)
    kinds = list(plan.kinds)
    offsets = []
    for i, tensor in enumerate(tensors(kernel)):
        pool = kinds_for(family(tensor.values, tensor.dtype))
        word = next(words)
        if word & 1:
            kinds[i] = pool[(word >> 8) % len(pool)]
        choices = offset_choices(tensor)
        offsets.append(choices[(word >> 32) % len(choices)])
    picks = tuple(next(words) & 255 for _ in plan.picks)
    scalar_picks = tuple(next(words) % 49 - 8 for _ in plan.scalar_picks)
    content, dirty = next(words), next(words)
    fault, also = _refused(kernel, variant, number, next(words))
    dims = {**fit(kernel, dims, LARGE_ELEMENTS), **_extreme(kernel, variant, number)}
    return Plan(dims, tuple(kinds), tuple(offsets), content, dirty, picks, scalar_picks, fault, also)


def _refused(kernel: Kernel, variant: int, number: int, word: int) -> tuple[int, int]:
    """Which call must be refused, and what else is wrong with it, -1 for nothing: each kind, then pairs."""
    one_in = 1 if len(kernel.faults) > _MANY_REFUSED else _REFUSED_ONE_IN
    if not kernel.faults or variant != VARIANTS - 1 or number % one_in:
        return -1, -1
    turn = number // one_in
    if turn < len(kernel.faults):
        return turn, -1
    chosen = turn % len(kernel.faults)
    others = [i for i, other in enumerate(kernel.faults) if _go_together(kernel.faults[chosen], other)]
    return chosen, others[word % len(others)] if others else -1


def _go_together(first: Fault, second: Fault) -> bool:
    """Whether a call can be wrong in both ways and has the status of the first."""
    apart = first is not second and not set(first.scalars) & set(second.scalars)
    return apart and first.status > 0 and (second.status == 0 or second.status >= first.status)


def _extreme(kernel: Kernel, variant: int, number: int) -> Mapping[str, int]:
    """Sizes that replace drawn ones; none in most cases."""
    if not kernel.extremes or variant != 2 or (number + 1) % _EXTREME_ONE_IN:
        return {}
    return kernel.extremes[number // _EXTREME_ONE_IN % len(kernel.extremes)]


@lru_cache(maxsize=256)
def _pool(dim: Dim) -> tuple[int, ...]:
    return tuple(size_pool(dim))


def _moved(dim: Dim, value: int, word: int, variant: int, large: bool) -> int:
    """A neighbour of ``value``; in later variants every other time another size; from the upper half if
    ``large``.
    """
    steps = (dim.high - dim.low) // dim.multiple
    if steps >= _HUGE:
        return value if word & 1 else dim.low + (word >> 1) % (steps + 1) * dim.multiple
    if large and steps > _SMALL:
        upper = dim.high - (word >> 8) % (steps // 2) * dim.multiple
        return upper if word & 1 else dim.high
    if variant > 1 and word & 4:
        return _pool(dim)[(word >> 8) % len(_pool(dim))]
    return min(max(value + (-1, 0, 0, 1)[word & 3] * dim.multiple, dim.low), dim.high)


def chunk_plans(kernel: Kernel, campaign_seed: int, chunk: int) -> list[Plan]:
    """Plans number ``chunk * CHUNK`` and following of a campaign, :data:`CHUNK` of them."""
    drawn: list[Plan] = []
    count = CHUNK // VARIANTS

    @seed(_mix(kernel.symbol, campaign_seed, chunk))
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(plans(kernel))
    def collect(plan: Plan) -> None:
        drawn.append(plan)

    with pinned():
        collect()
    families = [*drawn, *(_fresh(drawn[i % len(drawn)], i) for i in range(len(drawn), count))][:count]
    return [vary(kernel, plan, v, i) for i, plan in enumerate(families) for v in range(VARIANTS)]


def cases(kernel: Kernel, campaign_seed: int, first: int, count: int) -> Iterator[tuple[int, Case]]:
    """Cases ``first .. first + count - 1`` of the campaign with that seed, each with its number."""
    for chunk in range(first // CHUNK, -(-(first + count) // CHUNK)):
        for position, plan in enumerate(chunk_plans(kernel, campaign_seed, chunk)):
            number = chunk * CHUNK + position
            if first <= number < first + count:
                case = materialise(kernel, plan)
                case.origin = {"seed": campaign_seed, "example": number}
                yield number, case


def _mix(symbol: str, campaign_seed: int, chunk: int) -> int:
    return zlib.crc32(symbol.encode()) << 96 | (campaign_seed & MASK64) << 32 | chunk


def _fresh(plan: Plan, number: int) -> Plan:
    """A plan for when Hypothesis has no more new structure to give: the same with other seeds."""
    return replace(plan, content=(plan.content + number * 0x9E3779B97F4A7C15) & MASK64)
