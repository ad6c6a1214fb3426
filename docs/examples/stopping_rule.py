"""End a reply by a rule of one's own: here after a number of words, but only at the end of a sentence."""

import sys
from dataclasses import dataclass, field

from outrider import TokenEvent, bundled_pair, load


@dataclass
class WholeSentences:
    """Goes on until the text has `words` words and its sentence is over. Give it to `generate` as `on_token`."""

    words: int
    text: str = field(default="", init=False)

    def __call__(self, event: TokenEvent) -> bool:
        """Return False if the reply shall end with this token."""
        self.text += event.text
        return len(self.text.split()) < self.words or not self.text.rstrip().endswith((".", "!", "?"))


target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    result = decoder.generate("Tell me a story about a shy dragon.", on_token=WholeSentences(20), max_tokens=200)
print(result.text)
print(f"({len(result.text.split())} words, ended by {result.finish_reason})")
