"""The system around the window: places, log, language, single instance, resources.

Door: places, log_file and translation.
Never imported here: any other room of the app.
"""
