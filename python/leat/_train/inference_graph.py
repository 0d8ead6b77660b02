"""Graphs made smaller for inference: tools.optimize_for_inference_lib and tools.strip_unused_lib.

What only training needs is taken away, inputs become placeholders, and a normalization with
constants behind a convolution is folded into the convolution's filter: (w * x - mean) * gain +
beta is (w * gain) * x + (beta - mean * gain). """
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import importing, message
from leat._graph.value import make_ndarray, make_tensor_proto

_NORMS = ('BatchNormWithGlobalNormalization', 'FusedBatchNorm', 'FusedBatchNormV2',
          'FusedBatchNormV3')
_CONVOLUTIONS = ('Conv2D', 'DepthwiseConv2dNative')


@export('python.tools.strip_unused_lib.strip_unused')
def strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum):
  """The part of a GraphDef from the inputs, which become placeholders, to the outputs. The type of
  the placeholders is one for all or a list."""
  names = list(input_node_names)
  missing = set(names) - {node.name for node in input_graph_def.node}
  if missing:
    raise KeyError('The following input nodes were not found: %s' % sorted(missing))
  types = list(placeholder_type_enum) if isinstance(placeholder_type_enum, (list, tuple)) else \
      [placeholder_type_enum] * len(names)
  changed = message.of('GraphDef')()
  for node in input_graph_def.node:
    if node.name in names:
      made = changed.node.add(op='Placeholder', name=node.name)
      made.attr['dtype'].type = dtypes.as_dtype(types[names.index(node.name)]).as_datatype_enum
      if '_output_shapes' in node.attr:
        made.attr['_output_shapes'].CopyFrom(node.attr['_output_shapes'])
      elif 'shape' in node.attr:
        made.attr['shape'].CopyFrom(node.attr['shape'])
    else:
      changed.node.add().CopyFrom(node)
  found = importing.extract_sub_graph(changed, list(output_node_names))
  found.library.CopyFrom(input_graph_def.library)
  found.versions.CopyFrom(input_graph_def.versions)
  return found


@export('python.tools.optimize_for_inference_lib.optimize_for_inference')
def optimize_for_inference(input_graph_def, input_node_names, output_node_names,
                           placeholder_type_enum, toco_compatible=False):
  """A GraphDef for inference, which gives what the given one gives. With toco_compatible nothing is
  folded but batch normalizations, which is what is done here in any case."""
  del toco_compatible
  stripped = strip_unused(input_graph_def, input_node_names, output_node_names,
                          placeholder_type_enum)
  return fold_batch_norms(importing.remove_training_nodes(stripped, list(output_node_names)))


def _constant(nodes, name):
  """The array of a Const behind Identities; None where it is none."""
  node = nodes.get(name.partition(':')[0])
  while node is not None and node.op == 'Identity':
    node = nodes.get(node.input[0].partition(':')[0])
  if node is None or node.op != 'Const':
    return None
  return make_ndarray(node.attr['value'].tensor)


def _parts(nodes, norm):
  """(name of the convolution, mean, variance, beta, gamma, epsilon, whether gamma counts)."""
  if norm.op == 'BatchNormWithGlobalNormalization':
    order, epsilon = (1, 2, 3, 4), norm.attr['variance_epsilon'].f
    scales = norm.attr['scale_after_normalization'].b
  else:
    order, scales = (3, 4, 2, 1), True
    epsilon = norm.attr['epsilon'].f if 'epsilon' in norm.attr else 1e-4
    if norm.attr['is_training'].b or 'is_training' not in norm.attr:
      return None
  values = [_constant(nodes, norm.input[n]) for n in order]
  return None if any(v is None for v in values) else (norm.input[0], *values, epsilon, scales)


@export('python.tools.optimize_for_inference_lib.fold_batch_norms')
def fold_batch_norms(input_graph_def):
  """The GraphDef with batch normalizations of constants folded into the filters of the convolutions
  before them, and a BiasAdd in the place of each."""
  import numpy as np
  nodes = {node.name: node for node in input_graph_def.node}
  readers = {}
  for node in input_graph_def.node:
    for name in node.input:
      readers.setdefault(name.lstrip('^').partition(':')[0], []).append(node.name)
  replaced = {}   # name -> nodes in its place
  for norm in input_graph_def.node:
    parts = _parts(nodes, norm) if norm.op in _NORMS else None
    convolution = nodes.get(parts[0].partition(':')[0]) if parts else None
    if convolution is None or convolution.op not in _CONVOLUTIONS:
      continue
    weights = _constant(nodes, convolution.input[1])
    others = [r for r in readers[norm.name] if any(
        i.partition(':')[2] not in ('', '0') for i in nodes[r].input if
        i.partition(':')[0] == norm.name)]
    if weights is None or readers[convolution.name] != [norm.name] or others:
      continue
    _, mean, variance, beta, gamma, epsilon, scales = parts
    gain = 1.0 / np.sqrt(variance + epsilon) * (gamma if scales else 1.0)
    depthwise = convolution.op == 'DepthwiseConv2dNative'
    scaled = weights * (gain.reshape(weights.shape[2:]) if depthwise else gain)
    dtype = convolution.attr['T'].type
    filter_name, bias_name = convolution.name + '_weights', convolution.name + '_bn_offset'
    made = [_const(filter_name, scaled.astype(weights.dtype), dtype)]
    new = message.of('NodeDef')()
    new.CopyFrom(convolution)
    new.input[1] = filter_name
    bias = _const(bias_name, (beta - mean * gain).astype(weights.dtype), dtype)
    add = message.of('NodeDef')(op='BiasAdd', name=norm.name)
    add.input.extend([convolution.name, bias_name])
    add.attr['T'].type = dtype
    if 'data_format' in convolution.attr:
      add.attr['data_format'].CopyFrom(convolution.attr['data_format'])
    replaced[convolution.name], replaced[norm.name] = made + [new], [bias, add]
  found = message.of('GraphDef')()
  for node in input_graph_def.node:
    for kept in replaced.get(node.name, [node]):
      found.node.add().CopyFrom(kept)
  found.library.CopyFrom(input_graph_def.library)
  found.versions.CopyFrom(input_graph_def.versions)
  return found


def _const(name, value, dtype):
  node = message.of('NodeDef')(op='Const', name=name)
  node.attr['dtype'].type = dtype
  node.attr['value'].tensor.CopyFrom(make_tensor_proto(value))
  return node
