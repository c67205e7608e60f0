"""What was tried: studies that print the tables of the documentation anew."""
