"""What happens on the serial lines, in native code: bytes, FIFOs, and the registers that firmware polls.

Two kinds of line (docs/board.md): on an ideal one a byte is in the FIFO as soon as there is room, and nothing
is ever lost; on a timed one it takes the time of its bits in cycles of the processor, and a full receive FIFO
loses it, as on the chip. ``c`` is the array of :mod:`emu.board.words`, ``b`` the block of a line in it,
``now`` in cycles.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import carray

from emu.board.compiled import add_to_word, direct, native
from emu.board.words import (
    ARRIVAL,
    BYTE_CYCLES,
    CCOUNT_ADDRESS,
    DEPTH,
    EMPTY_AT,
    ENABLED,
    FIFO,
    FIFO_READ,
    FIFO_WORDS,
    FIFO_WRITTEN,
    FULL_AT,
    HOLDS_BACK,
    IDLE,
    LAST_RX,
    LATEST,
    LOST,
    MAILBOX,
    MAILBOX_ADDRESS,
    PENDING,
    PENDING_NOW,
    PENDING_PLACE,
    RAW,
    RING,
    RX_HEAD,
    RX_RING,
    RX_TAIL,
    RXFIFO_FULL,
    RXFIFO_OVF,
    RXFIFO_TOUT,
    SAME,
    SEEN,
    SIZE,
    SKIPPED,
    TIMED_OUT,
    TIMEOUT_CYCLES,
    TOTAL,
    TX_BUSY,
    TX_DONE,
    TX_FREE,
    TX_HEAD,
    TX_LOST,
    TX_RING,
    TX_STAGED,
    TX_TAIL,
    TXFIFO_EMPTY,
    UART,
    USB,
    WAITED,
)

Words = Any
"""int64 [words.SIZE]"""

UART_PAGE, USB_PAGE = 0x60000000, 0x60038000
UART_FIFO, UART_INT_RAW, UART_INT_ST, UART_STATUS = 0x00, 0x04, 0x08, 0x1C
USB_EP1, USB_EP1_CONF = 0x00, 0x04
PAGE_MASK = 0xFFFFF000
FOREVER = 1 << 62
IDLE_POLLS = 300
"""Looks at an empty receiver in a row, after which the processor may wait for the host."""
SAME_POLLS = 4
"""Looks in a row that find nothing new, after which time passes to the next byte at once (timed lines)."""
REST = 0xE000C000
"""STATUS of a UART whose modem lines and data lines are at rest."""


@native
def receive(c: Words, b: int, now: int) -> None:
    """Bytes that have arrived by ``now`` go from the host's ring into the FIFO."""
    byte = c[b + BYTE_CYCLES]
    while c[b + RX_TAIL] != c[b + RX_HEAD]:
        is_full = c[b + FIFO_WRITTEN] - c[b + FIFO_READ] >= c[b + DEPTH]
        if byte == 0 and is_full:
            return
        if byte and c[b + ARRIVAL] < 0:
            c[b + ARRIVAL] = now + byte
        if byte and c[b + ARRIVAL] > now:
            return
        if is_full:
            c[b + LOST] += 1
            c[b + RAW] |= RXFIFO_OVF
        else:
            c[b + FIFO + c[b + FIFO_WRITTEN] % FIFO_WORDS] = c[b + RX_RING + c[b + RX_TAIL] % RING]
            c[b + FIFO_WRITTEN] += 1
        c[b + RX_TAIL] += 1
        c[b + TIMED_OUT] = 0
        c[b + LAST_RX] = c[b + ARRIVAL] if byte else now
        if byte:
            c[b + ARRIVAL] = c[b + ARRIVAL] + byte if c[b + RX_TAIL] != c[b + RX_HEAD] else -1


@native
def waiting_out(c: Words, b: int, now: int) -> Any:
    """Bytes in the transmit FIFO."""
    if c[b + BYTE_CYCLES]:
        left = c[b + TX_FREE] - now
        return 0 if left <= 0 else (left + c[b + BYTE_CYCLES] - 1) // c[b + BYTE_CYCLES]
    # An ideal line carries bytes away at once, unless the host does not take them.
    return 0 if c[b + TX_STAGED] - c[b + TX_TAIL] <= RING - 2 * FIFO_WORDS else c[b + DEPTH]


