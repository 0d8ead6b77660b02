"""Where a process is in a cluster, by the variable TF_CONFIG, which `leat launch` sets."""
import json
import os

import leat as tf


class _LastTokens(tf.train.SessionRunHook):
  """Lets every worker end its last steps. The chief makes no tokens after its end, and quick
  workers may have taken more than one an update. A slow worker needs two more: for the step in
  which the last update came, and for the next one, in which it sees that it was the last."""

  def __init__(self, optimizer, workers):
    self._optimizer, self._workers = optimizer, workers

  def begin(self):
    self._give = self._optimizer.get_init_tokens_op(2 * self._workers)

  def end(self, session):
    session.run(self._give)


class Place:
  """A task of the cluster, or the only process where there is none.

  Attributes:
    target: what a session names as its master.
    cluster: a ClusterSpec, or None.
    job, index: the task; workers: how many tasks the job 'worker' has.
  """

  def __init__(self):
    self.target, self.cluster, self.job, self.index, self.workers = '', None, 'worker', 0, 1
    if 'TF_CONFIG' in os.environ:
      config = json.loads(os.environ['TF_CONFIG'])
      self.cluster = tf.train.ClusterSpec(config['cluster'])
      self.job, self.index = config['task']['type'], config['task']['index']
      self.workers = self.cluster.num_tasks('worker')
      self._server = tf.train.Server(self.cluster, self.job, self.index)
      self.target = self._server.target

  @property
  def is_chief(self):
    return self.index == 0

  def serve(self):
    """Does not return in a task that computes nothing of its own."""
    if self.job != 'worker':
      self._server.join()

  def device(self):
    """Variables go to the parameter servers in turn, all else to this worker."""
    return tf.train.replica_device_setter(cluster=self.cluster,
                                          worker_device='/job:worker/task:%d' % self.index)

  def config(self):
    """Of a session: a worker needs the parameter servers only, and others may come and go."""
    if self.cluster is None:
      return None
    return tf.ConfigProto(device_filters=['/job:ps', '/job:worker/task:%d' % self.index])

  def synchronous(self, optimizer, backup=0):
    """(an optimizer whose updates are the mean of the gradients of all workers but |backup|, the
    hooks that a session with it needs)."""
    if self.cluster is None:
      return optimizer, []
    optimizer = tf.train.SyncReplicasOptimizer(
        optimizer, replicas_to_aggregate=self.workers - backup, total_num_replicas=self.workers)
    # Tokens are what lets a worker begin its next step. With some to begin with, a fast worker
    # would take two steps before a slow one has taken its first.
    hooks = [optimizer.make_session_run_hook(self.is_chief, num_tokens=0)]
    if self.is_chief:
      hooks.append(_LastTokens(optimizer, self.workers))
    return optimizer, hooks

  def session(self, folder, hooks, report):
    """A monitored session; the chief writes checkpoints, and each |report| steps summaries."""
    return tf.train.MonitoredTrainingSession(
        self.target, self.is_chief, checkpoint_dir=folder, config=self.config(), hooks=hooks,
        save_summaries_steps=report,
        # The thread that applies the updates waits for gradients that will not come any more.
        stop_grace_period_secs=1)
