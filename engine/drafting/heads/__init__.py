"""Heads as drafters: readers of the target's hidden states that propose.

Door: chain.make_drafter, for the table of methods.
Never imported here: the backends that compute a head, engine.sampling.acceptance, engine.generation.
"""
