"""Random code for the comparison with QEMU: straight lines, loops, branches, calls.

a8 points to the writable half of the case's buffer, a9 to the half that only has words other than 0,
a10..a12 are pointers that an instruction may move. What QEMU does not have, or is known to do in another
way, is named in :data:`LEFT_OUT`, with the reason; docs/isa-notes.md explains each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from fp_samples import random_float
from qemu_program import BUFFER, Case, buffer_address

from emu.isa.registers import BY_MNEMONIC
from emu.isa.table import Operand, Row, rows

HALF = BUFFER // 2
TARGETS = (2, 3, 4, 5, 6, 7, 13, 14, 15)
"""Address registers that random code may overwrite."""
SOURCES = (*TARGETS, 8, 9)
EXTREMES = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x8000, 0x7FFF, 0xFFFF8000, 0x80008000, 31, 32, 33)

_STEPS = "div0.s sqrt0.s recip0.s rsqrt0.s nexp01.s mksadj.s mkdadj.s addexp.s addexpm.s maddn.s divn.s"
LEFT_OUT = {
    **dict.fromkeys(_STEPS.split(), "QEMU replaces the sequences as a whole; they are compared at their end"),
    "mulsh": "the core has no high multiplication",
    "muluh": "the core has no high multiplication",
    "s32nb": "stores like s32i, in one test of its own",
    "wur.fsr": "QEMU drops the bits that are no flags; only flags are written, in one test of its own",
    "wur.fcr": "as wur.fsr",
    "wur.threadptr": "carries a register across the frame of the test",
    "rur.threadptr": "as wur.threadptr",
    "l32r": "its literal lies in the code; the frame of the test uses it",
    "ill": "an exception",
    "ill.n": "an exception",
}


def _reason(row: Row) -> str:
    if row.mnemonic in LEFT_OUT:
        return LEFT_OUT[row.mnemonic]
    if row.group == "pie":
        return "no QEMU core has the vector unit"
    if row.group in ("exc", "debug", "tlb", "eri"):
        return "not available to a user program"
    if row.group == "sr" and BY_MNEMONIC[row.mnemonic].number >= 64:
        return "not available to a user program"
    if row.mnemonic.endswith(("litbase",)):
        return "neither core has the register"
    if row.group == "ur" and BY_MNEMONIC[row.mnemonic].name not in ("FCR", "FSR"):
        return "register of the vector unit"
    if row.group == "window" or row.flow:
        return "in the structured programs"
    if row.mnemonic.startswith(("wsr.lbeg", "wsr.lend", "wsr.lcount", "xsr.lbeg", "xsr.lend", "xsr.lcount")):
        return "would start a loop; the frame of the test writes LBEG and LEND"
    return ""


STRAIGHT = [row for row in rows() if not _reason(row)]
"""Rows that random straight code is made of."""
REASONS = {row.mnemonic: _reason(row) for row in rows() if _reason(row)}
"""Why the others are not."""


def _memory_text(row: Row, rng: random.Random) -> str | None:
    """An access inside the buffer, or None when the row is not one."""
    names = {operand.name: operand for operand in row.operands}
    name = row.mnemonic
    scale = 1 if name.startswith(("l8", "s8")) else 2 if name.startswith(("l16", "s16")) else 4
    immediate = names.get("imm")
    if name.startswith(("ld", "mula")) and name.endswith(("inc", "dec")):
        return _text(row, rng, s=rng.choice((10, 11, 12)))
    if name in ("lsip", "ssip"):
        return _text(row, rng, s=rng.choice((10, 11, 12)), imm=rng.choice((0, 4, 8)))
    if name in ("lsx", "ssx"):
        return _text(row, rng, s=8, t=13)
    if name in ("lsxp", "ssxp"):
        return _text(row, rng, s=rng.choice((10, 11, 12)), t=13)
    if name in ("s32i", "l32i", "l32ai", "s32ri", "s32c1i", "s32i.n", "l32i.n", "lsi", "ssi") or scale < 4:
        top = min(immediate.kind.max, HALF - scale) if immediate else 0
        base = 9 if name.startswith("l") and rng.getrandbits(1) else 8
        return _text(row, rng, s=base, imm=rng.randrange(0, top + 1, scale))
    return None


def _text(row: Row, rng: random.Random, **fixed: int) -> str:
    parts = [_operand(operand, rng, fixed.get(operand.name)) for operand in row.operands]
    return f"{row.mnemonic} {', '.join(parts)}".strip()


def _operand(operand: Operand, rng: random.Random, fixed: int | None) -> str:
    kind = operand.kind
    letter = {"ar": "a", "fr": "f", "br": "b", "mr": "m"}.get(kind.cls, "")
    if fixed is not None:
        return f"{letter}{fixed}"
    if kind.cls == "ar":
        return f"a{rng.choice(TARGETS if operand.is_written else SOURCES)}"
    return f"{letter}{kind.value(rng.randrange(1 << kind.width))}"


def instruction(rng: random.Random) -> list[str]:
    """One random instruction, with what must come before or behind it."""
    row = rng.choice(STRAIGHT)
    name = row.mnemonic
    if name == "slli":
        return [_text(row, rng, sa=rng.randrange(1, 32))]
    if name == "sll":
        return [f"ssl a{rng.choice(SOURCES)}", _text(row, rng)]
    if name in ("trunc.s", "utrunc.s", "round.s", "floor.s", "ceil.s"):
        return _to_integer(row, rng)
    if row.group == "div":
        t = rng.choice(TARGETS)
        return [f"l32i a{t}, a9, {rng.randrange(0, HALF, 4)}", _text(row, rng, t=t)]
    if name in ("lsx", "ssx", "lsxp", "ssxp"):
        return [f"movi a13, {rng.randrange(0, 32, 4)}", *_in_place(_memory_text(row, rng))]
    memory = _memory_text(row, rng)
    return _in_place(memory) if memory else [_text(row, rng)]


def _to_integer(row: Row, rng: random.Random) -> list[str]:
    """With a scale, and for utrunc.s, QEMU's flags are known to be wrong: they are cleared, the value
    stays.
    """
    scale = rng.choice((0, 0, rng.randrange(16)))
    text = _text(row, rng, imm=scale)
    return [text, "movi a13, 0", "wur.fsr a13"] if scale or row.mnemonic == "utrunc.s" else [text]


def _in_place(text: str | None) -> list[str]:
    """Pointers that move are put back before each use, so that they stay inside the buffer."""
    assert text
    moving = [pointer for pointer in (10, 11, 12) if f"a{pointer}" in text]
    return [*(f"addi a{pointer}, a8, {4 * pointer}" for pointer in moving), text]


def _word(rng: random.Random) -> int:
    return rng.choice((rng.getrandbits(32), rng.choice(EXTREMES), random_float(rng)))


def registers(rng: random.Random, index: int) -> dict[str, int]:
    """Start values of everything."""
    found = {f"a{n}": _word(rng) for n in range(2, 16)} | {f"f{n}": random_float(rng) for n in range(16)}
    base = buffer_address(index)
    found |= {"a0": rng.getrandbits(32), "a8": base, "a9": base + HALF}
    found |= {"a10": base + 40, "a11": base + 44, "a12": base + 48}
    found |= {
        name: _word(rng) for name in ("scompare1", "acclo", "acchi", "m0", "m1", "m2", "m3", "lbeg", "lend")
    }
    found |= {"sar": rng.getrandbits(6), "br": rng.getrandbits(16), "acchi": rng.getrandbits(8)}
    return found | {"fcr": rng.getrandbits(7), "fsr": rng.getrandbits(5) << 7}


def buffer(rng: random.Random) -> bytes:
    """Words; those of the second half are never 0."""
    words = [_word(rng) | (n >= BUFFER // 8) for n in range(BUFFER // 4)]
    return b"".join(word.to_bytes(4, "little") for word in words)


def straight(index: int, seed: int, length: int = 40) -> Case:
    """A straight line of ``length`` random instructions."""
    rng = random.Random(f"{seed}/{index}")
    code = [text for _ in range(length) for text in instruction(rng)]
    return Case(code, registers(rng, index), buffer(rng))


# --- structure ----------------------------------------------------------------------------------------
_BRANCHES = [row for row in rows() if row.flow == "branch"]


def _size(text: str) -> int:
    return 2 if text.split()[0].endswith(".n") else 3


def _block(rng: random.Random, length: int) -> list[str]:
    return [text for _ in range(length) for text in instruction(rng)]


def _branch(rng: random.Random) -> list[str]:
    """A branch over a block."""
    row = rng.choice(_BRANCHES)
    body = _block(rng, rng.randrange(1, 4))
    parts = [_operand(o, rng, None) for o in row.operands if o.kind.cls != "label"]
    distance = row.length + sum(map(_size, body))
    return [f"{row.mnemonic} {', '.join([*parts, f'@{distance}'])}", *body]


_COUNTS = {"loop": (1, 6), "loopnez": (0, 6), "loopgtz": (-2, 6)}


def _loop(rng: random.Random) -> list[str]:
    """A hardware loop; half of the bodies end in a branch to the loop's end, which leaves it when taken."""
    name = rng.choice(list(_COUNTS))
    body = _block(rng, rng.randrange(1, 5))
    if rng.getrandbits(1):
        body.append(
            f"{rng.choice(('beq', 'bltu', 'bany'))} a{rng.choice(SOURCES)}, a{rng.choice(SOURCES)}, @3"
        )
    else:
        body.append("nop")
    distance = 3 + sum(map(_size, body))
    return [f"movi a15, {rng.randrange(*_COUNTS[name])}", f"{name} a15, @{distance}", *body]


