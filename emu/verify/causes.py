"""Known causes of a mismatch, tried on the shrunk case and reported only when the trial confirms them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from emu.diagnose.diagnose import NONE, diagnose
from emu.diagnose.evidence import LARGEST
from emu.diagnose.reasons import Proof, Reason
from emu.image import Image
from emu.isa.decode import decode
from emu.isa.disasm import text
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.check import check
from emu.verify.errors import TargetFault, ToolError
from emu.verify.families import Array
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.shapes import elements, tensors, valid_mask
from emu.verify.target import Target

_SHOWN = 6


class Causes:
    """Tries the known reasons on a failing case (docs/diagnosis.md).

    What needs other options of the engine runs on the reference stepper: nothing has to be translated.
    """

    def __init__(self, options: Options, reference: Target, image: Image) -> None:
        self._reference = reference
        self._image = image
        self._given = replace(options, bounds=False)
        self._options = replace(options, tier="stepper", bounds=False)

    def explain(self, kernel: Kernel, case: Case, drawn: Case | None = None) -> list[str]:
        """Lines for the report. ``case``: the shrunk one; ``drawn``: as it was found."""
        try:
            found = self.reasons(kernel, case, drawn)
        except (ToolError, TargetFault) as error:
            return [f"known causes could not be tried: {error}"]
        return [line for reason in found for line in reason.told()] or [NONE]

    def reasons(self, kernel: Kernel, case: Case, drawn: Case | None = None) -> list[Reason]:
        """Those that were confirmed, proved ones first. Raises ToolError, TargetFault."""
        trials = (self._unwritten, self._contraction, self._leftovers, self._misaligned, self._outside)
        both = [
            case,
            *([drawn] if drawn is not None and drawn is not case and _is_short(kernel, drawn) else []),
        ]
        found = [reason for trial in trials for reason in trial(kernel, both)]
        target = ImageTarget(self._image, self._given)
        found += diagnose(kernel, case, drawn, self._reference, target)
        order = list(Proof)
        return sorted(found, key=lambda reason: order.index(reason.proof))

    def _target(self, **changes: object) -> ImageTarget:
        return ImageTarget(self._image, replace(self._options, **changes))  # type: ignore[arg-type]

    def _agree(self, kernel: Kernel, cases: Sequence[Case], **changes: object) -> bool:
        """Whether all cases agree with the mirror under other options."""
        return not any(check(kernel, c, self._reference, self._target(**changes)).bad for c in cases)

    def _unwritten(self, kernel: Kernel, cases: Sequence[Case]) -> Iterator[Reason]:
        """Did one of the two leave an output alone that the other one wrote?"""
        sides = (
            (
                "the mirror wrote nothing into {0} (it must fill the array that it gets: {0}[:] = ...)",
                self._reference,
            ),
            (f"{kernel.symbol} of the image wrote nothing into {{0}}", self._target()),
        )
        for told, side in sides:
            names = [self._left_alone(kernel, case, side) for case in cases]
            for name in sorted(set.intersection(*names)):
                yield Reason("nothing written", told.format(name), Proof.PROVED)

    def _left_alone(self, kernel: Kernel, case: Case, side: Target) -> set[str]:
        """Outputs that differ and that one side left as they were."""
        before = self._reference.call(replace(kernel, mirror=_nothing, returns=None), case).outputs
        outputs = side.call(kernel, case).outputs
        mirror, image = (t.call(kernel, case).outputs for t in (self._reference, self._target()))
        masks = {t.name: valid_mask(kernel, t, case.dims) for t in tensors(kernel)}
        return {
            name
            for name, start in before.items()
            if start.size
            and _counted(mirror[name], masks[name]) != _counted(image[name], masks[name])
            and outputs[name].tobytes() == start.tobytes()
        }

    def _contraction(self, kernel: Kernel, cases: Sequence[Case]) -> Iterator[Reason]:
        """Fused multiply-adds: do the cases agree when each of them rounds twice?"""
        if self._options.fused != "fused":
            return
        target = self._target()
        check(kernel, cases[0], self._reference, target)
        sites = sorted(target.engine.diagnostics.fused)
        if not sites or not self._agree(kernel, cases, fused="two-roundings"):
            return
        text = (
            "the case agrees when multiply-adds round twice (--fused two-roundings); compile "
            "with -ffp-contract=off. Fused instructions that it executes:"
        )
        yield Reason("contraction", text, Proof.PROVED, self._places(sites))

    def _leftovers(self, kernel: Kernel, cases: Sequence[Case]) -> Iterator[Reason]:
        """Does it use what earlier code left in registers or on the stack?"""
        case = cases[0]
        if not case.dirty or not self._agree(kernel, [replace(c, dirty=0) for c in cases]):
            return
        once = self._target()
        once.repeats = False
        if not check(kernel, case, self._reference, once).bad:
            text = (
                "the first call agrees, the second one with the same arguments differs (static variables, or "
                "memory and registers that the first one left)"
            )
            yield Reason("state kept between calls", text, Proof.PROVED)
            return
        text = (
            "the case agrees when registers, accumulators and stack are zero before the call, and differs "
            "with what is left by other code"
        )
        yield Reason("use of something that was never set", text, Proof.PROVED)

    def _outside(self, kernel: Kernel, cases: Sequence[Case]) -> Iterator[Reason]:
        """Does it touch bytes outside its buffers?"""
        try:
            self._target(bounds=True).call(kernel, cases[0])
        except TargetFault as fault:
            first, *rest = fault.message.splitlines()
            yield Reason("outside of the buffers", first, Proof.SEEN, tuple(line.strip() for line in rest))

    def _misaligned(self, kernel: Kernel, cases: Sequence[Case]) -> Iterator[Reason]:
        """Do vector accesses drop address bits?"""
        target = self._target()
        target.call(kernel, cases[0])
        sites = sorted(target.engine.diagnostics.misaligned)
        if sites:
            text = "the chip forces the low address bits to 0 without a fault, at"
            yield Reason("misaligned vector access", text, Proof.SEEN, self._places(sites))

    def _places(self, sites: list[int]) -> tuple[str, ...]:
        lines = [self._instruction(pc) for pc in sites[:_SHOWN]]
        return (*lines, *([f"and {len(sites) - _SHOWN} more"] if len(sites) > _SHOWN else []))

    def _instruction(self, pc: int) -> str:
        segment = self._image.segment_at(pc)
        if segment is None:
            return str(self._image.locate(pc))
        at = pc - segment.address
        words = text(decode(segment.data[at : at + 4], pc)).replace("\t", " ")
        return f"{self._image.locate(pc)}: {words}"


def _is_short(kernel: Kernel, case: Case) -> bool:
    """Short enough for the reference stepper."""
    return elements(kernel, case.dims) <= LARGEST


def _counted(array: Array, mask: Array | None) -> bytes:
    """The elements that are compared: none of working memory."""
    return (array if mask is None else array[mask]).tobytes()


def _nothing(*arguments: object) -> None:
    """A mirror that leaves its outputs as they were."""
