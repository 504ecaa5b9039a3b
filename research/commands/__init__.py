"""The verbs of python -m research, one module each, as those of `xformer.commands`
are."""
