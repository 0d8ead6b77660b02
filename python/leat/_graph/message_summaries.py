"""What the messages that programs use most are for; their docstrings say it (message.py)."""

SUMMARIES = {
    'tensorflow.AttrValue': 'The value of an attribute of a node.',
    'tensorflow.BytesList': 'Values of a feature that are bytes.',
    'tensorflow.CheckpointState': 'The state file of a folder of checkpoints: which there are.',
    'tensorflow.ClusterDef': 'The jobs of a cluster and the addresses of their tasks.',
    'tensorflow.ConfigProto': 'How a session runs: threads, devices, what the optimizer does.',
    'tensorflow.Event': 'A record of an event file: a summary, a graph, ... with time and step.',
    'tensorflow.Example': 'An example of a data set: its features, values by their names.',
    'tensorflow.Feature': 'The values of a feature: one of bytes_list, float_list, int64_list.',
    'tensorflow.FeatureList': 'The values of a feature at each step of a sequence.',
    'tensorflow.FeatureLists': 'The features of a sequence by their names.',
    'tensorflow.Features': 'The features of an example by their names.',
    'tensorflow.FloatList': 'Values of a feature that are floats.',
    'tensorflow.GPUOptions': 'How a session uses accelerators.',
    'tensorflow.GraphDef': 'A graph: nodes, and the functions that they call.',
    'tensorflow.GraphOptions': 'How the graph of a session is optimized.',
    'tensorflow.HistogramProto': 'The distribution of values in a summary.',
    'tensorflow.Int64List': 'Values of a feature that are integers.',
    'tensorflow.MetaGraphDef': 'A graph with its collections, saver and signatures.',
    'tensorflow.NodeDef': 'A node of a graph: its op, inputs, device and attributes.',
    'tensorflow.RunMetadata': 'What was recorded of a step: times, devices, memory.',
    'tensorflow.RunOptions': 'How one step runs: what is recorded, how long it may take.',
    'tensorflow.SequenceExample': 'An example with values at each step of a sequence.',
    'tensorflow.ServerDef': 'A task of a cluster.',
    'tensorflow.Summary': 'Values that the board shows, by their tags.',
    'tensorflow.TensorProto': 'The value of a tensor.',
    'tensorflow.VariableDef': 'A variable of a graph, by the names of its tensors.',
}


def docstring_of(name):
  """The docstring of a message."""
  return ' '.join(filter(None, ('The message %s.' % name, SUMMARIES.get(name))))
