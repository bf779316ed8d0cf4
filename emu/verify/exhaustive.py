"""``emu verify --exhaustive``: every bit pattern of an elementwise kernel's input, image against mirror.

The patterns of the spec's domain are cut into blocks; a slice ``i/n`` takes every n-th block, so that even a
small slice visits all exponents. Finished blocks are kept in the output folder: an interrupted run goes on
where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from emu.kernels.spec import Kernel, Tensor
from emu.verify.campaign import Campaign, Listener, Task, drive, new_campaign
from emu.verify.case import Case, refill, scalar_values
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.families import Array
from emu.verify.options import Options
from emu.verify.pool import Handler
from emu.verify.record import Record
from emu.verify.results import Piece
from emu.verify.runner import Progress, Runner
from emu.verify.sampled import save_failure
from emu.verify.shapes import all_dims, scalars, shape_of, tensors

BLOCK = 1 << 19
"""Patterns per call: input and two outputs fit the guest's arena."""
_BLOCKS_PER_TASK = 32
_INSTRUCTIONS_PER_PATTERN = 2000
"""The budget of a call allows at least so many: subnormals take loops."""
_FINITE_ONLY = ("finite", "moderate")


@dataclass(frozen=True)
class Blocks:
    """Blocks of one kernel's domain that one worker visits in one go."""

    symbol: str
    numbers: tuple[int, ...]

    @property
    def first(self) -> int:
        """Lowest block number."""
        return self.numbers[0]

    def __str__(self) -> str:
        return f"blocks {self.numbers[0]}..{self.numbers[-1]} of {self.symbol}"


def elementwise(kernel: Kernel) -> Tensor:
    """The input tensor whose patterns are visited. Raises UsageProblem when the kernel has no such input."""
    if kernel.elementwise is None:
        raise UsageProblem(f"kernel {kernel.symbol} is not elementwise: it has no exhaustive run")
    tensor = next((t for t in tensors(kernel) if t.name == kernel.elementwise[0]), None)
    generated = any(s.value is None for s in scalars(kernel))
    if tensor is None or len(tensor.shape) != 1 or not isinstance(tensor.shape[0], str) or generated:
        raise UsageProblem(
            f"kernel {kernel.symbol}: an exhaustive run needs an input of shape (dimension,) named in "
            "'elementwise' and no generated scalars"
        )
    if np.dtype(tensor.dtype).itemsize > 4:
        raise UsageProblem(
            f"kernel {kernel.symbol}: 2^64 inputs are too many; {tensor.dtype} has no exhaustive run"
        )
    return tensor


def domain(kernel: Kernel) -> tuple[int, int]:
    """First and last input pattern, inclusive."""
    return kernel.domain or (0, (1 << 8 * np.dtype(elementwise(kernel).dtype).itemsize) - 1)


def patterns(kernel: Kernel, block: int) -> Array:
    """Input of one block: its patterns, those outside the family left out."""
    tensor = elementwise(kernel)
    first, last = domain(kernel)
    start = first + block * BLOCK
    unsigned = f"u{np.dtype(tensor.dtype).itemsize}"
    bits = np.arange(start, min(start + BLOCK, last + 1), dtype=np.uint64).astype(unsigned)
    if tensor.dtype == "float32" and tensor.values in _FINITE_ONLY:
        bits = bits[bits & np.uint32(0x7F800000) != 0x7F800000]
    return bits.view(tensor.dtype)


