"""Safetensors folders: header, configuration and tokenizer.json.

Door: model.inspect_folder and reader.read_header.
Never imported here: torch, safetensors and other libraries: the file is hostile until it is checked.
"""
