"""Hold the version, in this one place: packaging, the command line and the window read it here."""

__version__ = "0.1.0"
