"""The version of this build and the folder of its package.

A module of its own: who needs the version must not import the whole package.
"""

import os

__version__ = "0.1.0"

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The absolute path of ``src/lockgate``, or of the installed package."""
