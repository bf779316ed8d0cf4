"""The models of firmware/ on this machine: C structures, aligned memory, runs with digests of all stages."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

POINTER, U32, S32, F32 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int32, ctypes.c_float
ARENA_BYTES, SLOW_BYTES = 294_912, 442_368
RECORD = np.dtype(
    [("name", "S24"), ("dtype", "u4"), ("total", "u4"), ("seen", "u4"), ("unused", "u4"), ("digest", "u8")]
)
GUARD = 4096
FILL = 0xA5


class Run(ctypes.Structure):
    """struct emu_run."""

    _fields_ = (
        *(("arena", POINTER), ("arena_bytes", U32), ("slow", POINTER), ("slow_bytes", U32)),
        *(("tap", POINTER), ("tap_arg", POINTER), ("par", POINTER), ("par_arg", POINTER)),
        *((name, U32) for name in ("flags", "arena_high", "slow_high", "bad", "reason", "row", "column")),
        ("stage", ctypes.c_char * 24),
        *(("step", S32), ("branch", S32), ("block", S32), ("arena_used", U32), ("slow_used", U32)),
    )


class Table(ctypes.Structure):
    """struct emu_digest_table."""

    _fields_ = (("records", POINTER), ("capacity", U32), ("count", U32), ("dropped", U32))


class Job(ctypes.Structure):
    """struct emu_job."""

    _fields_ = (
        *(("part", POINTER), ("arg", POINTER), ("first", S32), ("end", S32)),
        *(("posted", U32), ("done", U32), ("status", S32), ("stop", U32)),
    )


class Model(ctypes.Structure):
    """struct emu_model."""

    _fields_ = (("kind", U32), ("outputs", U32), ("word_bytes", U32), ("count", U32), ("data", POINTER * 192))


class ModelFault(ctypes.Structure):
    """struct emu_model_error."""

    _fields_ = (("reason", U32), ("tensor", U32), ("row", U32), ("column", U32))


class T2iRequest(ctypes.Structure):
    """struct t2i_request."""

    _fields_ = (
        *(("prompt", POINTER), ("prompt_bytes", U32), ("tokens", POINTER), ("token_count", S32)),
        *(("seed", U32), ("steps", S32), ("cfg", F32), ("rgb", POINTER)),
    )


class TernaryRequest(ctypes.Structure):
    """struct ternary_request."""

    _fields_ = (("text", POINTER), ("text_bytes", U32), ("logits", POINTER), ("outputs", S32))


class Tinylm(ctypes.Structure):
    """struct tinylm."""

    _fields_ = (("position", S32), ("random", U32), ("model", Model))


def aligned(size: int) -> np.ndarray:
    """uint8 [size] at a multiple of 64 bytes, full of rubbish."""
    whole = np.full(size + 64, FILL, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]


def copied(data: bytes) -> np.ndarray:
    """The bytes at an aligned place."""
    place = aligned(len(data))
    place[:] = np.frombuffer(data, np.uint8)
    return place


@dataclass
class Outcome:
    """What a run left: status, struct emu_run, digests by stage, what was computed."""

    status: int
    run: Run
    stages: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Stage to (dtype, elements, digest), complete ones only."""
    result: Any = None


class HostRun:
    """One struct emu_run with memory around it; the memory behind the arena is watched."""

    def __init__(
        self,
        library: ctypes.CDLL,
        arena_bytes: int = ARENA_BYTES,
        slow_bytes: int = SLOW_BYTES,
        taps: bool = True,
    ) -> None:
        self.library, self.arena_bytes, self.slow_bytes = library, arena_bytes, slow_bytes
        self.arena, self.slow = aligned(arena_bytes + GUARD), aligned(slow_bytes + GUARD)
        self.records = np.zeros(8000, RECORD)
        self.table = Table(self.records.ctypes.data, len(self.records), 0, 0)
        self.run = Run(
            arena=self.arena.ctypes.data,
            arena_bytes=arena_bytes,
            slow=self.slow.ctypes.data,
            slow_bytes=slow_bytes,
        )
        if taps:
            self.run.tap = ctypes.cast(library.emu_tap_digest, POINTER).value
            self.run.tap_arg = ctypes.addressof(self.table)

    def outcome(self, status: int, result: Any = None) -> Outcome:
        """The results. Fails when memory behind the buffers was written, or a stage is incomplete."""
        assert (self.arena[self.arena_bytes :] == FILL).all()
        assert (self.slow[self.slow_bytes :] == FILL).all()
        assert self.table.dropped == 0
        found = self.records[: self.table.count]
        if status == 0:
            assert (found["seen"] == found["total"]).all()
        stages = {r["name"].decode(): (int(r["dtype"]), int(r["total"]), int(r["digest"])) for r in found}
        assert len(stages) == len(found)
        return Outcome(status, self.run, stages, result)

    @contextmanager
    def two_cores(self) -> Iterator[Job]:
        """A second thread serves jobs meanwhile."""
        job = Job()
        self.run.par = ctypes.cast(self.library.par_two_cores, POINTER).value
        self.run.par_arg = ctypes.addressof(job)
        other = threading.Thread(target=self.library.par_worker, args=(ctypes.byref(job),))
        other.start()
        try:
            yield job
        finally:
            self.library.par_stop(ctypes.byref(job))
            other.join()


def draw(host: HostRun, model: np.ndarray, prompt: bytes, **request: Any) -> Outcome:
    """t2i_run; the result is the picture."""
    rgb = np.zeros(12288, np.uint8)
    text = ctypes.create_string_buffer(prompt)
    values = {"steps": 1, "cfg": 3.0, "seed": 7, "rgb": rgb.ctypes.data} | request
    place = ctypes.cast(text, POINTER).value
    call = T2iRequest(prompt=place, prompt_bytes=len(prompt), **values)
    status = host.library.t2i_run(
        POINTER(model.ctypes.data), U32(len(model)), ctypes.byref(call), ctypes.byref(host.run)
    )
    return host.outcome(status, rgb)


def classify(host: HostRun, model: np.ndarray, text: bytes, capacity: int = 4096) -> Outcome:
    """ternary_run; the result holds the logits."""
    logits, buffer = np.zeros(capacity, np.float32), ctypes.create_string_buffer(text)
    call = TernaryRequest(ctypes.cast(buffer, POINTER).value, len(text), logits.ctypes.data, capacity)
    status = host.library.ternary_run(
        POINTER(model.ctypes.data), U32(len(model)), ctypes.byref(call), ctypes.byref(host.run)
    )
    return host.outcome(status, logits[: call.outputs])


def generate(host: HostRun, model: np.ndarray, tokens: list[int]) -> Outcome:
    """tinylm_start and a step per token; the result holds the last logits."""
    lm, logits, run = Tinylm(), np.zeros(4096, np.float32), ctypes.byref(host.run)
    status = host.library.tinylm_start(
        POINTER(model.ctypes.data), U32(len(model)), U32(5), ctypes.byref(lm), run
    )
    for token in tokens:
        if status == 0:
            status = host.library.tinylm_step(ctypes.byref(lm), token, POINTER(logits.ctypes.data), run)
    return host.outcome(status, logits)
