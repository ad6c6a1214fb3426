"""Models that come from elsewhere: search a hub, choose of its files, download them; or read them out of a package.

Door: `hugging_face.py` (what a hub has), `wanted.py` (which files are meant), `transfer.py` (bring one here) and
`package_index.py`. Nothing here runs before somebody asks for it, and nothing here loads a model.
"""
