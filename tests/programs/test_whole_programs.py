"""The benchmark set on QEMU, on both tiers and natively: results and every byte of memory are equal."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emu.bench.programs import PROGRAMS, Program

GUARD = 64
BUDGET = 1 << 40
CI_SIZES, LONG_SIZES = 6, 200
STEPS = 25_000
"""Instructions that the stepper may spend on a program in CI."""
NAMES = [p.name for p in PROGRAMS]
BY_NAME = {p.name: p for p in PROGRAMS}


def sizes(program: Program, count: int, seed: int):
    """(size, seed, rounds, initial memory) of random runs; the ends come first."""
    rng = random.Random(f"{program.name} {seed}")
    for number in range(count):
        size = (
            (program.least, program.most)[number] if number < 2 else rng.randint(program.least, program.most)
        )
        if program.powers:
            size = 1 << size.bit_length() - 1
        fresh = rng.randbytes(program.work_bytes(size) + GUARD)
        yield size, rng.randrange(1, 1 << 32), rng.randrange(4), fresh


def on_engine(engine, program, size, seed, rounds, fresh):
    """Checksum, memory, instructions."""
    engine.memory.write(engine.arena.start, fresh)
    out = engine.call(program.symbol, [engine.arena.start, size, seed, rounds], budget=BUDGET)
    return out.a2, engine.memory.read(engine.arena.start, len(fresh)), out.instructions


def on_qemu(running, program, size, seed, rounds, fresh):
    running.write(running.arena, fresh)
    checksum, _ = running.call(program.symbol, [running.arena, size, seed, rounds])
    return checksum, running.read(running.arena, len(fresh))


def natively_run(library, program, size, seed, rounds, fresh):
    room = np.zeros(len(fresh) + 16, np.uint8)
    work = room[-room.ctypes.data % 16 :][: len(fresh)]
    work[:] = np.frombuffer(fresh, np.uint8)
    return library.call(program, work, size, seed, rounds), work.tobytes()


def agree(program, running, engine, count, seed):
    for size, start, rounds, fresh in sizes(program, count, seed):
        ours = on_engine(engine, program, size, start, rounds, fresh)[:2]
        theirs = on_qemu(running, program, size, start, rounds, fresh)
        assert ours == theirs, f"{program.name}: size {size}, seed {start:#x}, {rounds} rounds"
        assert ours[1][program.work_bytes(size) :] == fresh[program.work_bytes(size) :], (
            "wrote behind its memory"
        )


@pytest.mark.parametrize("name", NAMES)
def test_translator_and_qemu(name, programs_on_qemu, translated):
    agree(BY_NAME[name], programs_on_qemu, translated, CI_SIZES, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_translator_and_native_code(name, natively, translated):
    program = BY_NAME[name]
    for run in sizes(program, CI_SIZES, seed=2):
        assert on_engine(translated, program, *run)[:2] == natively_run(natively, program, *run)


@pytest.mark.parametrize("name", NAMES)
def test_stepper_and_qemu(name, programs_on_qemu, stepped, translated):
    """The smallest sizes; instruction counts of both tiers are equal too."""
    program = BY_NAME[name]
    spent, tried = 0, 0
    for run in sorted(sizes(program, 40, seed=3), key=lambda run: (run[0], run[2])):
        expected = on_engine(translated, program, *run)
        if spent + expected[2] > STEPS and tried:
            break
        ours = on_engine(stepped, program, *run)
        assert ours == expected, f"{program.name}: size {run[0]}, seed {run[1]:#x}, {run[2]} rounds"
        assert ours[:2] == on_qemu(programs_on_qemu, program, *run)
        spent, tried = spent + expected[2], tried + 1
    assert tried >= 1


def test_the_numbers_are_right(translated):
    """Against Python, where it has the same function: not only equal everywhere, but also what they claim."""
    import zlib

    def run(name, size, seed, rounds):
        program = BY_NAME[name]
        return on_engine(translated, program, size, seed, rounds, bytes(program.work_bytes(size)))

    checksum, memory, _ = run("crc32", 1000, 5, 1)
    assert checksum == zlib.crc32(memory[1024:])
    _, memory, _ = run("sort", 300, 5, 1)
    words = np.frombuffer(memory, np.int32)
    assert (np.sort(words[:300]) == words[:300]).all()
    assert (words[:300] == words[300:600]).all()
    _, memory, _ = run("softmax", 64, 5, 1)
    x, out = np.frombuffer(memory, np.float32).reshape(2, 64)
    exact = np.exp((x + out).astype(np.float64))
    assert np.abs(out - exact / exact.sum()).max() < 1e-3
    _, memory, _ = run("gemm", 33, 5, 1)
    acc = np.frombuffer(memory[:2048], np.int32).reshape(16, 32)
    x, w = np.split(np.frombuffer(memory[2048:], np.int8).astype(np.int32).reshape(48, 33), [16])
    x = x.copy()
    assert (acc[1:] == x[1:] @ w.T).all()  # one byte of row 0 is changed after the round


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_long_translator_and_qemu(name, programs_on_qemu, translated):
    agree(BY_NAME[name], programs_on_qemu, translated, LONG_SIZES, seed=4)
