"""The annotation workflow as its events: who may do what when."""
