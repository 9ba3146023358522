"""Noise: exact laws for releases, fast simulations for studies; the only room that draws it."""
