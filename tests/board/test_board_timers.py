"""SYSTIMER and timer groups against exact arithmetic, without a guest."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.board.chip import CPU_HZ, Reset, Source
from emu.board.rtc import Rtc
from emu.board.timers import WDT_KEY, SysTimer, TimerGroup


class Clock:
    """Emulated time by hand."""

    def __init__(self):
        self.time = 0
        self.levels = {}
        self.resets = []
        self._alarms = []
        self._count = 0

    def cycles(self):
        return self.time

    def call_at(self, cycle, callback):
        self._count += 1
        heapq.heappush(self._alarms, (cycle, self._count, callback))

    def set_source(self, source, level):
        self.levels[source] = level

    def request_reset(self, cause):
        self.resets.append((self.time, cause))

    def run_to(self, time):
        while self._alarms and self._alarms[0][0] <= time:
            cycle, _, callback = heapq.heappop(self._alarms)
            self.time = max(self.time, cycle)
            callback()
        self.time = time


def read_systimer(timer):
    timer.set(0x04, 1 << 30)
    assert timer.get(0x04) >> 29 & 1
    return timer.get(0x40) << 32 | timer.get(0x44)


# B064: 16 MHz, 32 bits are full after 268.435456 s
def test_systimer_counts_on_past_32_bits():
    clock = Clock()
    timer = SysTimer(clock)
    timer.set(0x0C, 0)
    timer.set(0x10, 0xFFFFFFFE)
    timer.set(0x5C, 1)
    seen = []
    for _ in range(5):
        seen.append(read_systimer(timer))
        clock.run_to(clock.time + 15)  # one tick of 16 MHz
    assert seen == [0xFFFFFFFE, 0xFFFFFFFF, 0x100000000, 0x100000001, 0x100000002]


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=30))
def test_systimer_is_monotonic_and_exact(times):
    clock = Clock()
    timer = SysTimer(clock)
    last = -1
    for time in sorted(times):
        clock.run_to(time)
        value = read_systimer(timer)
        assert value == time * 16 // 240
        assert value >= last
        last = value


@pytest.mark.parametrize("start", [0, 2**32 - 50, 2**51])
def test_a_comparator_fires_at_its_count_also_across_the_wrap_of_32_bits(start):
    clock = Clock()
    timer = SysTimer(clock)
    timer.set(0x0C, start >> 32)
    timer.set(0x10, start & 0xFFFFFFFF)
    timer.set(0x5C, 1)
    target = start + 100
    timer.set(0x00, 1 << 24)
    timer.set(0x64, 1)
    timer.set(0x1C, target >> 32)
    timer.set(0x20, target & 0xFFFFFFFF)
    timer.set(0x50, 1)
    clock.run_to(1499)
    assert not clock.levels.get(Source.SYSTIMER0)
    clock.run_to(1500)
    assert clock.levels[Source.SYSTIMER0]
    timer.set(0x6C, 1)
    assert not clock.levels[Source.SYSTIMER0]


def test_a_periodic_comparator_keeps_its_period():
    clock = Clock()
    timer = SysTimer(clock)
    timer.set(0x00, 1 << 23)
    timer.set(0x64, 2)
    timer.set(0x38, 1 << 30 | 16_000)
    timer.set(0x54, 1)
    fired = 0
    for millisecond in range(1, 51):
        clock.run_to(millisecond * CPU_HZ // 1000)
        fired += clock.levels[Source.SYSTIMER1]
        timer.set(0x6C, 2)
    assert fired == 50


@given(st.integers(2, 65535), st.integers(0, 2**54 - 1), st.integers(0, 10**9), st.booleans())
def test_a_group_timer_counts_by_its_divider_either_way(divider, start, cycles, up):
    clock = Clock()
    group = TimerGroup(clock, 0)
    group.set(0x18, start & 0xFFFFFFFF)
    group.set(0x1C, start >> 32)
    group.set(0x20, 1)
    group.set(0x00, 1 << 31 | up << 30 | divider << 13)
    clock.run_to(cycles)
    group.set(0x0C, 1)
    ticks = cycles * (80_000_000 // divider) // CPU_HZ
    value = group.get(0x04) | group.get(0x08) << 32
    assert value == (start + (ticks if up else -ticks)) % 2**54


def test_a_group_alarm_interrupts_and_reloads():
    clock = Clock()
    group = TimerGroup(clock, 1)
    group.set(0x70, 1)
    group.set(0x10, 1000)
    group.set(0x00, 1 << 31 | 1 << 30 | 1 << 29 | 80 << 13 | 1 << 10)
    clock.run_to(1000 * 240 - 1)
    assert not clock.levels.get(Source.TG1_T0)
    clock.run_to(1000 * 240)
    assert clock.levels[Source.TG1_T0]
    group.set(0x7C, 1)
    group.set(0x0C, 1)
    assert group.get(0x04) == 0


def test_the_main_watchdog_needs_its_key_and_can_be_fed():
    clock = Clock()
    group = TimerGroup(clock, 0)
    group.set(0x64, 0)
    group.set(0x48, 1 << 31 | 3 << 29)
    clock.run_to(CPU_HZ)
    assert not clock.resets
    group.set(0x64, WDT_KEY)
    group.set(0x4C, 80 << 16)
    group.set(0x50, 1000)
    group.set(0x48, 1 << 31 | 3 << 29)
    for _ in range(5):
        clock.run_to(clock.time + 200_000)
        group.set(0x60, 1)
    assert not clock.resets
    fed = clock.time
    clock.run_to(fed + 1_000_000)
    assert clock.resets == [(fed + 240_000, Reset.TG0WDT_SYS)]


def test_the_rtc_watchdog_goes_through_its_stages():
    clock = Clock()
    rtc = Rtc(clock)
    rtc.set(0xB0, WDT_KEY)
    rtc.set(0x9C, 136)
    rtc.set(0xA0, 136)
    rtc.set(0x98, 1 << 31 | 1 << 28 | 3 << 25)
    clock.run_to(CPU_HZ // 1000 + 10)
    assert not clock.resets
    clock.run_to(CPU_HZ)
    assert clock.resets == [(2 * CPU_HZ // 1000, Reset.RTCWDT_SYS)]
