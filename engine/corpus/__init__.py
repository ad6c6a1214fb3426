"""The user's own texts as tokens, with an index of continuations: kept chats, files, folders.

Door: corpus.Corpus, corpus.Passage, corpus.corpus_of, corpus.open_corpus and corpus.prune_corpora.
Never imported here: models; a corpus consists of tokens alone.
"""
