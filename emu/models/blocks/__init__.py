"""Layers of the models for the host: docs/numerics.md section 10 at the speed of its vectors.

These functions give the bits of the mirrors in emu/kernels (tests compare them) but work on whole tensors,
with weights packed for the dot-product instructions. Each returns -1, or the row that is not finite where a
kernel would return status 4.
"""
