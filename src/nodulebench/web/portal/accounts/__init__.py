"""Who may do what: roles, the one table of rules, passwords, sessions, links, second factor."""
