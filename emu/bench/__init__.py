"""Measurements: every figure beside a peer from outside.

``programs``, ``build``: the programs of firmware/bench and their images; ``qemu``, ``native``, ``peers``,
``naive``: who they are compared with; ``suite_*``: what `emu bench` runs;
``measure``, ``report``, ``page``: how.
"""
