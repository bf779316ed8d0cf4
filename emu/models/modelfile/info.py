"""What a model file contains, for people and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from emu.models.modelfile.header import SPEC_VERSION, VERSION
from emu.models.modelfile.reader import ModelFile


def describe(model: ModelFile) -> dict[str, Any]:
    """Everything about a file that has passed all checks."""
    tensors = []
    for name, entry in model.entries.items():
        spec = model.specs[name]
        tensors.append(
            {
                "name": name,
                "dtype": spec.dtype.name.lower(),
                "shape": list(spec.shape),
                "group": spec.group,
                "offset": entry.offset,
                "bytes": entry.length,
                "crc32": f"{entry.crc:08X}",
            }
        )
    return {
        "file": model.source,
        "kind": model.kind.label,
        "outputs": model.outputs,
        "format_version": VERSION,
        "spec_version": SPEC_VERSION,
        "bytes": len(model.data),
        "sha256": model.sha256,
        "parameters": sum(spec.parameters for spec in model.specs.values()),
        "tensors": tensors,
    }


def print_info(model: ModelFile, console: Console) -> None:
    """A table of the tensors, and a summary."""
    facts = describe(model)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("tensor", "type", "shape"):
        table.add_column(column, no_wrap=True)
    for column in ("offset", "bytes", "CRC-32"):
        table.add_column(column, justify="right")
    for tensor in facts["tensors"]:
        group = f" group {tensor['group']}" if tensor["group"] else ""
        shape = " x ".join(map(str, tensor["shape"]))
        place = f"{tensor['offset']:,}", f"{tensor['bytes']:,}", tensor["crc32"]
        table.add_row(tensor["name"], tensor["dtype"] + group, shape, *place)
    console.print(table)
    console.print(
        f"{facts['file']}: {facts['kind']}, {facts['parameters']:,} parameters in {len(facts['tensors'])} "
        f"tensors, {facts['bytes']:,} bytes; every check passed\nsha256 {facts['sha256']}",
        highlight=False,
        soft_wrap=True,
    )
