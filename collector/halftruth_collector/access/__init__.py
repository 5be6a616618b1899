"""Access: tokens and keys."""
