"""Mutants by rule: what each rule makes of small sources and instructions."""

from __future__ import annotations

import pytest

from emu.image import load_image
from emu.isa.decode import decode
from emu.isa.disasm import text
from emu.isa.encode import assemble_one
from emu.mutate import asm_rules, binary_rules, c_rules
from emu.mutate.code import functions, instructions
from emu.mutate.mutant import apply_edit, mutant_of
from emu.verify.reference import reference_elf

C = b"""\
/* a comment with x[0] = 1; in it */
EMU_INLINE int32_t pick(const int8_t *x, int32_t n, int32_t stride)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t v = (int32_t)x[i * stride] - 3;
        sum += v > 127 ? 127 : v;
    }
    if (sum == -1)
        return EMU_BAD_ARGUMENT;
    store(sum, n);
    return EMU_OK;
}
"""
ASSEMBLY = b"""\
#define count a4
    function copy, 32
    loop    count, .Lend        /* one vector a turn */
    ee.vld.128.ip q0, a2, 16
    ee.vadds.s8 q1, q0, q0
    addi    a3, a3, 1
.Lend:
    slli    a5, a4, 2
    add     a6, a5, a3
    return_status 0
    end_function copy
"""


def said(mutants, rule):
    return {m.what for m in mutants if m.rule == rule}


C_MUTANTS = list(c_rules.mutants("kernels/pick.c", C))
ASSEMBLY_MUTANTS = list(asm_rules.mutants("kernels/copy.S", ASSEMBLY))


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("operator", "i * stride -> i + stride"),
        ("comparison", "i < n -> i <= n"),
        ("constant", "v > 127 -> v > 128"),
        ("clamp", "v > 127 ? 127 : v -> (v)"),
        ("sign", "int32_t -> int16_t"),
        ("index", "i * stride -> (i * stride) + 1"),
        ("stride", "i * stride -> i * (stride + 1)"),
        ("swap", "(sum, n) -> (n, sum)"),
        ("removal", "store(sum, n); -> nothing"),
        ("condition", "(sum == -1) -> (!(sum == -1))"),
        ("bounds", "i++ -> i += 2"),
        ("status", "return EMU_BAD_ARGUMENT; -> return EMU_TOO_MANY_COLUMNS;"),
    ],
)
def test_c_rule(rule, what):
    found = said(C_MUTANTS, rule)
    assert any(what in w for w in found), sorted(found)


def test_c_mutants_stay_in_their_function_and_move_no_line():
    assert {m.function for m in C_MUTANTS} == {"pick"}
    lines = C.splitlines()
    for mutant in C_MUTANTS:
        changed = apply_edit(C, mutant).splitlines()
        assert len(changed) == len(lines)
        differing = [i for i, (a, b) in enumerate(zip(lines, changed, strict=True), 1) if a != b]
        assert differing, mutant
        assert mutant.line <= differing[0] <= differing[-1] <= mutant.last_line, mutant


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("register", "ee.vld.128.ip q0, a2, 16 -> ee.vld.128.ip q1, a2, 16"),
        ("exchange", "slli a5, a4, 2 -> slli a4, a5, 2"),
        ("immediate", "ee.vld.128.ip q0, a2, 16 -> ee.vld.128.ip q0, a2, 32"),
        ("variant", "ee.vadds.s8 q1, q0, q0 -> ee.vadds.s16 q1, q0, q0"),
        ("removal", "addi a3, a3, 1 -> nothing"),
        ("order", "slli a5, a4, 2 <-> add a6, a5, a3"),
        ("loop end", "loop end .Lend: one instruction earlier"),
        ("loop end", "loop end .Lend: one instruction later"),
    ],
)
def test_assembly_rule(rule, what):
    assert what in said(ASSEMBLY_MUTANTS, rule)


def test_independent_instructions_are_not_exchanged():
    assert not any("addi a3, a3, 1 <->" in m.what for m in ASSEMBLY_MUTANTS)
    assert not any("vadds.s8 q1, q0, q0 <->" in m.what for m in ASSEMBLY_MUTANTS)


def test_commuting_sources_are_not_exchanged():
    assert not any(
        m.rule == "exchange" and m.what.startswith("add a6") and "a6, a3, a5" in m.what
        for m in ASSEMBLY_MUTANTS
    )


def test_assembly_mutants_keep_the_number_of_lines():
    for mutant in ASSEMBLY_MUTANTS:
        assert apply_edit(ASSEMBLY, mutant).count(b"\n") == ASSEMBLY.count(b"\n")


def test_mutants_have_names_of_their_own_and_survive_json():
    every = [*C_MUTANTS, *ASSEMBLY_MUTANTS]
    assert len({m.ident for m in every}) == len(every)
    assert [mutant_of(m.record()) for m in every] == every


def test_binary_mutants_are_legal_neighbours_of_the_same_length():
    image = load_image(reference_elf())
    function = image.symbols.function("dot_rows_s8")
    old = {i.pc: i for i in instructions(image, function)}
    mutants = list(binary_rules.mutants(image, function))
    assert {m.rule for m in mutants} >= {"register", "immediate", "variant", "removal", "exchange", "target"}
    for mutant in mutants:
        new = decode(bytes.fromhex(mutant.text), mutant.start)
        assert new.length == old[mutant.start].length == mutant.end - mutant.start
        assert text(new) != text(old[mutant.start])
    patched = load_image(binary_rules.patched(image.data, image, mutants[0]), "patched.elf")
    before, after = functions(image), functions(patched)
    assert [n for n in before if before[n].tokens != after[n].tokens] == ["dot_rows_s8"]


def test_assembled_forms_are_what_the_rules_expect():
    assert decode(assemble_one("mov.n", 3, 4), 0).operands == {"t": 3, "s": 4}
