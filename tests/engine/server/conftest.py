"""The bundled pair, loaded once for a file of tests, and OpenAI's client of the server that each file sets up."""

from collections.abc import Iterator

import openai
import pytest

from engine import SpeculativeDecoder, bundled_pair
from helpers.models.pairs import open_files


@pytest.fixture(scope="module")
def decoder() -> Iterator[SpeculativeDecoder]:
    """Load the bundled pair, which these servers have where a file has no other."""
    with open_files(*bundled_pair()) as loaded:
        yield loaded


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as made:
        yield made
