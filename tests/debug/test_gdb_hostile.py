"""Whatever bytes arrive: the server answers in the protocol, lives on, and the program is not disturbed."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rsp import engine_for, served

from emu.debug.calls import Buffer, Call, start
from emu.debug.gdb.commands import PACKET_SIZE, Commands, Reply, Resume
from emu.debug.gdb.inferior import Inferior
from emu.debug.gdb.packets import LONGEST, Kind, Parser, frame, unescape
from emu.debug.gdb.registers import registers

CRC = Call("crc32_bytes", [0, Buffer(bytes(range(16)), "uint8", "data"), 16])
BAD = [
    "p", "pzz", "p-1", "p 1", "p0x1", "pffffffffffffffffffff", "P", "P0", "P0=", "P0=zz", "P0=1",
    "P0=0102030405", "G", "Gzz", "G0", "m", "m1", "m,", "mzz,4", "m0,4", "m40378000,", "m40378000,-4",
    "m40378000,zz", "mffffffffffffffff,4", "m100000000,4", "M", "M40378000", "M40378000,4",
    "M40378000,4:", "M40378000,4:00", "M40378000,4:zzzzzzzz", "M0,4:00000000", "Mfffffffe,4:00000000",
    "X", "X0", "X0,", "X40378000,4:abc", "Z", "Z0", "Z0,", "Z0,zz,1", "Z0,100000000,1", "Z9,40378000,1",
    "z", "z0,1", "z7,0,0", "Z0,40378000,3,4", "vCont;", "vCont;x", "vCont;r", "vCont;r1", "vCont;rzz,1",
    "vCont;t", "qXfer:features:read:", "qXfer:features:read:target.xml",
    "qXfer:features:read:target.xml:zz,1", "qXfer:features:read:other.xml:0,10",
    "qXfer:features:write:target.xml:0:", "qXfer:libraries:read::0,1", "qRcmd", "qRcmd,", "qRcmd,zz",
    "qRcmd,0", "qRcmd,ff00ff", "qSupported", "qSupported:" + ";" * 1000, "q", "Q", "v",
    "vFile:open:0,0,0", "vMustReplyEmpty", "C", "Czz", "S", "Szz", "czz", "szz", "c40378000junk", "\x00",
    "\xff" * 20, "#", "$", "!", "R00", "A0", "bc", "t",
]  # fmt: skip


def commands() -> Commands:
    engine = engine_for()
    return Commands(Inferior(engine, start(engine, CRC), lambda _: None))


COMMANDS = commands()


@pytest.mark.parametrize("text", BAD)
def test_bad_packets_are_answered_and_the_next_one_works(text: str) -> None:
    before = bytes(COMMANDS.state)
    answer = COMMANDS.answer(text.encode("latin-1"))
    assert isinstance(answer, Reply)
    assert not answer.leaves
    assert bytes(COMMANDS.state) == before
    assert COMMANDS.answer(b"qC") == Reply(b"QC1")


def test_bad_packets_over_the_wire() -> None:
    with served(CRC) as (session, client):
        pc = client.register("pc")
        for text in BAD:
            client.ask(text)
        assert client.register("pc") == pc
        assert session.engine.state.instructions == 0
        client.ask("c")
        assert "returned" in client.console


@pytest.mark.parametrize(
    "raw",
    [
        b"$",
        b"$#",
        b"$g#",
        b"$g#0",
        b"$g#zz",
        b"$g#00",
        b"#00",
        b"}",
        b"$}#7d",
        b"$$$$",
        b"++--++",
        b"\x03\x03",
        bytes(256),
    ],
)
def test_damaged_frames_over_the_wire(raw: bytes) -> None:
    with served(CRC) as (_, client):
        client.raw(raw)
        client.raw(b"$qC#b4")
        seen = b""
        while not seen.endswith(b"$QC1#c5"):
            seen += client.byte()


def test_a_wrong_checksum_is_asked_for_again() -> None:
    with served(CRC) as (_, client):
        client.raw(b"$qC#00")
        assert client.byte() == b"-"
        assert client.ask("qC") == "QC1"
        client.raw(b"-")
        assert client.packet() == b"QC1"


def test_an_endless_packet_is_thrown_away() -> None:
    with served(CRC) as (_, client):
        client.raw(b"$" + b"m" * (3 * LONGEST) + b"#00")
        assert client.byte() == b"-"
        assert client.ask("qC") == "QC1"


def test_random_bytes_over_the_wire() -> None:
    rng = random.Random(3)
    with served(CRC) as (session, client):
        client.socket.settimeout(60)
        for _ in range(30):
            client.raw(rng.randbytes(rng.randrange(400)).replace(b"k", b"").replace(b"D", b""))
        client.close()
        second = session.client()
        assert second.ask("qC") == "QC1"
        second.close()


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_any_packet_has_an_answer(data: bytes) -> None:
    answer = COMMANDS.answer(data)
    assert isinstance(answer, Reply | Resume)


LETTERS = "?gGpPmMXcCsSZzvqQHTkDb"


@settings(max_examples=500)
@given(st.sampled_from(LETTERS), st.text("0123456789abcdefxyz,;:=-+ \x00", max_size=30))
def test_any_command_with_odd_arguments_has_an_answer(letter: str, rest: str) -> None:
    answer = COMMANDS.answer((letter + rest).encode("latin-1"))
    assert isinstance(answer, Reply | Resume)
    if isinstance(answer, Reply):
        assert len(answer.data) <= PACKET_SIZE


@given(st.binary(max_size=300), st.lists(st.integers(1, 50), max_size=10))
def test_frames_survive_any_content_and_any_cut(data: bytes, cuts: list[int]) -> None:
    stream = frame(data) + frame(b"next")
    assert stream.count(b"$") == 2
    parser, events, at = Parser(), [], 0
    for size in [*cuts, len(stream)]:
        events += parser.feed(stream[at : at + size])
        at += size
    assert [(e.kind, e.data) for e in events] == [(Kind.PACKET, data), (Kind.PACKET, b"next")]
    assert unescape(frame(data)[1:-3]) == data


@given(st.binary(max_size=400))
def test_the_parser_takes_any_bytes(data: bytes) -> None:
    events = Parser().feed(data)
    assert all(isinstance(e.kind, Kind) for e in events)


def test_description_is_read_in_pieces_and_is_right() -> None:
    text, at = "", 0
    while True:
        reply = COMMANDS.answer(f"qXfer:features:read:target.xml:{at:x},200".encode())
        assert isinstance(reply, Reply)
        text += reply.data[1:].decode()
        at = len(text)
        if reply.data[:1] == b"l":
            break
    root = ElementTree.fromstring(text)
    assert root.findtext("architecture") == "xtensa"
    found = {int(r.get("regnum")): (r.get("name"), int(r.get("bitsize"))) for r in root.iter("reg")}
    assert found == {n: (r.name, r.bits) for n, r in registers().items()}
    types = {t.get("id") for t in root.iter() if t.get("id")}
    used = {r.get("type") for r in root.iter("reg")}
    builtin = {"uint32", "uint64", "uint128", "ieee_single", "code_ptr", "data_ptr"}
    assert used <= types | builtin


def test_register_numbers_are_those_of_the_esp32s3() -> None:
    """The map of GDB's configuration of the core (group by group: first and last number)."""
    names = {n: r.name for n, r in registers().items()}
    expected = {
        0: "pc", 1: "ar0", 64: "ar63", 65: "lbeg", 66: "lend", 67: "lcount", 68: "sar", 69: "windowbase",
        70: "windowstart", 71: "configid0", 72: "configid1", 73: "ps", 74: "threadptr", 75: "br", 76:
        "scompare1", 77: "acclo", 78: "acchi", 79: "m0", 82: "m3", 83: "gpio_out", 84: "f0", 99: "f15",
        100: "fcr", 101: "fsr", 102: "accx_0", 103: "accx_1", 104: "qacc_h_0", 108: "qacc_h_4", 109:
        "qacc_l_0", 113: "qacc_l_4", 114: "sar_byte", 115: "fft_bit_width", 116: "ua_state_0", 119:
        "ua_state_3", 120: "q0", 127: "q7", 128: "mmid", 129: "ibreakenable", 132: "ddr", 139: "epc1",
        146: "depc", 147: "eps2", 153: "excsave1", 160: "cpenable", 161: "interrupt", 162: "intset", 163:
        "intclear", 164: "intenable", 165: "vecbase", 166: "exccause", 167: "debugcause", 168: "ccount",
        169: "prid", 170: "icount", 171: "icountlevel", 172: "excvaddr", 173: "ccompare0", 176: "misc0",
        179: "misc3", 212: "a0", 227: "a15",
    }  # fmt: skip
    assert {n: names[n] for n in expected} == expected
    assert sum(r.size for n, r in registers().items() if n < 128) == 608
