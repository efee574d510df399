"""What is kept on disk between processes, and how one can trust it."""
