"""Faults, each a way to hurt the log, the table, the network or a process while questions are asked.

A fault is one function that takes a `Round`; it makes a table, injects, asks, and asks again when the fault
is over. `ALL` lists them under the names of the fault matrix; `campaign` runs them by seed.
"""
