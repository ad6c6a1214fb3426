"""Small graphs of our own, computed by the library that llama.cpp computes with, and so by our kernels.

Door: medusa.open_head, named in engine.loading.heads.
Never imported here: torch, transformers, safetensors: heads run where llama.cpp alone is installed.
"""
