"""TF_GetAllOpList: each op registered has TensorFlow's OpDef, byte for byte, once summaries,
descriptions and experimental_full_type are set aside."""
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

import capi


def strip(op):
  op.summary = op.description = ''
  for argument in list(op.input_arg) + list(op.output_arg):
    argument.description = ''
    argument.ClearField('experimental_full_type')
  for attribute in op.attr:
    attribute.description = ''
  return op.SerializeToString(deterministic=True)


def by_name(serialized):
  ops = op_def_pb2.OpList.FromString(serialized).op
  return {op.name: op for op in ops}


wanted = by_name(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
ours = by_name(capi.Library().op_list())
for name in sorted(ours):
  if name.startswith('_') and name not in wanted:
    continue  # a runtime's own, which only its passes make
  if name not in wanted:
    print('op list %s: FAIL TensorFlow has no such op' % name)
  elif strip(ours[name]) != strip(wanted[name]):
    print('op list %s: FAIL\nours: %s\nTensorFlow: %s' % (name, ours[name], wanted[name]))
  else:
    print('op list %s: ok' % name)
