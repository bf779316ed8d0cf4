"""Translation of guest code to native code; see docs/engine.md."""

from emu.cpu.translator.dispatch import Translator

__all__ = ["Translator"]
