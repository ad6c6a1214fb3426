"""Train draft heads for the demo target by self-distillation: the target's own replies, its states and its choices.

Door: `target` (reads the shipped file), `own_text`, `eagle`, `medusa`, `sibling`, `mtp`, both `files`, `measure`.
Never imported here: the training of the pair itself, except the shape of its models and its tokenizer.
"""
