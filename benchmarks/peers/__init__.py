"""What the comparison with other libraries is made of: shared tables, one worker per environment, and the report."""
