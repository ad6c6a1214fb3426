"""The list of conversations.

Door: panel.ConversationPanel.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
