"""Show for each token of a reply the five that the target would most likely have written, with their probabilities."""

import sys
from math import exp

from outrider import bundled_pair, load

target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    result = decoder.generate("Tell me a joke.", top=5, temperature=1.0, seed=4, max_tokens=16)
    for token, share, best in zip(result.tokens, result.logprobs, result.top, strict=True):
        others = "  ".join(f"{decoder.token_text(each)!r} {exp(logprob):.0%}" for each, logprob in best)
        print(f"{decoder.token_text(token)!r:>12} {exp(share):4.0%}   of  {others}")
print(f"perplexity of the reply: {exp(-sum(result.logprobs) / len(result.logprobs)):.2f}")
