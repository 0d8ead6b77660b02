"""tf.distribute.cluster_resolver, beside what TensorFlow 2.21 answers in the same environments."""
import json
import os
import types
import unittest
from unittest import mock

import leat as tf

resolvers = tf.distribute.cluster_resolver
CLUSTER = {'ps': ['ps0:1'], 'worker': ['w0:1', 'w1:1']}
STEP = {'SLURM_PROCID': '0', 'SLURM_STEP_NUM_TASKS': '3', 'SLURM_STEP_TASKS_PER_NODE': '1(x3)',
        'SLURM_STEP_NODELIST': 't02n[13,41-42]'}


def environment(**variables):
  """The environment with these variables, and none of those that say what a cluster is."""
  rest = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM', 'CUDA', 'TF_CONFIG'))}
  return mock.patch.dict(os.environ, {**rest, **variables}, clear=True)


def tf_config(config):
  return environment(TF_CONFIG=json.dumps(config))


class TFConfigTest(unittest.TestCase):

  def test_a_task_of_a_cluster(self):
    with tf_config({'cluster': CLUSTER, 'task': {'type': 'worker', 'index': '1'},
                    'rpc_layer': 'grpc'}):
      resolver = resolvers.TFConfigClusterResolver()
      self.assertEqual(resolver.cluster_spec(), tf.train.ClusterSpec(CLUSTER))
      self.assertEqual((resolver.task_type, resolver.task_id), ('worker', 1))
      self.assertEqual(resolver.master(), 'grpc://w1:1')
      self.assertEqual(resolver.master('ps', 0), 'grpc://ps0:1')
      self.assertEqual(resolver.master('ps', 0, 'x'), 'x://ps0:1')
      other = resolvers.TFConfigClusterResolver(task_type='ps', task_id=0, rpc_layer='g',
                                                environment='e')
      self.assertEqual((other.master(), other.environment), ('g://ps0:1', 'e'))
      self.assertEqual(resolver.num_accelerators(), {})

  def test_no_cluster(self):
    with environment():
      resolver = resolvers.TFConfigClusterResolver()
      self.assertEqual(resolver.cluster_spec(), tf.train.ClusterSpec({}))
      self.assertEqual((resolver.task_type, resolver.task_id, resolver.master()), (None, None, ''))
    with tf_config({'cluster': {'worker': ['w0:1']}, 'task': {'type': 'worker', 'index': 0}}):
      self.assertEqual(resolvers.TFConfigClusterResolver().master(), '')

  def test_sparse_jobs(self):
    with tf_config({'cluster': {'worker': {'1': 'w1:1'}}, 'task': {'type': 'worker', 'index': 1}}):
      resolver = resolvers.TFConfigClusterResolver()
      self.assertEqual(resolver.cluster_spec().as_dict(), {'worker': {1: 'w1:1'}})
      self.assertEqual(resolver.master(), 'w1:1')

  def test_what_is_refused(self):
    with environment(TF_CONFIG='{nonsense'), self.assertRaises(ValueError):
      resolvers.TFConfigClusterResolver().cluster_spec()
    with tf_config({'cluster': {'worker': [3]}}):
      with self.assertRaisesRegex(ValueError, 'from TF_CONFIG failed.*a string is expected'):
        resolvers.TFConfigClusterResolver().cluster_spec()
    with tf_config({'cluster': CLUSTER, 'task': {'type': 'worker', 'index': 7}}):
      with self.assertRaisesRegex(ValueError, "No task with index 7 in job 'worker'"):
        resolvers.TFConfigClusterResolver().master()


class SimpleAndUnionTest(unittest.TestCase):

  def test_simple(self):
    resolver = resolvers.SimpleClusterResolver(
        tf.train.ClusterSpec(CLUSTER), master='x:1', task_type='ps', task_id=0, environment='E',
        num_accelerators={'GPU': 2}, rpc_layer='grpc')
    self.assertEqual(resolver.master(), 'grpc://x:1')
    self.assertEqual(resolver.master('worker', 1), 'grpc://w1:1')
    self.assertEqual(resolver.master(rpc_layer='q'), 'q://x:1')
    self.assertEqual((resolver.environment, resolver.num_accelerators()), ('E', {'GPU': 2}))
    self.assertEqual(resolvers.SimpleClusterResolver(tf.train.ClusterSpec({})).master(), '')
    with self.assertRaisesRegex(TypeError, 'must be a `tf.train.ClusterSpec`'):
      resolvers.SimpleClusterResolver(CLUSTER)

  def test_union(self):
    simple = lambda cluster, **k: resolvers.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), **k)
    first = simple({'worker': ['a:1', 'b:1']}, master='M', task_type='worker', task_id=0)
    union = resolvers.UnionResolver(first, simple({'worker': ['c:1'], 'ps': ['e:1']}))
    self.assertEqual(union.cluster_spec().as_dict(),
                     {'ps': ['e:1'], 'worker': ['a:1', 'b:1', 'c:1']})
    self.assertEqual((union.master(), union.task_type, union.task_id), ('M', 'worker', 0))
    self.assertEqual(union.master('worker', 2, 'grpc'), 'grpc://c:1')
    sparse = resolvers.UnionResolver(simple({'worker': {1: 'c:1'}}), simple({'worker': ['z:1']}))
    self.assertEqual(sparse.cluster_spec().as_dict(), {'worker': ['z:1', 'c:1']})
    with self.assertRaisesRegex(KeyError, 'Duplicate keys'):
      resolvers.UnionResolver(first, simple({'worker': {1: 'c:1'}})).cluster_spec()
    with self.assertRaises(ValueError):
      resolvers.UnionResolver()
    with self.assertRaises(TypeError):
      resolvers.UnionResolver('first')


