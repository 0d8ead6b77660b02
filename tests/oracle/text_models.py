"""The saved models of TensorFlow Serving that name the ops of TensorFlow Text, where LEAT_DATA_DIR
has them (models/history/tensorflow_serving), run in Leat with the plug-in of examples/plugins/text:
each signature answers what TensorFlow with TensorFlow Text answers, and so does each op of the
plug-in within the model's function, whose texts are constants of the model. The models have a
vocabulary and no variables. text_plugin_oracle.py calls compare_models."""
import glob
import os

import numpy as np
import tensorflow.compat.v1 as tf
import tensorflow_text  # noqa: F401
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework.function_def_to_graph import (
    function_def_to_graph_def)

from library_process import OURS, Library
from outcome import report

TEXT_OPS = {'CaseFoldUTF8', 'ConstrainedSequence', 'MaxSpanningTree', 'NormalizeUTF8',
            'RegexSplitWithOffsets', 'RougeL', 'SentenceFragments', 'SentencepieceDetokenizeOp',
            'SentencepieceIdToStringOp', 'SentencepieceTokenizeOp',
            'SentencepieceTokenizeWithOffsetsOp', 'SentencepieceVocabSizeOp',
            'SplitMergeTokenizeWithOffsets', 'UnicodeScriptTokenizeWithOffsets',
            'WhitespaceTokenizeWithOffsets', 'WordpieceTokenizeWithOffsets'}


def meta_graph_of(path):
  model = saved_model_pb2.SavedModel()
  model.ParseFromString(open(path, 'rb').read())
  return model.meta_graphs[0]


def whole_graph(meta):
  """The model, and beside it the function that names the ops, its nodes as nodes of the graph and
  its resources those of the model. -> the graph, {op: the names of its outputs}."""
  bodies = [f for f in meta.graph_def.library.function
            if TEXT_OPS & {n.op for n in f.node_def} and len(f.node_def) > 100]
  graph = tf.Graph()
  with graph.as_default():
    tf.import_graph_def(meta.graph_def, name='')
    table = [n.name + ':0' for n in meta.graph_def.node if n.op == 'HashTableV2'][0]
    outputs = {}
    for number, body in enumerate(bodies):
      inputs = {a.name + ':0': graph.get_tensor_by_name(
          table if a.type == tf.resource.as_datatype_enum else 'serving_default_x:0')
                for a in body.signature.input_arg}
      nodes, _ = function_def_to_graph_def(body)
      tf.import_graph_def(nodes, inputs, name='body%d' % number)
      for node in body.node_def:
        if node.op in TEXT_OPS:
          made = graph.get_operation_by_name('body%d/%s' % (number, node.name)).outputs
          outputs.setdefault(node.op, []).extend(t.name for t in made)
  return graph, outputs


def in_tensorflow_text(graph, first, feeds, fetches):
  with tf.Session(graph=graph) as session:
    session.run(first)
    return session.run(fetches, feeds)


def difference(got, want):
  for ours, theirs in zip(got, want):
    theirs = np.asarray(theirs, object if isinstance(theirs, bytes) else None)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape or not (ours == theirs).all():
      return '%s, must be %s' % (ours.tolist(), theirs.tolist())
  return '' if len(got) == len(want) else '%d outputs, must be %d' % (len(got), len(want))


def check(name, path, library):
  meta = meta_graph_of(path)
  graph, outputs = whole_graph(meta)
  first = [n.split(':')[0] for n in meta.collection_def['saved_model_main_op'].node_list.value]
  signature = meta.signature_def['serving_default']
  outputs['signature'] = [o.name for o in signature.outputs.values()]
  fetches = sum(outputs.values(), [])
  feeds = {i.name: np.array([3.5], 'f4') for i in signature.inputs.values()}
  want = dict(zip(fetches, in_tensorflow_text(graph, first, feeds, fetches)))
  library.ask((graph.as_graph_def().SerializeToString(), feeds, fetches, first))
  code, got = library.answer()
  got = {} if code else dict(zip(fetches, got))
  for op in sorted(outputs):
    report('%s %s' % (name, op), lambda names=outputs[op]: difference(
        [got[n] for n in names], [want[n] for n in names]) if not code else 'code %s' % code)


def compare_models(plugin):
  library = Library(OURS, [plugin])
  folder = os.path.join(os.environ.get('LEAT_DATA_DIR', ''), 'models/history/tensorflow_serving')
  for path in sorted(glob.glob(os.path.join(folder, '*tf_text_regression*saved_model.pb'))):
    name = os.path.basename(path).split('_')[0]
    try:
      check(name, path, library)
    except Exception as error:  # another model may still be read
      report(name, lambda e=error: '%s: %s' % (type(e).__name__, ' '.join(str(e).split())[:300]))
  library.close()
