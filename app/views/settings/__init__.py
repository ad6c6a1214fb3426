"""The settings dialog, a page a file.

Door: dialog.SettingsDialog.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