def block_count(kernel: Kernel) -> int:
    """Blocks in the kernel's domain."""
    first, last = domain(kernel)
    return -(-(last - first + 1) // BLOCK)


def block_case(kernel: Kernel, block: int) -> Case:
    """The case of one block: all its patterns in one call, other inputs as their fill makes them."""
    tensor = elementwise(kernel)
    values = patterns(kernel, block)
    size = str(tensor.shape[0])
    dims = all_dims(kernel, {d.name: values.size if d.name == size else d.low for d in kernel.dims})
    arrays = {tensor.name: values}
    for i, other in enumerate(tensors(kernel)):
        if other.role != "out" and other.name != tensor.name:
            array = np.zeros(shape_of(kernel, other, dims), other.dtype).reshape(-1)
            refill(kernel, other, dims, array, 0, i)
            arrays[other.name] = array
    offsets = {t.name: (4 * block) % 16 if t.align == 1 else 0 for t in tensors(kernel)}
    case = Case(kernel.symbol, dims, arrays, offsets, scalar_values(kernel, dims, {}), dirty=block)
    case.origin = {"exhaustive block": block}
    return case


def exhaustive_options(options: Options) -> Options:
    """The options with a budget that a whole block may need."""
    return replace(options, budget=max(options.budget, _INSTRUCTIONS_PER_PATTERN * BLOCK))


def parse_slice(text: str) -> tuple[int, int]:
    """``"i/n"`` with 0 <= i < n. Raises UsageProblem."""
    try:
        part, whole = (int(v) for v in text.split("/"))
    except ValueError:
        raise UsageProblem(f"--slice wants i/n, for example 0/64, not {text!r}") from None
    if not 0 <= part < whole:
        raise UsageProblem(f"--slice {text}: i must be at least 0 and less than n")
    return part, whole


def run_exhaustive(
    kernels: Sequence[Kernel],
    options: Options,
    make_runner: Callable[[], Runner],
    part: tuple[int, int],
    fingerprint: str,
    listen: Listener = lambda campaign, symbol, running: None,
) -> Campaign:
    """Visit every pattern of slice ``part`` = (i, n) of every kernel's domain."""
    campaign = new_campaign(kernels, options, 0)
    records = {k.symbol: Record(options.out, k, fingerprint, BLOCK) for k in kernels}
    tasks = []
    for kernel in kernels:
        result = campaign.results[kernel.symbol]
        chosen = range(part[0], block_count(kernel), part[1])
        if not chosen:
            del campaign.results[kernel.symbol]
            campaign.notes.append(
                f"{kernel.symbol}: none of its {block_count(kernel)} blocks is in this slice"
            )
            continue
        result.wanted = sum(_size(kernel, b) for b in chosen)
        done = [b for b in chosen if b in records[kernel.symbol].done]
        result.examples = sum(_size(kernel, b) for b in done)
        if done:
            campaign.notes.append(
                f"{kernel.symbol}: {result.examples:,} patterns were done before, not run again"
            )
        tasks += _tasks(kernel, chosen, records[kernel.symbol].done)
    if not tasks:
        return campaign

    def settle(campaign: Campaign, task: Task, piece: Piece) -> None:
        assert isinstance(task, Blocks)
        if not piece.error and piece.failure is None:
            records[task.symbol].add(task.numbers)
        save_failure(campaign, task, piece)

    return drive(campaign, tasks, lambda: _handler(kernels, make_runner), settle, listen)


def _size(kernel: Kernel, block: int) -> int:
    """Patterns in a block without making all of them: only those at the edge of the family are counted one by
    one.
    """
    tensor = elementwise(kernel)
    first, last = domain(kernel)
    start, end = first + block * BLOCK, min(first + (block + 1) * BLOCK, last + 1)
    if tensor.dtype != "float32" or tensor.values not in _FINITE_ONLY:
        return end - start
    gone = 0
    for low, high in ((0x7F800000, 0x80000000), (0xFF800000, 0x100000000)):
        gone += max(0, min(end, high) - max(start, low))
    return end - start - gone


def _tasks(kernel: Kernel, chosen: range, done: set[int]) -> list[Blocks]:
    pending = [b for b in chosen if b not in done]
    groups = [pending[i : i + _BLOCKS_PER_TASK] for i in range(0, len(pending), _BLOCKS_PER_TASK)]
    return [Blocks(kernel.symbol, tuple(group)) for group in groups]


def _handler(kernels: Sequence[Kernel], make_runner: Callable[[], Runner]) -> Handler:
    by_symbol = {k.symbol: k for k in kernels}
    runner = make_runner()

    def handle(task: Blocks, progress: Progress) -> Piece:
        kernel = by_symbol[task.symbol]
        piece = Piece(task.symbol, task.first)
        for block in task.numbers:
            try:
                _visit(runner, kernel, block, piece)
            except (ToolError, UsageProblem) as error:
                piece.error = str(error)
            if piece.error or piece.failure:
                break
            progress(piece.examples)
        return piece

    return handle


def _visit(runner: Runner, kernel: Kernel, block: int, piece: Piece) -> None:
    case = block_case(kernel, block)
    size = case.arrays[elementwise(kernel).name].size
    if not size:
        return
    one = runner.run(kernel, block, [(block, case)])
    piece.examples += size
    piece.instructions += one.instructions
    piece.seconds += one.seconds
    piece.error = one.error
    if one.failure is not None:
        piece.failure = one.failure
        mismatch = one.failure.drawn_outcome.mismatch
        piece.bad += 1 if mismatch is None else sum(d.count for d in mismatch.differences)
