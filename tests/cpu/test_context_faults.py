"""Faults of saving and switching contexts, on both tiers: B024, B045, B047, B063, B078."""

from __future__ import annotations

import random

import pytest

from emu.cpu import state_tools
from emu.cpu.diagnostics import Check
from emu.cpu.engine import Engine
from emu.cpu.interrupts import timer_number
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap, TrapKind
from tests.cpu import contexts, handlers, images
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE, DATA, assemble


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


# --- B024: an interrupt after every instruction in turn ------------------------------------------------
WORK = """
    f: entry a1, 48
       wfr f0, a2
       const.s f1, 3
       madd.s f1, f0, f0
       ee.zero.qacc
       ee.zero.accx
       ee.vld.128.ip q0, a3, 16
       ee.ld.128.usar.ip q1, a4, 16
       ee.vmulas.s8.qacc q0, q1
       ee.vmulas.s16.accx.ld.ip q2, a3, 16, q0, q1
       ee.src.q.qup q3, q1, q2
       olt.s b1, f0, f1
       ssai 7
       movi a8, 3
       loop a8, _end
       ee.vadds.s8 q4, q3, q0
       src a9, a2, a8
       msub.s f1, f0, f0
    _end: ee.vmulas.s8.accx q3, q4
       movi a5, 20
       ee.srs.accx a6, a5, 0
       ee.srcmb.s8.qacc q5, a5, 0
       mula.aa.ll a2, a8
       mov.n a10, a6
       call8 g
       ee.vst.128.ip q5, a7, 16
       ee.vst.128.ip q4, a7, 16
       ssi f1, a7, 0
       add a2, a10, a9
       movt a2, a6, b1
       retw
       .align 4
    g: entry a1, 32
       ee.zero.q q6
       ee.vmax.s8 q7, q6, q6
       retw
"""
"""Uses every kind of register that an interrupt must keep."""
USES_EVERYTHING = "\n".join(
    [
        *(f"wfr f{i}, a5\n add.s f{i}, f{i}, f{i}" for i in range(16)),
        *(f"ee.zero.q q{i}\n ee.notq q{i}, q{i}" for i in range(8)),
        "movi a5, 99\n ee.zero.qacc\n ee.vmulas.u8.qacc q0, q1\n wur.accx_0 a5\n wur.accx_1 a5",
        "wur.sar_byte a5\n wur.fft_bit_width a5\n wur.ua_state_0 a5\n wur.ua_state_3 a5",
        "wsr.sar a5\n wsr.br a5\n wsr.acclo a5\n wsr.acchi a5\n wsr.m0 a5\n movi a5, 3\n wur.fcr a5",
    ]
)
CORE = ("sar", "lbeg", "lend", "lcount", "br", "acclo", "acchi", "m0")


def full_handler(forget: str = "") -> str:
    """Saves everything, uses everything, restores everything (except the line ``forget``)."""
    load = [
        *contexts.LOAD_FLOATS.format(to="a2").splitlines(),
        *contexts.LOAD_VECTORS.format(to="a2").splitlines(),
    ]
    return "\n".join(
        [
            "l32r a2, literal+8\n s32i a5, a2, 20\n s32i a6, a2, 24",
            *(f"rsr.{name} a5\n s32i a5, a2, {28 + 4 * i}" for i, name in enumerate(CORE)),
            "movi a5, 0\n wsr.lcount a5",
            contexts.SAVE_FLOATS.format(to="a2"),
            contexts.SAVE_VECTORS.format(to="a2"),
            USES_EVERYTHING,
            *(line for line in load if not forget or forget not in line),
            *(f"l32i a5, a2, {28 + 4 * i}\n wsr.{name} a5" for i, name in enumerate(CORE)),
            "l32i a5, a2, 20\n l32i a6, a2, 24",
            "rsr.ccompare0 a3\n wsr.ccompare0 a3",
        ]
    )


