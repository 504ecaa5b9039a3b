"""The verbs of the command line, one module each: add_arguments(parser), and
run(arguments) where it has no parts.

What --help says of one is the first sentence of its module, to a colon. A command
prints what it was asked for and returns an exit status, or None for 0. What cannot be
done is a UserError, which `xformer.__main__` prints. Torch and the services are
imported when a command runs, so that --help is quick.
"""
