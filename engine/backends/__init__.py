"""Backends: one loaded causal model each, with a cache.

Door: base.Backend, the contract, and prefix.keep_prefix; engine.loading.open imports concrete backends lazily.
Never imported here: drafters, the loop and anything that knows which of two models is the draft.
"""
