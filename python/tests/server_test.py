"""Clusters: descriptions, servers in this process, sessions at them, and where variables go."""
import gc
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
from unittest import mock

import leat as tf


class ClusterSpecTest(unittest.TestCase):

  def test_forms_are_equal(self):
    dense = tf.train.ClusterSpec({'ps': ['ps0:1'], 'worker': ['w0:1', 'w1:1']})
    self.assertEqual(dense.as_dict(), {'ps': ['ps0:1'], 'worker': ['w0:1', 'w1:1']})
    self.assertEqual(dense, tf.train.ClusterSpec(dense.as_cluster_def()))
    self.assertEqual(
        dense, tf.train.ClusterSpec({'worker': {1: 'w1:1', 0: 'w0:1'}, 'ps': ['ps0:1']}))
    self.assertNotEqual(dense, tf.train.ClusterSpec({'ps': ['ps0:1']}))
    self.assertTrue(dense)
    self.assertFalse(tf.train.ClusterSpec({}))
    self.assertEqual(dense.jobs, ['ps', 'worker'])

  def test_sparse_jobs(self):
    spec = tf.train.ClusterSpec({'worker': {3: 'w3:1', 1: 'w1:1'}})
    self.assertEqual(spec.as_dict(), {'worker': {1: 'w1:1', 3: 'w3:1'}})
    self.assertEqual(spec.task_indices('worker'), [1, 3])
    self.assertEqual(spec.job_tasks('worker'), [None, 'w1:1', None, 'w3:1'])
    self.assertEqual(spec.num_tasks('worker'), 2)
    self.assertEqual(spec.task_address('worker', 3), 'w3:1')
    with self.assertRaisesRegex(ValueError, "No task with index 0 in job 'worker'"):
      spec.task_address('worker', 0)
    with self.assertRaisesRegex(ValueError, "No such job in cluster: 'ps'"):
      spec.num_tasks('ps')

  def test_what_is_refused(self):
    for bad in (['w0:1'], {'worker': 'w0:1'}, {'worker': {'0': 'w0:1'}}, {'worker': [1]}, {1: []}):
      with self.assertRaises(TypeError):
        tf.train.ClusterSpec(bad)


class ServerTest(unittest.TestCase):

  def test_local_server(self):
    server = tf.train.Server.create_local_server()
    self.assertRegex(server.target, r'^grpc://localhost:[1-9]\d*$')
    self.assertEqual(server.server_def.job_name, 'local')
    with tf.Graph().as_default():
      v = tf.get_variable('v', initializer=1.0)
      more = v.assign_add(2.0)
      with tf.Session(server.target) as session:
        session.run(v.initializer)
        self.assertEqual(session.run(more), 3.0)
        self.assertIn('/job:local/replica:0/task:0/device:CPU:0',
                      [d.name for d in session.list_devices()])
      with tf.Session(server.target) as session:  # variables outlive sessions
        self.assertEqual(session.run(v), 3.0)
        added = v * 2
        self.assertEqual(session.run(added), 6.0)

  def test_a_server_outlives_its_object(self):
    def target():
      return tf.train.Server.create_local_server().target
    with tf.Graph().as_default():
      two = tf.constant(1) + 1
      config = tf.ConfigProto(operation_timeout_in_ms=60000)
      with tf.Session(target(), config=config) as session:
        self.assertEqual(session.run(two), 2)

  def test_a_closed_session_ends_its_step(self):
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
      begun = tf.FIFOQueue(1, tf.float32)
      with tf.control_dependencies([begun.enqueue(1.0)]):
        taken = tf.FIFOQueue(1, tf.float32).dequeue()
      session = tf.Session(server.target)
      raised = []

      def run():
        try:
          session.run(taken)
        except tf.errors.OpError as error:
          raised.append(error)
      thread = threading.Thread(target=run)
      thread.start()
      session.run(begun.dequeue())
      session.close()
      thread.join(60)
      self.assertIsInstance(raised[0], tf.errors.CancelledError)

  def test_a_started_server_stays(self):
    target = tf.train.Server.create_local_server().target   # nothing refers to the object
    gc.collect()
    with tf.Graph().as_default(), tf.Session(target) as session:
      self.assertEqual(session.run(tf.constant(3.0) * 2.0), 6.0)

  def test_arguments(self):
    cluster = {'ps': ['localhost:1'], 'worker': ['localhost:2', 'localhost:3']}
    with self.assertRaisesRegex(ValueError, 'explicit `job_name`'):
      tf.train.Server(cluster, start=False)
    with self.assertRaisesRegex(ValueError, 'explicit `task_index`'):
      tf.train.Server(cluster, job_name='worker', start=False)
    server = tf.train.Server(cluster, job_name='ps', start=False)
    self.assertEqual((server.server_def.task_index, server.server_def.protocol), (0, 'grpc'))
    with self.assertRaises(tf.errors.InvalidArgumentError):
      tf.train.Server(cluster, job_name='worker', task_index=2, start=False)
    again = tf.train.Server(server.server_def, job_name='worker', task_index=1, start=False)
    self.assertEqual(again.target, 'grpc://localhost:3')


