"""How good is the harness at finding faults? Small faults planted by rule, and whether each is found.

A campaign mutates the firmware's sources (C and assembly) and single instructions of the image, verifies the
kernels that a change can reach, and tells what was killed, what survived and what cannot be told apart.
"""
