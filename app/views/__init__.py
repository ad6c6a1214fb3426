"""Windows and widgets: they render state and send intents as signals.

Door: window.main_window.MainWindow, and the dialogs of the other rooms.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
