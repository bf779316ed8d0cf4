"""Where the instructions of a run go, exactly, and how long a chip would take for them, estimated."""
