"""Test vectors that clients in every language must reproduce; `python -m tests.local.vectors` writes them anew."""
