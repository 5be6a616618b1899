"""What a package can add to halftruth."""