_PLAIN = [
    row
    for row in STRAIGHT
    if row.group in ("base", "density", "misc", "mul") and row.mnemonic not in ("slli", "sll")
]


def _plain(rng: random.Random) -> str:
    """An instruction on a2..a7 only, without memory: what lies above belongs to the caller or to the
    callee.
    """
    while True:
        row = rng.choice(_PLAIN)
        if _memory_text(row, rng) is None:
            break
    parts = [
        f"a{rng.randrange(2, 8)}" if o.kind.cls == "ar" else _operand(o, rng, None) for o in row.operands
    ]
    return f"{row.mnemonic} {', '.join(parts)}".strip()


def _function(rng: random.Random, step: int) -> list[str]:
    body = [_plain(rng) for _ in range(rng.randrange(1, 6))]
    if not step:
        return [*body, rng.choice(("ret", "ret.n"))]
    return [f"entry a1, {rng.randrange(48, 128, 16)}", *body, rng.choice(("retw", "retw.n"))]


def _call(rng: random.Random, number: int, step: int) -> list[str]:
    """A call to function ``number``; arguments are whatever is in the registers."""
    if rng.getrandbits(1):
        return [f"call{step} @fn{number}"]
    return [f"l32r a7, @lit{number}", f"callx{step} a7"]


def structured(index: int, seed: int, pieces: int = 12) -> Case:
    """Blocks, branches, loops and calls. Calls come last: they leave a8.. with what the callee had there."""
    rng = random.Random(f"structured {seed}/{index}")
    code: list[str] = []
    for _ in range(pieces):
        code += rng.choice((_branch, _loop, lambda r: _block(r, 3)))(rng)
    steps = [rng.choice((0, 4, 8, 12)) for _ in range(3)]
    functions = [_function(rng, step) for step in steps]
    for number, step in enumerate(steps):
        code += _call(rng, number, step)
    return Case(code, registers(rng, index), buffer(rng), functions)


