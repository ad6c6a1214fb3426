"""Safetensors folders: header, configuration and tokenizer.json.

Door: model.inspect_safetensors and reader.read_safetensors_model.
Never imported here: torch, safetensors and other libraries: the file is hostile until it is checked.
"""
