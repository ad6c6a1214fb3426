"""Windows and widgets. They render state and send intents as signals; they start no thread and create no task."""
