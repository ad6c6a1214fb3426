"""End replies with a text, and tell which one it was. The text is not part of the reply, however it falls on tokens."""

import sys

from outrider import bundled_pair, load

STOPS = ("\n\n", ". ", "!")

target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    for prompt in ("Tell me a story about a shy dragon.", "Hello!", "Write a Python function that adds two numbers."):
        result = decoder.generate(prompt, stop=STOPS, max_tokens=60)
        match result.finish_reason, result.stop_reason:
            case "stop", str(text):
                how = f"ended before {text!r}"
            case "stop", _:
                how = "ended by itself"
            case reason, _:
                how = f"cut off: {reason}"
        print(f"{prompt}\n    {result.text.strip()}\n    ({how})")
