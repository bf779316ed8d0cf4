"""Known causes of a mismatch, tried on the shrunk case and reported only when the trial confirms them."""

from __future__ import annotations

from dataclasses import replace

from emu.image import Image
from emu.isa.decode import decode
from emu.isa.disasm import text
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.check import check
from emu.verify.errors import TargetFault, ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.target import Target

_SHOWN = 6


class Causes:
    """Runs a small case again under other rules, on the reference stepper (nothing has to be translated)."""

    def __init__(self, options: Options, reference: Target, image: Image) -> None:
        self._reference = reference
        self._image = image
        self._options = replace(options, tier="stepper", bounds=False)

    def explain(self, kernel: Kernel, case: Case) -> list[str]:
        """Lines for the report; empty when no known cause was confirmed."""
        trials = (self._unwritten, self._contraction, self._leftovers, self._outside, self._misaligned)
        try:
            return [line for trial in trials for line in trial(kernel, case)]
        except (ToolError, TargetFault) as error:
            return [f"known causes could not be tried: {error}"]

    def _target(self, **changes: object) -> ImageTarget:
        return ImageTarget(self._image, replace(self._options, **changes))  # type: ignore[arg-type]

    def _unwritten(self, kernel: Kernel, case: Case) -> list[str]:
        """Did one of the two leave an output alone that the other one wrote?"""
        before = self._reference.call(replace(kernel, mirror=_nothing, returns=None), case).outputs
        sides = {
            "the mirror wrote nothing into {0} (it must fill the array that it gets: {0}[:] = ...)": (
                self._reference.call(kernel, case)
            ),
            f"{kernel.symbol} of the image wrote nothing into {{0}}": self._target().call(kernel, case),
        }
        return [
            text.format(name)
            for name, start in before.items()
            if start.size and len({side.outputs[name].tobytes() for side in sides.values()}) > 1
            for text, side in sides.items()
            if side.outputs[name].tobytes() == start.tobytes()
        ]

    def _contraction(self, kernel: Kernel, case: Case) -> list[str]:
        """Fused multiply-adds: does the case agree when each of them rounds twice?"""
        if self._options.fused != "fused":
            return []
        target = self._target()
        check(kernel, case, self._reference, target)
        sites = sorted(target.engine.diagnostics.fused)
        if not sites or check(kernel, case, self._reference, self._target(fused="two-roundings")).bad:
            return []
        return [
            "contraction: the case agrees when multiply-adds round twice (--fused two-roundings); compile "
            "with -ffp-contract=off. Fused instructions that it executes:",
            *self._places(sites),
        ]

    def _leftovers(self, kernel: Kernel, case: Case) -> list[str]:
        """Does it use what earlier code left in registers or on the stack?"""
        if not case.dirty or check(kernel, replace(case, dirty=0), self._reference, self._target()).bad:
            return []
        once = self._target()
        once.repeats = False
        if not check(kernel, case, self._reference, once).bad:
            return [
                "state kept between calls: the first call agrees, the second one with the same arguments "
                "differs (static variables, or memory and registers that the first one left)"
            ]
        return [
            "use of something that was never set: the case agrees when registers, accumulators and stack are "
            "zero before the call, and differs with what is left by other code"
        ]

    def _outside(self, kernel: Kernel, case: Case) -> list[str]:
        """Does it touch bytes outside its buffers?"""
        try:
            self._target(bounds=True).call(kernel, case)
        except TargetFault as fault:
            first, *rest = fault.message.splitlines()
            return [f"outside of the buffers: {first}", *(line.strip() for line in rest)]
        return []

    def _misaligned(self, kernel: Kernel, case: Case) -> list[str]:
        """Do vector accesses drop address bits?"""
        target = self._target()
        target.call(kernel, case)
        sites = sorted(target.engine.diagnostics.misaligned)
        if not sites:
            return []
        return [
            "misaligned vector access: the chip forces the low address bits to 0 without a fault, at",
            *self._places(sites),
        ]

    def _places(self, sites: list[int]) -> list[str]:
        lines = [f"  {self._instruction(pc)}" for pc in sites[:_SHOWN]]
        return lines + ([f"  and {len(sites) - _SHOWN} more"] if len(sites) > _SHOWN else [])

    def _instruction(self, pc: int) -> str:
        segment = self._image.segment_at(pc)
        if segment is None:
            return str(self._image.locate(pc))
        at = pc - segment.address
        words = text(decode(segment.data[at : at + 4], pc)).replace("\t", " ")
        return f"{self._image.locate(pc)}: {words}"


def _nothing(*arguments: object) -> None:
    """A mirror that leaves its outputs as they were."""
