"""Drafters: what proposes tokens. They never accept, and they know the target only by what was committed."""
