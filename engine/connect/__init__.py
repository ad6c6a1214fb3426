"""Client programs of the local server: their settings, the writing of these, and a round trip like theirs.

Door: programs.PROGRAMS, programs.ServerPlace, round_trip.ask_as_program.
Never imported here: models, the server itself and the window.
"""
