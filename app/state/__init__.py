"""State of the window: the conversation, the figures, the models to choose from.

Door: one room a subject, each with its own door.
Never imported here: Qt, and any other room of the app.
"""
