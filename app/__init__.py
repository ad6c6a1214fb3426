"""Outrider's window: state, the views that show it, and the controllers between views and engine.

Door: __main__.main, the program `outrider`.
Never imported here: anything of the engine but the public names of `engine`.
"""
