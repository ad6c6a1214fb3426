"""The shell: builds the program, connects its parts, opens its windows, registers its commands.

Door: bootstrap.build.
Never imported here: nothing imports this room but app.__main__.
"""
