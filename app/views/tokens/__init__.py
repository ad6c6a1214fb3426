"""A reply token by token: colours and the token card.

Door: reply and text.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
