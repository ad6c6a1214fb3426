"""Other servers as a target: any with OpenAI's chat interface, asked over HTTP.

Door: connect.connect_server, client.RemoteDecoder and keys.
Never imported here: Qt, backends, and the parts of a reply that decide tokens.
"""
