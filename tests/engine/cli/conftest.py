"""What the tests of the command line share."""

import pytest


@pytest.fixture(autouse=True)
def pair_of_yesterday(tried_pair: None) -> None:
    """The bundled pair was loaded before."""
