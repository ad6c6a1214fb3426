"""State of the Speculation panel: rates, counters, the lookahead note.

Door: metrics.Metrics.
Never imported here: Qt, and any room of the app but app.state.
"""