@pytest.fixture(scope="module")
def data() -> bytes:
    return random.Random(24).randbytes(256)


def working_engine(data: bytes, forget: str = "") -> Engine:
    engine = engine_of(WORK, data, exceptions="vectors", track_fsr=True)
    handlers.install(engine, {1: full_handler(forget)})
    return engine


def outcome(engine: Engine, cycles: int | None) -> tuple[dict[str, int], bytes]:
    """State and memory after the call, with an interrupt after ``cycles`` instructions (None: without)."""
    engine.reset()
    engine.state.VECBASE = handlers.BASE >> 10
    state_tools.dirty(engine.state, 7)
    engine.memory.write(handlers.SAVE, handlers.LOG.to_bytes(4, "little"))
    engine.memory.write(DATA + 128, bytes(64))
    engine.begin("f", [0x40490FDB, DATA, DATA + 21, 0, 0, DATA + 128])
    engine.state.INTENABLE = 0
    if cycles is not None:
        engine.state.INTENABLE = 1 << timer_number(0)
        engine.state.CCOMPARE0 = (engine.state.CCOUNT + engine.state.instructions + cycles) & 0xFFFFFFFF
    engine.interrupts.changed()
    engine.state.budget = 10_000
    assert engine.advance() == ExitReason.RETURN
    values = state_tools.values(engine.state)
    return {n: v for n, v in values.items() if n not in NOT_COMPARED}, engine.memory.read(DATA, 256)


NOT_COMPARED = frozenset(("CCOMPARE0", "EPC1", "EXCSAVE1", "INTENABLE", "INTERRUPT", "EXCCAUSE", "PC"))


def test_b024_an_interrupt_after_every_instruction_changes_nothing(data: bytes) -> None:
    engine = working_engine(data)
    quiet = outcome(engine, None)
    length = engine.state.instructions
    for cycles in range(1, length):
        assert outcome(engine, cycles) == quiet, f"interrupt after {cycles} instructions"
        assert len(handlers.log_of(engine)) == 1
    assert length > 40


@pytest.mark.parametrize("forget", ["lsi f1,", "q3, a6", "accx_1", "qacc_h.h.32", "sar_byte", "wur.fcr"])
def test_b024_a_handler_that_forgets_a_register_is_noticed(data: bytes, forget: str) -> None:
    engine = working_engine(data, forget)
    quiet = outcome(engine, None)
    length = engine.state.instructions
    assert any(outcome(engine, cycles) != quiet for cycles in range(1, length))


# --- B024: two tasks that share the coprocessors ----------------------------------------------------------
TASK = """
    {name}: l32r a2, {name}_data
       l32r a4, {name}_rounds
       movi a3, {seed}
       wfr f0, a3
       utrunc.s a5, f0, 0
       float.s f1, a3, 0
       float.s f2, a3, 1
       ee.zero.qacc
       ee.zero.accx
       ee.vldbc.8 q0, a2
       ee.vld.128.ip q1, a2, 0
    {name}_loop: add.s f1, f1, f2
       ee.vmulas.s8.accx q0, q1
       mul.s f3, f1, f2
       ee.vadds.s8 q2, q2, q1
       madd.s f4, f1, f2
       ee.vmulas.s8.qacc q0, q1
       ee.vsubs.s16 q3, q2, q1
       trunc.s a6, f1, 0
       addi a4, a4, -1
       bnez a4, {name}_loop
       ssi f1, a2, 16
       ssi f3, a2, 20
       ssi f4, a2, 24
       rur.accx_0 a7
       s32i a7, a2, 28
       addi a8, a2, 32
       ee.vst.128.ip q2, a8, 16
       ee.vst.128.ip q3, a8, 16
       ee.st.qacc_l.l.128.ip a8, 16
       ee.st.qacc_h.l.128.ip a8, 16
       movi a9, 1
       s32i a9, a2, 112
    {name}_wait: l32i a9, a2, 240
       beqz a9, {name}_wait
       {leave}
"""
PLACES = (DATA, DATA + 128)
ROUNDS = 40


