"""Models that come from elsewhere: search a hub, choose of its files, download them; or read them out of a package.

Door: hugging_face, wanted, transfer and package_index. Nothing here runs before somebody asks for it.
Never imported here: engine.loading, engine.generation and concrete backends. Nothing here loads a model.
"""
