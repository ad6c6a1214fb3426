"""Answer many prompts and write a line of JSON for each, as it comes. One prompt that fails does not end the others.

Give a file with a prompt on each line, and two models, to use your own.
"""

import json
import sys
from pathlib import Path

from outrider import EngineError, bundled_pair, load

PROMPTS = ("Tell me a joke.", "What is Outrider?", "", "Write a Python function that adds two numbers.")

prompts = Path(sys.argv[1]).read_text("utf-8").splitlines() if len(sys.argv) > 1 else PROMPTS
target, draft = sys.argv[2:4] if len(sys.argv) > 3 else bundled_pair()
with load(target, draft) as decoder:
    for number, prompt in enumerate(prompts):
        try:
            result = decoder.generate(prompt, max_tokens=60, temperature=0.7)
        except EngineError as error:
            line = {"number": number, "prompt": prompt, "error": str(error)}
        else:
            # The seed repeats a reply with this lookahead, and with any where the acceptance is "exact".
            line = {"number": number, "prompt": prompt, "text": result.text, "finish_reason": result.finish_reason}
            line |= {"tokens": len(result.tokens), "seed": result.seed}
        print(json.dumps(line, ensure_ascii=False), flush=True)
