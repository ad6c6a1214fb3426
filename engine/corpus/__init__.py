"""A person's own texts as tokens, with an index of what follows what: kept chats, files, folders.

Door: corpus (Corpus, Found). It knows tokens, not models, and imports no other room but system. What drafts from it is
engine.drafting.own_texts.
"""
