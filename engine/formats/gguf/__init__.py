"""GGUF: header, tensor table, types and checks.

Door: model.inspect_gguf, model.HeaderReader, parts.split_parts and mtp_entries.entries_to_load.
Never imported here: llama_cpp, gguf and other libraries: the file is hostile until it is checked.
"""
