"""Random programs for the two tiers: straight lines, and functions with loops, branches, calls and windows.

Registers with a meaning: a0 and a1 belong to the calling convention, a2 and a3 point into the data region,
a4 is a small step, a5 and a6 count loops; everything else is fair game. Whatever a program does, both tiers
must do the same: also end in the same trap, or use up the budget at the same instruction.
"""

import random
from dataclasses import dataclass, field

from emu.cpu.translator.policy import stepper_reason
from emu.isa.encode import OperandError, encode
from emu.isa.semantics import effects
from emu.isa.table import by_key, rows
from tests.translator.rig import CODE, DATA, DATA_SIZE

LITERALS = CODE
TEXT = CODE + 0x100
STACK = DATA + DATA_SIZE - 256
_CALM_GROUPS = (
    "base",
    "density",
    "mul",
    "misc",
    "mac16",
    "fp",
    "bool",
    "pie",
    "sr",
    "ur",
    "atomic",
    "sync",
    "div",
)
_WILD = frozenset({"ill", "ill.n", "movsp", "l32r", "s32nb", "ee.get_gpio_in", "s32e", "l32e"})
_RARE = frozenset({"quos", "quou", "rems", "remu", "ee.ldxq.32", "ee.stxq.32"})
"""Often end in a trap."""
_COUNTS = ("ee.srs", "ee.srcmb", "ee.slcxxp", "ee.srcxxp", "ee.movi")
"""Vector instructions whose ``as`` is a number, not an address."""
_MEMORY = ("l8", "l16", "l32", "s8", "s16", "s32", "lsi", "lsx", "ssi", "ssx", "ldinc", "lddec", "mula.d")
_FREE = tuple(range(7, 16))


