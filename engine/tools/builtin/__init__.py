"""Bundled tools, one file each: files of named folders, kept chats, pages of the web, calculations, the time.

Door: host.BuiltinChoice and host.builtin_host. Each is off until the user turns it on.
Never imported here: Qt, and at module level the libraries that only one tool needs.
"""
