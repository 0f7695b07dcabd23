"""Measurements against real services, which anyone can repeat with `make bench`.

Nothing imports this package. It must not decide what is fast enough for a test: times are printed
here and asserted nowhere.
"""
