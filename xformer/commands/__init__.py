"""The verbs of the command line, one module each: add_arguments(parser), and run(arguments) where it has no parts.

The first sentence of a module, to a colon, is what --help says of it.

A command prints what it was asked for and returns an exit status, or None for 0. What cannot be done is a UserError,
which `xformer.__main__` prints. Torch and the services are imported when a command runs, so that --help is quick.
"""
