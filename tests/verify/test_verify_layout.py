"""Placement of buffers: alignment, equal surroundings on both targets, and damage found to the byte."""

from __future__ import annotations

import numpy as np
import pytest
from faulty import KERNELS
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.verify.case import materialise
from emu.verify.errors import ToolError
from emu.verify.layout import GUARD, Layout, place
from emu.verify.strategies import plans
from emu.verify.target import MirrorTarget, host_arena

ARENA = host_arena(1 << 20)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_slots_are_apart_and_aligned(data):
    kernel = KERNELS[data.draw(st.sampled_from(sorted(KERNELS)))]
    case = materialise(kernel, data.draw(plans(kernel)))
    slots, used = place(kernel, case)
    end = 0
    for slot in slots:
        assert slot.start - end >= GUARD
        assert slot.start % 16 == case.offsets[slot.tensor.name]
        end = slot.end
    assert used - end >= 1024
    assert used % 64 == 0


def small_case(**changes):
    kernel = KERNELS["digest_s8"]
    case = materialise(kernel, _plan(kernel, 37))
    for name, value in changes.items():
        setattr(case, name, value)
    return kernel, case


def _plan(kernel, n, dirty=12345):
    from emu.verify.case import Plan

    return Plan({"n": n}, ("wide",) * 2, (3, 8), 99, dirty, (), (-1,))


def test_views_have_the_wanted_addresses_even_when_empty():
    kernel = KERNELS["digest_s8"]
    for n in (0, 1, 37):
        case = materialise(kernel, _plan(kernel, n))
        layout = Layout(kernel, case, ARENA)
        x, acc = (layout.view(s) for s in layout.slots)
        assert (x.size, x.ctypes.data % 16) == (n, 3)
        assert (acc.size, acc.ctypes.data % 16) == (1, 8)
        assert np.array_equal(x, case.arrays["x"])
        assert np.array_equal(acc, case.arrays["acc"])


def test_no_damage_when_only_outputs_change():
    kernel, case = small_case()
    layout = Layout(kernel, case, ARENA)
    layout.view(layout.slots[1])[0] += 1
    assert layout.damage() == ()
    assert layout.outputs()["acc"][0] == case.arrays["acc"][0] + 1


@pytest.mark.parametrize("distance", [1, 4, 16, 31])
@pytest.mark.parametrize("place_", ["before x", "behind x", "before acc", "behind acc", "inside x"])
def test_damage_is_found_and_named(place_, distance):
    kernel, case = small_case()
    layout = Layout(kernel, case, ARENA)
    side, name = place_.split()
    slot = next(s for s in layout.slots if s.tensor.name == name)
    at = {
        "before": slot.start - distance,
        "behind": slot.end + distance - 1,
        "inside": slot.start + distance % 37,
    }
    ARENA[at[side]] ^= 0x55
    (damage,) = layout.damage()
    assert damage.near == name
    assert damage.count == 1
    assert damage.side == {"before": "before", "behind": "after", "inside": "inside"}[side]
    assert damage.offset == {"before": distance, "behind": distance - 1, "inside": distance % 37}[side]
    assert name in str(damage)


def test_damage_far_before_and_behind_everything():
    kernel, case = small_case()
    layout = Layout(kernel, case, ARENA)
    ARENA[0] ^= 1
    ARENA[layout.used - 1] ^= 1
    sides = {(d.near, d.side) for d in layout.damage()}
    assert sides == {("x", "before"), ("acc", "after")}


def test_guards_are_no_constant_and_follow_the_seed():
    kernel = KERNELS["digest_s8"]
    first = Layout(kernel, materialise(kernel, _plan(kernel, 5, dirty=1)), ARENA)
    before = ARENA[: first.used].copy()
    assert np.unique(before[:256]).size > 100
    again = Layout(kernel, materialise(kernel, _plan(kernel, 5, dirty=1)), host_arena(1 << 20))
    assert np.array_equal(again._arena[: again.used], before)
    Layout(kernel, materialise(kernel, _plan(kernel, 5, dirty=2)), ARENA)
    assert not np.array_equal(ARENA[: first.used], before)


def test_too_large_a_case_is_our_own_trouble():
    kernel = KERNELS["digest_s8"]
    case = materialise(kernel, _plan(kernel, 300))
    with pytest.raises(ToolError, match=r"need .* bytes"):
        Layout(kernel, case, host_arena(4096))


def test_mirror_that_writes_outside_or_raises_is_a_tool_error():
    from dataclasses import replace

    kernel, case = small_case()

    def wide(x, n, first, acc):
        np.lib.stride_tricks.as_strided(acc, (2,))[1] = 0

    def raising(x, n, first, acc):
        raise IndexError("no such place")

    target = MirrorTarget()
    with pytest.raises(ToolError, match="wrote outside"):
        target.call(replace(kernel, mirror=wide), case)
    with pytest.raises(ToolError, match=r"raised IndexError \(test_verify_layout.py:\d+\): no such place"):
        target.call(replace(kernel, mirror=raising), case)
    with pytest.raises(ToolError, match="returned nothing"):
        target.call(replace(kernel, returns="int32"), case)
