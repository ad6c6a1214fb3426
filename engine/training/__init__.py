"""Draft heads made here: a target's own replies with their hidden states, a head that learns from them, and its file.

Door: head.train_head.
Never imported here: the command line, the server and the window; torch elsewhere only in the backend for safetensors.
"""
