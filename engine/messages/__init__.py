"""Messages: who speaks, the parts of what is said, and how JSON says them.

Door: message.Message, the kinds of parts in parts, picture.Picture, read.parts_from_json.
Never imported here: tokenizers, templates and whatever else reads messages.
"""
