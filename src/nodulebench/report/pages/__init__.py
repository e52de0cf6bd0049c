"""Templates, colours and page frame of reports, the portal and the viewer."""
