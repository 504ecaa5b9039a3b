"""The parts of the Model tab: a whole pass in one picture, how the model is built, broken models to diagnose, a
calculator for others, pieces and vectors, a map of words."""
