"""Pack a frozen program for Linux: the Debian package, the portable archive, and their shared parts.

Door: `archive`, `deb`, `needs`, and `elf` for libraries that are to forget the build machine.
Never imported here: Qt (`icons.py` draws in a process of its own) and what freezes the program.
"""
