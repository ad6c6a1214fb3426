"""End replies with a text, and tell which one it was. The text is not part of the reply, however it falls on tokens."""

import sys

from outrider import GenerationResult, bundled_pair, load

STOPS = ("\n\n", ". ", "!")


def ending(result: GenerationResult) -> str:
    """Describe the end of a reply in words."""
    if isinstance(result.stop_reason, str):
        return f"ended before {result.stop_reason!r}"
    return "ended by itself" if result.finish_reason == "stop" else f"cut off: {result.finish_reason}"


target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    for prompt in ("Tell me a story about a shy dragon.", "Hello!", "Write a Python function that adds two numbers."):
        result = decoder.generate(prompt, stop=STOPS, max_tokens=60)
        print(f"{prompt}\n    {result.text.strip()}\n    ({ending(result)})")
