"""Outrider's window. It knows the engine only by its public surface."""
