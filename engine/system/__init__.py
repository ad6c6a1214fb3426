"""The machine and the installation: processors, memory, caches, damaged files.

Door: machine, cache_files and installation.
Never imported here: any other room of the engine.
"""
