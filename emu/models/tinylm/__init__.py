"""Language model with per-layer embeddings and int4 weights (docs/models.md section 3)."""
