"""What the window shows, without Qt: the conversation, the figures, the models to choose from."""
