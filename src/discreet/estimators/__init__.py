"""Estimators: what all of them share, from the first check to the certificate of the released model."""
