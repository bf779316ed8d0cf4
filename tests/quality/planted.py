"""Twelve faults that firmware of this kind really has, planted in the sources of the models.

Each is a change of a source text, the model in which it must show, the one stage that is the first wrong one,
and the kernel (or the function between kernels) that the fault is in:

    elf = planted_image(fault, toolchain)  # built for the ESP32-S3, kept in the cache folder
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from emu.models.modelfile.kinds import Kind
from emu.toolchain import Toolchain
from emu.toolchain.build import IMAGE, build_firmware, compiler_of, firmware_folder, source_files, source_hash
from emu.toolchain.cache import make_once


@dataclass(frozen=True)
class Change:
    """In one file of firmware/, `old`, which stands there exactly once, becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Planted:
    """A fault and the right answer to it.

    ``kernel``: the symbol of the innermost verified kernel that computes wrong numbers; where ``between`` is
    true every kernel is right, and it is the function between the kernels that is wrong. ``callers``: kernels
    that are wrong with it. ``element``: index of the first wrong element, where
    it is known beforehand.
    """

    name: str
    model: Kind
    stage: str
    kernel: str
    changes: tuple[Change, ...]
    callers: tuple[str, ...] = ()
    between: bool = False
    element: tuple[int, ...] | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The changed files, relative to firmware/."""
        return tuple(change.file for change in self.changes)


_ONE_SCALE_A_TOKEN = """
        (void)bad;
        (void)ignored;
        float largest = 0.0f;
        for (int32_t r = 0; r < rows; r++) {
            uint32_t top = max_magnitude(x + r * x_stride, cols);
            q[r] = (int8_t)rne(column[r] * (127.0f / f32_from_bits(top)));
            largest = f32_from_bits(top) > largest ? f32_from_bits(top) : largest;
        }
        scale[c] = largest / 127.0f;
