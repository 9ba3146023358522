import os

# Tests run side by side, a process per core: more threads of linear algebra would only wait for each other.
for _library in ("OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
