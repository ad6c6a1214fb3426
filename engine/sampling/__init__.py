"""Sampling: logits to a distribution to a token, acceptance, and their compiled twins.

Door: distribution, acceptance, rows.Rows (its functions and its Sampler) and native_rows.NativeRows.
Never imported here: backends, drafters and the loop: these rules are pure.
"""
