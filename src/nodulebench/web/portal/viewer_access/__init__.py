"""Viewer sessions within the portal: authentication, drafts as rows, and case review."""
