"""The conversation on screen: questions, replies and their actions.

Door: transcript.TranscriptView.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
