"""tf.contrib.predictor: a trained model as a function from {name: value} to {name: value}."""
from __future__ import annotations

from leat._export import export
from leat._graph import graph as graphs
from leat._saved_model import loader
from leat._session import session as sessions

_DEFAULT = 'serving_default'


class Predictor:
  """A session of its own with feed_tensors and fetch_tensors by name."""

  def __init__(self, graph, session, feed_tensors, fetch_tensors):
    self._graph, self._session = graph, session
    self._feeds, self._fetches = feed_tensors, fetch_tensors

  graph = property(lambda self: self._graph)
  session = property(lambda self: self._session)
  feed_tensors = property(lambda self: self._feeds)
  fetch_tensors = property(lambda self: self._fetches)

  def __call__(self, input_dict):
    """{name: array} of the outputs, for the inputs. ValueError for a name that is no input."""
    unknown = set(input_dict) - set(self._feeds)
    if unknown:
      raise ValueError('Got unexpected keys in input_dict: {}\nexpected: {}'.format(
          unknown, set(self._feeds)))
    return self._session.run(self._fetches, {self._feeds[k]: v for k, v in input_dict.items()})

  def __repr__(self):
    return 'Predictor with feed tensors %s and fetch_tensors %s' % (self._feeds, self._fetches)


@export('contrib.predictor.from_saved_model')
def from_saved_model(export_dir, signature_def_key=None, signature_def=None, input_names=None,
                     output_names=None, tags=None, graph=None, config=None):
  """A predictor of a SavedModel: of its signature signature_def_key, 'serving_default' where none
  is said, of another SignatureDef, or of names {name: name of a tensor}."""
  graph = graph or graphs.Graph()
  if tags is not None and isinstance(tags, str):
    tags = tags.split(',')
  with graph.as_default():
    session = sessions.Session(graph=graph, config=config)
    meta = loader.load(session, list(tags or ['serve']), export_dir)
  if input_names is None or output_names is None:
    if signature_def is None:
      key = signature_def_key or _DEFAULT
      if key not in meta.signature_def:
        raise ValueError('Got signature_def_key "{}". Available signatures are {}.'.format(
            key, sorted(meta.signature_def)))
      signature_def = meta.signature_def[key]
    input_names = {k: v.name for k, v in signature_def.inputs.items()}
    output_names = {k: v.name for k, v in signature_def.outputs.items()}
  tensors = lambda names: {k: graph.get_tensor_by_name(v) for k, v in names.items()}
  return Predictor(graph, session, tensors(input_names), tensors(output_names))


@export('contrib.predictor.from_estimator', 'contrib.predictor.from_contrib_estimator')
def from_estimator(estimator, serving_input_receiver_fn, output_key=None, graph=None, config=None):
  """A predictor of the newest checkpoint of an estimator, whose inputs are the receiver tensors of
  serving_input_receiver_fn, for one of the model's export outputs."""
  from leat._estimator.export_outputs import DEFAULT_SIGNATURE
  from leat._estimator.model_fn import ModeKeys
  from leat._train import monitored
  graph = graph or graphs.Graph()
  core = getattr(estimator, '_core', estimator)
  with graph.as_default():
    received = serving_input_receiver_fn()
    features = received[0]
    inputs = received[-1] if len(received) == 3 and isinstance(received[-1], dict) and \
        hasattr(estimator, '_core') else received.receiver_tensors
    core._create_and_assert_global_step(graph)
    spec = core._call_model_fn(features, None, ModeKeys.PREDICT, core.config)
    path = core.latest_checkpoint()
    session = monitored.MonitoredSession(session_creator=monitored.ChiefSessionCreator(
        config=config, checkpoint_filename_with_path=path, scaffold=spec.scaffold))
  key = output_key or DEFAULT_SIGNATURE
  if key not in spec.export_outputs:
    raise ValueError('output_key must be one of {}; got {}'.format(
        sorted(spec.export_outputs), key))
  signature = spec.export_outputs[key].as_signature_def(inputs)
  feeds = {k: graph.get_tensor_by_name(v.name) for k, v in signature.inputs.items()}
  fetches = {k: graph.get_tensor_by_name(v.name) for k, v in signature.outputs.items()}
  return Predictor(graph, session, feeds, fetches)
