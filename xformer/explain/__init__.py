"""Questions to a pass of the model: maps, head roles, alignment, positions, attributions.

Numpy only, but for `attribution` and `passes`, which run the model and need torch.
"""
