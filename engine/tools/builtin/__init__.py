"""Tools that come along, one file each: files of named folders, kept chats, pages of the web, calculations, the time.

Door: host.BuiltinChoice and host.builtin_host. Nothing here is offered before somebody switches it on.
Never imported here: Qt, and at module level the libraries that only one tool needs.
"""
