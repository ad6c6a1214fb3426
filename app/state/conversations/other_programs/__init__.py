"""Chats of other programs: found in files and archives, recognised by their layout, converted in a child process.

Door: apart.chats_apart, convert.conversation_of and find.is_source.
Never imported here: Qt, and any room of the app but app.state.
"""
