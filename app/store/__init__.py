"""The store: conversations in SQLite, written by a thread of its own.

Door: conversations.ConversationStore.
Never imported here: Qt, widgets and the bridge.
"""
