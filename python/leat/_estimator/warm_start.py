"""WarmStartSettings: a training that begins with the variables of another model."""
from __future__ import annotations

import collections

from leat._export import export


@export('estimator.WarmStartSettings')
class WarmStartSettings(collections.namedtuple('WarmStartSettings', [
    'ckpt_to_initialize_from', 'vars_to_warm_start', 'var_name_to_vocab_info',
    'var_name_to_prev_var_name'])):
  """From which checkpoint which variables are taken: those whose names the regular expression
  vars_to_warm_start finds (None for embeddings with vocabularies alone), some under other names and
  vocabularies (VocabInfo) than they have there."""
  __slots__ = ()

  def __new__(cls, ckpt_to_initialize_from, vars_to_warm_start='.*', var_name_to_vocab_info=None,
              var_name_to_prev_var_name=None):
    if not ckpt_to_initialize_from:
      raise ValueError('`ckpt_to_initialize_from` MUST be set in WarmStartSettings')
    return super().__new__(cls, ckpt_to_initialize_from, vars_to_warm_start,
                           var_name_to_vocab_info or {}, var_name_to_prev_var_name or {})


def warm_start(settings):
  """Sets the initial values of the graph's variables."""
  from leat import train
  train.warm_start(*settings)
