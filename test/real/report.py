"""Shared by the Python clients: each check prints one line, and the exit status is 1 if one of them failed."""
import sys

failed = False


def check(what, test):
    """Print "ok WHAT" if test() is true, else "FAIL WHAT: the reason"."""
    global failed
    try:
        reason = None if test() else "the values differ"
    except Exception as error:  # any error of the client fails the check
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    failed = failed or reason is not None
    print("ok " + what if reason is None else "FAIL %s: %s" % (what, reason), flush=True)


def finish():
    sys.exit(1 if failed else 0)
