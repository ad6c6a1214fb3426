"""State of the chat: transcript, activity, attachments, reasoning and token record.

Door: transcript.Transcript and trace.TokenTrace.
Never imported here: Qt, and any room of the app but app.state.
"""
