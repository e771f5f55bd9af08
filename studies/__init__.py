"""The long runs of the book, as graphs of tasks: `python -m studies NAME`. They write
results/; nothing reads them back."""
