"""Package data, read through importlib.resources: icons, styles, prompts, the demo pair."""
