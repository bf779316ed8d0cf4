"""Transformer with 1.58-bit weights (docs/models.md section 2)."""
