"""How property tests are run here."""

from hypothesis import settings

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)
"""The same examples every time, without a limit per example: a busy machine is no failure."""
