"""Checkpoints on disk and on the Hugging Face Hub, model cards, and hosted Spaces."""
