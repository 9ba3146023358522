"""Resolution: numbers counted in very fine public cells, whose noisy tables are read at several scales at once."""
