"""Hold what the grammars choose from: facts, instructions, list items and function bodies.

Door: one table a module, such as `FACTS`, `HOW_TO`, `LISTS` or `BODIES`.
Never imported here: the grammars. This is plain data.
"""
