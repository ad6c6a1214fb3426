"""What commands are told: the parser, the options that several of them have, prompts, and completion by the shell.

Door: parser.CommandParser, models, replies, prompts, words.in_options, and completion.
Never imported here: a command, and main.
"""
