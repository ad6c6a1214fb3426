"""Heads as drafters: readers of the target's hidden states that propose.

Door: chain.make_drafter, for the table of methods.
Never imported here: what computes a head (the concrete backends), engine.sampling.acceptance, engine.generation.
"""
