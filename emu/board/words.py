"""Layout of the array that translated code, native helpers and Python share for the serial lines.

One array of int64: words of the board, a mailbox of one guest page, then a block of words for each line.
Plain integers, because native code is compiled with them.
"""

from __future__ import annotations

TOTAL = 0
"""Instructions and budget of the current slice together (emu.cpu.slices)."""
WAITED = 1
"""Cycles that were no instructions."""
LATEST = 2
"""The latest moment that a line has seen."""
MAILBOX_ADDRESS = 3
"""Host address of the mailbox."""
PENDING = 4
"""Block of the line whose transmit register was written last, 0 when nothing is to be collected."""
PENDING_PLACE = 5
PENDING_NOW = 6
SKIPPED = 7
"""Cycles of this slice that native code let pass while firmware polled; part of WAITED already."""
CCOUNT_ADDRESS = 8
"""Host address of the running core's CCOUNT."""

MAILBOX = 16
MAILBOX_WORDS = 512

# Words of a line, from the start of its block
RX_HEAD, RX_TAIL = 0, 1
"""Bytes that the host has put into the ring, and those that have gone on to the FIFO."""
TX_HEAD, TX_TAIL, TX_STAGED = 2, 3, 4
"""Bytes that the host may take, that it has taken, and that the guest has written."""
FIFO_WRITTEN, FIFO_READ = 5, 6
DEPTH = 7
"""Bytes of each FIFO."""
BYTE_CYCLES = 8
"""Cycles of a byte on the wire, 0 for an ideal line."""
ARRIVAL = 9
"""When the byte that is on the wire will be complete; -1: the wire is at rest."""
TX_FREE = 10
"""When the last byte of the transmit FIFO will have left."""
RAW, ENABLED = 11, 12
FULL_AT, EMPTY_AT = 13, 14
TIMEOUT_CYCLES, LAST_RX, TIMED_OUT = 15, 16, 17
TX_BUSY = 18
LOST, TX_LOST = 19, 20
IDLE = 21
SAME = 23
"""Looks at the status in a row between which nothing has changed and no byte was moved."""
SEEN = 24
"""The status at the last look."""
HOLDS_BACK = 22
"""Written bytes stay until a whole packet is there or the guest says so (USB)."""
LINE_WORDS = 32

FIFO_WORDS = 128
RING = 1 << 15
FIFO = LINE_WORDS
RX_RING = FIFO + FIFO_WORDS
TX_RING = RX_RING + RING
BLOCK = TX_RING + RING

UART = MAILBOX + MAILBOX_WORDS
USB = UART + BLOCK
SIZE = USB + BLOCK

# Interrupt bits that both sides of a UART share (chip reference manual, UART_INT_RAW_REG)
RXFIFO_FULL, TXFIFO_EMPTY, RXFIFO_OVF, RXFIFO_TOUT, TX_DONE = 1 << 0, 1 << 1, 1 << 4, 1 << 8, 1 << 14
