"""`python -m bd`."""

from bd.cli.main import run

if __name__ == "__main__":
    run()
