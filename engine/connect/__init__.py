"""Other programs that can use the local server: their settings, writing them, and a round trip as they make it.

Door: programs.PROGRAMS, programs.ServerPlace, round_trip.ask_as_program.
Never imported here: models, the server itself and the window.
"""
