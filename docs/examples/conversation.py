"""Hold a conversation of several turns. What two prompts have in common stays in the cache and is not read again."""

import sys

from outrider import Message, bundled_pair, load

QUESTIONS = ("Hello!", "Tell me a joke.", "What is Outrider?")

target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    messages = [Message("system", "You are a helpful assistant.")]
    for question in QUESTIONS:
        messages.append(Message("user", question))
        result = decoder.generate(messages, max_tokens=60)
        messages.append(result.message)
        print(f"> {question}\n{result.text.strip()}")
        print(f"  ({result.prompt_tokens} tokens of prompt, {result.prompt_evaluated} of them read now)\n")
