"""State of the models: what was found, chosen and loaded.

Door: models.Models and load_options.
Never imported here: Qt, and any room of the app but app.state.
"""
