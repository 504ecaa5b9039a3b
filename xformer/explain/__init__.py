"""Questions to a pass of the model: maps, head roles, alignment, positions,
attributions.

Most modules need numpy only; those that run the model, such as `passes` and
`attribution`, need torch.
"""
