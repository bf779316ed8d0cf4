"""Words that code loads by ``l32r``: constants of a unit until they change."""

import pytest

from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA


def _sum_of_literal(times, store):
    """Adds a literal up; ``store``: writes a8 over it in each round."""
    program = Program()
    program.place("main", 4)
    program.emit("l32r", t=2, literal=LITERALS + 4)
    program.emit("movi", t=7, imm=times)
    program.emit("movi", t=8, imm=100)
    program.place("again")
    program.emit("l32r", t=3, literal=LITERALS + 8)
    program.emit("add", r=8, s=8, t=3)
    if store:
        program.emit("s32i", t=8, s=2, imm=0)
    program.emit("addi", t=7, s=7, imm=-1)
    program.emit("bnez", s=7, target="again")
    program.emit("ret")
    return program.assemble()


def test_new_contents_are_seen(pair):
    code, labels = _sum_of_literal(5, store=False)
    for value in (7, 7, 8, 0xFFFFFFFF):
        pair.check(f"literal {value}", code, labels, False, (0, 0, value))
    assert pair.outcomes == {"RETURN": 4}


@pytest.mark.parametrize("distance", [0, 1, 3, -3, 4, 40])
def test_a_loop_that_writes_its_own_literal_sees_it(pair, distance):
    code, labels = _sum_of_literal(5, store=True)
    target = LITERALS + 8 + distance
    for number in range(3):
        pair.check(f"own literal {number}", code, labels, False, (0, target, 7))
    assert pair.outcomes == {"RETURN": 3}


def test_units_are_not_made_for_every_value_of_a_word_that_changes(pair):
    code, labels = _sum_of_literal(40, store=True)
    pair.check("changing", code, labels, False, (0, LITERALS + 8, 7))
    assert pair.translator._library.made <= 8


def test_literals_are_part_of_what_names_native_code(pair):
    code, labels = _sum_of_literal(5, store=False)
    pair.check("same", code, labels, False, (0, DATA, 7))
    made = pair.translator._library.made
    pair.translator._unsteady.clear()
    pair.check("same", code, labels, False, (0, DATA, 8))
    assert pair.translator._library.made == made + 1
    pair.translator._unsteady.clear()
    pair.check("same", code, labels, False, (0, DATA, 7))
    assert pair.translator._library.made == made + 1