@dataclass
class Program:
    """Instructions and labels; label operands are names until :meth:`assemble`."""

    items: list = field(default_factory=list)
    labels: int = 0

    def emit(self, key, **values):
        self.items.append((by_key()[key], values))

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def place(self, name, align=1):
        self.items.append((name, align))

    def assemble(self):
        """Bytes from TEXT on; raises OperandError when a label is out of reach."""
        where, at = {}, TEXT
        for head, value in self.items:
            if isinstance(head, str):
                at = -(-at // value) * value
                where[head] = at
            else:
                at += head.length
        code = bytearray()
        for head, value in self.items:
            if isinstance(head, str):
                code.extend(bytes(-len(code) % value))
                continue
            numbers = {name: where.get(x, x) for name, x in value.items()}
            code += encode(head, numbers, TEXT + len(code))
        return bytes(code), where


def calm_rows():
    """Rows that random programs use between their control instructions."""
    return [
        row
        for row in rows()
        if row.mnemonic in effects() and row.group in _CALM_GROUPS and not row.flow
        if not stepper_reason(row) and row.mnemonic not in _WILD
    ]


class Writer:
    """Random code into a program."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.program = Program()
        self._by_group = {}
        for row in calm_rows():
            self._by_group.setdefault(row.group, []).append(row)
        self.names = []

    # --- single instructions ----------------------------------------------------------------------------
    def calm(self, groups=()):
        """One instruction that goes on behind itself."""
        rng = self.rng
        usual = ["base"] * 5 + ["density"] * 2 + ["pie"] * 4 + ["fp"] * 2 + list(self._by_group)
        groups = groups or usual
        while True:
            row = rng.choice(self._by_group[rng.choice(groups)])
            if row.mnemonic in _RARE and rng.random() < 0.8:
                continue
            values = {o.name: self._value(row, o) for o in row.operands}
            if None not in values.values():
                self.program.emit(row.key, **values)
                return

    def _value(self, row, operand):
        kind, rng = operand.kind, self.rng
        if kind.cls != "ar":
            choices = [x for x in kind.values() if abs(x) < 200] or list(kind.values())
            return rng.choice(choices if kind.cls == "imm" else list(kind.values()))
        if not kind.bits:
            return kind.offset
        if self._is_base(row, operand):
            return rng.choice((2, 3))
        if operand.name == "ad" or (operand.name == "t" and row.mnemonic.startswith(("lsx", "ssx"))):
            return 4
        if operand.is_written:
            return rng.choice(_FREE)
        return rng.choice((2, 3, 4, 5, *_FREE, *_FREE))

    @staticmethod
    def _is_base(row, operand):
        """True for the operand that holds an address."""
        if row.group == "pie":
            return operand.name == "as" and not row.mnemonic.startswith(_COUNTS)
        memory = (
            "l8",
            "l16",
            "l32",
            "s8",
            "s16",
            "s32",
            "lsi",
            "lsx",
            "ssi",
            "ssx",
            "ldinc",
            "lddec",
            "mula.d",
        )
        return operand.name == "s" and row.mnemonic.startswith(memory)

    def pointers(self):
        """Fresh pointers and step."""
        for register in (2, 3):
            self.program.emit("l32r", t=register, literal=LITERALS + 4 * self.rng.randrange(16))
        self.program.emit("movi.n", s=4, imm=self.rng.choice((0, 1, 3, 16, 32, -16)))

    # --- structure --------------------------------------------------
    def body(self, size, depth, callees):
        """``size`` items of code, some of them loops, branches and calls."""
        rng = self.rng
        for _ in range(size):
            choice = rng.random()
            if choice < 0.05 and depth < 2:
                self._stream_loop()
            elif choice < 0.1 and depth < 2:
                self._hardware_loop(depth, callees)
            elif choice < 0.15 and depth < 2:
                self._branch_loop(depth, callees)
            elif choice < 0.22:
                self._skip(depth, callees)
            elif choice < 0.28 and callees:
                self._call(rng.choice(callees))
            elif choice < 0.34:
                self.pointers()
            else:
                self.calm()

    def _hardware_loop(self, depth, callees):
        rng, end = self.rng, self.program.label()
        counter = rng.choice(_FREE)
        self.program.emit(
            "movi", t=counter, imm=rng.choice((0, 1, 2, 3, 7, -1) if rng.random() < 0.3 else (2, 3, 5))
        )
        self.program.emit(
            rng.choice(("loop", "loopnez", "loopgtz")) if depth else "loopgtz", s=counter, target=end
        )
        inside = callees if rng.random() < 0.2 else []
        self.body(rng.randint(1, 5), 2, inside)
        if rng.random() < 0.2:
            self.program.emit("bnez", s=rng.choice(_FREE), target=end)
        self.calm()
        self.program.place(end)

    def _stream_loop(self):
        """A straight loop with many iterations whose pointers move evenly: what gets a fast version."""
        rng, end = self.rng, self.program.label()
        self.pointers()
        counter = rng.choice(_FREE)
        self.program.emit("movi", t=counter, imm=rng.choice((5, 6, 7, 8, 9, 20, 33, 60)))
        self.program.emit(rng.choice(("loop", "loopnez", "loopgtz")), s=counter, target=end)
        for _ in range(rng.randint(1, 6)):
            if rng.random() < 0.3:
                register = rng.choice((2, 3))
                self.program.emit(
                    "addi", t=register, s=register, imm=rng.choice((-16, -4, -1, 1, 2, 4, 16, 32))
                )
            else:
                self.calm(("pie", "pie", "base", "density", "fp", "mac16", "mul"))
        self.program.place(end)

    def _branch_loop(self, depth, callees):
        counter, again = 5 + depth, self.program.label()
        self.program.emit("movi.n", s=counter, imm=self.rng.randint(1, 5))
        self.program.place(again)
        self.body(self.rng.randint(1, 5), depth + 1, callees if self.rng.random() < 0.3 else [])
        self.program.emit("addi.n", r=counter, s=counter, imm=-1)
        self.program.emit("bnez", s=counter, target=again)

    def _skip(self, depth, callees):
        after, rng = self.program.label(), self.rng
        row = by_key()[rng.choice(("beqz", "bltu", "bge", "bbsi", "bany", "bnei", "bt", "beqz.n", "bgeui"))]
        values = {}
        for operand in row.operands:
            if operand.kind.cls == "label":
                values[operand.name] = after
            elif operand.kind.cls == "ar":
                values[operand.name] = rng.choice(_FREE)
            else:
                values[operand.name] = rng.choice(list(operand.kind.values()))
        self.program.emit(row.key, **values)
        for _ in range(rng.randint(1, 4)):
            self.calm()
        self.program.place(after)

    def _call(self, callee):
        rng = self.rng
        step = rng.choice((4, 8, 8, 12))
        if callee == "recursive":
            self.program.emit("movi.n", s=step + 2, imm=rng.choice((0, 1, 5, 12, 20)))
        self.program.emit(f"call{step}", target=callee)

    def recursive(self):
        """A function that calls itself a2 times."""
        program, done = self.program, self.program.label()
        program.place("recursive", 4)
        program.emit("entry", s=1, imm=self.rng.choice((32, 48)))
        program.emit("beqz", s=2, target=done)
        program.emit("addi", t=10, s=2, imm=-1)
        program.emit("call8", target="recursive")
        program.emit("add", r=2, s=2, t=10)
        program.place(done)
        program.emit(self.rng.choice(("retw", "retw.n")))

    def structured(self, functions):
        """Functions main, f1, f2, ..; each calls later ones."""
        names = [*(f"f{i}" for i in range(1, functions)), "recursive"]
        for number, name in enumerate(["main", *names[:-1]]):
            self.program.place(name, 4)
            self.program.emit("entry", s=1, imm=32 + 8 * self.rng.randrange(4))
            self.pointers()
            self.body(self.rng.randint(3, 12), 0, names[number:])
            self.program.emit(self.rng.choice(("retw", "retw.n")))
        self.recursive()
        return self.program

    def straight(self, size):
        """A line of code that ends with ret."""
        self.program.place("main", 4)
        self.pointers()
        for _ in range(size):
            if self.rng.random() < 0.03:
                self.pointers()
            else:
                self.calm()
        self.program.emit("ret")
        return self.program


def straight(seed, size=50):
    """(code, labels) of a straight program."""
    return _until_it_fits(lambda n: Writer(f"{seed} {n}").straight(size))


def structured(seed, functions=6):
    """(code, labels) of a structured program."""
    return _until_it_fits(lambda n: Writer(f"{seed} {n}").structured(functions))


def _until_it_fits(make):
    for attempt in range(100):
        try:
            return make(attempt).assemble()
        except OperandError:
            continue
    raise AssertionError("no program fits")


def literals(rng):
    """The table that ``l32r`` reads: pointers into the data region, at any alignment."""
    words = [DATA + 2048 + rng.randrange(2048) for _ in range(16)]
    return b"".join(word.to_bytes(4, "little") for word in words)