def recursion(index: int, seed: int) -> Case:
    """f(n): registers full of n, f(n - 1), then a sum over all of them, so that a lost register shows."""
    rng = random.Random(f"recursion {seed}/{index}")
    step = (4, 8, 12)[index % 3]
    fill = [f"addi a{n}, a2, {rng.randrange(-100, 100)}" for n in range(3, step)]
    use = [f"addx{rng.choice((2, 4, 8))} a2, a2, a{n}" for n in range(3, step)]
    deeper = [f"addi a{step + 2}, a2, -1", f"call{step} @fn0", f"xor a2, a2, a{step + 2}"]
    skip = 3 + sum(map(_size, deeper))
    function = [f"entry a1, {rng.randrange(64, 128, 16)}", *fill, f"beqz a2, @{skip}", *deeper, *use, "retw"]
    depth = rng.choice((0, 1, 7, 15, 16, 17, 40, 100))
    start = [f"movi a{step + 2}, {depth}", f"call{step} @fn0"]
    return Case(start, registers(rng, index), buffer(rng), [function])


def cases(kind: str, count: int, seed: int) -> Iterator[Case]:
    """``count`` cases of a kind: straight, structured or recursion."""
    make = {"straight": straight, "structured": structured, "recursion": recursion}[kind]
    return (make(index, seed) for index in range(count))
