"""contrib.learn.datasets: tables of examples in files."""
from __future__ import annotations

import collections
import csv
import os

from leat._export import export

Dataset = collections.namedtuple('Dataset', ['data', 'target'])
Datasets = collections.namedtuple('Datasets', ['train', 'validation', 'test'])
EXPORTS = {'contrib.learn.datasets.base.Dataset': 'Dataset',
           'contrib.learn.datasets.base.Datasets': 'Datasets'}


@export('contrib.learn.datasets.base.load_csv_with_header')
def load_csv_with_header(filename, target_dtype, features_dtype, target_column=-1):
  """A Dataset of a file whose first line has the number of rows and of features; a row is the
  features, with the target in one column."""
  import numpy as np
  with open(filename, newline='', encoding='utf-8') as f:
    rows = csv.reader(f)
    header = next(rows)
    count, features = int(header[0]), int(header[1])
    data = np.zeros((count, features), dtype=features_dtype)
    target = np.zeros((count,), dtype=target_dtype)
    for n, row in enumerate(rows):
      target[n] = np.asarray(row.pop(target_column)).astype(target_dtype)
      data[n] = np.asarray(row).astype(features_dtype)
  return Dataset(data=data, target=target)


@export('contrib.learn.datasets.base.load_csv_without_header')
def load_csv_without_header(filename, target_dtype, features_dtype, target_column=-1):
  """The same without the first line."""
  import numpy as np
  data, target = [], []
  with open(filename, newline='', encoding='utf-8') as f:
    for row in csv.reader(f):
      target.append(row.pop(target_column))
      data.append(np.asarray(row).astype(features_dtype))
  return Dataset(data=np.array(data), target=np.array(target, dtype=target_dtype))


@export('contrib.learn.datasets.base.shrink_csv')
def shrink_csv(filename, ratio):
  """Writes a file with one of `ratio` lines, <name>_small.csv."""
  name = filename.replace('.', '_small.')
  with open(filename, encoding='utf-8') as source, open(name, 'w', encoding='utf-8') as target:
    for n, line in enumerate(source):
      if n % ratio == 0:
        target.write(line)


@export('contrib.learn.datasets.base.maybe_download')
def maybe_download(filename, work_directory, source_url):
  """The path of a file in a folder, downloaded from source_url where it is not there."""
  from urllib import request
  os.makedirs(work_directory, exist_ok=True)
  path = os.path.join(work_directory, filename)
  if not os.path.exists(path):
    partial = path + '.part'
    request.urlretrieve(source_url, partial)
    os.replace(partial, path)
  return path


def _known(name, data_path, target_dtype, without_first_line):
  """A table of scikit-learn's, in a file or as the installed scikit-learn has it."""
  if data_path is not None:
    read = load_csv_with_header if without_first_line else load_csv_without_header
    return read(data_path, target_dtype, float)
  try:
    from sklearn import datasets
    found = getattr(datasets, 'load_' + name)()
  except (ImportError, AttributeError):
    raise ValueError('load_%s has no data_path, must have one: the package holds no data sets, and '
                     'there is no scikit-learn that has it' % name) from None
  return Dataset(data=found.data, target=found.target)


@export('contrib.learn.datasets.load_iris', 'contrib.learn.datasets.base.load_iris')
def load_iris(data_path=None):
  """150 irises, of three kinds, by four lengths: of the CSV file data_path, whose first line has
  the number of rows and of features; of scikit-learn, where that is installed, without a path."""
  return _known('iris', data_path, int, True)


@export('contrib.learn.datasets.load_boston', 'contrib.learn.datasets.base.load_boston')
def load_boston(data_path=None):
  """506 prices of houses by thirteen features, as load_iris reads its table."""
  return _known('boston', data_path, float, True)
