"""Write the corpus's conversations: one grammar for each category.

Door: each category's module; `grammar` holds the tools that all of them share, `words` the word lists.
Never imported here: torch and tokenizers, and `demopair.training`. Texts come before any model.
"""
