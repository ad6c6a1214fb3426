"""Chat: messages to tokens, tokens to text, and what fits the context.

Door: template.encode_prompt, context_fit.fit_turns and reply_text.ReplyText.
Never imported here: the loop, drafters and concrete backends.
"""
