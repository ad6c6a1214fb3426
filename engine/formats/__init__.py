"""Model files, read strictly: headers, vocabularies and long text tables.

Door: model_file.ModelFile, gguf.model.HeaderReader and safetensors.model.
Never imported here: backends, and libraries that would execute or unpickle what a file holds.
"""
