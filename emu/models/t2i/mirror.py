"""The text-to-image model on the host, stage by stage and bit for bit (docs/models.md section 1)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from emu.kernels.random import normal_array
from emu.models.blocks.conv import conv_f32, conv_room, conv_s8
from emu.models.blocks.linear import GOOD
from emu.models.errors import NotFiniteError, PromptError
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Tap
from emu.models.t2i import condition
from emu.models.t2i import sizes as s
from emu.models.t2i.denoiser import PLACES, STAGES, branch_room, run_branch
from emu.models.t2i.tokenizer import tokenize
from emu.models.t2i.weights import T2iWeights, t2i_weights
from emu.numerics import random
from emu.numerics.constants import ONE, ZERO, f32
from emu.numerics.jit import jit
from emu.numerics.quantize import quantize_clamped
from emu.numerics.rounding import rne
from emu.numerics.types import AnyArray, F32Array, S8Array, S32Array, U8Array

T = TypeVar("T")
BRANCHES = ("c", "u")
_RGB_MIDDLE, _RGB_TOP = f32(0x42FF0000), f32(0x437F0000)  # 127.5, 255
_NOTHING = np.zeros(0, np.float32)
_NO_PICTURE = np.zeros((0, 0, 0), np.int8)


@dataclass(frozen=True)
class Request:
    """A picture: token ids int32 [T] (T = 0 for the null prompt), seed, steps 1..64, guidance factor."""

    tokens: S32Array
    seed: int
    steps: int = 8
    cfg: np.float32 = field(default_factory=lambda: np.float32(3.0))

    def __post_init__(self) -> None:
        """Raises PromptError for numbers out of range."""
        if not 1 <= self.steps <= s.MAX_STEPS:
            raise PromptError(f"{self.steps} steps; 1 to {s.MAX_STEPS} are possible")
        if not 0 <= self.seed < 1 << 32:
            raise PromptError(f"the seed {self.seed} is not in 0 to {(1 << 32) - 1}")
        if not np.isfinite(self.cfg):
            raise PromptError("the guidance factor is not a finite number")
        if len(self.tokens) > s.MAX_TOKENS or any(not 0 <= t < s.WORDS for t in self.tokens.tolist()):
            raise PromptError(f"tokens are at most {s.MAX_TOKENS} ids of 0 to {s.WORDS - 1}")


@jit
def flow_step(z: F32Array, vc: F32Array, vu: F32Array, cfg: np.float32, step: int, steps: int) -> None:
    """z = z + (t[step + 1] - t[step]) * (vu + cfg * (vc - vu)) for flat arrays."""
    n = np.float32(steps)
    dt = (ONE - np.float32(step + 1) / n) - (ONE - np.float32(step) / n)
    for i in range(len(z)):
        v = vu[i] + cfg * (vc[i] - vu[i])
        z[i] = z[i] + dt * v


@jit
def to_rgb(y: F32Array, rgb: U8Array) -> None:
    """Flat float32 in -1..1 to bytes."""
    for i in range(len(y)):
        t = y[i] * _RGB_MIDDLE + _RGB_MIDDLE
        t = t if t > ZERO else ZERO
        t = t if t < _RGB_TOP else _RGB_TOP
        rgb[i] = np.uint8(rne(t))


@jit
def quantize_static(x: F32Array, s_out: np.float32, q: S8Array) -> None:
    """quantize_static_s8 of flat arrays."""
    inverse = ONE / s_out
    for i in range(len(x)):
        q[i] = quantize_clamped(x[i], inverse)


class T2iMirror:
    """A model with its working memory. Not thread-safe; it uses up to two threads of its own."""

    def __init__(self, file: ModelFile, threads: int = 2) -> None:
        """``threads``: 1, or 2 for both guidance branches, and halves of pictures, at the same time."""
        self.weights: T2iWeights = t2i_weights(file)
        self._pool = ThreadPoolExecutor(1) if threads > 1 else None
        self._branches = [branch_room() for _ in BRANCHES]
        self._kept = [np.zeros(PLACES[-1], np.float32) for _ in BRANCHES]
        self._text = condition.text_room()
        self._row = condition.row_room()
        self._conv = [conv_room(s.PICTURE, 64, 64) for _ in range(2)]
        self._places = PLACES.astype(np.int32)

    def tokens(self, prompt: str) -> S32Array:
        """Token ids of a prompt, int32 [T]."""
        return tokenize(prompt, self.weights.words)

    def run(
        self, request: Request, tap: Tap | None = None, progress: Callable[[int], Any] | None = None
    ) -> U8Array:
        """The picture, uint8 [64][64][3].

        ``tap`` is called with each stage's name and array (valid during the call only), in order;
        ``progress`` with the number of finished steps. Raises NotFiniteError.
        """
        ctext = self._encode(request.tokens, tap)
        z = np.empty((s.LATENT, s.LATENT, s.CHANNELS), np.float32)
        state = np.array([random.fmix32(np.uint32(request.seed))], np.uint32)
        normal_array(state, z.reshape(-1), np.int32(z.size))
        _tell(tap, "z.init", z)
        for step in range(request.steps):
            self._step(request, step, ctext, z, tap)
            if progress is not None:
                progress(step + 1)
        return self._decode(z, tap)

    # --- text ----------------------------------------------------------------------------------------------
    def _encode(self, tokens: S32Array, tap: Tap | None) -> F32Array:
        """ctext [2][192]: the prompt, the null prompt."""
        w, rows = self.weights.text, len(tokens)
        _tell(tap, "tok", tokens)
        x = np.zeros((rows, s.TEXT_D), np.float32)
        condition.text_embedding(tokens, w.emb, w.pos, x)
        _tell(tap, "txt.emb", x)
        for i, block in enumerate(w.blocks):
            name = f"txt.b{i}.attn"
            if rows:
                _check(condition.text_attention(x, rows, block, self._text), name)
            _tell(tap, name, x)
            name = f"txt.b{i}.mlp"
            if rows:
                _check(condition.text_mlp(x, rows, block, w.gelu, self._text), name)
            _tell(tap, name, x)
        ctext = np.zeros((2, s.D), np.float32)
        m = np.stack((w.null, w.null))
        if rows:
            condition.pooled(x, rows, m[0])
        for b in range(2):
            row, y = m[b : b + 1], ctext[b : b + 1]
            bad = condition.text_condition(row, w.ln, w.fc1, w.fc2, self._row, y)
            _check(bad if bad == GOOD else b, "ctext")
        _tell(tap, "ctext", ctext)
        return ctext

    # --- sampler -------------------------------------------------------------------------------------------
    def _step(self, request: Request, step: int, ctext: F32Array, z: F32Array, tap: Tap | None) -> None:
        t = np.float32(ONE - np.float32(step) / np.float32(request.steps))
        temb = np.zeros((1, s.D), np.float32)
        name = f"s{step}.temb"
        w = self.weights.denoiser
        _check(condition.time_vector(t, w.freq, w.time1, w.time2, self._row, temb), name)
        _tell(tap, name, temb[0])
        results = self._both(z, temb[0], ctext, tap is not None)
        failed = [(stage, b, bad) for b, (bad, stage) in enumerate(results) if bad != GOOD]
        if tap is not None:
            for b in range(len(BRANCHES)):
                self._tell_branch(step, b, tap, min(failed)[0] if failed else len(STAGES))
        if failed:
            # the branches go side by side on the chip: what fails first is the earlier stage of the two
            stage, b, bad = min(failed)
            bad = b if STAGES[stage][0] == "mod" else bad
            raise NotFiniteError(f"s{step}.{BRANCHES[b]}.{STAGES[stage][0]}", bad)
        vc, vu = (room.v.reshape(-1) for room in self._branches)
        flow_step(z.reshape(-1), vc, vu, request.cfg, step, request.steps)
        _tell(tap, f"s{step}.z", z)

    def _both(self, z: F32Array, temb: F32Array, ctext: F32Array, keep: bool) -> list[tuple[int, int]]:
        def branch(b: int) -> tuple[int, int]:
            kept = self._kept[b] if keep else _NOTHING
            return run_branch(z, temb, ctext[b], self.weights.denoiser, self._branches[b], self._places, kept)

        return self._twice(branch)

    def _twice(self, half: Callable[[int], T]) -> list[T]:
        """half(0) and half(1), side by side where there are two threads."""
        if self._pool is None:
            return [half(0), half(1)]
        other = self._pool.submit(half, 1)
        return [half(0), other.result()]

    def _tell_branch(self, step: int, b: int, tap: Tap, stages: int) -> None:
        for k, (name, shape) in enumerate(STAGES[:stages]):
            values = self._kept[b][PLACES[k] : PLACES[k + 1]].reshape(shape)
            tap(f"s{step}.{BRANCHES[b]}.{name}", values)

    # --- decoder -------------------------------------------------------------------------------------------
    def picture(self, z: F32Array) -> U8Array:
        """The decoder alone: the picture, uint8 [64][64][3], of a latent float32 [16][16][4]."""
        return self._decode(np.ascontiguousarray(z), None)

    def _decode(self, z: F32Array, tap: Tap | None) -> U8Array:
        w, scales = self.weights.convs, self.weights.s_in
        x: AnyArray = np.empty(z.shape, np.int8)
        quantize_static(z.reshape(-1), scales[0], x.reshape(-1))
        _tell(tap, "dec.in", x)
        before = _NO_PICTURE
        for k, conv in enumerate(s.CONVS[:-1]):
            y = np.empty((conv.side, conv.side, conv.outputs), np.int8)
            other, s_other = (before, scales[k - 1]) if conv.residual else (_NO_PICTURE, ZERO)
            how = x, w[k], conv.up, conv.relu, scales[k], scales[k + 1], other, s_other
            self._halves(partial(conv_s8, *how), y)
            _tell(tap, f"dec.conv{k}", y)
            before, x = x, y
        picture = np.empty((s.PICTURE, s.PICTURE, 3), np.float32)
        self._halves(partial(conv_f32, x, w[-1], 0, True, scales[-1]), picture)
        _tell(tap, "dec.conv9", picture)
        rgb = np.empty(picture.shape, np.uint8)
        to_rgb(picture.reshape(-1), rgb.reshape(-1))
        _tell(tap, "rgb", rgb)
        return rgb

    def _halves(self, convolve: Callable[..., None], y: AnyArray) -> None:
        """Both halves of the rows of y."""
        middle = len(y) // 2
        rows = (0, middle), (middle, len(y))
        self._twice(lambda half: convolve(rows[half], self._conv[half], y))


def _tell(tap: Tap | None, name: str, values: AnyArray) -> None:
    if tap is not None:
        tap(name, values)


def _check(bad: int, stage: str) -> None:
    if bad != GOOD:
        raise NotFiniteError(stage, int(bad))
