"""GGUF: header, tensor table, types and checks.

Door: model.inspect_gguf, model.HeaderReader and parts.split_parts.
Never imported here: llama_cpp, gguf and other libraries: the file is hostile until it is checked.
"""
