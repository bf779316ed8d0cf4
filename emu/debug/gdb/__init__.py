"""A server of the GDB remote serial protocol for one engine."""
