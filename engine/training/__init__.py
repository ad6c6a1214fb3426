"""Draft heads made here: a target's own replies with their hidden states, a head that learns from them, and its file.

Door: `head.train_head`. Only this room and the backend for safetensors import torch; nothing here knows the window.
"""
