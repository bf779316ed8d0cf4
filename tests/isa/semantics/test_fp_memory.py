"""Loads, stores and transfers of f registers: no bit changes, pointers move after the access."""

from __future__ import annotations

import pytest
from instruction_driver import DATA, check

SNAN = 0xFF812345
AT = f"[{DATA + 8:#x}]"

CASES = [
    ("lsi f1, a3, 8", {"a3": DATA, AT: SNAN}, {"f1": SNAN}),
    ("lsi f1, a3, 1020", {"a3": DATA - 1012, AT: SNAN}, {"f1": SNAN}),
    ("lsip f1, a3, 4", {"a3": DATA + 8, AT: SNAN}, {"f1": SNAN, "a3": DATA + 12}),
    ("lsip f1, a3, 1020", {"a3": DATA + 8, AT: SNAN}, {"f1": SNAN, "a3": DATA + 1028}),
    ("lsx f1, a3, a4", {"a3": DATA, "a4": 8, AT: SNAN}, {"f1": SNAN}),
    ("lsx f1, a3, a4", {"a3": DATA + 9, "a4": 0xFFFFFFFF, AT: SNAN}, {"f1": SNAN}),
    ("lsxp f1, a3, a4", {"a3": DATA + 8, "a4": 0xFFFFFFFC, AT: SNAN}, {"f1": SNAN, "a3": DATA + 4}),
    ("ssi f1, a3, 8", {"a3": DATA, "f1": SNAN}, {AT: SNAN}),
    ("ssip f1, a3, 4", {"a3": DATA + 8, "f1": SNAN}, {AT: SNAN, "a3": DATA + 12}),
    ("ssx f1, a3, a4", {"a3": DATA, "a4": 8, "f1": SNAN}, {AT: SNAN}),
    ("ssxp f1, a3, a4", {"a3": DATA + 8, "a4": 16, "f1": SNAN}, {AT: SNAN, "a3": DATA + 24}),
    ("rfr a3, f1", {"f1": SNAN}, {"a3": SNAN}),
    ("wfr f1, a3", {"a3": SNAN}, {"f1": SNAN}),
]


@pytest.mark.parametrize(("text", "given", "expected"), CASES)
def test_transfer(text, given, expected):
    check(text, given, expected)


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_any_alignment(offset):
    check("lsi f1, a3, 0", {"a3": DATA + 8 + offset, f"[{DATA + 8 + offset:#x}]": SNAN}, {"f1": SNAN})
    check("ssi f1, a3, 0", {"a3": DATA + 8 + offset, "f1": SNAN}, {f"[{DATA + 8 + offset:#x}]": SNAN})


def test_pointer_and_index_in_one_register():
    """The old value addresses, then the register is added to itself."""
    check("lsxp f1, a3, a3", {"a3": DATA + 8, AT: SNAN}, {"f1": SNAN, "a3": 2 * (DATA + 8) & 0xFFFFFFFF})
