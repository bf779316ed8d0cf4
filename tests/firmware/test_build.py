"""The build: reproducible, complete, without fused operations, and clear when its input is wrong."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from emu.toolchain import Toolchain, ToolchainError
from emu.toolchain.build import BuildResult, build_firmware, firmware_folder, source_hash
from tests.mutants import Mutant, all_mutants

ROOT = Path(__file__).resolve().parents[2]
HEADERS = [ROOT / "firmware" / "include" / name for name in ("emu_kernels.h", "emu_model_kernels.h")]
MUTANTS = all_mutants()


@pytest.fixture(scope="module")
def built(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> BuildResult:
    return build_firmware(toolchain, Path(tmp_path_factory.mktemp("built")))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of firmware/ to damage."""
    return Path(shutil.copytree(firmware_folder(), tmp_path / "firmware"))


def symbols(elf: Path) -> dict[str, tuple[str, int, int]]:
    """Name to (type, address, size)."""
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {s.name: (s["st_info"]["type"], s["st_value"], s["st_size"]) for s in table.iter_symbols()}


def prototypes() -> list[str]:
    return re.findall(r"^\w+ (\w+)\(", "".join(path.read_text() for path in HEADERS), re.MULTILINE)


def test_reproducible_in_any_folder(built: BuildResult, tmp_path: Path) -> None:
    """Another working folder, scratch folder and output folder, another process: the same bytes."""
    code = (
        "import sys; from pathlib import Path; from emu.toolchain import find_toolchain;"
        "from emu.toolchain.build import build_firmware; build_firmware(find_toolchain(), Path(sys.argv[1]))"
    )
    scratch, out = tmp_path / "a longer scratch folder", tmp_path / "out"
    scratch.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    subprocess.run([sys.executable, "-c", code, out], cwd=scratch, env=env, check=True)
    assert (out / built.elf.name).read_bytes() == built.elf.read_bytes()
    assert (out / "manifest.json").read_text() == built.elf.with_name("manifest.json").read_text()


def test_no_folder_of_this_machine_in_the_image(built: BuildResult) -> None:
    content = built.elf.read_bytes()
    for folder in (ROOT, Path.home(), built.elf.parent, Path(os.environ.get("TMPDIR", "/tmp"))):
        assert str(folder).encode() not in content


def test_manifest_describes_the_image(built: BuildResult, toolchain: Toolchain) -> None:
    assert built.manifest["elf_sha256"] == hashlib.sha256(built.elf.read_bytes()).hexdigest()
    assert built.manifest["source_sha256"] == source_hash(firmware_folder())
    assert built.manifest["compiler"]["gcc"] == toolchain.version


def test_every_prototype_has_a_function(built: BuildResult) -> None:
    table = symbols(built.elf)
    names = prototypes()
    assert len(names) >= 80
    for name in names:
        kind, address, size = table[name]
        assert kind == "STT_FUNC"
        assert 0x40378000 <= address < 0x40388000
        assert address % 4 == 0
        assert size > 0


def test_kernel_table_lists_every_prototype(built: BuildResult) -> None:
    """Names and addresses, read from the image as an agent would."""
    table = symbols(built.elf)
    with built.elf.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".rodata")
        start, data = section["sh_addr"], section.data()

    def word(address: int) -> int:
        return int.from_bytes(data[address - start : address - start + 4], "little")

    entry, found = table["emu_kernel_table"][1], []
    while word(entry):
        name = data[word(entry) - start :].split(b"\0", 1)[0].decode()
        assert word(entry + 4) == table[name][1]
        found.append(name)
        entry += 8
    assert found == prototypes()


def test_code_and_data_do_not_share_memory(built: BuildResult) -> None:
    """SRAM1 is at 0x40378000 for code and at 0x3FC88000 for data."""
    ranges = []
    with built.elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_LOAD"):
            start = segment["p_vaddr"]
            start = start - 0x40378000 + 0x3FC88000 if start >= 0x40000000 else start
            ranges.append((start, start + segment["p_memsz"]))
    ranges.sort()
    assert all(first[1] <= second[0] for first, second in pairwise(ranges))
    assert ranges[-1][1] <= 0x3FCD7E00


def test_no_fused_operation(built: BuildResult) -> None:
    assert built.fused == ()


def test_contraction_fuses_the_row_quantizer(toolchain: Toolchain, tmp_path: Path) -> None:
    flags = ["-ffp-contract=fast"]
    result = build_firmware(toolchain, tmp_path / "fast", extra_flags=flags, allow_fused=True)
    assert "quantize_row_s8" in {site.symbol for site in result.fused}
    start, size = symbols(result.elf)["quantize_row_s8"][1:]
    for site in result.fused:
        if site.symbol == "quantize_row_s8":
            assert start <= site.address < start + size
            assert site.line.startswith(("madd.s", "msub.s"))


def test_contraction_fails_the_build_and_writes_nothing(toolchain: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"madd\.s .* at 0x4037[0-9A-F]{4} in quantize_row_s8"):
        build_firmware(toolchain, tmp_path / "fast", extra_flags=["-ffp-contract=fast"])
    assert not (tmp_path / "fast").exists()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_builds_and_differs(
    mutant: Mutant, built: BuildResult, toolchain: Toolchain, tmp_path: Path
) -> None:
    result = build_firmware(toolchain, tmp_path, **mutant.build_options)
    assert result.manifest["elf_sha256"] != built.manifest["elf_sha256"]
    assert set(mutant.kernels) <= set(prototypes())
    assert mutant.why
    assert mutant.fault_class


def test_the_mutants_of_the_contract_are_there() -> None:
    classes = {mutant.fault_class for mutant in MUTANTS if not mutant.equivalent}
    assert classes >= {
        "loop end",
        "rounding",
        "contraction",
        "clamp",
        "nibble order",
        "code order",
        "accumulator",
        "post-increment",
        "stride",
        "sign",
        "tail",
        "exponent",
        "quadrant",
        "width",
        "index",
    }
    assert {mutant.kernels for mutant in MUTANTS if mutant.equivalent} == {
        ("quantize_row_s8",),
        ("quantize_ternary_s8",),
    }


def test_patch_that_does_not_apply(toolchain: Toolchain, tmp_path: Path) -> None:
    patch = tmp_path / "old.patch"
    patch.write_text(
        "--- a/firmware/numerics/rne.h\n+++ b/firmware/numerics/rne.h\n@@ -1 +1 @@\n-nothing\n+something\n"
    )
    with pytest.raises(ToolchainError, match=r"old\.patch does not apply"):
        build_firmware(toolchain, tmp_path / "out", patches=[patch])


def test_source_that_does_not_compile(toolchain: Toolchain, tmp_path: Path, copied: Path) -> None:
    (copied / "numerics" / "rne.c").write_text("int broken(void) { return undeclared; }\n")
    with pytest.raises(ToolchainError, match="undeclared"):
        build_firmware(toolchain, tmp_path / "out", sources=copied)


def test_function_that_no_source_defines(toolchain: Toolchain, tmp_path: Path, copied: Path) -> None:
    (copied / "numerics" / "rne.c").unlink()
    with pytest.raises(ToolchainError, match="rne_array"):
        build_firmware(toolchain, tmp_path / "out", sources=copied)


def test_source_hash_sees_names_and_contents(copied: Path) -> None:
    whole = source_hash(copied)
    assert whole == source_hash(firmware_folder())
    (copied / "kernels" / "resident.inc").rename(copied / "kernels" / "renamed.inc")
    renamed = source_hash(copied)
    (copied / "port" / "bare" / "image.ld").write_text("")
    assert len({whole, renamed, source_hash(copied)}) == 3
