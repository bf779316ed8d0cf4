"""Finds the code of a unit: everything reachable from its entry without leaving the function.

Branches, jumps, hardware loops and fall-through are followed; calls continue behind the call; indirect jumps,
returns and instructions that are left to the stepper end a path.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from functools import cached_property

from emu.cpu.map import PAGE_BITS
from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.plan import Plan
from emu.cpu.translator.steps import Step, make_step
from emu.cpu.translator.tables import targets_of
from emu.isa.decode import IllegalInstruction, decode
from emu.isa.table import LENGTH_OF_NIBBLE

LIMIT = 1500
"""Instructions of a unit at most; what lies beyond becomes units of its own."""

LoopEnd = tuple[int, int]
"""(LBEG, LEND)"""


@dataclass
class CodeBlock:
    """Straight-line code. ``window_level``: panes known to be free at its start. ``is_loop_head``: a jump
    goes back here.
    """

    start: int
    steps: list[Step] = field(default_factory=list)
    window_level: int = 0
    is_loop_head: bool = False

    @cached_property
    def plans(self) -> list[Plan]:
        """The instructions, ready to be translated."""
        return [step.plan for step in self.steps]

    @property
    def last(self) -> Step:
        """The last instruction."""
        return self.steps[-1]

    @property
    def end(self) -> int:
        """Address behind the last instruction."""
        return self.last.insn.next_pc


@dataclass
class Code:
    """The code of a unit. ``blocks``: by their starts. The entry always has a block; where it lies inside
    another one, as after an interruption, that one stays whole: a loop that was entered in its middle is
    still recognised. ``loop_ends``: LBEG and LEND of every hardware loop that may end in the unit.

    ``careful``: instructions whose accesses are checked for themselves (see groups.py). ``indirect``: likely
    targets of the indirect jumps (see tables.py). ``has_nans``: float results may be NaN (see numbers.py).
    """

    entry: int
    blocks: dict[int, CodeBlock]
    loop_ends: frozenset[LoopEnd]
    careful: frozenset[int] = frozenset()
    indirect: dict[int, tuple[int, ...]] = field(default_factory=dict)
    has_nans: bool = False

    @property
    def steps(self) -> list[Step]:
        """All instructions in order of their addresses, each once."""
        found = {step.insn.pc: step for block in self.blocks.values() for step in block.steps}
        return [found[pc] for pc in sorted(found)]

    @property
    def has_loops(self) -> bool:
        """True when some instruction may run more than once."""
        return any(block.is_loop_head for block in self.blocks.values())

    def covers(self, pc: int) -> bool:
        """True when the instruction at ``pc`` belongs to the unit."""
        return any(block.start <= pc < block.end for block in self.blocks.values())

    @property
    def literals(self) -> dict[int, int]:
        """Words that the code loads and that it may rely on, by their addresses."""
        found = (step for step in self.steps if step.literal is not None)
        return {step.insn.operands["literal"]: step.literal for step in found if step.literal is not None}

    def ranges(self) -> list[tuple[int, bytes]]:
        """The bytes of the instructions, as maximal runs of (address, bytes)."""
        runs: list[tuple[int, bytearray]] = []
        for step in self.steps:
            if not runs or runs[-1][0] + len(runs[-1][1]) != step.insn.pc:
                runs.append((step.insn.pc, bytearray()))
            runs[-1][1].extend(step.data)
        return [(start, bytes(data)) for start, data in runs]


class Reader:
    """Decoded instructions of a memory, by address.

    ``hooked``: addresses that only the stepper may execute. ``unsteady``: pages whose words may change
    although code loads them as literals; None when no page's word may be relied on.
    """

    def __init__(
        self,
        memory: Memory,
        float_pair: str,
        hooked: Container[int] = frozenset(),
        unsteady: Container[int] | None = None,
    ) -> None:
        self._memory = memory
        self._float_pair = float_pair
        self._hooked = hooked
        self._unsteady = unsteady

    def step(self, pc: int) -> Step | None:
        """The instruction at ``pc``; None where none can run, or where the host wants to be told."""
        if pc in self._hooked:
            return None
        try:
            data = self._bytes(pc)
            insn = decode(data, pc)
        except (MemoryFault, IllegalInstruction):
            return None
        step = make_step(insn, data[: insn.length], self._float_pair)
        if insn.mnemonic == "l32r":
            step.literal = self._literal(insn.operands["literal"])
        return step

    def _literal(self, address: int) -> int | None:
        """The word at an address, if it is plain memory that keeps it."""
        region = self._memory.find(address)
        pages = (address >> PAGE_BITS, (address + 3) >> PAGE_BITS)
        if self._unsteady is None or region is None or any(page in self._unsteady for page in pages):
            return None
        if region.buffer is None or "r" not in region.perms or address + 4 > region.end:
            return None
        return int.from_bytes(self._memory.read(address, 4), "little")

    def targets_of(self, steps: dict[int, Step], jump: Step) -> tuple[int, ...]:
        """Likely targets of an indirect jump."""
        return targets_of(self._memory, steps, jump)

    def _bytes(self, pc: int) -> bytes:
        first = self._memory.fetch(pc, 1)
        length = LENGTH_OF_NIBBLE[first[0] & 15]
        return first + self._memory.fetch((pc + 1) & 0xFFFFFFFF, length - 1)


def discover(
    reader: Reader,
    entry: int,
    hints: frozenset[LoopEnd],
    has_loops: bool,
    limit: int = LIMIT,
    around: int | None = None,
) -> Code | None:
    """The code of the unit at ``entry``; None when no instruction is there.

    ``hints``: hardware loops set up elsewhere that may end in the unit. ``around``: entry of a unit that has
    ``entry`` inside; what leads there tells where its indirect jumps go.
    """
    search = _Search(reader, entry, hints, limit)
    search.run(around)
    if entry not in search.steps:
        return None
    search.leaders.update(end for _, end in search.loop_ends)
    blocks = _form_blocks(search.steps, search.leaders, entry)
    loop_ends = frozenset(search.loop_ends) if has_loops else frozenset[LoopEnd]()
    code = Code(entry, blocks, loop_ends, indirect=search.indirect)
    if around is not None:
        code.blocks = _reachable(code)
    _mark_loop_heads(code)
    return code


def _reachable(code: Code) -> dict[int, CodeBlock]:
    """The blocks to which control may come from the entry."""
    found: dict[int, CodeBlock] = {}
    waiting = [code.entry, *(begin for begin, _ in code.loop_ends if begin in code.blocks)]
    while waiting:
        start = waiting.pop()
        if start not in found:
            found[start] = code.blocks[start]
            waiting += block_successors(code, code.blocks[start])
    return found


class _Search:
    """Follows the code from an entry."""

    def __init__(self, reader: Reader, entry: int, hints: frozenset[LoopEnd], limit: int) -> None:
        self.steps: dict[int, Step] = {}
        self.leaders: set[int] = set()
        self.loop_ends = set(hints)
        self.indirect: dict[int, tuple[int, ...]] = {}
        self._reader = reader
        self._limit = limit
        self._entry = entry
        self._waiting = [begin for begin, _ in sorted(hints)]
        self.leaders.update(self._waiting)

    def run(self, around: int | None) -> None:
        """Until nothing new is found."""
        self._follow(self._entry)
        if around is not None:
            self._waiting.append(around)
            self.leaders.add(around)
        while self._waiting or self._look_at_tables():
            while self._waiting:
                self._follow(self._waiting.pop())

    def _follow(self, pc: int) -> None:
        while pc not in self.steps and len(self.steps) < self._limit:
            step = self._reader.step(pc)
            if step is None:
                return
            self.steps[pc] = step
            insn, following = step.insn, step.following
            if insn.row.flow:
                self.leaders.update(following)
                self._waiting += [target for target in following if target != insn.next_pc]
            if insn.row.flow == "loop":
                self.loop_ends.add((insn.next_pc, insn.operands["target"]))
            if insn.next_pc not in following:
                return
            pc = insn.next_pc

    def _look_at_tables(self) -> bool:
        """Note the likely targets of indirect jumps; True when there is more to follow."""
        for pc, step in list(self.steps.items()):
            if step.insn.mnemonic == "jx" and pc not in self.indirect:
                self.indirect[pc] = targets = self._reader.targets_of(self.steps, step)
                self._waiting += targets
                self.leaders.update(targets)
        return bool(self._waiting)


def _form_blocks(steps: dict[int, Step], leaders: set[int], entry: int) -> dict[int, CodeBlock]:
    blocks: dict[int, CodeBlock] = {}
    for start in sorted(leaders & steps.keys() | {entry}):
        block = blocks[start] = CodeBlock(start)
        pc = start
        while pc in steps and (pc == start or pc not in leaders):
            step = steps[pc]
            block.steps.append(step)
            pc = step.insn.next_pc
            if step.insn.row.flow or pc not in step.following:
                break
    return blocks


def block_successors(code: Code, block: CodeBlock) -> list[int]:
    """Starts of the blocks to which control may go inside the unit, loop-backs included."""
    last = block.last
    found = [*last.following, *code.indirect.get(last.insn.pc, ())]
    if block.end in found:
        found += [begin for begin, end in sorted(code.loop_ends) if end == block.end]
    return [target for target in found if target in code.blocks]


def _mark_loop_heads(code: Code) -> None:
    for block in code.blocks.values():
        for target in block_successors(code, block):
            if target <= block.last.insn.pc:
                code.blocks[target].is_loop_head = True


def ways_to_check(code: Code) -> dict[int, int]:
    """For each block the most instructions from its start to the next place that looks at the budget.

    Those places are the heads of loops, what is behind calls, and other units.
    """
    ways: dict[int, int] = {}
    for start in sorted(code.blocks, reverse=True):
        block = code.blocks[start]
        ahead = [] if block.last.insn.row.flow == "call" else block_successors(code, block)
        rest = (ways[target] for target in ahead if not code.blocks[target].is_loop_head)
        ways[start] = len(block.steps) + max(rest, default=0)
    return ways


def settle_window_levels(code: Code) -> None:
    """Panes checked on every path to a block: the greatest solution, from above."""
    levels = dict.fromkeys(code.blocks, 3)
    levels[code.entry] = 0
    waiting = set(code.blocks)
    while waiting:
        block = code.blocks[waiting.pop()]
        level = levels[block.start]
        for plan in block.plans:
            level = next_level(level, plan)
        for target in block_successors(code, block):
            if level < levels[target]:
                levels[target] = level
                waiting.add(target)
    for start, level in levels.items():
        code.blocks[start].window_level = level


def next_level(level: int, plan: Plan) -> int:
    """Panes known to be free behind an instruction, from those before it."""
    if plan.is_entry or plan.insn.row.flow == "call":
        return 0
    return max(level, plan.pane)
