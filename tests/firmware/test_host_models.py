"""The models in C on this machine: stages, budgets, refusals, two cores."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from emu.models.modelfile.header import ENTRY_BYTES, HEADER_BYTES, Entry
from tests.firmware import host_models as h
from tests.firmware.host_models import ARENA_BYTES, HostRun, classify, draw, generate

PROMPT = "Улыбающаяся девушка со светлыми волосами".encode()  # noqa: RUF001
INTERNAL_SRAM = 288 * 1024
T2I_SLOW = 262_144
BLOCK_STAGES = ("ln1", "qkv", "attn", "proj", "ln2", "mlp")


def t2i_stages(steps: int) -> set[str]:
    """Every stage of a picture (models.md section 1)."""
    names = {"tok", "txt.emb", "ctext", "z.init", "dec.in", "rgb"}
    names |= {f"txt.b{i}.{part}" for i in range(2) for part in ("attn", "mlp")}
    names |= {f"dec.conv{k}" for k in range(10)}
    for s in range(steps):
        names |= {f"s{s}.temb", f"s{s}.z"}
        for b in "cu":
            names |= {f"s{s}.{b}.{part}" for part in ("cond", "mod", "patch", "final.mod", "v")}
            names |= {f"s{s}.{b}.b{i}.{part}" for i in range(6) for part in BLOCK_STAGES}
    return names


def test_picture_has_all_stages(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    done = draw(HostRun(host_firmware), t2i_model, PROMPT, steps=2)
    assert done.status == 0
    assert set(done.stages) == t2i_stages(2)
    assert len(done.stages) == 8 + 84 * 2 + 12
    assert done.stages["tok"][:2] == (3, 5)
    assert done.stages["s1.u.b5.qkv"][:2] == (0, 64 * 576)
    assert done.stages["dec.conv2"][:2] == (1, 16 * 16 * 64)
    assert done.stages["rgb"][:2] == (2, 12288)
    assert len(np.unique(done.result)) > 16


def test_arena_of_a_picture_fits_internal_sram(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    """Pointers are wider here than on the chip, and still it fits."""
    done = draw(HostRun(host_firmware), t2i_model, PROMPT)
    assert 0 < done.run.arena_high <= INTERNAL_SRAM
    assert done.run.slow_high == T2I_SLOW


def test_taps_change_nothing(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    with_taps = draw(HostRun(host_firmware), t2i_model, PROMPT)
    without = draw(HostRun(host_firmware, taps=False), t2i_model, PROMPT)
    assert (with_taps.result == without.result).all()
    assert not without.stages


@pytest.mark.parametrize("prompt", [b"", b"qwerty 123 \xff\xfe", "ъъъ".encode()])
def test_null_prompt(host_firmware: ctypes.CDLL, t2i_model: np.ndarray, prompt: bytes) -> None:
    """No known word: empty text stages, both branches alike."""
    done = draw(HostRun(host_firmware), t2i_model, prompt)
    assert done.status == 0
    assert set(done.stages) == t2i_stages(1)
    assert done.stages["tok"][1] == done.stages["txt.b1.mlp"][1] == 0
    for part in ("cond", "v"):
        assert done.stages[f"s0.c.{part}"] == done.stages[f"s0.u.{part}"]


def test_tokens_instead_of_a_prompt(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    tokens = np.array([3, 44, 0, 7], np.int32)
    done = draw(HostRun(host_firmware), t2i_model, b"", tokens=tokens.ctypes.data, token_count=4)
    assert done.status == 0
    assert done.stages["tok"][1] == 4


def test_seed_steps_and_guidance_matter(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    pictures = [
        draw(HostRun(host_firmware, taps=False), t2i_model, PROMPT, **change).result.tobytes()
        for change in ({}, {"seed": 8}, {"steps": 2}, {"cfg": 1.0})
    ]
    assert len(set(pictures)) == 4


BAD_TOKENS = np.array([0, 45], np.int32)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 0},
        {"steps": 65},
        {"cfg": float("nan")},
        {"cfg": float("inf")},
        {"rgb": None},
        {"tokens": BAD_TOKENS.ctypes.data, "token_count": 2},
        {"tokens": BAD_TOKENS.ctypes.data, "token_count": -1},
        {"tokens": BAD_TOKENS.ctypes.data, "token_count": 17},
    ],
    ids=lambda change: "-".join(k if k == "tokens" else f"{k}={v}" for k, v in change.items()),
)
def test_bad_request(host_firmware: ctypes.CDLL, t2i_model: np.ndarray, change: dict[str, Any]) -> None:
    done = draw(HostRun(host_firmware), t2i_model, PROMPT, **change)
    assert done.status == 1
    assert not done.stages


def test_prompt_without_text(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    call = h.T2iRequest(prompt=None, prompt_bytes=5, steps=1, cfg=1.0, rgb=1)
    file = h.POINTER(t2i_model.ctypes.data), h.U32(len(t2i_model))
    run = HostRun(host_firmware).run
    assert host_firmware.t2i_run(*file, ctypes.byref(call), ctypes.byref(run)) == 1


def test_memory_that_is_too_small_by_one_block(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    """Status 6, nothing written behind the arena (HostRun looks), and the mark says what was missing."""
    high = draw(HostRun(host_firmware, taps=False), t2i_model, PROMPT).run.arena_high
    exact = draw(HostRun(host_firmware, arena_bytes=high), t2i_model, PROMPT)
    assert exact.status == 0
    for size in (0, 16, 100_000, 147_000, 200_000, high - 16):
        less = draw(HostRun(host_firmware, arena_bytes=size), t2i_model, PROMPT)
        assert less.status == 6
        assert less.run.arena_high > size
    assert draw(HostRun(host_firmware, slow_bytes=T2I_SLOW - 16), t2i_model, PROMPT).status == 6


def test_misaligned_memory(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    host = HostRun(host_firmware)
    host.run.arena += 4
    assert draw(host, t2i_model, PROMPT).status == 3


def test_element_that_is_not_finite_is_named(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    """A scale of 1e38 in block 2 overflows its attention: the stage is named, the run stops there."""
    damaged = h.copied(t2i_model.tobytes())
    names = [
        Entry.read(damaged[p : p + ENTRY_BYTES].tobytes())
        for p in range(HEADER_BYTES, HEADER_BYTES + 175 * ENTRY_BYTES, ENTRY_BYTES)
    ]
    scale = next(e for e in names if e.label == "b2.qkv.w.scale")
    damaged[scale.offset : scale.offset + scale.length].view(np.float32)[200:] = 1e38
    host = HostRun(host_firmware)
    host.run.flags = 1  # the CRC no longer fits
    done = draw(host, damaged, PROMPT)
    assert done.status == 4
    assert done.run.stage.decode() == "s0.c.b2.qkv"
    assert "s0.c.b2.qkv" in done.stages
    assert "s0.c.b2.attn" not in done.stages


def test_two_cores_give_the_same_bits(host_firmware: ctypes.CDLL, t2i_model: np.ndarray) -> None:
    alone = draw(HostRun(host_firmware), t2i_model, PROMPT)
    host = HostRun(host_firmware)
    with host.two_cores() as job:
        together = draw(host, t2i_model, PROMPT)
        assert job.posted == job.done > 300
    assert together.stages == alone.stages
    assert (together.result == alone.result).all()


def test_ternary(host_firmware: ctypes.CDLL, ternary_model: np.ndarray) -> None:
    alone = classify(HostRun(host_firmware), ternary_model, b"12+234")
    assert alone.status == 0
    assert len(alone.stages) == 27
    assert alone.stages["l3.qkv"][:2] == (0, 32 * 384)
    assert len(alone.result) == 511
    host = HostRun(host_firmware)
    with host.two_cores():
        together = classify(host, ternary_model, b"12+234")
    assert together.stages == alone.stages


def test_ternary_text_is_cut_at_32_bytes(host_firmware: ctypes.CDLL, ternary_model: np.ndarray) -> None:
    long, cut, short = (
        classify(HostRun(host_firmware), ternary_model, text).stages["logits"]
        for text in (b"7" * 40, b"7" * 32, b"7" * 31)
    )
    assert long == cut != short


def test_ternary_pipeline_is_the_whole(host_firmware: ctypes.CDLL, ternary_model: np.ndarray) -> None:
    """Layer by layer, as nodes of a cluster would."""
    whole = classify(HostRun(host_firmware), ternary_model, b"abc")
    host, model, fault = HostRun(host_firmware), h.Model(), h.ModelFault()
    x, logits, run = np.zeros((32, 128), np.float32), np.zeros(511, np.float32), ctypes.byref(host.run)
    file = h.POINTER(ternary_model.ctypes.data), h.U32(len(ternary_model))
    assert host_firmware.emu_model_open(*file, 2, 0, ctypes.byref(model), ctypes.byref(fault)) == 0
    place = h.POINTER(x.ctypes.data)
    assert host_firmware.ternary_embed(ctypes.byref(model), b"abc", 3, place, run) == 0
    for first, end in ((0, 1), (1, 3), (3, 4)):
        assert host_firmware.ternary_layers(ctypes.byref(model), first, end, place, run) == 0
    assert host_firmware.ternary_head(ctypes.byref(model), place, h.POINTER(logits.ctypes.data), run) == 0
    assert host.outcome(0).stages == whole.stages
    assert (logits == whole.result).all()
    assert host_firmware.ternary_layers(ctypes.byref(model), 2, 5, place, run) == 1


def test_ternary_needs_room_for_all_outputs(host_firmware: ctypes.CDLL, ternary_model: np.ndarray) -> None:
    assert classify(HostRun(host_firmware), ternary_model, b"", capacity=510).status == 1


def test_tinylm(host_firmware: ctypes.CDLL, tinylm_model: np.ndarray) -> None:
    """More than 16 positions, so that a second vector of the cache is begun."""
    tokens = [257, 4095, 0, *range(300, 317)]
    alone = generate(HostRun(host_firmware), tinylm_model, tokens)
    assert alone.status == 0
    assert len(alone.stages) == 20 * (3 + 6 * 5)
    assert alone.run.slow_high == 393_216 + 49_152
    host = HostRun(host_firmware)
    with host.two_cores():
        together = generate(host, tinylm_model, tokens)
    assert together.stages == alone.stages
    assert (together.result == alone.result).all()


def test_tinylm_cache_needs_no_clean_memory(host_firmware: ctypes.CDLL, tinylm_model: np.ndarray) -> None:
    host = HostRun(host_firmware)
    first = generate(host, tinylm_model, [5, 6, 7])
    host.slow[: host.slow_bytes] = 0x7F
    host.table.count = 0
    again = generate(host, tinylm_model, [5, 6, 7])
    assert again.stages == first.stages


def test_tinylm_refuses_tokens_and_positions(host_firmware: ctypes.CDLL, tinylm_model: np.ndarray) -> None:
    for token in (-1, 4096):
        assert generate(HostRun(host_firmware, taps=False), tinylm_model, [token]).status == 1
    whole = HostRun(host_firmware, taps=False)
    assert generate(whole, tinylm_model, [9] * 256).status == 0
    assert generate(whole, tinylm_model, [9] * 257).status == 1


def test_the_arena_constant_is_the_budget() -> None:
    assert ARENA_BYTES == INTERNAL_SRAM
