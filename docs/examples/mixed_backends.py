"""Pair models of two libraries: a target that llama.cpp runs (GGUF) and a draft that PyTorch runs (safetensors).

It needs the extra `torch`. Without arguments the draft is the bundled one, written as a folder with safetensors, for
which transformers needs the package `accelerate` too. Where the two have different tokenizers, drafts go through text;
the output is the target's own in any case.
"""

import sys
import tempfile
from pathlib import Path

from outrider import bundled_pair, load
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPT = "Tell me a story about a shy dragon."

with tempfile.TemporaryDirectory() as folder:
    if len(sys.argv) > 2:
        target, draft = map(Path, sys.argv[1:3])
    else:
        target, small = bundled_pair()
        draft = Path(folder)
        for part in (AutoModelForCausalLM, AutoTokenizer):
            part.from_pretrained(small.parent, gguf_file=small.name).save_pretrained(draft)
    with load(target) as decoder:
        plain = decoder.generate(PROMPT, lookahead=0, max_tokens=60)
        decoder.attach_draft(draft)
        drafted = decoder.generate(PROMPT, method="draft-model", lookahead=4, max_tokens=60)
        for name, model in (("target", decoder.target), ("draft", decoder.draft)):
            print(f"{name}: {type(model).__name__}, {model.name if model else ''}")
stats = drafted.stats
print(f"{drafted.text.strip()}\n{stats.accepted} of {stats.proposed} proposed tokens were accepted")
print("the same tokens as plain decoding:", "yes" if drafted.tokens == plain.tokens else "no")
