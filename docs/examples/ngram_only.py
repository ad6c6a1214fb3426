"""Speculate without a second model: propose the earlier continuation of the same words in prompt or reply.

It pays where the reply repeats the prompt: edits, quotations, code.
"""

import sys

from outrider import bundled_pair, load

PROMPT = "Repeat this sentence: The old lighthouse keeper walked down to the harbour and counted the boats."

target = sys.argv[1] if len(sys.argv) > 1 else bundled_pair()[0]
with load(target) as decoder:
    plain = decoder.generate(PROMPT, lookahead=0, max_tokens=60)
    drafted = decoder.generate(PROMPT, method="ngram", lookahead=16, max_tokens=60)
print(drafted.text.strip())
stats = drafted.stats
print(f"{stats.accepted} of {stats.proposed} proposed tokens were accepted")
print(f"{stats.rounds} rounds in place of {plain.stats.rounds}")
print("the same tokens as plain decoding:", "yes" if drafted.tokens == plain.tokens else "no")
