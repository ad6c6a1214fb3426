"""Other servers as a target: any with OpenAI's chat interface, over HTTP.

Door: connect.connect_server, client.RemoteDecoder and keys.
Never imported here: Qt, backends, and the modules that decide a reply's tokens.
"""
