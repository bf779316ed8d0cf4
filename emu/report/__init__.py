"""The HTML report: one self-contained page that shows a fault rather than lists numbers."""
