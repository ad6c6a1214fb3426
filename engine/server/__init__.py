"""The local server: OpenAI's chat interface over one loaded decoder.

Door: app.make_app and listen.Listener.
Never imported here: Qt, concrete backends, and the parts of a reply below the decoder.
"""
