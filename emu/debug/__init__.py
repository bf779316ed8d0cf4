"""Looking into the engine: listings, traces, a GDB server, and two engines side by side."""