def two_tasks(*, is_broken: bool = False, period: int) -> list[bytes]:
    """What each task leaves in memory; the first one waits for the second and ends the run."""
    head = "".join(
        f"{n}_data: .word {at}\n {n}_rounds: .word {ROUNDS}\n" for n, at in zip("ab", PLACES, strict=True)
    )
    text = (
        head
        + TASK.format(name="a", seed=77, leave="ret")
        + TASK.format(name="b", seed=1234, leave="j b_wait")
    )
    inputs = [random.Random(seed).randbytes(16) + bytes(112) for seed in (5, 6)]
    engine = engine_of(text, b"".join(inputs), exceptions="vectors")
    symbols = engine.image.symbols
    state = engine.state
    state_tools.prepare_call(state)
    # Task a leaves when it sees b's flag, 112 bytes behind b's place.
    contexts.install(
        engine, [symbols.get("a").address, symbols.get("b").address], period, is_broken=is_broken
    )
    state.set_a(0, 0x4FFFFFF0)
    state.budget = 200_000
    assert engine.advance() == ExitReason.RETURN
    return [engine.memory.read(at, 112) for at in PLACES]


def test_b024_tasks_that_share_the_coprocessors_do_not_see_each_other() -> None:
    alone = two_tasks(period=3000)
    assert alone[0][16:] != alone[1][16:]
    for period in (331, 337, 347, 353, 401):
        assert two_tasks(period=period) == alone


def test_b024_a_switch_that_leaves_the_coprocessors_on_is_noticed() -> None:
    alone = two_tasks(period=3000)
    assert two_tasks(period=337, is_broken=True) != alone


# --- B045: an interrupt at every depth --------------------------------------------------------------------
CHAIN = """
    f: entry a1, 48
       beqz a2, _leave
       addi a3, a2, 3
       addx2 a4, a2, a2
       addx4 a5, a2, a2
       addx8 a6, a2, a2
       slli a7, a2, 5
       addi a10, a2, -1
       call8 f
       add a2, a10, a3
       add a2, a2, a4
       add a2, a2, a5
       add a2, a2, a6
       add a2, a2, a7
    _leave: retw
"""


def test_b045_an_interrupt_at_every_depth_of_a_call_chain() -> None:
    """Also inside the window handlers, where PS.EXCM makes it wait."""
    engine = engine_of(CHAIN, exceptions="vectors")
    handlers.install(engine)
    expected = engine.call("f", [12])
    for cycles in range(1, expected.instructions, 5):
        handlers.install(engine)
        entered = engine.begin("f", [12])
        engine.state.INTENABLE = 1 << timer_number(0)
        engine.state.CCOMPARE0 = (engine.state.CCOUNT + engine.state.instructions + cycles) & 0xFFFFFFFF
        engine.interrupts.changed()
        engine.state.budget = 10_000
        engine.run()
        assert engine.finish(entered).a2 == expected.a2
        assert len(handlers.log_of(engine)) == 1


# --- B047 ---------------------------------------------------------------------------------------------------
def test_b047_coprocessors_are_on_after_reset_and_raise_when_off() -> None:
    text = "f: entry a1, 32\n {off}\n add.s f0, f1, f2\n ee.zero.q q0\n rsr.cpenable a2\n retw"
    engine = engine_of(text.format(off="nop"), exceptions="vectors")
    assert engine.state.CPENABLE == 0xFF
    assert engine.call("f").a2 == 0xFF
    for mask, cause in ((0xFE, 32), (0xF7, 35)):
        engine = engine_of(text.format(off=f"movi a3, {mask}\n wsr.cpenable a3"), exceptions="vectors")
        contexts.install(engine, [0], 1000)
        vector = contexts.BASE + 0x340
        engine.memory.write(
            vector, assemble("rsr.exccause a2\n l32r a0, _e\n jx a0", vector, _e=CODE + 0x100).data
        )
        engine.memory.write(CODE + 0x100, (0x4FFFFFF0).to_bytes(4, "little"))
        engine.begin("f")
        engine.state.budget = 100
        engine.advance()
        assert engine.state.get_a(2) == cause


