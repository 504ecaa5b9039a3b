"""xformer: see how attention works, on a translation transformer trained from scratch."""

__version__ = "0.1.0"
