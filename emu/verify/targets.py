"""From options to the two targets of a worker process."""

from __future__ import annotations

from emu.verify.options import Options
from emu.verify.runner import Runner
from emu.verify.target import MirrorTarget, Target


def make_runner(options: Options) -> Runner:
    """Reference and target for ``options``. Raises UsageProblem or ToolError."""
    reference = MirrorTarget()
    if options.target == "mirror":
        return Runner(reference, MirrorTarget(), options)
    if options.target == "board":
        return Runner(reference, _board(options), options)
    from emu.verify.causes import Causes
    from emu.verify.image_target import ImageTarget
    from emu.verify.noticed import Inspector

    assert options.elf is not None
    target = ImageTarget(options.elf, options)
    inspector = Inspector(target.image, options) if options.check else None
    return Runner(reference, target, options, Causes(options, reference, target.image).explain, inspector)


def _board(options: Options) -> Target:
    from emu.image import load_image
    from emu.link.board import Board
    from emu.verify.board_target import BoardTarget

    image = None if options.elf is None else load_image(options.elf)
    return BoardTarget(Board(options.port, image, baud=options.baud), options.budget)
