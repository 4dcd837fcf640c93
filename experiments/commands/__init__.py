"""The command line: commands that are in no other room, and what every command prints.

May import: everything. Nothing imports it but `cli`.
"""
