"""The local server: OpenAI's and Anthropic's interfaces over the given models.

Door: app.make_app, listen.Listener, registry.ModelRegistry for the models.
Never imported here: Qt, concrete backends, and the layers of generation below the decoder.
"""
