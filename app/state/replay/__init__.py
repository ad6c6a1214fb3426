"""State of a replay: the rounds of a recorded reply, and the visible state at each moment.

Door: timeline.Replay.
Never imported here: Qt, and any room of the app but app.state.
"""
