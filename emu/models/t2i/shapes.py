"""Shapes of the stages of a picture by name."""

from __future__ import annotations

from emu.models.t2i import sizes as s
from emu.models.t2i.denoiser import STAGES

_BRANCH = dict(STAGES)
_LATENT = (s.LATENT, s.LATENT, s.CHANNELS)


def stage_shape(name: str, size: int) -> tuple[int, ...]:
    """The shape of the stage ``name`` that has ``size`` elements (-1 stands for the number of words)."""
    head, _, rest = name.partition(".")
    if head == "txt":
        return (size // s.TEXT_D, s.TEXT_D)
    if head == "dec":
        return _decoder_shape(rest)
    if name == "rgb":
        return (s.PICTURE, s.PICTURE, 3)
    if name in ("tok", "ctext"):
        return (size,) if name == "tok" else (2, s.D)
    if rest in ("init", "z"):
        return _LATENT
    return _BRANCH.get(rest.partition(".")[2], (size,))


def _decoder_shape(rest: str) -> tuple[int, ...]:
    if rest == "in":
        return _LATENT
    conv = s.CONVS[int(rest.removeprefix("conv"))]
    return (conv.side, conv.side, conv.outputs)
