"""Monitored sessions, hooks, session managers and supervisors."""
import glob
import json
import os
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import leat as tf
from leat._platform import log


class Recorder(tf.train.SessionRunHook):
  """Notes what is called, and asks for `args` in each step."""

  def __init__(self, args=None):
    self.calls, self.args, self.values = [], args, []

  def begin(self):
    self.calls.append('begin')

  def after_create_session(self, session, coord):
    self.calls.append('after_create_session')

  def before_run(self, run_context):
    self.calls.append('before_run')
    return self.args

  def after_run(self, run_context, run_values):
    self.calls.append('after_run')
    self.values.append(run_values)

  def end(self, session):
    self.calls.append('end')


class FailsOnce(tf.train.SessionRunHook):

  def __init__(self, at, error):
    self.left, self.error = at, error

  def before_run(self, run_context):
    self.left -= 1
    if self.left == 0:
      raise self.error


def _events(folder):
  """All events of a folder."""
  return [e for path in sorted(glob.glob(os.path.join(folder, 'events*')))
          for e in tf.train.summary_iterator(path)]


class Logged:
  """The lines that are logged inside of the `with`."""

  def __enter__(self):
    self.lines, self.info, self.warning = [], log.info, log.warning
    log.info = log.warning = lambda text, *args: self.lines.append(text % args if args else text)
    return self.lines

  def __exit__(self, *unused):
    log.info, log.warning = self.info, self.warning


