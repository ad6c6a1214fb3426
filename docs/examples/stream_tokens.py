"""Print a reply as it is written, and mark each token's origin.

Accepted tokens have no mark, corrections are in [brackets], bonuses in {braces}, plain tokens in (parentheses).
"""

import sys

from outrider import Finished, TokenEvent, bundled_pair, load

MARKS = {"accepted": ("", ""), "correction": ("[", "]"), "bonus": ("{", "}"), "plain": ("(", ")")}

target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    for event in decoder.stream("Tell me a story about a shy dragon.", lookahead=4, max_tokens=80):
        if isinstance(event, TokenEvent):
            before, after = MARKS[event.origin]
            print(f"{before}{event.text}{after}", end="", flush=True)
        elif isinstance(event, Finished):
            stats = event.result.stats
            print(f"\n\n{stats.emitted} tokens in {stats.rounds} rounds, {stats.acceptance_rate:.0%} accepted")
