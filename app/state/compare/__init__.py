"""State of Compare: runs, figures and their text.

Door: compare.CompareState and text.
Never imported here: Qt, and any room of the app but app.state.
"""
