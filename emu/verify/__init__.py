"""Cases, strategies, comparison, shrinking, campaigns and reports.

The room derives everything from a :class:`emu.kernels.spec.Kernel`: it draws sizes, alignments and contents,
runs the same case on two targets (the mirror and, for example, a firmware image), compares the outputs bit
for bit and shrinks what differs. Conventions that a spec may rely on:

- dimensions are drawn first, then ``derived`` ones are computed in their order; a size below zero counts as
  zero;
- ``Tensor.fill(dims, rng, array)`` gets the generated array *in its declared shape* (writable) and sees all
  dimensions;
- ``Tensor.valid(dims)`` may return a boolean mask of the declared shape (or flat), a slice, or a tuple of
  slices;
- both targets see every buffer at the same address modulo 64, between the same guard bytes, and with the same
  bytes in outputs that have not been written yet.
"""
