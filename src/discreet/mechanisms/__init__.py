"""Noise: exact laws for releases, fast twins for studies; the only room that draws it."""
