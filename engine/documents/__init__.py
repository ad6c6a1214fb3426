"""Read documents (PDF, Office files, web pages, mail, archives) into parts that a model can be given and can cite.

Door: read.py (`read_document`, `page_picture`), document.py (`Document`), parts.py (`parts_of`), find.py (`PartIndex`),
quoted.py (what the model is given, and back). Whatever parses a file runs in a child of its own (reading_child.py) and
imports the libraries of the extra `documents` there.
Never imported here: Qt, the backends, generation.
"""
