"""Images: ELF files with their segments, symbols and source lines, and the refusal of everything else."""

from emu.image.elf import Image, load_image
from emu.image.errors import ImageError, SymbolError
from emu.image.location import Location
from emu.image.segments import Segment
from emu.image.symbols import Symbol, Symbols

__all__ = ["Image", "ImageError", "Location", "Segment", "Symbol", "SymbolError", "Symbols", "load_image"]
