"""`python -m bd`."""

from bd.cli import run

if __name__ == "__main__":
    run()
