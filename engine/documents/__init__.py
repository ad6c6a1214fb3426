"""Documents (PDF, Office files, web pages, mail, archives) as parts that a model can be given and can cite.

Door: read.read_document, read.page_picture, picture, document.Document, parts, find.PartIndex, give and quoted.
Never imported here: Qt, backends and generation; what parses a file is imported in the child (reading_child) alone.
"""
