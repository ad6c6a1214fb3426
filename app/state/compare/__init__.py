"""State of Compare: runs, figures and their text.

Door: compare.figures, compare.verdict and text.compare_text.
Never imported here: Qt, and any room of the app but app.state.
"""
