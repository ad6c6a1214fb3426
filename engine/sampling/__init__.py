"""Sampling: logits to a distribution to a token, acceptance, and their compiled twins.

Door: distribution, acceptance, rows.Rows and native_draw.NativeSampler.
Never imported here: backends, drafters and the loop: these rules are pure.
"""
