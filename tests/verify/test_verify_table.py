"""The table of kernels on a narrow terminal: every name in full, and every verdict."""

from __future__ import annotations

import pytest
from rich.console import Console

from emu.kernels.spec import Kernel
from emu.verify.campaign import Campaign
from emu.verify.options import Options
from emu.verify.report import kernel_table
from emu.verify.results import KernelResult

LONG = [f"esp_nn_depthwise_conv_s16_mult{n}_3x3_no_pad_esp32s3" for n in (1, 8)]


def table(names: list[str], source: str = "") -> list[str]:
    kernels = [Kernel(name, (), lambda: None, source=source) for name in names]
    console = Console(width=80, force_terminal=False)
    results = {k.symbol: KernelResult(k, 12_346, examples=12_345, seconds=123.4) for k in kernels}
    with console.capture() as capture:
        console.print(kernel_table(Campaign(Options(), results)))
    return capture.get().splitlines()


@pytest.mark.parametrize("source", ["", "numerics 5"])
def test_names_that_differ_behind_the_edge_can_be_told_apart(source: str) -> None:
    lines = table(LONG, source)
    names = "".join(line.split(" ")[0] for line in lines[1:])
    assert names == "".join(LONG)
    assert sum(line.rstrip().endswith("not run") for line in lines) == 2


def test_the_column_of_numerics_is_there_when_it_has_something_to_say() -> None:
    assert "numerics" in table(["a"], "numerics 5")[0]
    assert "numerics" not in table(["a"])[0]
