"""Effects of the instructions, one short function each, over the abstract machine of emu.cpu.machine."""

from emu.isa.semantics.registry import effects, semantics

MODULES = [
    "core_arith",
    "core_shift",
    "core_multiply",
    "core_memory",
    "core_branch",
    "core_window",
    "core_special",
    "core_system",
    "core_boolean",
    "core_mac16",
    "fp_arith",
    "fp_convert",
    "fp_estimate",
    "fp_sequence",
    "fp_memory",
    "pie_memory",
    "pie_accumulator",
    "pie_lanes",
    "pie_mac",
    "pie_shift",
    "pie_complex",
    "pie_fft",
    "pie_gpio",
]
"""Modules that define effects, in reading order."""

__all__ = ["MODULES", "effects", "semantics"]
