"""contrib.slim.summaries: summaries that are named by their tensors."""
from __future__ import annotations

from leat._export import export
from leat._ops import control, nn
from leat._train import summary


def _name(tensor, name, prefix):
  name = name or tensor.op.name
  return '%s/%s' % (prefix, name) if prefix else name


@export('contrib.slim.summaries.add_histogram_summary')
def add_histogram_summary(tensor, name=None, prefix=None):
  """A histogram summary, 'prefix/name', or with the tensor's name."""
  return summary.histogram(_name(tensor, name, prefix), tensor)


@export('contrib.slim.summaries.add_image_summary')
def add_image_summary(tensor, name=None, prefix=None, print_summary=False):
  """An image summary."""
  return summary.image(_name(tensor, name, prefix), _printed(tensor, name, prefix, print_summary))


def _printed(tensor, name, prefix, print_summary):
  """The tensor, which each step prints if asked for."""
  if not print_summary:
    return tensor
  return control.Print(tensor, [tensor], _name(tensor, name, prefix))


@export('contrib.slim.summaries.add_scalar_summary')
def add_scalar_summary(tensor, name=None, prefix=None, print_summary=False):
  """A scalar summary, printed in each step if asked for."""
  summary_name = _name(tensor, name, prefix)
  return summary.scalar(summary_name, _printed(tensor, name, prefix, print_summary))


@export('contrib.slim.summaries.add_zero_fraction_summary')
def add_zero_fraction_summary(tensor, name=None, prefix=None, print_summary=False):
  """A scalar summary of the share of zeros."""
  name = _name(tensor, name, prefix or 'Fraction of Zero Values')
  tensor = nn.zero_fraction(tensor)
  return summary.scalar(name, _printed(tensor, name, None, print_summary))


def _of_all(add):
  def function(tensors, prefix=None):
    return [add(tensor, prefix=prefix) for tensor in tensors]
  function.__doc__ = 'The same of each tensor, in a list.'
  return function


add_histogram_summaries = _of_all(add_histogram_summary)
add_image_summaries = _of_all(add_image_summary)
add_scalar_summaries = _of_all(add_scalar_summary)
add_zero_fraction_summaries = _of_all(add_zero_fraction_summary)
EXPORTS = {'contrib.slim.summaries.add_%s_summaries' % n: 'add_%s_summaries' % n for n in (
    'histogram', 'image', 'scalar', 'zero_fraction')}
