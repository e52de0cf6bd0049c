"""Accounts: roles, the access rules of all routes, passwords, sessions, links, second factor."""
