"""Traces: what they tell, put together, is the run."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import TrapKind
from emu.debug.calls import Buffer, Call
from emu.debug.changes import register_name
from emu.debug.names import value_text
from emu.debug.outcome import place_namer
from emu.debug.step_text import json_object, text_line
from emu.debug.trace import Selection, Trace
from emu.image import load_image
from tests.cpu.images import engine_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"
RNG = np.random.default_rng(5)
NESTED = """
deep: entry a1, 48
beqz a2, done
addi a10, a2, -1
call8 deep
add a2, a2, a10
done: retw.n
"""


def engine(**options: object) -> Engine:
    return Engine(load_image(GOLDEN), EngineOptions(tier="stepper", **options))


def crc(size: int) -> Call:
    return Call("crc32_bytes", [0, Buffer(RNG.bytes(size), "uint8", "data"), size], dirty=3)


def gemm() -> Call:
    x = RNG.integers(-128, 128, (2, 48)).astype(np.int8)
    w = RNG.integers(-128, 128, (3, 48)).astype(np.int8)
    return Call(
        "gemm_s8",
        [
            *(Buffer(x.tobytes(), "int8", "x"), 48, 2),
            *(Buffer(w.tobytes(), "int8", "w"), 48, 3, 48),
            *(Buffer(bytes(24), "int32", "acc"), 3),
        ],
        dirty=9,
    )


def quantize() -> Call:
    x = RNG.standard_normal((2, 20)).astype(np.float32)
    return Call(
        "quantize_row_s8",
        [
            *(Buffer(x.tobytes(), "float32", "x"), 20, Buffer(bytes(40), "int8", "q"), 20),
            *(Buffer(bytes(8), "float32", "scale"), 2, 20, Buffer(bytes(4), "int32", "bad")),
        ],
        dirty=11,
    )


def physical(values: dict[str, int], name: str, base: int) -> str:
    """The name of a register in state_tools.values."""
    if name[0] == "a" and name[1:].isdigit():
        return f"ar{(4 * base + int(name[1:])) & 63}"
    return name


@pytest.mark.parametrize("call", [crc(30), gemm(), quantize()], ids=["crc", "gemm", "quantize"])
def test_changes_and_stores_put_together_are_the_run(call: Call) -> None:
    run = Trace(engine(), call)
    values = state_tools.values(run.engine.state)
    stores: dict[int, int] = {}
    count = 0
    for step in run:
        assert step.pc == values["PC"]
        for name, value in step.reads.items():
            if name[0] == "b" and name[1:].isdigit():
                assert values["br"] >> int(name[1:]) & 1 == value
            else:
                assert values[physical(values, name, values["WindowBase"])] == value, (step.plan.insn, name)
        after = next((c.after for c in step.changes if c.name == "WindowBase"), values["WindowBase"])
        for change in step.changes:
            name = physical(values, change.name, after)
            assert values[name] == change.before
            values[name] = change.after
        for access in step.stores:
            for i in range(access.size):
                stores[access.address + i] = access.value >> 8 * i & 0xFF
        values["PC"] = step.next_pc
        assert step.number == count
        count += not step.event
        assert text_line(step, run.engine.image, place_namer(run.engine, run.started))
        json.dumps(json_object(step, run.engine.image, lambda _: ""))
    assert run.trap is None
    assert run.result is not None
    assert values == state_tools.values(run.engine.state)
    assert all(run.engine.memory.read(at, 1)[0] == byte for at, byte in stores.items())
    assert run.executed == run.result.instructions == count


def test_a_traced_call_computes_what_an_untraced_one_does() -> None:
    call = crc(100)
    run = Trace(engine(), call)
    assert sum(1 for _ in run) == run.executed
    assert run.result is not None
    assert run.result.a2 == zlib.crc32(call.arguments[1].data)


def test_selection_between_addresses_and_counts() -> None:
    call = crc(8)
    everything = list(Trace(engine(), call))
    body = next(s.pc for s in everything if s.plan.insn.mnemonic == "l8ui")
    behind = next(s.next_pc for s in everything if s.pc == body)
    only = list(Trace(engine(), call, Selection(body, behind)))
    assert [s.pc for s in only] == [body] * 8
    assert [s.number for s in only] == [s.number for s in everything if s.pc == body]
    some = Trace(engine(), call, Selection(skip=5, count=7))
    assert [s.number for s in some] == list(range(5, 12))
    assert some.result is not None
    assert some.result.a2 == zlib.crc32(call.arguments[1].data)
    both = list(Trace(engine(), call, Selection(body, None, 1, 2)))
    assert [s.number for s in both] == [s.number for s in everything if s.number > only[0].number][:2]
    assert list(Trace(engine(), call, Selection(count=0))) == []


def test_spills_and_fills_are_told_with_the_instruction_that_needs_them() -> None:
    run = Trace(engine_of(NESTED, tier="stepper"), Call("deep", [20]))
    steps = list(run)
    assert run.result is not None
    assert run.result.a2 == sum(range(21))
    spilling = [s for s in steps if len(s.stores) >= 4]
    filling = [s for s in steps if "filled" in s.event]
    assert spilling
    assert filling
    assert all(s.plan.insn.mnemonic == "retw.n" for s in filling)
    assert all(len(s.loads) >= 4 for s in filling)


def test_a_trap_is_the_last_step() -> None:
    run = Trace(engine(), Call("crc32_bytes", [0, 0x20, 4]))
    steps = list(run)
    assert run.trap is not None
    assert run.trap.kind is TrapKind.UNMAPPED_LOAD
    assert steps[-1].trap is run.trap
    assert "trap" in steps[-1].event
    assert steps[-1].changes == []
    endless = Trace(engine(), Call("crc32_bytes", [0, 0x3C000000, 4], budget=3))
    assert len(list(endless)) == 3
    assert endless.trap is not None
    assert endless.trap.kind is TrapKind.BUDGET


def test_observing_leaves_nothing_behind() -> None:
    machine = engine()
    memory = machine.stepper.memory
    run = Trace(machine, crc(4))
    next(iter(run))
    del run
    for call in (crc(4), Call("crc32_bytes", [0, 0x20, 4])):
        list(Trace(machine, call))
        assert machine.stepper.memory is memory
        assert machine.stepper.machine.memory is memory


def test_names_and_values() -> None:
    assert register_name(9, 2) == "a1"
    assert register_name(1, 15) == "a5"
    assert register_name(40, 2) == "ar40"
    assert value_text(0x1F, 6) == "1f"
    assert value_text(1, 1) == "1"
    assert value_text(1, 40) == "0000000001"
    assert value_text(1, 160) == "00000000_00000000_00000000_00000000_00000001"


def emu(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(w) for w in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output + (result.stderr if result.stderr_bytes else "")


def test_the_command_prints_text(tmp_path: Path) -> None:
    code, text = emu("trace", "-", "crc32_bytes", "0", "data=u8:1,2,3", "3", "--count", "9")
    assert code == 0
    assert re.search(r"\n +0  [0-9a-f]{8}  crc32_bytes +entry a1, 32", text)
    assert re.search(r"\[data\+0x0 [0-9a-f]{8}\] = 01", text)
    assert "9 instructions shown" in text
    assert "a2 = 0x55bc801d" in text
    out = tmp_path / "trace.txt"
    code, text = emu("trace", "-", "crc32_bytes", "0", "u8:1,2,3", "3", "-o", out)
    assert code == 0
    assert len(out.read_text().splitlines()) == 54
    assert "a2 = 0x55bc801d" in text


def test_the_command_prints_json() -> None:
    code, text = emu("trace", "-", "crc32_bytes", "-1", "zeros:4", "4", "--json", "--from", "crc32_bytes+6")
    assert code == 0
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[-1]["outcome"] == "returned"
    assert lines[-1]["shown"] == len(lines) - 1
    assert lines[-1]["result"]["a2"] == hex(zlib.crc32(bytes(4), 0xFFFFFFFF))
    assert all(line["symbol"] == "crc32_bytes" for line in lines[:-1])


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["-", "no_such_thing"], 2, "no symbol"),
        (["-", "emu_ready"], 2, "data"),
        (["-", "crc32_bytes", "0", "blue"], 2, "argument 2"),
        (["-", "crc32_bytes", "--from", "nowhere"], 2, "nowhere"),
        (["-", "crc32_bytes", "0", "0x20", "4"], 4, "unmapped|no memory"),
        (["-", "crc32_bytes+3"], 2, "entry"),
        (["-", "crc32_bytes", "--no-such-option"], 2, "argument 1"),
        (["/nonexistent.elf", "f"], 2, "nonexistent"),
        (["-", "crc32_bytes", "0", "zeros:4", "4", "--budget", "5"], 4, "budget"),
        (["-", "crc32_bytes", "0", "zeros:4", "8", "--bounds"], 4, "outside"),
    ],
)
def test_the_command_refuses_and_tells_why(words: list[str], code: int, why: str) -> None:
    got, text = emu("trace", *words)
    assert got == code, text
    assert re.search(why, text), text
    assert "internal error" not in text


def test_run_by_itself() -> None:
    code, text = emu("run", "-", "--call", "crc32_bytes", "0", "u8:1,2,3", "3")
    assert code == 0
    assert "a2 = 0x55bc801d" in text
    code, text = emu("run", "-")
    assert code == 4
    assert "main" in text
    code, text = emu("run", "-", "12")
    assert code == 2
    assert "--call" in text
