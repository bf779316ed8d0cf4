"""The three example models: text to image, ternary transformer, small language model (docs/models.md).

``modelfile``: the container of weights. ``blocks``: layers for the host. ``t2i``, ``ternary``, ``tinylm``:
tensors, tokenizer, mirror and float reference of each. Importing this package loads nothing else.
"""
