"""Define the arguments of commands: the parser, shared options, prompts, and completion by the shell.

Door: parser.CommandParser, models, replies, prompts, words.in_options, and completion.
Never imported here: a command, and main.
"""
