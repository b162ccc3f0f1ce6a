"""What can go wrong, with the exit codes of the program (src/base/error.h)."""


class PipesimError(Exception):
    """The message names what is wrong and what to do, as one or several lines for the user."""

    exit_code = 1


class UsageError(PipesimError):
    """The call or command line cannot be understood."""

    exit_code = 2


class ConfigurationError(PipesimError):
    """Something that the user named is missing or cannot be used."""

    exit_code = 3


class RecordingFailed(PipesimError):
    """The user's code failed, hung or returned nothing while it was measured."""

    exit_code = 4