@native
def update(c: Words, b: int, now: int) -> Any:
    """The line at a moment: its bytes, then the interrupt bits that follow. Gives the enabled ones."""
    receive(c, b, now)
    count = c[b + FIFO_WRITTEN] - c[b + FIFO_READ]
    if count >= c[b + FULL_AT]:
        c[b + RAW] |= RXFIFO_FULL
    limit = c[b + TIMEOUT_CYCLES]
    if count > 0 and limit > 0 and c[b + TIMED_OUT] == 0 and now - c[b + LAST_RX] >= limit:
        c[b + TIMED_OUT] = 1
        c[b + RAW] |= RXFIFO_TOUT
    out = waiting_out(c, b, now)
    if out < max(c[b + EMPTY_AT], 1):
        c[b + RAW] |= TXFIFO_EMPTY
    if out == 0 and c[b + TX_BUSY]:
        c[b + TX_BUSY] = 0
        c[b + RAW] |= TX_DONE
    return c[b + RAW] & c[b + ENABLED]


@native
def take(c: Words, b: int, now: int) -> Any:
    """The next byte of the receive FIFO; an empty one gives its last byte again."""
    receive(c, b, now)
    c[b + IDLE] = c[b + SAME] = 0
    if c[b + FIFO_WRITTEN] != c[b + FIFO_READ]:
        c[b + FIFO_READ] += 1
    return c[b + FIFO + (c[b + FIFO_READ] - 1) % FIFO_WORDS]


@native
def put(c: Words, b: int, value: int, now: int) -> None:
    """A byte into the transmit FIFO; a full one loses it."""
    c[b + IDLE] = c[b + SAME] = 0
    if waiting_out(c, b, now) >= c[b + DEPTH] or c[b + TX_STAGED] - c[b + TX_TAIL] >= RING:
        c[b + TX_LOST] += 1
        return
    c[b + TX_RING + c[b + TX_STAGED] % RING] = value & 0xFF
    c[b + TX_STAGED] += 1
    if c[b + HOLDS_BACK] == 0 or c[b + TX_STAGED] - c[b + TX_HEAD] >= c[b + DEPTH]:
        c[b + TX_HEAD] = c[b + TX_STAGED]
    c[b + TX_BUSY] = 1
    if c[b + BYTE_CYCLES]:
        c[b + TX_FREE] = max(c[b + TX_FREE], now) + c[b + BYTE_CYCLES]


@native
def is_idle(c: Words, b: int, now: int) -> Any:
    """Nothing to do before the host does something, for the last of many looks in a row."""
    out = waiting_out(c, b, now)
    is_blocked = out > 0 and c[b + BYTE_CYCLES] == 0
    is_empty = c[b + FIFO_WRITTEN] == c[b + FIFO_READ] and c[b + RX_TAIL] == c[b + RX_HEAD]
    if not is_blocked and not (is_empty and out == 0):
        c[b + IDLE] = 0
        return False
    c[b + IDLE] += 1
    return c[b + IDLE] > IDLE_POLLS


@native
def status(c: Words, b: int, now: int) -> Any:
    """STATUS of a UART: bytes in both FIFOs, lines at rest."""
    update(c, b, now)
    count = c[b + FIFO_WRITTEN] - c[b + FIFO_READ]
    return count | min(waiting_out(c, b, now), FIFO_WORDS) << 16 | REST


@native
def usb_status(c: Words, b: int, now: int) -> Any:
    """EP1_CONF of USB serial/JTAG: bit 1, room to write; bit 2, something to read."""
    update(c, b, now)
    free = 2 if waiting_out(c, b, now) == 0 else 0
    return free | (4 if c[b + FIFO_WRITTEN] != c[b + FIFO_READ] else 0)


@native
def next_event(c: Words, b: int, now: int) -> Any:
    """When the next byte of a timed line will be complete, either way; ``now`` when none is on its way."""
    byte, moment = c[b + BYTE_CYCLES], now
    out = waiting_out(c, b, now)
    if out > 0:
        moment = c[b + TX_FREE] - (out - 1) * byte
    if c[b + ARRIVAL] >= 0 and (out == 0 or c[b + ARRIVAL] < moment):
        moment = c[b + ARRIVAL]
    return moment


@native
def polled_status(c: Words, b: int, now: int, budget: Any) -> Any:
    """STATUS for firmware that polls it: time passes to the next byte when nothing else happens.

    -1 when more time would pass than the slice has, so that timers are looked at first.
    """
    value = status(c, b, now)
    if value != c[b + SEEN] or c[b + BYTE_CYCLES] == 0:
        c[b + SEEN] = value
        c[b + SAME] = 0
        return value
    c[b + SAME] += 1
    if c[b + SAME] < SAME_POLLS:
        return value
    skipped = next_event(c, b, now) - now
    if c[SKIPPED] + skipped >= budget:
        return -1
    if skipped > 0:
        c[SKIPPED] += skipped
        c[WAITED] += skipped
        c[LATEST] = now + skipped
        add_to_word(c[CCOUNT_ADDRESS], skipped)
        value = status(c, b, now + skipped)
        c[b + SEEN] = value
    return value


