"""Limit a reply's time inside an event loop, in two ways.

`asyncio.timeout` gives the reply up: it is ended, nothing of it is left, and the decoder is free at once. `max_time` is
for those who want what there is by then.
"""

import asyncio
import sys
from time import perf_counter

from outrider import bundled_pair, load

LIMIT_S = 0.3
ENDLESS = "Tell me a bedtime story about a sleepy bear."


async def main() -> None:
    """Run into both limits, and then write a reply in time."""
    target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
    with load(target, draft) as decoder:
        began = perf_counter()
        try:
            async with asyncio.timeout(LIMIT_S):
                await decoder.agenerate(ENDLESS, ignore_eos=True)
        except TimeoutError:
            print(f"given up after {perf_counter() - began:.1f} s")

        result = await decoder.agenerate(ENDLESS, ignore_eos=True, max_time=LIMIT_S)
        print(f"{len(result.tokens)} tokens in time, ended by {result.finish_reason}: {result.text.strip()[:60]} …")

        async with asyncio.timeout(60.0):
            result = await decoder.agenerate("Hello!", max_tokens=20)
        print(f"in time: {result.text.strip()}")


asyncio.run(main())