_MAKE_CERTIFICATES = r"""
set -e
for name in root stranger; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key \
    -out $name.pem -days 2 -subj /CN=$name
done
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout task.key -out task.csr \
  -subj /CN=task
echo subjectAltName=DNS:localhost,IP:127.0.0.1 > names
openssl x509 -req -in task.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile names \
  -out task.pem
"""


@unittest.skipUnless(shutil.which('openssl'), 'SKIP there is no openssl')
class CertificatesTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.folder)
    # TSan's runtime, which the tests may have been started with, brings openssl down.
    environment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}
    subprocess.run(['sh', '-c', _MAKE_CERTIFICATES], cwd=self.folder, check=True, env=environment,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

  def use(self, **names):
    """The environment with LEAT_CERTIFICATE and the like naming these files alone."""
    kept = {k: v for k, v in os.environ.items()
            if k not in ('LEAT_CERTIFICATE', 'LEAT_KEY', 'LEAT_AUTHORITY')}
    kept.update({'LEAT_' + k.upper(): os.path.join(self.folder, v) for k, v in names.items()})
    return mock.patch.dict(os.environ, kept, clear=True)

  def test_a_cluster_with_certificates(self):
    own = {'certificate': 'task.pem', 'key': 'task.key', 'authority': 'root.pem'}
    with tf.Graph().as_default():
      with tf.device('/job:ps/task:0'):
        a = tf.constant(20) + 1
      with tf.device('/job:worker/task:0'):
        b = a * 2
      with self.use(**own):
        workers, servers = tf.test.create_local_cluster(1, 1)
        # By another name than the server's own it is reached by the network and not by a call.
        target = workers[0].target.replace('localhost', '127.0.0.1')
        with tf.Session(target) as session:
          self.assertEqual(session.run(b), 42)
      with self.use(authority='stranger.pem'), self.assertRaisesRegex(
          tf.errors.UnavailableError, 'certificate verify failed'):
        tf.Session(target)
      with self.use(authority='root.pem'), self.assertRaises(tf.errors.UnavailableError):
        tf.Session(target)
      with self.use(**dict(own, key='root.key')), self.assertRaisesRegex(
          tf.errors.InvalidArgumentError, "LEAT_KEY is '.*root.key', which holds another key"):
        tf.train.Server.create_local_server()
      del servers


class ReplicaDeviceSetterTest(unittest.TestCase):

  def test_variables_go_round(self):
    cluster = tf.train.ClusterSpec({'ps': ['a:1', 'b:1'], 'worker': ['c:1']})
    with tf.Graph().as_default():
      with tf.device(tf.train.replica_device_setter(cluster=cluster,
                                                    worker_device='/job:worker/task:0')):
        v, w = tf.Variable([1.0]), tf.Variable([2.0])
        with tf.device('/device:CPU:1'):
          x = tf.Variable([3.0])
        a = v + w
      self.assertEqual([v.device, w.device, x.device, a.device],
                       ['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:0/device:CPU:1',
                        '/job:worker/task:0'])
      # What writes to a variable is placed with it.
      self.assertEqual([v.initializer.device, v.initializer.colocation_groups()],
                       ['/job:ps/task:0', [b'loc:@Variable']])

  def test_without_parameter_servers(self):
    self.assertIsNone(tf.train.replica_device_setter())
    self.assertIsNone(tf.train.replica_device_setter(cluster={'worker': ['a:1']}))
    with self.assertRaises(TypeError):
      tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)


class ResetTest(unittest.TestCase):

  def test_a_reset_waits_for_its_master_as_long_as_it_may(self):
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with self.assertRaises(tf.errors.DeadlineExceededError):
      tf.Session.reset('grpc://localhost:0', ['c'], config=config)
    with self.assertRaises(tf.errors.UnavailableError):
      tf.Session.reset('grpc://localhost:0', ['c'])


if __name__ == '__main__':
  unittest.main()
