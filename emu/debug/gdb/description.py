"""The target description (``target.xml``): GDB's manual, appendix G."""

from __future__ import annotations

from functools import cache

from emu.debug.gdb.registers import Register, registers

_TYPES = """
    <vector id="v16i8" type="int8" count="16"/>
    <vector id="v8i16" type="int16" count="8"/>
    <vector id="v4i32" type="int32" count="4"/>
    <vector id="u32x5" type="uint32" count="5"/>
    <union id="vec128">
      <field name="s8" type="v16i8"/>
      <field name="s16" type="v8i16"/>
      <field name="s32" type="v4i32"/>
      <field name="u128" type="uint128"/>
    </union>"""


@cache
def target_xml() -> bytes:
    """The description of the core: every register of :func:`emu.debug.gdb.registers.registers`."""
    lines = "\n".join(_line(register) for register in registers().values())
    return f"""<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
  <architecture>xtensa</architecture>
  <feature name="org.gnu.gdb.xtensa.core">{_TYPES}
{lines}
  </feature>
</target>
""".encode()


def _line(register: Register) -> str:
    group = f' group="{register.group}"'
    return (
        f'    <reg name="{register.name}" bitsize="{register.bits}" regnum="{register.number}" '
        f'type="{register.type}"{group}/>'
    )