class SlurmTest(unittest.TestCase):

  def resolve(self, changes=(), **arguments):
    with environment(**{**STEP, **dict(changes)}):
      resolver = resolvers.SlurmClusterResolver(**arguments)
      return resolver, os.environ.get('CUDA_VISIBLE_DEVICES')

  def test_jobs_take_processes_in_order(self):
    resolver, _ = self.resolve()
    self.assertEqual(resolver.cluster_spec().as_dict(),
                     {'worker': ['t02n13:8888', 't02n41:8888', 't02n42:8888']})
    resolver, _ = self.resolve({'SLURM_PROCID': '2'}, jobs={'ps': 1, 'worker': 2}, port_base=7000)
    self.assertEqual(resolver.cluster_spec().as_dict(),
                     {'ps': ['t02n13:7000'], 'worker': ['t02n41:7000', 't02n42:7000']})
    self.assertEqual(resolver.get_task_info(), ('worker', 1))
    self.assertEqual((resolver.master(), resolver.master('ps', 0, 'x')),
                     ('grpc://t02n42:7000', 'x://t02n13:7000'))
    self.assertEqual(resolver.num_accelerators(), {})

  def test_tasks_and_gpus_of_a_host(self):
    resolver, gpus = self.resolve(
        {'SLURM_STEP_TASKS_PER_NODE': '2(x2),1', 'SLURM_STEP_NUM_TASKS': '5', 'SLURM_PROCID': '3',
         'CUDA_VISIBLE_DEVICES': '0,1,2,3'}, gpus_per_node=4, gpus_per_task=2)
    self.assertEqual(resolver.cluster_spec().as_dict(), {'worker': [
        't02n13:8888', 't02n13:8889', 't02n41:8888', 't02n41:8889', 't02n42:8888']})
    self.assertEqual((resolver.get_task_info(), resolver.num_accelerators(), gpus),
                     (('worker', 3), {'GPU': 2}, '2,3'))
    resolver, gpus = self.resolve({'CUDA_VISIBLE_DEVICES': '0,1'}, tasks_per_node=1,
                                  auto_set_gpu=False)
    self.assertEqual((resolver.num_accelerators(), gpus), ({'GPU': 2}, '0,1'))

  def test_what_is_refused(self):
    with self.assertRaisesRegex(RuntimeError, 'Requested 4 tasks but only 3 were assigned'):
      self.resolve(jobs={'worker': 4})
    with self.assertRaisesRegex(RuntimeError, 'Requested 2 tasks but only 3 were assigned'):
      self.resolve(jobs={'worker': 2})
    with environment(), self.assertRaisesRegex(RuntimeError, 'SLURM_PROCID not found'):
      resolvers.SlurmClusterResolver()
    with self.assertRaisesRegex(ValueError, "SLURM_STEP_NODELIST.*'n.1', must"):
      self.resolve({'SLURM_STEP_NODELIST': 'n[1'})


class KubernetesTest(unittest.TestCase):

  class Client:
    """Answers as the API does; no cluster is asked."""
    pods = {'a': [('z', '1.1.1.1', 'Running'), ('b', '2.2.2.2', 'Running')],
            'c': [('x', '4.4.4.4', 'Pending')]}

    def list_pod_for_all_namespaces(self, label_selector):
      make = lambda name, ip, phase: types.SimpleNamespace(
          metadata=types.SimpleNamespace(name=name),
          status=types.SimpleNamespace(host_ip=ip, phase=phase))
      return types.SimpleNamespace(items=[make(*pod) for pod in self.pods[label_selector]])

  def test_pods(self):
    make = lambda labels: resolvers.KubernetesClusterResolver(labels, override_client=self.Client())
    resolver = make({'worker': ['a']})
    self.assertEqual(resolver.cluster_spec().as_dict(),
                     {'worker': ['2.2.2.2:8470', '1.1.1.1:8470']})
    self.assertEqual((resolver.master(), resolver.master('worker', 1)), ('', 'grpc://1.1.1.1:8470'))
    with self.assertRaisesRegex(RuntimeError, 'Pod "x" is not running; phase: "Pending"'):
      make({'worker': ['c']}).cluster_spec()


if __name__ == '__main__':
  unittest.main()
