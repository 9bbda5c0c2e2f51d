"""The commands of the command line, a file each; a file x.py with a function `command` is `symgauge x`.

Such a file imports only the standard library and typer at its top, so that `symgauge --help` stays fast.
"""
