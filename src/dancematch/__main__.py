"""`python -m dancematch`: the command line where no script was installed."""

from dancematch.cli import main

if __name__ == "__main__":
    main()
