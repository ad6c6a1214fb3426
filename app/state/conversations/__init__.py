"""State of the conversations: the tree of messages, the list, files and drops.

Door: conversation.Conversation and list.ConversationList.
Never imported here: Qt, and any room of the app but app.state.
"""
