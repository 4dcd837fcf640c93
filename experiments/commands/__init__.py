"""The command line, one module a command or two: parse, call, print.

May import: everything. Nothing imports it but `cli`.
"""
