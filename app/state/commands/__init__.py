"""State of the command palette: fuzzy search.

Door: fuzzy.
Never imported here: Qt, and any room of the app but app.state.
"""
