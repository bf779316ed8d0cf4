"""Sessions with the agent on a virtual board."""

from emu.link.session import Timing

PATIENT = Timing(silent=60.0, patience=240.0, hello=1.0)
"""For a virtual board on a busy machine: it may be long before it answers."""
