"""Hold a conversation that outlives the program: its messages are kept in a file, and the next start goes on.

Without a terminal it asks two questions by itself. Give a file, and two models, to use your own.
"""

import json
import sys
import tempfile
from pathlib import Path

from outrider import Message, bundled_pair, load

QUESTIONS = ("Hello!", "Tell me a joke.")


def read(path: Path) -> list[Message]:
    """Return the messages of the file, or a new conversation if there is none."""
    if not path.exists():
        return [Message("system", "You are a helpful assistant.")]
    return [Message.from_mapping(each) for each in json.loads(path.read_text("utf-8"))]


def ask(number: int) -> str | None:
    """Return the next question, None at the end."""
    if not sys.stdin.isatty():
        return QUESTIONS[number] if number < len(QUESTIONS) else None
    try:
        return input("> ")
    except EOFError:
        return None


path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "chat.json"
target, draft = sys.argv[2:4] if len(sys.argv) > 3 else bundled_pair()
messages, number = read(path), 0
with load(target, draft) as decoder:
    while question := ask(number):
        messages.append(Message("user", question))
        result = decoder.generate(messages, max_tokens=200)
        messages.append(result.message)
        path.write_text(json.dumps([message.to_dict() for message in messages], ensure_ascii=False), "utf-8")
        number += 1
        print(result.text.strip())
        print(f"  ({result.prompt_tokens} tokens of prompt, {result.prompt_evaluated} of them read now)")
        if result.dropped_turns:
            print(f"  (the oldest {result.dropped_turns} messages do not fit the context any more)")
print(f"{len(messages)} messages are in {path}")
