"""Contents of the rows that quantizers get, at the ends of their sizes."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels.quantize_cases import KIND, fill_rows


@pytest.mark.parametrize("kind", range(KIND.low, KIND.high + 1))
@pytest.mark.parametrize("cols", [0, 1, 3])
def test_rows_of_every_kind_and_size(kind, cols):
    """Rows without columns are rows too; what lies between rows is NaN."""
    dims = {"rows": 5, "cols": cols, "x_stride": 4, "kind": kind}
    array = np.ones(20, np.float32)
    fill_rows(dims, np.random.default_rng(kind), array)
    assert np.isnan(array.reshape(5, 4)[:, cols:]).all()
