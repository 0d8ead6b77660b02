"""How an estimator writes SavedModels: a graph for each mode, with signatures from what its
receiver takes to what the model gives."""
from __future__ import annotations

import os
import time

from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys
from leat._estimator.export_outputs import DEFAULT_SIGNATURE
from leat._estimator.model_fn import ModeKeys
from leat._platform import log, paths
from leat._session import session as sessions
from leat._train import saver as savers
from leat._train.scaffold import Scaffold

_TAGS = {ModeKeys.PREDICT: ['serve'], ModeKeys.TRAIN: ['train'], ModeKeys.EVAL: ['eval']}


def timestamped_folder(base):
  """A path in `base`, named by the time, that does not exist."""
  while True:
    path = os.path.join(base, str(int(time.time())))
    if not paths.exists(path):
      return path
    log.warning('Folder %s is there already: waiting a second', path)
    time.sleep(1)


def signatures(receiver_tensors, export_outputs, alternatives=None):
  """{name: SignatureDef} of all outputs, and of each for each alternative set of inputs; those that
  do not fit (a classifier wants one string tensor) are left out and logged."""
  from leat import saved_model
  found, left_out = {}, {}
  sets = [(None, receiver_tensors)] + list((alternatives or {}).items())
  for receiver, tensors in sets:
    for name, output in export_outputs.items():
      key = name or DEFAULT_SIGNATURE
      key = key if receiver is None else '%s:%s' % (receiver, name or 'None')
      try:
        made = output.as_signature_def(tensors)
      except ValueError as error:
        left_out[key] = str(error)
        continue
      if saved_model.signature_def_utils.is_valid_signature(made):
        found[key] = made
      else:
        left_out[key] = 'it is no valid signature'
  for key, reason in sorted(left_out.items()):
    log.info("Signature '%s' is left out: %s", key, reason)
  if not found:
    log.warning('Export includes no signatures!')
  return found


def export_models(estimator, export_dir_base, receivers, assets_extra=None, as_text=False,
                  checkpoint_path=None, strip_default_attrs=False):
  """Writes a SavedModel with a graph for each mode of `receivers`, {mode: function}; gives the path
  of its folder as bytes."""
  from leat import saved_model
  path = checkpoint_path or estimator.latest_checkpoint()
  if not path:
    raise ValueError("Couldn't find trained model at %s." % estimator.model_dir)
  base = os.fsdecode(export_dir_base)
  folder = timestamped_folder(base)
  temporary = os.path.join(base, 'temp-' + os.path.basename(folder))
  builder = saved_model.builder.SavedModelBuilder(temporary)
  has_variables = False
  for mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
    if mode in receivers:
      _add_graph(estimator, builder, mode, receivers[mode], path, has_variables,
                 strip_default_attrs)
      has_variables = True
  builder.save(as_text)
  for name, source in (assets_extra or {}).items():
    target = os.path.join(temporary, 'assets.extra', os.fsdecode(name))
    paths.makedirs(os.path.dirname(target), exist_ok=True)
    paths.copyfile(os.fsdecode(source), target)
  paths.replace(temporary, folder)
  return os.fsencode(folder)


def _add_graph(estimator, builder, mode, receiver_fn, path, has_variables, strip_default_attrs):
  """Adds the graph of one mode; the first one brings the values of the variables."""
  graph = estimator._new_graph()
  with graph.as_default():
    estimator._create_and_assert_global_step(graph)
    receiver = receiver_fn()
    spec = estimator._call_model_fn(receiver.features, getattr(receiver, 'labels', None), mode,
                                    estimator.config)
    outputs = spec.export_outputs if mode == ModeKeys.PREDICT else _supervised(spec, mode)
    found = signatures(receiver.receiver_tensors, outputs or {},
                       getattr(receiver, 'receiver_tensors_alternatives', None))
    with sessions.Session(config=estimator._session_config) as session:
      local_init_op = spec.scaffold.local_init_op or Scaffold.default_local_init_op()
      saver = spec.scaffold.saver or savers.Saver(sharded=True)
      try:
        saver.restore(session, path)
      except Exception as error:
        raise ValueError("Couldn't restore the model of %s for export: %s" % (
            path, error)) from error
      arguments = dict(
          tags=_TAGS[mode], signature_def_map=found, saver=saver,
          assets_collection=graphs.get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
          main_op=local_init_op, strip_default_attrs=strip_default_attrs)
      if has_variables:
        builder.add_meta_graph(**arguments)
      else:
        builder.add_meta_graph_and_variables(session, **arguments)


def _supervised(spec, mode):
  """The outputs of a graph for training or evaluation."""
  from leat._estimator.export_outputs import PredictOutput
  values = {'loss': spec.loss}
  if isinstance(spec.predictions, dict):
    values.update({'predictions/%s' % k: v for k, v in spec.predictions.items()})
  else:
    values['predictions'] = spec.predictions
  for name, (value, _) in spec.eval_metric_ops.items():
    values['metrics/%s/value' % name] = value
  return {mode: PredictOutput(values)}
