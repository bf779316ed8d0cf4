"""The models in ordinary floating point: no int8 activations, exact functions, numpy's own order of sums.

They say how far quantization moves a result, and nothing about the firmware: weights are those of the model
file as numbers (code times scale). ``numbers``: layers; ``t2i``, ``ternary``, ``tinylm``: the models;
``report``: signal to noise, stage by stage.
"""
