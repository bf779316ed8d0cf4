"""C text of the plug-in's settings and registers, from `core-config.csv` and `registers.csv`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from emu.isa.table import read_csv


def settings() -> Iterator[str]:
    """`xtensa_config_v1` .. `v3` (plain ints in table order) and the macros that GCC predefines."""
    lines = [line for line in read_csv("core-config.csv") if line["plugin_field"]]
    for version in ("v1", "v2", "v3"):
        fields = [line for line in lines if line["plugin_field"].startswith(version + ".")]
        fields.sort(key=lambda line: int(line["plugin_field"].split(".")[1]))
        yield f"int xtensa_config_{version}[] = {{ {', '.join(line['value'] for line in fields)} }};"
    macros = "".join(f'"__{line["name"]}={line["value"]}", ' for line in lines)
    yield f"const char *xtensa_config_strings[] = {{ {macros}0 }};"


def registers() -> Iterator[str]:
    """Register files, states, system registers and interface signals."""
    lines = read_csv("registers.csv")
    files = [line for line in lines if line["type"] == "regfile"]
    yield array("regfile", "regfiles", (_regfile(files, line) for line in files))
    states = (line for line in lines if line["type"] == "state")
    flags = {"exported": 1, "sticky-or": 2}
    yield array(
        "state", "states", (f'{{"{s["name"]}", {s["bits"]}, {flags.get(s["note"], 0)}}}' for s in states)
    )
    yield array("sysreg", "sysregs", map(_sysreg, sysregs()))
    pins = [line for line in lines if line["type"] == "interface"]
    yield array("interface", "interfaces", (_interface(number, pin) for number, pin in enumerate(pins)))


def sysregs() -> list[dict[str, str]]:
    """Special and user registers that the assembler knows by name (two have instructions but no name)."""
    lines = [line for line in read_csv("registers.csv") if line["type"] in ("special", "user")]
    return [line for line in lines if not line["note"].startswith("not in system-register name table")]


def _regfile(files: Sequence[Mapping[str, str]], line: Mapping[str, str]) -> str:
    parent = "BR" if line["layout"] == "view of BR" else line["name"]
    index = [file["name"] for file in files].index(parent)
    letter = line["note"].removeprefix("prefix ")
    return f'{{"{line["name"]}", "{letter}", {index}, {line["bits"]}, {line["count"]}}}'


def _sysreg(line: Mapping[str, str]) -> str:
    return f'{{"{line["name"]}", {line["number"]}, {int(line["type"] == "user")}}}'


def _interface(number: int, pin: Mapping[str, str]) -> str:
    return f"{{\"{pin['name']}\", {pin['bits']}, 0, {number}, '{pin['note'][0]}'}}"


def array(kind: str, name: str, entries: Iterable[str]) -> str:
    """One writable array; the tools sort and store into these, so nothing here may be const."""
    listed = list(entries)
    body = ",\n  ".join(listed) if listed else "0"
    return f"static {kind} {name}[] = {{\n  {body}\n}};" if listed else f"#define {name} 0"
