"""Write a reply inside an event loop, with a limit of time.

`astream` works on a thread of its own, so that the loop stays free. To end a reply early, cancel the decoder's token
and let the iteration come to its end: the last event then carries what there is.
"""

import asyncio
import sys

from outrider import Finished, TokenEvent, bundled_pair, load

LIMIT_S = 20.0


async def main() -> None:
    """Print the reply, and how it ended."""
    target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
    with load(target, draft) as decoder:
        too_late = asyncio.get_running_loop().call_later(LIMIT_S, decoder.cancel_token.cancel)
        async for event in decoder.astream("Tell me a bedtime story about a sleepy bear.", max_tokens=120):
            if isinstance(event, TokenEvent):
                print(event.text, end="", flush=True)
            elif isinstance(event, Finished):
                print(f"\n({event.result.finish_reason}, {event.result.stats.tokens_per_second:.0f} tokens/s)")
        too_late.cancel()


asyncio.run(main())
