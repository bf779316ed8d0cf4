"""Names of all stages in order, and the ones that a pattern chooses."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence

from emu.models.errors import PromptError
from emu.models.t2i import sizes as s
from emu.models.ternary.layout import LAYERS as TERNARY_LAYERS
from emu.models.tinylm.layout import LAYERS as TINYLM_LAYERS


def t2i_stages(steps: int) -> list[str]:
    """Stages of a picture: 8 + 84 * steps + 12 names."""
    names = ["tok", "txt.emb"]
    names += [f"txt.b{i}.{part}" for i in range(s.TEXT_BLOCKS) for part in ("attn", "mlp")]
    names += ["ctext", "z.init"]
    for step in range(steps):
        names.append(f"s{step}.temb")
        names += [f"s{step}.{b}.{name}" for b in "cu" for name in branch_stages()]
        names.append(f"s{step}.z")
    return [*names, "dec.in", *(f"dec.conv{k}" for k in range(len(s.CONVS))), "rgb"]


def branch_stages() -> list[str]:
    """Stages of one guidance branch of a step."""
    parts = ("ln1", "qkv", "attn", "proj", "ln2", "mlp")
    blocks = [f"b{i}.{part}" for i in range(s.BLOCKS) for part in parts]
    return ["cond", "mod", "patch", *blocks, "final.mod", "v"]


def ternary_stages() -> list[str]:
    """The 27 stages of the ternary transformer."""
    parts = ("norm1", "qkv", "attn", "proj", "norm2", "mlp")
    layers = [f"l{i}.{part}" for i in range(TERNARY_LAYERS) for part in parts]
    return ["emb", *layers, "pool", "logits"]


def tinylm_stages(positions: Iterable[int]) -> list[str]:
    """Stages of the language model at some positions: 33 each."""
    parts = ("norm", "qkv", "attn", "ffn", "ple")
    layers = [f"l{i}.{part}" for i in range(TINYLM_LAYERS) for part in parts]
    return [f"p{p}.{name}" for p in positions for name in ("emb", "ple", *layers, "logits")]


def chooser(patterns: Sequence[str], names: Sequence[str]) -> Callable[[str], bool]:
    """Says whether a stage is wanted. Raises PromptError when a pattern matches no stage of the run."""
    chosen: set[str] = set()
    for pattern in patterns:
        found = fnmatch.filter(names, pattern)
        if not found:
            raise PromptError(f"no stage is called {pattern!r}; the stages are {_few(names)}")
        chosen.update(found)
    return chosen.__contains__


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:4], "...", *names[-2:]])


def in_order(digests: dict[str, int], names: Sequence[str]) -> dict[str, int]:
    """Digests in the order of the names; stages that no name knows come last, as they came."""
    known = {name: digests[name] for name in names if name in digests}
    return known | digests


def family(stage: str) -> str:
    """The stage with * for numbers that count steps, blocks, layers or positions, and for the branch."""
    if stage.startswith("("):
        return stage
    name = re.sub(r"(^|\.)([sblp])\d+(?=\.|$)", r"\1\2*", stage)
    return re.sub(r"^s\*\.[cu]\.", "s*.*.", name)