@native
def next_interrupt(c: Words, b: int, now: int) -> Any:
    """When the line will ask for an enabled interrupt by itself, -1 for never."""
    wanted = c[b + ENABLED] & ~c[b + RAW]
    byte, moment = c[b + BYTE_CYCLES], FOREVER
    count, coming = c[b + FIFO_WRITTEN] - c[b + FIFO_READ], c[b + RX_HEAD] - c[b + RX_TAIL]
    first = c[b + ARRIVAL] if c[b + ARRIVAL] >= 0 else now + byte
    if wanted & RXFIFO_FULL and byte and 0 < c[b + FULL_AT] - count <= coming:
        moment = min(moment, first + (c[b + FULL_AT] - count - 1) * byte)
    if wanted & RXFIFO_TOUT and c[b + TIMEOUT_CYCLES] and (count > 0 or coming > 0):
        last = first + (coming - 1) * byte if byte and coming > 0 else c[b + LAST_RX]
        if c[b + TIMED_OUT] == 0 or coming > 0:
            moment = min(moment, last + c[b + TIMEOUT_CYCLES])
    if wanted & TXFIFO_EMPTY and byte:
        moment = min(moment, c[b + TX_FREE] - (c[b + EMPTY_AT] - 1) * byte)
    if wanted & TX_DONE and c[b + TX_BUSY]:
        moment = min(moment, c[b + TX_FREE])
    return max(moment, now + 1) if moment < FOREVER else -1


@native
def collect(c: Words) -> None:
    """Finish the store to a transmit register that translated code has made last."""
    b = c[PENDING]
    if b:
        c[PENDING] = 0
        put(c, b, c[MAILBOX + c[PENDING_PLACE]], c[PENDING_NOW])


@native
def clock(c: Words, budget: int) -> Any:
    """Now, in cycles; it never goes back."""
    c[LATEST] = max(c[LATEST], c[TOTAL] - budget + c[WAITED])
    return c[LATEST]


@native
def register_value(c: Words, page: int, offset: int, now: int, budget: Any) -> Any:
    """A register that is polled, -1 for one that Python has to answer (also when the guest is idle)."""
    if page == UART_PAGE and offset == UART_FIFO:
        return take(c, UART, now)
    if page == UART_PAGE and offset in (UART_INT_RAW, UART_INT_ST):
        masked = update(c, UART, now)
        return c[UART + RAW] if offset == UART_INT_RAW else masked
    if page == UART_PAGE and offset == UART_STATUS and not is_idle(c, UART, now):
        return polled_status(c, UART, now, budget)
    if page == USB_PAGE and offset == USB_EP1:
        return take(c, USB, now)
    if page == USB_PAGE and offset == USB_EP1_CONF and not is_idle(c, USB, now):
        return usb_status(c, USB, now)
    return -1


@native
def load(c: Words, address: Any, size: Any, budget: Any) -> Any:
    """Offset at which a load from ``address`` finds the register's value, 0 to leave it to Python."""
    page, offset = address & PAGE_MASK, address & 0xFFF
    if (page != UART_PAGE and page != USB_PAGE) or size > 4 or offset & 3:
        return 0
    collect(c)
    value = register_value(c, page, offset, clock(c, budget), budget)
    if value < 0:
        return 0
    c[MAILBOX + (offset >> 3)] = value << (8 * (offset & 4))
    return c[MAILBOX_ADDRESS] - page


@native
def store(c: Words, address: Any, size: Any, budget: Any) -> Any:
    """Offset at which a store to a transmit register is made, to be collected later; 0 for others."""
    b = UART if address == UART_PAGE else USB if address == USB_PAGE else 0
    if b == 0 or size > 4:
        return 0
    collect(c)
    c[PENDING], c[PENDING_PLACE], c[PENDING_NOW] = b, 0, clock(c, budget)
    return c[MAILBOX_ADDRESS] - address


def _direct_load(context: Any, address: Any, size: Any, budget: Any) -> Any:
    return load(carray(context, SIZE), np.int64(address), np.int64(size), budget)


def _direct_store(context: Any, address: Any, size: Any, budget: Any) -> Any:
    return store(carray(context, SIZE), np.int64(address), np.int64(size), budget)


@cache
def entry_points() -> tuple[int, int]:
    """Host addresses of :func:`load` and :func:`store` for Memory.set_direct; compiled when first asked."""
    return direct(_direct_load), direct(_direct_store)
