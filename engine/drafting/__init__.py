"""Drafters: they propose tokens, and know the target only by the tokens that were committed.

Door: base.Drafter, the contract, and one class a file that keeps it.
Never imported here: engine.sampling.acceptance and engine.generation. Drafters never accept.
"""
