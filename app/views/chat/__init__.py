"""The conversation on screen: questions, replies and what can be done with them.

Door: transcript.TranscriptView.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
