"""Rules by which a mutant computes the same: each with pairs that it holds for, and near misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.image import load_image
from emu.mutate import asm_rules, binary_rules, proofs
from emu.mutate.binary_rules import patched
from emu.mutate.builder import Base, Builder, build_base
from emu.mutate.mutant import Mutant
from emu.toolchain import Toolchain
from emu.toolchain.build import firmware_folder


@pytest.fixture(scope="module")
def base(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Base:
    return build_base(toolchain, firmware_folder(), tmp_path_factory.mktemp("proofs") / "base")


@pytest.fixture(scope="module")
def builder(base: Base, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(base, tmp_path_factory.mktemp("builder"))


def in_assembly(base: Base, builder: Builder, file: str, line: int, what: str) -> str:
    source = (base.sources / file).read_bytes()
    found = [m for m in asm_rules.mutants(file, source) if m.line == line and what in m.what]
    assert len(found) == 1, [m.what for m in found]
    after = load_image(builder.build(found[0]))
    return proofs.proven(found[0], source, load_image(base.elf), after)


def in_binary(base: Base, tmp_path: Path, function: str, what: str) -> str:
    image = load_image(base.elf)
    symbol = next(s for s in image.symbols.functions() if s.name == function)
    found = [m for m in binary_rules.mutants(image, symbol) if what in m.what]
    assert found
    elf = tmp_path / "patched.elf"
    elf.write_bytes(patched(image.data, image, found[0]))
    return proofs.proven(found[0], b"", image, load_image(elf))


@pytest.mark.parametrize(
    ("file", "line", "what", "why"),
    [
        ("kernels/gemm_s8.S", 49, " <-> ", "neither"),
        ("kernels/softmax_row.S", 77, " <-> ", "neither"),
        ("kernels/gemm_s8.S", 35, " <-> ", "same operation"),
        ("kernels/gemm_s8.S", 26, " <-> ", ""),
        ("kernels/softmax_row.S", 48, " <-> ", ""),
        ("kernels/linear_row_q8.S", 97, "lsip f_y, y_next, 0", "by 0"),
        ("kernels/linear_int4_rows.S", 50, "ee.vldbc.8.ip q5, word, 2", "nothing reads it"),
        ("kernels/linear_int4_rows.S", 49, "ee.vldbc.8.ip q6, word, 2", ""),
        ("kernels/dot_rows_s8.S", 114, "ee.vld.128.ip q3, w, 0", "nothing reads it"),
        ("kernels/dot_rows_s8.S", 66, "ee.vld.128.ip q6, w, 0", ""),
        ("kernels/linear_row_q8.S", 143, "ee.st.accx.ip sums_out, 16", "nothing reads it"),
        ("kernels/linear_row_q8.S", 140, "ee.st.accx.ip sums_out, 16", ""),
    ],
)
def test_rules_for_assembly(base: Base, builder: Builder, file, line, what, why):
    told = in_assembly(base, builder, file, line, what)
    assert why in told
    assert bool(told) == bool(why)


@pytest.mark.parametrize(
    ("function", "what", "why"),
    [
        ("multiply_array", "lsi f0, a2, 0 -> lsip f0, a2, 0", "by 0"),
        ("layernorm", "or a5, a4, a4 -> and a5, a4, a4", "itself"),
        ("layernorm", "or a5, a4, a4 -> xor a5, a4, a4", ""),
        ("bitlinear", "or a9, a3, a9 -> and a9, a3, a9", ""),
        ("multiply_array", "addi.n a2, a2, 4 -> addi.n a2, a2, 5", ""),
    ],
)
def test_rules_for_instructions(base: Base, tmp_path: Path, function, what, why):
    told = in_binary(base, tmp_path, function, what)
    assert why in told
    assert bool(told) == bool(why)


def test_nothing_is_said_about_c(base: Base):
    mutant = Mutant("c", "order", "kernels/choose.c", "argmax_f32", 1, 1, 0, 1, "x", "a <-> b")
    image = load_image(base.elf)
    assert proofs.proven(mutant, b"", image, image) == ""
