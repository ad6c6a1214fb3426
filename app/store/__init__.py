"""The store: conversations in SQLite, written by a dedicated thread.

Door: conversations.ConversationStore.
Never imported here: Qt, widgets and the bridge.
"""
