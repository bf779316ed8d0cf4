"""Products of int8 matrices on the host, exact in every variant: AMX, AVX-512 VNNI, AVX2, plain.

``packing``: weights in the layout that all variants read; ``variant``: which one runs (the best that the
processor has, or the one named by EMU_GEMM); ``amx``, ``vnni``, ``avx2``, ``plain``: one module each;
``tile``: what VNNI and AVX2 share; ``multiply``: the function that compiled mirrors call.
"""
