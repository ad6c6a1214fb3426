"""Messages: roles, the parts of a message, and their JSON.

Door: message.Message, the kinds of parts in parts, picture.Picture, read.parts_from_json.
Never imported here: tokenizers, templates and other readers of messages.
"""
