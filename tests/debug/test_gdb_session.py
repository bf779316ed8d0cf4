"""Sessions as a debugger has them, on kernels of the reference image."""

from __future__ import annotations

import re
import time
import zlib

import numpy as np
import pytest
import rsp
from rsp import served

from emu.cpu.engine import RETURN_ADDRESS
from emu.debug.calls import Buffer, Call
from emu.debug.gdb.registers import by_name, registers
from emu.debug.listing import entries, select
from emu.debug.sections import CodeMap

X = np.arange(-16, 16, dtype=np.int8)
W = np.arange(32, dtype=np.int8)[::-1].copy()
DOT = Call(
    "dot_rows_s8",
    [
        Buffer(X.tobytes(), "int8", "x"),
        32,
        1,
        Buffer(W.tobytes(), "int8", "w"),
        32,
        Buffer(bytes(4), "int32", "acc"),
        1,
    ],
)
CRC = Call("crc32_bytes", [0, Buffer(bytes(range(64)), "uint8", "data"), 64])


@pytest.fixture(autouse=True, params=["stepper", "translator"])
def tier(request: pytest.FixtureRequest) -> None:
    """Every session on both tiers: what a debugger sees is the same."""
    rsp.TIER[0] = request.param
    yield
    rsp.TIER[0] = "stepper"


def addresses_of(session, function: str, mnemonic: str) -> list[int]:
    """Addresses of an instruction in a function."""
    image = session.engine.image
    spans = select(image, [function])
    found = [
        e.address for e in entries(image, spans[0], CodeMap(image)) if e.insn and e.insn.mnemonic == mnemonic
    ]
    assert found
    return found


def address_of(client, name: str) -> int:
    return int(client.monitor(f"symbol {name}").split()[0], 16)


def test_breakpoint_in_a_kernel_vector_registers_step_and_end() -> None:
    with served(DOT) as (session, client):
        assert client.ask("qSupported:swbreak+;hwbreak+").count("qXfer:features:read+") == 1
        assert client.ask("?").startswith("T05")
        function = address_of(client, "dot_rows_s8")
        assert client.register("pc") == function
        starts = addresses_of(session, "dot_rows_s8", "ee.zero.accx")
        for at in starts:
            assert client.ask(f"Z0,{at:x},3") == "OK"
        assert client.ask("vCont;c").startswith("T05swbreak:;")
        step = client.register("pc")
        assert step in starts
        vectors = [client.register(f"q{i}").to_bytes(16, "little") for i in range(8)]
        assert W[:16].tobytes() in vectors
        assert client.register("a4") == 1
        assert client.register("ar2") == 0  # of the caller: the callee's a0 is ar8
        assert client.register("windowbase") == 2
        assert client.ask("s").startswith("T05")
        assert client.register("pc") == step + 3
        for at in starts:
            assert client.ask(f"z0,{at:x},3") == "OK"
        assert client.ask("c").startswith("T05")
        assert client.register("pc") == RETURN_ADDRESS
        assert "returned after" in client.console
        acc = session.started.names["acc"].address
        want = int(X.astype(np.int64) @ W.astype(np.int64))
        assert int.from_bytes(client.memory(acc, 4), "little", signed=True) == want
        assert f"int32: {want}" in client.monitor("buffers")
        assert client.ask("c") == "W00"


def test_start_of_the_image_to_its_wait() -> None:
    with served() as (session, client):
        assert client.register("pc") == session.engine.image.entry
        assert client.ask("c").startswith("T0c")
        assert "waits for an interrupt" in client.console
        assert "main" in client.monitor("where")
        ready = session.engine.image.symbols.get("emu_ready").address
        table = session.engine.image.symbols.get("emu_kernel_table").address
        assert int.from_bytes(client.memory(ready, 4), "little") == table


def test_all_registers_in_one_packet() -> None:
    with served(DOT) as (session, client):
        data = bytes.fromhex(client.ask("g"))
        assert len(data) == 608
        assert data[:4] == session.engine.state.PC.to_bytes(4, "little")
        client.ask("P78=" + bytes(range(16)).hex())
        changed = bytes.fromhex(client.ask("g"))
        assert changed[480:496] == bytes(range(16))
        assert client.ask("G" + data.hex()) == "OK"
        assert bytes.fromhex(client.ask("g")) == data


def test_every_register_can_be_written_and_read_back() -> None:
    with served(DOT) as (_, client):
        for number, register in registers().items():
            if register.name in ("windowbase", "windowstart", "intset", "intclear"):
                continue
            value = client.ask(f"p{number:x}")
            assert len(value) == 2 * register.size
            assert client.ask(f"P{number:x}={value}") == "OK"
            assert client.ask(f"p{number:x}") == value, register.name
        assert client.ask("pb4") == "xxxxxxxx"
        assert client.ask("pfff") == "E01"


def test_windowed_registers_follow_the_window() -> None:
    with served(DOT) as (_, client):
        assert client.register("a1") == client.register("ar1")
        client.ask("s")
        assert client.register("windowbase") == 2
        assert client.register("a1") == client.register("ar9")
        client.ask(f"P{by_name()['a3'].number:x}=78563412")
        assert client.register("ar11") == 0x12345678


