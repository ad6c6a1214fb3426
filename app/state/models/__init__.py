"""State of the models: those found, selected and loaded.

Door: models.ModelList, selection.Selection and load_options.LoadChoice.
Never imported here: Qt, and any room of the app but app.state.
"""
