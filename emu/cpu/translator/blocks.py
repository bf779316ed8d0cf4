"""Steps of the semantics that translated code does in another, equal way (:attr:`Machine.blocks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

BLOCKS: Mapping[str, Callable[..., Any]] = MappingProxyType({})
