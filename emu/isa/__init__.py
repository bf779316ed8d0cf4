"""The ESP32-S3 instruction set as one table, with everything that is derived from it.

`table` loads the rows, `encode`, `decode` and `disasm` read them, `registers` names the special and
user registers, `semantics` says once what each row does.
"""
