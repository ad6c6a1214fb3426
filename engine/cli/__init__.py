"""The command line: one file a command, its tables and its JSON.

Door: main.main, which `engine.__main__` runs.
Never imported here: anything of app; no other room imports this one.
"""
