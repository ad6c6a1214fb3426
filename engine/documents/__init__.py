"""Documents (PDF, Office files, web pages, mail, archives) as passages that a model can read and cite.

Door: read.read_document, read.page_picture, picture, document.Document, parts, find.PartIndex, give and quoted.
Never imported here: Qt, backends and generation; parsers are imported in the child (reading_child) alone.
"""
