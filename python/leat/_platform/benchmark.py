"""tf.test.Benchmark: a class whose methods benchmark* measure operations, and what they report."""
from __future__ import annotations

import time

from leat._export import export


@export('test.Benchmark')
class Benchmark:
  """The parent of benchmarks. A method whose name begins with 'benchmark' builds a graph and calls
  run_op_benchmark; tf.test.main does not call it."""

  def run_op_benchmark(self, sess, op_or_tensor, feed_dict=None, burn_iters=2, min_iters=10,
                       store_trace=False, store_memory_usage=True, name=None, extras=None,
                       mbs=0):
    """Runs an operation burn_iters times, then min_iters times by the clock, and reports the
    median. Gives {'iters', 'wall_time', 'throughput', 'extras', 'name'}: seconds, and with mbs,
    the megabytes of one run, megabytes in a second. Steps are not traced."""
    import statistics
    from leat._ops.control import op_of
    del store_trace, store_memory_usage
    target = op_of(op_or_tensor)   # the value is not fetched, which would be measured too
    for _ in range(burn_iters):
      sess.run(target, feed_dict)
    times = []
    for _ in range(min_iters):
      start = time.perf_counter()
      sess.run(target, feed_dict)
      times.append(time.perf_counter() - start)
    median = statistics.median(times)
    found = {'iters': min_iters, 'wall_time': median, 'extras': dict(extras or {}), 'name': name,
             'throughput': mbs / median if mbs else None}
    found['extras'].update(wall_time_mean=statistics.fmean(times),
                           wall_time_stdev=statistics.pstdev(times))
    self.report_benchmark(**found)
    return found

  def evaluate(self, tensors):
    """The values of tensors in a new session."""
    from leat._session.session import Session
    with Session() as session:
      return session.run(tensors)

  def report_benchmark(self, iters=None, cpu_time=None, wall_time=None, throughput=None,
                       extras=None, name=None, metrics=None):
    """Prints what was measured, on one line."""
    given = dict(iters=iters, cpu_time=cpu_time, wall_time=wall_time, throughput=throughput,
                 extras=extras or None, metrics=metrics)
    print('%s: %s' % (name or type(self).__name__, ', '.join(
        '%s %s' % (k, v) for k, v in given.items() if v is not None)))


@export('test.assert_equal_graph_def')
def assert_equal_graph_def(actual, expected, checkpoint_v2=False, hash_table_shared_name=False):
  """AssertionError where the nodes of two GraphDefs, by their names, are not equal."""
  del checkpoint_v2, hash_table_shared_name
  for what, value in (('actual', actual), ('expected', expected)):
    if not hasattr(value, 'node'):
      raise TypeError('Expected tf.GraphDef for %s, got %s' % (what, type(value).__name__))
  nodes = [{n.name: n for n in g.node} for g in (actual, expected)]
  only = sorted(set(nodes[0]) ^ set(nodes[1]))
  if only:
    raise AssertionError('Nodes that only one of the graphs has: %s' % only)
  for name, node in sorted(nodes[0].items()):
    if node != nodes[1][name]:
      raise AssertionError('Node %s differs:\n%s\nmust be\n%s' % (name, node, nodes[1][name]))