@pytest.mark.parametrize(("kind", "reports"), [("2", "watch"), ("4", "awatch")])
def test_watchpoint_on_a_result(kind: str, reports: str) -> None:
    with served(DOT) as (session, client):
        acc = session.started.names["acc"].address
        assert client.ask(f"Z{kind},{acc:x},4") == "OK"
        stop = client.ask("c")
        assert f"{reports}:{acc:x};" in stop
        assert client.memory(acc, 4) != bytes(4)
        pc = client.register("pc")
        assert session.engine.stepper.plan_at(pc) is not None
        assert client.ask(f"z{kind},{acc:x},4") == "OK"
        client.ask("c")
        assert client.register("pc") == RETURN_ADDRESS


def test_watchpoint_on_reads_sees_vector_loads() -> None:
    with served(DOT) as (session, client):
        w = session.started.names["w"].address
        assert client.ask(f"Z3,{w + 20:x},1") == "OK"
        assert f"rwatch:{w + 20:x};" in client.ask("c")


def test_hardware_breakpoint_and_counts() -> None:
    with served(CRC) as (session, client):
        (loop,) = addresses_of(session, "crc32_bytes", "l8ui")
        assert client.ask(f"Z1,{loop:x},3") == "OK"
        for _ in range(64):
            assert client.ask("c").startswith("T05hwbreak:;")
        assert client.ask("c").startswith("T05")
        assert client.register("pc") == RETURN_ADDRESS


def test_range_step_stays_within() -> None:
    with served(CRC) as (session, client):
        function = session.engine.image.symbols.get("crc32_bytes")
        client.ask(f"vCont;r{function.address:x},{function.end:x}:1")
        assert client.register("pc") == RETURN_ADDRESS


def test_interrupt_stops_a_long_run() -> None:
    with served(CRC) as (session, client):
        entry = session.engine.image.symbols.get("crc32_bytes").address
        client.ask(f"M{entry + 3:x},3:06ffff")  # j to itself
        client.send("c")
        time.sleep(0.3)
        client.raw(b"\x03")
        assert client.reply().startswith(b"T02")
        assert int(client.monitor("instructions").replace(",", "")) > 100
        assert client.register("pc") == entry + 3
        client.send("c")
        client.raw(b"\x03")
        assert client.reply().startswith(b"T02")


def test_memory_writes_are_seen_by_the_program() -> None:
    with served(CRC) as (session, client):
        data = session.started.names["data"].address
        assert client.ask(f"M{data:x},2:ffff") == "OK"
        assert client.ask(b"X%x,3:\x01}\x04" % (data + 2)) == "OK"
        want = b"\xff\xff\x01}\x04" + bytes(range(5, 64))
        assert client.memory(data, 64) == want
        client.ask("c")
        assert client.register("a10") == zlib.crc32(want)


def test_writing_code_changes_what_runs() -> None:
    with served(CRC) as (session, client):
        entry = session.engine.image.symbols.get("crc32_bytes").address
        client.ask(f"M{entry + 3:x},2:1df0")  # retw.n behind the entry
        client.ask("c")
        assert client.register("pc") == RETURN_ADDRESS
        assert session.engine.state.instructions == 2


def test_detach_runs_to_the_end_and_leaves() -> None:
    with served(CRC) as (session, client):
        assert client.ask("Z0,40378000,3") == "OK"
        assert client.ask("D") == "OK"
        session.join()
        assert any("returned after" in line for line in session.log)


def test_kill_ends_the_server() -> None:
    with served(CRC) as (session, client):
        client.send("k")
        session.join()
        assert session.engine.state.instructions == 0


def test_a_client_that_vanishes_leaves_the_program_for_the_next_one() -> None:
    with served(CRC) as (session, client):
        client.ask("s")
        pc = client.register("pc")
        client.close()
        second = session.client()
        assert second.register("pc") == pc
        second.close()


def test_no_ack_mode() -> None:
    with served(CRC) as (_, client):
        assert client.ask("QStartNoAckMode") == "OK"
        client.acks = False
        client.raw(b"$?#00")  # the checksum does not matter any more to a client that trusts the line
        assert client.ask("qC") == "QC1"


def test_traps_become_signals_with_a_text() -> None:
    with served(Call("crc32_bytes", [0, 0x10, 4])) as (_, client):
        assert client.ask("c").startswith("T0b")
        assert "crc32_bytes" in client.console
        assert client.ask("c").startswith("T0b")


def test_trace_of_executed_instructions() -> None:
    with served(CRC) as (_, client):
        assert client.monitor("trace on") == "trace is on\n"
        client.ask("s")
        assert re.search(r"crc32_bytes +entry a1, 32", client.console)
        client.monitor("trace off")
        client.console = ""
        client.ask("s")
        assert client.console == ""


@pytest.mark.parametrize(
    "text", ["", "help", "symbol", "symbol no_such", "symbol 0x9999999999", "trace", "x" * 3000]
)
def test_monitor_answers_everything(text: str) -> None:
    with served(CRC) as (_, client):
        assert client.monitor(text).endswith("\n")
        assert "\n" in client.monitor("registers")
        assert client.monitor("notices")


@pytest.mark.parametrize("exceptions", ["built-in", "vectors"])
def test_a_break_instruction_of_the_program_stops_and_is_passed(exceptions: str) -> None:
    with served(CRC, exceptions) as (session, client):
        entry = session.engine.image.symbols.get("crc32_bytes").address
        client.ask(f"M{entry + 3:x},5:2df01df000")  # break.n 0; retw.n
        assert client.ask("c").startswith("T05")
        assert client.register("pc") == entry + 3
        assert client.register("debugcause") == 0
        assert client.ask("s").startswith("T05")
        assert client.register("pc") == entry + 5
        client.ask("c")
        assert client.register("pc") == RETURN_ADDRESS
