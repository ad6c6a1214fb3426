"""Chat: messages to tokens, tokens to text, and fitting the context.

Door: template.encode_prompt, context_fit.fit_turns, reply_text.ReplyText, reply_parts.ReplyParser and render.Renderer.
Never imported here: the loop, drafters and concrete backends; jinja2 outside the child process (sandbox).
"""
