"""The ledger: every run and what it found, in one SQLite file that several processes write at a time."""
