"""Public data sets for tests, examples and the paper's tables: found, fetched and checked.

`load` looks in ``data_dir`` (or the folder that ``EMSCORESET_DATA`` names), then in its cache,
then at the public source. Whatever it finds must have the checksum in the catalogue.
"""

from emscoreset.datasets.catalogue import CATALOGUE, Entry, Form
from emscoreset.datasets.fetch import DatasetNotFoundError
from emscoreset.datasets.loading import Dataset, load
from emscoreset.datasets.made import make_orders

__all__ = ["CATALOGUE", "Dataset", "DatasetNotFoundError", "Entry", "Form", "load", "make_orders"]
