"""Safetensors folders: header, configuration and tokenizer.json.

Door: model.inspect_safetensors, reader.read_safetensors_model, heads.head_in_folder and values.read_rows.
Never imported here: torch, safetensors and other libraries: the file is hostile until it is checked.
"""
