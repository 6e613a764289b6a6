"""What the maintainers' commands share: the series and the patches' headers."""
