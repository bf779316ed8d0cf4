"""The container of weights that all three models share (docs/models.md section 4).

``tensors`` (what a model consists of), ``header`` (bytes of header and index), ``reader`` and ``checks``
(refusals), ``writer``, ``random_weights`` (weights from a seed), ``extreme`` (weights that hurt), ``info``.
"""
