"""The ground floor: what both halves use, such as errors, a bounded cache, deadlines and HTTP requests.

Nothing of ours is imported here.
"""
