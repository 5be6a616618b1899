"""What the reports themselves say of the answers, without the parameters (Guo ch. 4)."""
