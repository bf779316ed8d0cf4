#!/usr/bin/env python3
"""Write firmware/agent/chip/probes.S and probes.h: one stub for each instruction of emu/link/probes.py.

python tools/agent_probes.py            # write
python tools/agent_probes.py --check    # are the files what the table gives? (exit code 1: no)
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from emu.isa.encode import encode  # noqa: E402
from emu.isa.table import rows  # noqa: E402
from emu.link.probes import FAR, OUT_BYTES, PROBES, STATE_BYTES  # noqa: E402
from tools.generated import write_or_check  # noqa: E402

OUT = ROOT / "firmware" / "agent" / "chip" / "probes.S"
HEADER = OUT.with_suffix(".h")
HEAD = """\
/* Written by tools/agent_probes.py from emu/link/probes.py.
 *
 * int32_t selftest_probe(uint32_t index, const uint8_t *in, uint8_t *out): loads the registers from `in`,
 * executes instruction `index`, stores them to `out`; a8 points to out + 272 + 64 + shift. Both 16-aligned,
 * 272 and 528 bytes. Returns 0; 1: no such instruction.
 */
    .section .text.selftest_probe, "ax", @progbits
    .balign 4
    .literal_position
    .global selftest_probe
    .type   selftest_probe, @function
selftest_probe:
    entry   a1, 48
    movi    a5, {count}
    bgeu    a2, a5, .Lnone
    s32i    a0, a1, 0
    movi    a5, .Lstubs
    addx4   a5, a2, a5
    l32i    a5, a5, 0
    mov     a6, a3
{load_q}
    ee.ld.qacc_l.l.128.ip a6, 16
    ee.ld.qacc_l.h.32.ip a6, 16
    ee.ld.qacc_h.l.128.ip a6, 16
    ee.ld.qacc_h.h.32.ip a6, 16
    l32i    a7, a6, 0
    wur.accx_0 a7
    l32i    a7, a6, 4
    wur.accx_1 a7
    l32i    a7, a6, 8
    wsr.sar a7
    l32i    a7, a6, 12
    wur.sar_byte a7
    l32i    a7, a6, 16
    wur.fft_bit_width a7
    l32i    a9, a6, 20
    l32i    a10, a6, 24
    l32i    a11, a6, 28
    l32i    a12, a6, 32
    l32i    a8, a6, 36
    addmi   a13, a4, 256
    addi    a13, a13, 80
    add     a8, a8, a13
{load_f}
    l32i    a7, a6, 40
    rsr.cpenable a6
    s32i    a6, a1, 4
    wsr.cpenable a7
    rsync
    callx0  a5
    l32i    a7, a1, 4
    wsr.cpenable a7
    rsync
    mov     a6, a4
{store_q}
    ee.st.qacc_l.l.128.ip a6, 16
    ee.st.qacc_l.h.32.ip a6, 16
    ee.st.qacc_h.l.128.ip a6, 16
    ee.st.qacc_h.h.32.ip a6, 16
    rur.accx_0 a7
    s32i    a7, a6, 0
    rur.accx_1 a7
    s32i    a7, a6, 4
    rsr.sar a7
    s32i    a7, a6, 8
    rur.sar_byte a7
    s32i    a7, a6, 12
    rur.fft_bit_width a7
    s32i    a7, a6, 16
    s32i    a9, a6, 20
    s32i    a10, a6, 24
    s32i    a11, a6, 28
    s32i    a12, a6, 32
    addmi   a13, a4, 256
    addi    a13, a13, 80
    sub     a8, a8, a13
    s32i    a8, a6, 36
{store_f}
    l32i    a0, a1, 0
    movi    a2, 0
    retw
.Lnone:
    movi    a2, 1
    retw
    .size   selftest_probe, . - selftest_probe
"""


def text() -> str:
    """The file."""
    table = {row.mnemonic: row for row in rows()}
    parts = {
        "count": str(len(PROBES)),
        "load_q": "\n".join(f"    ee.vld.128.ip q{i}, a6, 16" for i in range(8)),
        "store_q": "\n".join(f"    ee.vst.128.ip q{i}, a6, 16" for i in range(8)),
        "load_f": "\n".join(f"    lsi     f{i}, a6, {48 + 4 * i}" for i in range(8)),
        "store_f": "\n".join(f"    ssi     f{i}, a6, {48 + 4 * i}" for i in range(8)),
    }
    out = HEAD.format(**parts)
    for number, probe in enumerate(PROBES):
        code = ", ".join(f"0x{byte:02X}" for byte in encode(table[probe.mnemonic], probe.operands))
        out += f"\n    .balign 4\n.Lprobe{number}: /* {probe.name} */\n    .byte   {code}\n    ret\n"
    entries = "".join(f"    .word   .Lprobe{number}\n" for number in range(len(PROBES)))
    return f'{out}\n    .section .rodata.selftest_probe, "a", @progbits\n    .balign 4\n.Lstubs:\n{entries}'


def header() -> str:
    """probes.h: what selftest_probe touches (docs/wire.md section 6)."""
    indexed = next(i for i, probe in enumerate(PROBES) if probe.mnemonic == "ee.ldxq.32")
    far = FAR[0] + 4
    extents = f",{STATE_BYTES},{OUT_BYTES}a{indexed - 1}>{indexed + 1}a>*{far}*+"
    return f"""\
/* Written by tools/agent_probes.py from emu/link/probes.py. */
#ifndef EMU_AGENT_PROBES_H
#define EMU_AGENT_PROBES_H

#define PROBE_INDEXED {indexed}u /* reads behind its scratch memory */
#define PROBE_EXTENTS "{extents}"

#endif
"""


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--check", is_flag=True, help="Compare; write nothing.")
def main(check: bool) -> None:
    """See the help text (the module's docstring)."""
    for path, fresh in ((OUT, text()), (HEADER, header())):
        write_or_check(path, fresh, check, "the table gives", "python tools/agent_probes.py")


if __name__ == "__main__":
    main()
