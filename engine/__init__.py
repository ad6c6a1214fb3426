"""Outrider's engine: speculative decoding for local language models, as a library.

This is the public surface; nothing else is stable. Importing it loads no model library.

>>> from engine import bundled_pair, load
>>> with load(*bundled_pair()) as decoder:
...     result = decoder.generate("Tell me a story.", max_tokens=16)
>>> result.finish_reason
'length'
"""

from engine.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
