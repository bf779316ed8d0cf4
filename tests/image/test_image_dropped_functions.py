"""Functions that the linker has dropped leave holes in debug information; what lies behind them is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.image import Image, load_image
from emu.image.names import demangled, find_function
from emu.image.prototypes import Prototypes
from emu.toolchain import Toolchain

SOURCE = """
int first(int a) { return a + 1; }
int dropped(int a) { return a + 2; }
namespace nn { struct Layer { Layer(int w); int run(const signed char *x) const; int width; }; }
int dropped_too(int a) { return a + 3; }
nn::Layer::Layer(int w) : width(w) {}
int nn::Layer::run(const signed char *x) const { return x[0] + width; }
extern "C" int last(int a) { return first(a) + nn::Layer(a).run((const signed char *)0x3FC98000); }
"""


@pytest.fixture(scope="module", params=["-gdwarf-4", "-gdwarf-5"])
def image(
    request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Image:
    folder: Path = tmp_path_factory.mktemp("dropped")
    (folder / "a.cc").write_text(SOURCE)
    (folder / "a.ld").write_text("SECTIONS { .text 0x42000020 : { *(.literal .literal.* .text .text.*) } }")
    flags = ["-O1", "-fno-inline", "-ffreestanding", "-ffunction-sections", request.param]
    toolchain.compile(folder / "a.cc", folder / "a.o", flags)
    toolchain.link(
        [folder / "a.o"],
        folder / "a.elf",
        folder / "a.ld",
        ["-Wl,--gc-sections", "-Wl,-u,last", "-Wl,-e,last"],
    )
    return load_image(folder / "a.elf")


@pytest.mark.parametrize(
    ("name", "prototype", "line"),
    [
        ("first", "int first(int a)", 2),
        ("nn::Layer::run", "int run(const Layer * const this, const signed char * x)", 7),
        ("nn::Layer::Layer(int)", "void Layer(Layer * const this, int w)", 6),
        ("last", "int last(int a)", 8),
    ],
)
def test_prototypes_and_lines(image: Image, name: str, prototype: str, line: int) -> None:
    assert not any("dropped" in s.name for s in image.symbols)
    found = Prototypes(image).function(name)
    assert str(found) == prototype
    assert image.locate(find_function(image, name).address).line == line


@pytest.mark.parametrize(
    ("mangled", "readable"),
    [
        ("_ZN5Dense3runEPKaPai", "Dense::run(signed char const*, signed char*, int)"),
        ("_ZNK2nn5Layer4sizeEv", "nn::Layer::size() const"),
        ("_ZN2nn5LayerC2Ei", "nn::Layer::Layer(int)"),
        ("_ZN2nn5LayerD1Ev", "nn::Layer::~Layer()"),
        ("memcpy", "memcpy"),
        ("_Znot_a_name", "_Znot_a_name"),
    ],
)
def test_names_as_people_write_them(mangled: str, readable: str) -> None:
    assert demangled(mangled) == readable
