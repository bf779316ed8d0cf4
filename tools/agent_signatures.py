#!/usr/bin/env python3
"""Write firmware/agent/signatures.c: signature and extents of every kernel of firmware/kernels/table.c.

python tools/agent_signatures.py            # write
python tools/agent_signatures.py --check    # say whether the file is what the specs give (exit code 1: no)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from emu.kernels.spec import REGISTRY  # noqa: E402
from emu.link.extents import NotExpressible, formulas  # noqa: E402
from emu.link.signatures import signature  # noqa: E402
from emu.verify.selection import known_kernels  # noqa: E402
from tools.generated import write_or_check  # noqa: E402

TABLE = ROOT / "firmware" / "kernels" / "table.c"
OUT = ROOT / "firmware" / "agent" / "signatures.c"
HEAD = """\
/* Written by tools/agent_signatures.py from the specs in emu/kernels: signatures, and formulas of what each
 * takes and touches (docs/wire.md section 6), in the order of emu_kernel_table. */
#include "state.h"

const char *const agent_signatures[] = {
"""


def text() -> str:
    """The file."""
    known_kernels(None)
    names = re.findall(r"KERNEL\((\w+)\),", TABLE.read_text())
    lines = [f'    "{signature(REGISTRY[name])}", /* {name} */\n' for name in names]
    extents = [f'    "{formulas(REGISTRY[name])}", /* {name} */\n' for name in names]
    return f"{HEAD}{''.join(lines)}}};\n\nconst char *const agent_extents[] = {{\n{''.join(extents)}}};\n"


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--check", is_flag=True, help="Compare; write nothing.")
def main(check: bool) -> None:
    """See the help text (the module's docstring)."""
    try:
        fresh = text()
    except NotExpressible as error:
        click.echo(
            f"{error}\nto mend: give the spec a shape that follows from arguments by + - * // % <<", err=True
        )
        sys.exit(1)
    write_or_check(OUT, fresh, check, "the specs give", "python tools/agent_signatures.py")


if __name__ == "__main__":
    main()
