"""Every scalar C kernel of firmware/ on QEMU and on both tiers: outputs, result and every byte of memory."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest

from emu.bench.reach import why_not_on_qemu
from emu.image import load_image
from emu.kernels import load_all
from emu.verify.layout import place
from emu.verify.reference import reference_elf
from emu.verify.shapes import elements
from emu.verify.strategies import cases

IMAGE = load_image(reference_elf())
WHY_NOT = {s: why_not_on_qemu(IMAGE, s) for s in load_all() if s in IMAGE.symbols}
SCALAR = [symbol for symbol, why in WHY_NOT.items() if not why]
CI_CASES, LONG_CASES = 12, 400
STEPPED_ELEMENTS, STEPPED_CASES = 40, 2
"""The stepper runs cases of at most so many elements, so many of them for each kernel."""


def left_behind(target, kernel, case):
    """Outputs, result, damage, and a digest of all buffers with what lies between them."""
    result = target.call(kernel, case)
    _, used = place(kernel, case)
    arena = target.arena(used) if target.name == "qemu" else target.machine(False).arena[:used].tobytes()
    outputs = {name: values.view(np.uint8).tobytes() for name, values in result.outputs.items()}
    return outputs, result.returned, result.damage, hashlib.sha256(arena).hexdigest()


def agree(kernel, case, qemu, *engines):
    theirs = left_behind(qemu, kernel, case)
    assert theirs[2] == (), "QEMU's run wrote outside of its buffers"
    for engine in engines:
        assert left_behind(engine, kernel, case) == theirs, f"{kernel.symbol}: {case.origin or case.dims}"


@pytest.mark.parametrize("symbol", SCALAR)
def test_translator_and_qemu(symbol, kernels_on_qemu, kernels_translated):
    kernel = load_all()[symbol]
    for _, case in cases(kernel, 11, 0, CI_CASES):
        agree(kernel, case, kernels_on_qemu, kernels_translated)


@pytest.mark.parametrize("symbol", SCALAR)
def test_stepper_and_qemu(symbol, kernels_on_qemu, kernels_stepped):
    kernel = load_all()[symbol]
    drawn = [case for _, case in cases(kernel, 12, 0, 40)]
    small = [case for case in drawn if elements(kernel, case.dims) <= STEPPED_ELEMENTS and not case.fault]
    smallest = min(drawn, key=lambda case: elements(kernel, case.dims))
    for case in small[:STEPPED_CASES] or [smallest]:
        agree(kernel, case, kernels_on_qemu, kernels_stepped)


def test_what_is_left_out_has_a_reason(capsys):
    """Kernels that QEMU cannot run: the instruction, where it is, and why."""
    reasons = {symbol: why for symbol, why in WHY_NOT.items() if why}
    with capsys.disabled():
        print(f"\n{len(SCALAR)} kernels run on QEMU; {len(reasons)} do not:")
        for symbol, why in sorted(reasons.items()):
            print(f"  {symbol}: {why}")
    kinds = Counter(why.partition(": ")[2] for why in reasons.values())
    assert set(kinds) == {"no QEMU core has the vector unit", "the core has no high product (MUL32_HIGH)"}
    assert len(SCALAR) >= 40
    high = {symbol for symbol, why in reasons.items() if "MUL32_HIGH" in why}
    assert high == {"digest_f32", "digest_s8", "digest_u8", "digest_s32", "digest_end"}


@pytest.mark.long
@pytest.mark.parametrize("symbol", SCALAR)
def test_long_translator_and_qemu(symbol, kernels_on_qemu, kernels_translated):
    kernel = load_all()[symbol]
    for _, case in cases(kernel, 13, 0, LONG_CASES):
        agree(kernel, case, kernels_on_qemu, kernels_translated)
