"""Host side of the wire (docs/wire.md): frames, sessions, ports, requests."""
