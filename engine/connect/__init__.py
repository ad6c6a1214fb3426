"""Other programs that can use the local server: what to set in them, setting it, and a round trip as they make it.

Door: programs.PROGRAMS, programs.Place, settings.write_settings, round_trip.ask.
Never imported here: models, the server itself and the window.
"""
