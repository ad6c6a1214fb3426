"""The transformers backend for folders of safetensors.

Door: backend.TransformersBackend, named in the register of engine.loading.open.
Never imported here: llama_cpp and other backends.
"""