# --- B063: every instruction is executed or stops -----------------------------------------------------------
def test_b063_instructions_that_an_emulator_lacked() -> None:
    """S32RI in the float dot product, SALT/SALTU, BT/BF: results, not just the absence of a complaint."""
    text = """
    f: entry a1, 32
       salt a5, a2, a3
       saltu a6, a2, a3
       s32ri a6, a4, 4
       movi a7, 0
       movi a8, 0x100
       wsr.br a8
       bt b8, _one
       movi a7, 100
    _one: bf b8, _two
       addi a7, a7, 1
    _two: l32i a2, a4, 4
       slli a5, a5, 1
       or a2, a2, a5
       slli a7, a7, 2
       or a2, a2, a7
       retw
    """
    engine = engine_of(text)
    assert engine.call("f", [0xFFFFFFFF, 1, DATA]).a2 == 4 | 2
    assert engine.call("f", [1, 0xFFFFFFFF, DATA]).a2 == 4 | 1


@pytest.mark.parametrize("data", [b"\x10\xe5\x78", b"\xb3\xf4\xd5", b"\xcd\xc2", b"\xae\x17\x9b\xf7"])
def test_b063_unknown_bytes_stop_with_address_bytes_and_symbol(data: bytes) -> None:
    text = "f: entry a1, 32\n nop\n .byte " + ", ".join(map(str, data)) + "\n retw"
    with pytest.raises(Trap) as caught:
        engine_of(text).call("f")
    assert caught.value.kind == TrapKind.ILLEGAL
    assert data.hex(" ") in str(caught.value)
    assert f"{CODE + 6:#010x} f+0x6" in str(caught.value)


# --- B078: the save area of the vector unit must be aligned ---------------------------------------------
SAVE_AREA = "f: entry a1, 32\n {save}\n retw"


@pytest.mark.parametrize("offset", [0, 4, 8, 12])
def test_b078_a_misaligned_save_area_overwrites_the_frame_before_it(offset: int, data: bytes) -> None:
    """The chip masks the address: the first store begins below the frame, the guard zone reports it."""
    save = "\n".join(f"ee.vst.128.ip q{i}, a2, 16" for i in range(8))
    load = save.replace("vst", "vld").replace("a2", "a3")
    engine = engine_of(SAVE_AREA.format(save=save + "\n" + load), data, check=True)
    frame = engine.arena.start + 1024 + offset
    engine.memory.write(frame - 64, b"\xc5" * 256)
    engine.memory.shadow.allow(frame, 128, READ | WRITE | INIT)
    found = engine.call("f", [frame, frame], dirty=78).findings
    kinds = {f.check for f in found} - {Check.REGISTERS}
    below = engine.memory.read(frame - offset, offset)
    if not offset:
        assert kinds == set()
        return
    assert kinds == {Check.MISALIGNED, Check.BOUNDS}
    assert below != b"\xc5" * offset
    first = next(f for f in found if f.check == Check.BOUNDS)
    assert first.pc == CODE + 3
    assert f"{frame - offset:#010x}" in first.first


@pytest.mark.parametrize("offset", [0, 4, 8, 12])
def test_b078_under_the_permission_map_it_traps(offset: int) -> None:
    engine = engine_of(SAVE_AREA.format(save="ee.vst.128.ip q0, a2, 16"), bounds=True)
    frame = engine.arena.start + 1024 + offset
    engine.memory.shadow.allow(frame, 128, READ | WRITE)
    if not offset:
        engine.call("f", [frame])
        return
    with pytest.raises(Trap) as caught:
        engine.call("f", [frame])
    assert (caught.value.kind, caught.value.address) == (TrapKind.BOUNDS_WRITE, frame - offset)
