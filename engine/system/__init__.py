"""The machine and the installation: processors, memory, caches, damaged files, child processes.

Door: machine, cache_files, installation, processor, ports, child, and hidden_commands.run_hidden_command for children.
Never imported here: any other room of the engine.
"""
