"""Code that goes on where a slice ended, in the middle of a loop's body."""

from emu.bench.build import CHIP, find_image
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.state import ExitReason
from emu.cpu.translator import versions
from emu.cpu.translator.discover import Reader, discover, ways_to_check
from emu.image import load_image
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import CODE, DATA, Side, options

BODY = 9
COUNT = 500


def _program():
    """Adds words up, with a count that a branch tests."""
    program = Program()
    program.place("main", 4)
    program.emit("l32r", t=2, literal=LITERALS)
    program.emit("movi", t=7, imm=COUNT)
    program.place("again")
    program.emit("l32i", t=8, s=2, imm=0)
    for register in (9, 10, 11, 12, 13):
        program.emit("add.n", r=register, s=8, t=register)
    program.emit("addi.n", r=2, s=2, imm=4)
    program.emit("addi.n", r=7, s=7, imm=-1)
    program.emit("bnez", s=7, target="again")
    program.emit("ret")
    return program.assemble()


def _in_slices(pair, length):
    """The tier runs in slices of ``length`` instructions from now on."""
    run = pair.translator.run

    def sliced():
        state = pair.sides[1].state
        left = state.budget
        while left > 0:
            state.budget = piece = min(length, left)
            reason = run()
            left -= piece - state.budget
            state.budget = left
            if reason == ExitReason.RETURN:
                return reason
        return ExitReason.BUDGET

    pair.translator.run = sliced


def test_slices_that_end_anywhere_make_no_unit_for_every_place(pair):
    code, labels = _program()
    for length in (101, 102, 103, 104, 107):
        before = pair.translator._library.made
        _in_slices(pair, length)
        pair.check(f"slices {length}", code, labels, False, (DATA + 16,))
        del pair.translator.run
        made = pair.translator._library.made - before
        assert made <= 3, "the function, its loop, what is behind it"
    assert pair.outcomes == {"RETURN": 5}


def test_a_loop_that_is_entered_in_its_middle_keeps_its_fast_version(pair, monkeypatch):
    opened = []
    original = versions.FastLoop.open
    monkeypatch.setattr(versions.FastLoop, "open", lambda self, *a: opened.append(1) or original(self, *a))
    code, labels = _program()
    side = Side(options())
    side.memory.write(CODE + 0x100, code)
    middle = labels["again"] + 7
    pair.check("whole", code, labels, False, (DATA + 16,))
    assert len(opened) == 1
    inside = dict(labels, main=middle)
    pair.check("from the middle", code, inside, False, (DATA + 16,), budget=300)
    assert len(opened) == 2
    found = discover(Reader(side.memory, "float_pair_coprocessor"), middle, frozenset(), True)
    whole, part = found.blocks[labels["again"]], found.blocks[middle]
    assert (len(whole.steps), len(part.steps)) == (BODY, BODY - 3)
    assert whole.is_loop_head
    assert not part.is_loop_head
    assert ways_to_check(found) == {labels["again"]: BODY + 1, middle: BODY - 3 + 1, labels["again"] + 20: 1}
    assert found.ranges() == [(labels["again"], code[labels["again"] - CODE - 0x100 :])]


def test_jumps_by_table_stay_in_a_unit_that_begins_inside_their_loop(tmp_path):
    """The address of the table is loaded in front of the loop, where such a unit does not look."""
    image = load_image(find_image(CHIP))
    engine = Engine(image, EngineOptions(cache_dir=tmp_path))
    address = image.symbols.function("bench_interpreter").address
    reader = engine.tier._reader
    whole = discover(reader, address, frozenset(), True)
    ((jump, targets),) = whole.indirect.items()
    assert len(targets) > 5
    inside = next(start for start, block in whole.blocks.items() if block.last.insn.pc == jump)
    alone = discover(reader, inside, frozenset(), True)
    around = discover(reader, inside, frozenset(), True, around=address)
    assert alone.indirect[jump] == ()
    assert around.indirect[jump] == targets
    assert address not in around.blocks
    assert set(targets) & around.blocks.keys() == set(targets) & whole.blocks.keys()
