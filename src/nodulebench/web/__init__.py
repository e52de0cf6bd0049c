"""Web applications: the viewer and the portal."""
