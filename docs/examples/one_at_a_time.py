"""Several callers share one decoder, as the requests of a server do.

A decoder writes one reply at a time. A lock lines the callers up; while one waits, the event loop serves the others.
Each reply gets a cancel token of its own, so that a caller who gives up ends only its own reply.
"""

import asyncio
import sys

from outrider import CancelToken, GenerationResult, SpeculativeDecoder, bundled_pair, load

QUESTIONS = ("Tell me a joke.", "What is Outrider?", "Write a Python function that adds two numbers.")


class Answerer:
    """Answers one question after the other with one decoder."""

    def __init__(self, decoder: SpeculativeDecoder) -> None:
        self._decoder = decoder
        self._turn = asyncio.Lock()

    async def answer(self, question: str, max_tokens: int = 60) -> GenerationResult:
        """Write a reply in this caller's turn. Cancelling the task ends the reply, and waits for its end."""
        async with self._turn:
            token = CancelToken()
            work = asyncio.ensure_future(
                asyncio.to_thread(self._decoder.generate, question, cancel=token, max_tokens=max_tokens)
            )
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                token.cancel()
                await asyncio.gather(work, return_exceptions=True)
                raise


async def main() -> None:
    """Ask everything at once, and print the answers in the order in which they come."""
    target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
    with load(target, draft) as decoder:
        answerer = Answerer(decoder)

        async def ask(question: str) -> None:
            result = await answerer.answer(question)
            print(f"{question}\n    {result.text.strip()}\n")

        await asyncio.gather(*(ask(question) for question in QUESTIONS))
        try:
            await asyncio.wait_for(answerer.answer("Tell me a story.", max_tokens=400), timeout=0.02)
        except TimeoutError:
            print("The last caller gave up. The decoder is free again:")
            await ask("Hello!")


asyncio.run(main())