"""

PLANTED: tuple[Planted, ...] = (
    Planted(
        "final modulation written with stride 384 and read with stride 512",
        Kind.T2I,
        "s0.u.final.mod",
        "t2i_final_mod",
        (
            Change(
                "models/t2i_condition.c",
                "return t->final_mod + branch * FINAL_MOD_STRIDE;",
                "return t->final_mod + branch * 512;",
            ),
        ),
        between=True,
        element=(0,),
    ),
    Planted(
        "scale of the wrong row",
        Kind.T2I,
        "txt.b0.attn",
        "linear_q8",
        (
            Change(
                "kernels/linear_q8.c",
                "(linear_row_q8, x, x_stride, sx, rows, w, w_stride, sw, b,",
                "(linear_row_q8, x, x_stride, sx + (rows > 1), rows, w, w_stride, sw, b,",
            ),
        ),
        callers=("linear_w8a8", "mlp_grouped"),
    ),
    Planted(
        "softmax sum of the row before",
        Kind.T2I,
        "txt.b0.attn",
        "attention_q8",
        (
            Change(
                "kernels/attention_q8.h",
                "        row.sq = sq[r];\n",
                "        row.sq = sq[r];\n        float before = row.sum;\n",
            ),
            Change(
                "kernels/attention_q8.h",
                "float a = 1.0f / (row.sum * 127.0f);",
                "float a = 1.0f / ((r > 0 ? before : row.sum) * 127.0f);",
            ),
        ),
        callers=("attention_q8_c", "attention_s8"),
    ),
    Planted(
        "V quantized per token",
        Kind.T2I,
        "txt.b0.attn",
        "quantize_columns_s8",
        (
            Change(
                "kernels/softmax_s8.c", '#include "softmax.h"', '#include "quantize.h"\n#include "softmax.h"'
            ),
            Change(
                "kernels/softmax_s8.c",
                "        if (quantize_row_s8(column, rows, q, q_stride, scale + c, 1, rows, &ignored) "
                "!= EMU_OK) {\n"
                "            *bad = c;\n"
                "            return EMU_NOT_FINITE;\n"
                "        }\n",
                _ONE_SCALE_A_TOKEN,
            ),
        ),
        callers=("attention_s8",),
    ),
    Planted(
        "group scale off by one",
        Kind.TINYLM,
        "p0.ple",
        "linear_int4_q8",
        (Change("kernels/linear_int4_rows.S", "l16si   word, scale, 0", "l16si   word, scale, 2"),),
        callers=("linear_int4",),
    ),
    Planted(
        "residual added before the gate",
        Kind.T2I,
        "s0.c.b0.proj",
        "residual_gated",
        (Change("kernels/layer_elements.c", "x[c] = x[c] + g[c] * y[c];", "x[c] = g[c] * (x[c] + y[c]);"),),
    ),
    Planted(
        "padding of the decoder from the row before",
        Kind.T2I,
        "dec.conv0",
        "conv3x3_s8",
        (
            Change(
                "kernels/conv3x3_rows.c",
                "if (line == 0 || source < 0 || source >= width)",
                "if (line == 0 || (source < 0 && line == in->x) || source >= width)",
            ),
        ),
        callers=("conv3x3_s8_c", "conv3x3_add_s8", "conv3x3_add_s8_c", "conv3x3_f32", "conv3x3_f32_c"),
    ),
    Planted(
        "upsampling index rounded",
        Kind.T2I,
        "dec.conv3",
        "conv3x3_s8",
        (
            Change(
                "kernels/conv3x3_rows.c",
                "copy_pixel(in, line + (source >> in->up) * channels, to);",
                "copy_pixel(in, line + ((source + in->up) >> in->up) * channels, to);",
            ),
        ),
        callers=("conv3x3_s8_c", "conv3x3_add_s8", "conv3x3_add_s8_c", "conv3x3_f32", "conv3x3_f32_c"),
    ),
    Planted(
        "guidance branches swapped",
        Kind.T2I,
        "s0.z",
        "flow_step",
        (
            Change(
                "kernels/positions.c",
                "float v = vu[i] + cfg * (vc[i] - vu[i]);",
                "float v = vc[i] + cfg * (vu[i] - vc[i]);",
            ),
        ),
    ),
    Planted(
        "pair of normals in the other order",
        Kind.T2I,
        "z.init",
        "normal_array",
        (
            Change(
                "numerics/random.c",
                "        y[i] = pair.z0;\n        if (n - i > 1)\n            y[i + 1] = pair.z1;\n",
                "        y[i] = pair.z1;\n        if (n - i > 1)\n            y[i + 1] = pair.z0;\n",
            ),
        ),
    ),
    Planted(
        "cache of keys and values written one position late",
        Kind.TINYLM,
        "p0.l0.attn",
        "kv8_write",
        (
            Change(
                "kernels/attention_kv8.c",
                "int32_t at = h * capacity + position, ignored;",
                "int32_t at = h * capacity + position + 1, ignored;",
            ),
            Change(
                "kernels/attention_kv8.c",
                "store_column(row, dh, position, capacity, vt + h * dh * capacity);",
                "store_column(row, dh, position + 1, capacity, vt + h * dh * capacity);",
            ),
        ),
    ),
    Planted(
        "the panel that holds the padding of a ternary row read as if zero were code 00",
        Kind.TERNARY,
        "l0.qkv",
        "dot_rows_ternary",
        (
            Change("kernels/dot_rows_ternary.S", "    .byte   3, 1\n", "    .byte   3, 1, 3, 0\n"),
            Change(
                "kernels/dot_rows_ternary.S",
                ".Lpanel:\n    unpack_64_weights\n",
                ".Lpanel:\n    bgei    blocks, 5, .Lfull\n    addi    constants, constants, 2\n"
                ".Lfull:\n    unpack_64_weights\n",
            ),
        ),
        callers=("linear_ternary", "bitlinear"),
    ),
)
"""The twelve, in the order in which the project's list names them."""


def by_name(name: str) -> Planted:
    """The fault of this name. Raises KeyError."""
    return {fault.name: fault for fault in PLANTED}[name]


ROOMY: tuple[Change, ...] = tuple(
    Change(IMAGE.script, f"    .{section} : ALIGN(16)\n", f"    .{section} : ALIGN(16) SUBALIGN(256)\n")
    for section in ("text", "rodata")
)
"""Room behind each object file: what a fault does not touch keeps its address and its native code."""


def plant(fault: Planted, folder: Path) -> Path:
    """A copy of firmware/ in ``folder`` with the fault.

    Fails where the sources are no longer as the fault says.
    """
    original, copy = firmware_folder(), folder / "firmware"
    for path in source_files(original, IMAGE):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original / path, copy / path)
    for change in (*ROOMY, *fault.changes):
        text = (copy / change.file).read_text()
        assert text.count(change.old) == 1, f"{change.file} has changed, {fault.name!r} cannot be planted"
        (copy / change.file).write_text(text.replace(change.old, change.new))
    return copy


def planted_image(fault: Planted, toolchain: Toolchain) -> Path:
    """The ELF file with the fault, for the ESP32-S3; built once for these sources and this compiler."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = plant(fault, Path(scratch))
        what = source_hash(sources, IMAGE) + repr(sorted(compiler_of(toolchain).items()))
        key = hashlib.sha256(what.encode()).hexdigest()[:24]
        folder = make_once(
            f"planted/{key}",
            lambda fresh, final: _build(toolchain, sources, fresh),
            lambda final: (final / IMAGE.elf).is_file(),
        )
    return folder / IMAGE.elf


def _build(toolchain: Toolchain, sources: Path, folder: Path) -> None:
    build_firmware(toolchain, folder, sources=sources)
