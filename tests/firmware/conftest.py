"""What the tests of the firmware share: its C sources on this machine, model files with random weights."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from tests.firmware.host_library import build
from tests.firmware.host_models import copied


@pytest.fixture(scope="session")
def host_firmware(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Kernels and models compiled for this machine."""
    return build(Path(tmp_path_factory.mktemp("host-models")) / "firmware.so")


@pytest.fixture(scope="session")
def t2i_model() -> np.ndarray:
    return copied(random_model(Kind.T2I, 1))


@pytest.fixture(scope="session")
def ternary_model() -> np.ndarray:
    return copied(random_model(Kind.TERNARY, 1))


@pytest.fixture(scope="session")
def tinylm_model() -> np.ndarray:
    return copied(random_model(Kind.TINYLM, 1))