class MonitoredSessionTest(unittest.TestCase):

  def setUp(self):
    self.graph = tf.Graph()
    context = self.graph.as_default()
    context.__enter__()
    self.addCleanup(context.__exit__, None, None, None)
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    self.addCleanup(tf.summary.FileWriterCache.clear)
    self.dir = self.folder.name

  def test_hooks_are_called_in_order(self):
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [])
    y = x * 2
    hook = Recorder(tf.train.SessionRunArgs({'y': y}, feed_dict={x: 4.0}))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
      self.assertEqual(session.run(step), 0)
    self.assertEqual(hook.calls, ['begin', 'after_create_session', 'before_run', 'after_run',
                                  'end'])
    self.assertEqual(hook.values[0].results, {'y': 8.0})

  def test_two_feeds_of_one_tensor_are_refused(self):
    x = tf.placeholder(tf.float32, [])
    y = x * 2
    hooks = [Recorder(tf.train.SessionRunArgs(None, feed_dict={x: 4.0})) for _ in range(2)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
      self.assertRaisesRegex(RuntimeError, 'two hooks', session.run, y)
    with tf.train.MonitoredSession(hooks=hooks[:1]) as session:
      self.assertRaisesRegex(RuntimeError, 'SessionRunHook and user', session.run, y, {x: 1.0})

  def test_preemption_is_recovered_from_a_checkpoint(self):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
    aborted = FailsOnce(4, tf.errors.AbortedError(None, None, 'gone'))
    with tf.train.MonitoredTrainingSession(checkpoint_dir=self.dir, save_checkpoint_steps=2,
                                           hooks=[aborted]) as session:
      self.assertEqual([session.run(train) for _ in range(5)], [1, 2, 3, 3, 4])

  def test_other_errors_are_raised_and_end_is_not_called(self):
    step = tf.train.get_or_create_global_step()
    hook = Recorder()
    session = tf.train.MonitoredSession(hooks=[hook, FailsOnce(2, KeyError('x'))])
    with self.assertRaises(KeyError):
      with session:
        session.run(step)
        session.run(step)
    self.assertNotIn('end', hook.calls)
    self.assertTrue(session.should_stop())
    self.assertRaisesRegex(RuntimeError, 'already closed', session.close)

  def test_the_end_of_the_input_ends_the_loop(self):
    before = set(threading.enumerate())
    rows = tf.train.string_input_producer(['a', 'b', 'c'], num_epochs=1, shuffle=False).dequeue()
    found, hook = [], Recorder()
    with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
      while not session.should_stop():
        found.append(session.run(rows))
    self.assertEqual(found, [b'a', b'b', b'c'])
    self.assertEqual(set(threading.enumerate()) - before, set())

  def test_training_writes_checkpoints_summaries_and_speed(self):
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar('twice', step * 2)
    train = tf.assign_add(step, 1)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=self.dir, save_checkpoint_steps=4, save_summaries_steps=3,
        log_step_count_steps=5, hooks=[tf.train.StopAtStepHook(last_step=10)]) as session:
      while not session.should_stop():
        session.run(train)
    state = tf.train.get_checkpoint_state(self.dir)
    self.assertEqual([os.path.basename(p) for p in state.all_model_checkpoint_paths],
                     ['model.ckpt-0', 'model.ckpt-4', 'model.ckpt-8', 'model.ckpt-10'])
    tf.summary.FileWriterCache.clear()
    events = _events(self.dir)
    tags = [v.tag for e in events for v in e.summary.value]
    self.assertEqual(tags.count('twice'), 4)
    self.assertEqual(tags.count('global_step/sec'), 1)   # the first of two has nothing before it
    with tf.Graph().as_default():
      step = tf.train.get_or_create_global_step()
      with tf.train.SingularMonitoredSession(checkpoint_dir=self.dir) as session:
        self.assertEqual(session.run(step), 10)

  def test_logging_nan_and_final_ops(self):
    loss = tf.placeholder_with_default(1.0, [], name='loss')
    final = tf.train.FinalOpsHook(loss + 1)
    hooks = [tf.train.LoggingTensorHook({'cost': 'loss'}, every_n_iter=2), final,
             tf.train.NanTensorHook(loss, fail_on_nan_loss=False)]
    with Logged() as lines, tf.train.MonitoredSession(hooks=hooks) as session:
      session.run(loss)
      session.run(loss)
      self.assertFalse(session.should_stop())
      session.run(loss, {loss: float('nan')})
      self.assertTrue(session.should_stop())
    lines = [l for l in lines if l.startswith('cost')]
    self.assertEqual(lines[0], 'cost = 1.0')
    self.assertRegex(lines[1], r'cost = nan \(.* sec\)')
    self.assertEqual(len(lines), 2)
    self.assertEqual(final.final_ops_values, 2.0)
    with self.assertRaises(tf.train.NanLossDuringTrainingError):
      with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as session:
        session.run(loss, {loss: float('nan')})

  def test_a_worker_waits_for_the_chief(self):
    server = tf.train.Server.create_local_server()
    v = tf.Variable(3.0)
    local = tf.Variable(v.initialized_value() * 2, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    change = v.assign(5.0)
    scaffold = tf.train.Scaffold().finalize()
    creator = tf.train.WorkerSessionCreator(scaffold, server.target, max_wait_secs=1)
    self.assertRaises(tf.errors.DeadlineExceededError, creator.create_session)
    with tf.Session(server.target) as chief:
      chief.run(scaffold.init_op)
      chief.run(change)
      with creator.create_session() as worker:
        self.assertEqual(list(worker.run([v, local])), [5.0, 10.0])

  def test_a_worker_looks_soon_again(self):
    server = tf.train.Server.create_local_server()
    v = tf.Variable(3.0)
    scaffold = tf.train.Scaffold().finalize()
    waits = []

    def sleep(seconds):
      waits.append(seconds)
      if len(waits) == 9:
        with tf.Session(server.target) as chief:
          chief.run(scaffold.init_op)

    with mock.patch('time.sleep', sleep):
      with tf.train.WorkerSessionCreator(scaffold, server.target).create_session() as worker:
        self.assertEqual(worker.run(v), 3.0)
    self.assertEqual(waits, [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30])

  def test_a_queue_runner_is_still_when_its_session_is_closed(self):
    queue = tf.FIFOQueue(1, tf.float32)
    # Something that is never there keeps the thread from looking whether it shall stop.
    never = tf.FIFOQueue(1, tf.float32).dequeue()
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(never)]))
    one, failed = tf.constant(1), []
    with mock.patch('threading.excepthook', failed.append):
      with tf.train.MonitoredSession(stop_grace_period_secs=0) as session:
        session.run(one)
        threads = [t for t in threading.enumerate() if 'QueueRunnerThread' in t.name]
      for thread in threads:
        thread.join(60)
    self.assertTrue(threads)
    self.assertEqual(failed, [])

  def test_a_traced_step_shows_its_operations(self):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1, name='train')
    with tf.train.SingularMonitoredSession(
        hooks=[tf.train.ProfilerHook(save_steps=2, output_dir=self.dir)]) as session:
      for _ in range(3):
        session.run(train)
    names = [os.path.basename(p) for p in glob.glob(os.path.join(self.dir, 'timeline*'))]
    self.assertEqual(names, ['timeline-2.json'])
    with open(os.path.join(self.dir, names[0]), encoding='utf-8') as f:
      trace = json.load(f)['traceEvents']
    self.assertIn('train', [e['args']['name'] for e in trace if e['ph'] == 'X'])


