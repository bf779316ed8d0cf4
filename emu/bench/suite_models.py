"""`emu bench models`: pictures and tokens of mirrors and image, beside PyTorch and the same C natively."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from emu.bench.host_tinylm import FLAGS, HostTinylm
from emu.bench.measure import Values, Work, interleaved, seconds_of
from emu.bench.report import Absent, Bound, Cell, Report, Table
from emu.bench.settings import Settings
from emu.bench.torch_t2i import TorchT2i
from emu.models.floating.t2i import FloatT2i
from emu.models.modelfile.kinds import Kind
from emu.models.on_image import ImageT2i
from emu.models.sources import load_model
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.numerics.gemm.variant import chosen
from emu.verify.errors import ToolError
from emu.verify.reference import reference_elf

STEPS = 8
MIRROR_THREADS = 2
TOKENS = 32
CHIP_SECONDS = 5.4
"""Published for a picture of 8 steps on the chip."""
NEAR = 0.01
"""Grey levels of 255 by which two float32 pictures may differ on average."""
ABOUT = f"""A picture of {STEPS} steps: the mirror, the same network in float32 PyTorch (eager, same threads),
and the image (every instruction executed, one host thread). A token of the language model: the mirror, and
the firmware's C compiled for this machine with gcc {FLAGS[0]}. All have run before they are measured."""


def run(settings: Settings) -> Report:
    """Measure; see ABOUT."""
    threads = min(os.cpu_count() or 1, MIRROR_THREADS)
    report = Report("models", settings.command("models"), ABOUT)
    report.notes.append(f"{threads} threads; product of the mirror: {chosen()}")
    _pictures(settings, report, threads)
    _tokens(settings, report)
    return report


def _pictures(settings: Settings, report: Report, threads: int) -> None:
    file = load_model("random:1", Kind.T2I)
    request = Request(np.array([1, 2, 3, 4], np.int32), 7, STEPS)
    mirror, image = T2iMirror(file, threads), ImageT2i(file, settings.elf or reference_elf())
    works: dict[str, Callable[[], object]] = {
        "mirror": lambda: mirror.run(request),
        "image": lambda: image.run(request, digests=False),
    }
    try:
        torch = TorchT2i(file, threads)
        _must_draw_the_same(torch, FloatT2i(file, np.float32))
        works["torch float32"] = lambda: torch.run(request)
    except LookupError as error:
        report.missing["torch"] = str(error)
    found = _measured(works, settings)
    table = Table(
        f"a picture of {STEPS} steps, seconds", ("mirror", "torch float32", "image", "mirror / torch")
    )
    ratio = found["mirror"].over(found["torch float32"]) if "torch float32" in found else None
    cells = [_cell(found.get(name)) for name in table.columns[:3]]
    table.add("t2i", *cells, _cell(ratio))
    report.tables.append(table)
    if ratio is not None:
        limit = 0.5 if chosen() in ("amx", "vnni") else 1.0
        report.bounds.append(Bound("picture of the mirror over torch", ratio.median, "at most", limit))
    report.bounds.append(
        Bound("picture of the image", found["image"].median, "at most", CHIP_SECONDS / 2, " s")
    )


def _tokens(settings: Settings, report: Report) -> None:
    file = load_model("random:1", Kind.TINYLM)
    ids = np.random.default_rng(3).integers(0, 4096, TOKENS).tolist()
    mirror = TinylmMirror(file)

    def all_tokens(model: TinylmMirror | HostTinylm) -> bytes:
        model.start()
        return b"".join(np.asarray(model.step(token)).tobytes()[:64] for token in ids)

    works: dict[str, Callable[[], object]] = {"mirror": lambda: all_tokens(mirror)}
    try:
        host = HostTinylm(file)
        if all_tokens(host) != all_tokens(mirror):
            raise ToolError("tinylm: mirror and native code differ; run emu verify --models")
        works["gcc -O3"] = lambda: all_tokens(host)
    except LookupError as error:
        report.missing["gcc -O3"] = str(error)
    found = {name: _scaled(values, 1e3 / TOKENS) for name, values in _measured(works, settings).items()}
    table = Table("a token, milliseconds", ("mirror", "gcc -O3", "mirror / gcc -O3"))
    ratio = found["mirror"].over(found["gcc -O3"]) if "gcc -O3" in found else None
    table.add("tinylm", _cell(found["mirror"]), _cell(found.get("gcc -O3")), _cell(ratio))
    report.tables.append(table)
    if ratio is not None:
        report.bounds.append(Bound("token of the mirror over gcc -O3", ratio.median, "at most", 1.0))


def _measured(works: dict[str, Callable[[], object]], settings: Settings) -> dict[str, Values]:
    for work in works.values():
        work()
        work()
    timed: dict[str, Work] = {name: (lambda work=work: seconds_of(work)) for name, work in works.items()}  # type: ignore[misc]
    return interleaved(timed, settings.rounds, lambda name: settings.tell(f"models: {name}"))


def _scaled(values: Values, factor: float) -> Values:
    return Values(tuple(v * factor for v in values.each))


def _cell(values: Values | None) -> Cell | Absent:
    return Absent("missing") if values is None else Cell(values)


def _must_draw_the_same(torch: TorchT2i, reference: FloatT2i) -> None:
    """A peer that draws something else is no peer. Raises ToolError."""
    request = Request(np.array([5, 6], np.int32), 1, 1)
    difference = float(np.abs(torch.run(request) - reference.run(request, lambda name, values: None)).mean())
    if difference > NEAR:
        raise ToolError(f"torch draws another picture: {difference:.3g} grey levels away on average")
