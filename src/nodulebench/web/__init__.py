"""Web applications: the viewer, the portal and its client."""
