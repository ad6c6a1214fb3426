"""The model bar, the library window and the load options.

Door: bar.ModelBar and library.LibraryDialog.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