class TimelineTest(unittest.TestCase):

  def test_rows_flows_and_memory(self):
    stats = tf.RunMetadata().step_stats
    device = stats.dev_stats.add(device='/job:a/replica:0/task:0/device:CPU:0')
    for name, start, length, label, size in (
        ('a', 10, 5, 'a = Const()', 100), ('b', 12, 5, 'b = Neg(a)', 60),
        ('c', 20, 4, 'c = Add(a, b)', 30)):
      node = device.node_stats.add(node_name=name, all_start_micros=start, timeline_label=label,
                                   op_end_rel_micros=length, all_end_rel_micros=length)
      node.output.add().tensor_description.allocation_description.requested_bytes = size
    from leat._train import timeline
    found = timeline.Timeline(stats).analyze_step_stats()
    events = json.loads(found.chrome_trace.format_to_string())['traceEvents']
    self.assertEqual([(e['name'], e['tid']) for e in events if e['ph'] == 'X'],
                     [('Const', 0), ('Neg', 1), ('Add', 0)])
    flows = [(e['ph'], e['name'], e['ts']) for e in events if e['ph'] in 'st']
    self.assertEqual(flows, [('s', 'a', 15), ('t', 'a', 12), ('s', 'b', 17), ('t', 'b', 20)])
    maximum = found.allocator_maximums['cpu']
    self.assertEqual((maximum.num_bytes, maximum.timestamp), (190, 24))
    self.assertEqual(sorted(maximum.tensors), ['a', 'b', 'c'])


class ShardedSaverTest(unittest.TestCase):

  def test_each_device_writes_a_file(self):
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session(
        config=tf.ConfigProto(device_count={'CPU': 2})) as session:
      with tf.device('/cpu:0'):
        a = tf.Variable(1.0, name='a')
      with tf.device('/cpu:1'):
        b = tf.Variable([2.0, 3.0], name='b')
      saver = tf.train.Saver(sharded=True)
      session.run(tf.global_variables_initializer())
      path = saver.save(session, os.path.join(folder, 'model'), global_step=7)
      self.assertEqual(path, os.path.join(folder, 'model-7'))
      self.assertEqual(sorted(os.path.basename(p) for p in glob.glob(path + '*')),
                       ['model-7.data-00000-of-00002', 'model-7.data-00001-of-00002',
                        'model-7.index', 'model-7.meta'])
      session.run([a.assign(0.0), b.assign([0.0, 0.0])])
      saver.restore(session, tf.train.latest_checkpoint(folder))
      self.assertEqual(session.run(a), 1.0)
      self.assertEqual(session.run(b).tolist(), [2.0, 3.0])


class SupervisorTest(unittest.TestCase):

  def test_a_thread_that_fails_ends_the_session(self):
    with tf.Graph().as_default():
      one = tf.constant(1)
      supervisor = tf.train.Supervisor()

      def fails():
        raise ValueError('from a thread')

      with self.assertRaisesRegex(ValueError, 'from a thread'):
        with supervisor.managed_session() as session:
          supervisor.loop(None, fails)
          while not supervisor.should_stop():
            session.run(one)

  def test_the_second_start_restores(self):
    with tempfile.TemporaryDirectory() as folder:
      found = []
      for _ in range(2):
        with tf.Graph().as_default():
          step = tf.train.get_or_create_global_step()
          train = tf.assign_add(step, 1)
          supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0)
          with supervisor.managed_session() as session:
            found.append(session.run(step))
            session.run(train)
            supervisor.saver.save(session, supervisor.save_path, step)
      self.assertEqual(found, [0, 1])
      statuses = [e.session_log.status for e in _events(folder) if e.HasField('session_log')]
      log_ = tf.SessionLog
      self.assertEqual(statuses, [log_.START, log_.STOP] * 2)

  def test_a_second_stop_writes_nothing(self):
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
      tf.train.get_or_create_global_step()
      supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0)
      with warnings.catch_warnings():
        warnings.simplefilter('error')
        with supervisor.managed_session():
          supervisor.stop()
      statuses = [e.session_log.status for e in _events(folder) if e.HasField('session_log')]
      self.assertEqual(statuses, [tf.SessionLog.START, tf.SessionLog.STOP])

  def test_variables_of_workers_need_a_device(self):
    with tf.Graph().as_default():
      tf.Variable(1.0)
      with self.assertRaisesRegex(ValueError, 'must have their device set'):
        tf.train.Supervisor(is_chief=False)


class InitialValueTest(unittest.TestCase):

  def test_variables_of_other_variables_are_initialized_in_any_order(self):
    with tf.Graph().as_default(), tf.Session() as session:
      a = tf.Variable(2.0)
      b = tf.Variable(a * 3.0 + a)
      session.run(b.initializer)
      self.assertEqual(session.run(b), 8.0)
      session.run(a.initializer)
      session.run(a.assign(1.0))
      session.run(b.initializer)   # a is initialized: its value counts
      self.assertEqual(session.run(b), 4.0)


if __name__ == '__main__':
  unittest.main()
