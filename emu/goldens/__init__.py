"""Golden files: recorded digests and tensors of model runs, with where they come from.

A golden is a folder: ``manifest.json`` (run, provenance, the digest of every stage) and
``tensors.safetensors`` (a few chosen stages). Everything else can be computed again from the manifest.
"""
