"""The arithmetic that firmware and emulator share, to the last bit (docs/numerics.md).

Scalar building blocks are numba functions; kernels call them, so each formula exists once:

``constants`` and ``bits`` (floats by bit pattern), ``rounding`` (rne), ``exponential``, ``logarithm``,
``trigonometry``, ``activations``, ``random``, ``quantize``, ``digest``, ``crc32``, ``half``. Tables come from
``tables``; ``ternary`` and ``int4`` quantize and pack weights offline, in double. ``subnormals`` refuses to
run in a process that flushes subnormals to zero.

Importing this package imports nothing else: numba is loaded by the modules that need it.
"""
