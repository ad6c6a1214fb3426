"""Train the pair: the tokenizer, rows of token ids, the model's shape, its training and its growth.

Door: `tokenizer`, `train` and `grow`; `model` for the two shapes.
Never imported here: the engine, and the modules that export, evaluate and describe what was trained.
"""
