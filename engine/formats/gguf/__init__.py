"""GGUF: header, tensor table, types and checks.

Door: model.HeaderReader and reader.read_header.
Never imported here: llama_cpp, gguf and other libraries: the file is hostile until it is checked.
"""
