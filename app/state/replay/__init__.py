"""State of a replay: the rounds of a recorded reply, and what is seen at each moment of them.

Door: timeline.Replay.
Never imported here: Qt, and any room of the app but app.state.
"""
