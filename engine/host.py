"""Offer the engine's names that the window alone uses: files, places, downloads, installation, parts of documents."""

from engine.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
