"""The prompt box, its chips and the context meter.

Door: box.PromptBox.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
