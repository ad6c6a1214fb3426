"""Control: intents come in from the views, state goes out to them (Qt signals, no widgets).

Door: chat, models, conversations and compare, one controller each.
Never imported here: app.views, app.words and app.shell.
"""
