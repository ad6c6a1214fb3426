"""State of the generation settings and of their presets.

Door: generation.GenerationChoice and presets.
Never imported here: Qt, and any room of the app but app.state.
"""
