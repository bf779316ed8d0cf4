"""From "it differs" to the instruction: first wrong stage, is the stage wrong or its input, which kernel, the
smallest input, the first instruction, and across commits the change that brought it.
"""
