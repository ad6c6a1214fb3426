"""Growing: a small llama model inside a large one that writes the same text at the cost of its size.

Door: grown.grown_target and its likes, full_size.full_size_target and transformers_folder.safetensors_copy.
Never imported here: engine.generation, engine.drafting and engine.decoder.
"""
