"""Peers of `emu bench models`: the same tokens from native C, and a peer that is missing is named."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from emu.bench import suite_models
from emu.bench.host_tinylm import HostTinylm
from emu.bench.report import Report
from emu.bench.settings import Settings
from emu.bench.torch_t2i import TorchT2i
from emu.models.floating.t2i import FloatT2i
from emu.models.modelfile.kinds import Kind
from emu.models.sources import load_model
from emu.models.t2i.mirror import Request
from emu.models.tinylm.mirror import TinylmMirror


def test_native_c_says_what_the_mirror_says() -> None:
    file = load_model("random:1", Kind.TINYLM)
    native, mirror = HostTinylm(file), TinylmMirror(file)
    for _ in range(2):
        native.start()
        mirror.start()
        for token in (65, 4095, 300):
            assert native.step(token).tobytes() == np.asarray(mirror.step(token)).tobytes()


def test_a_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(LookupError, match="torch is not installed"):
        TorchT2i(load_model("random:1", Kind.T2I), 1)


def test_torch_draws_what_the_float_reference_draws() -> None:
    pytest.importorskip("torch", reason="torch is not installed; the suite names it as missing")
    file, request = load_model("random:1", Kind.T2I), Request(np.array([5, 6], np.int32), 1, 1)
    wanted = FloatT2i(file, np.float32).run(request, lambda name, values: None)
    assert np.abs(TorchT2i(file, 1).run(request) - wanted).mean() < 0.01


def test_the_token_table_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite goes on without a peer, and says which one."""

    def none(file: object) -> HostTinylm:
        raise LookupError("no compiler here")

    monkeypatch.setattr(suite_models, "HostTinylm", none)
    report = Report("models", "", "")
    suite_models._tokens(Settings(rounds=1), report)
    assert report.missing == {"gcc -O3": "no compiler here"}
    assert report.tables[0].rows[0][1][1].text() == "- missing"
    assert not report.bounds
