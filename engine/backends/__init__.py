"""Backends: one loaded causal model each, with a cache. Concrete ones are imported lazily (engine.loading.open)."""
