"""A task of bench/simulate.py: simulate_task.py [--alone] MODEL FOLDER SECONDS

`leat launch` starts it. With --alone there are workers only, each with its own variables.

The parameter server serves. Each worker builds the model, waits until all are ready, takes steps of
its own for SECONDS, and writes what it saw into FOLDER: the steps that ended within the time that
all share, the seconds of its processor, and those of the server's. Processes use one thread for
kernels, so that what a step needs of the machine does not depend on how many cores are free.
"""
import json
import os
import resource
import sys
import time

import leat as tf


def perceptron():
  """A step that mostly computes: 1.8 million parameters and a batch of 128."""
  x = tf.random_uniform([128, 784], seed=1)
  for size in (1024, 1024, 10):
    x = tf.layers.dense(x, size, tf.nn.relu)
  return tf.reduce_mean(tf.square(x))


def parameters():
  """A step that mostly carries parameters: 4 million of them, whose gradients are themselves."""
  weights = [tf.get_variable('w%d' % i, [1000000]) for i in range(4)]
  return tf.add_n([tf.nn.l2_loss(w) for w in weights])


def null():
  """A step of next to nothing: calls, and what Python does for them."""
  return tf.square(tf.get_variable('w', []))


class Meeting:
  """Where the workers wait for each other: files in a folder."""

  def __init__(self, folder, workers):
    self._folder, self._workers = folder, workers

  def wait(self, name, index):
    open(os.path.join(self._folder, '%s.%d' % (name, index)), 'w').close()
    paths = [os.path.join(self._folder, '%s.%d' % (name, i)) for i in range(self._workers)]
    while not all(map(os.path.exists, paths)):
      time.sleep(.01)
    return max(map(os.path.getmtime, paths))


def own_seconds():
  usage = resource.getrusage(resource.RUSAGE_SELF)
  return usage.ru_utime + usage.ru_stime


def seconds_of(process):
  fields = open('/proc/%d/stat' % process).read().rsplit(')', 1)[1].split()
  return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def build(model, device):
  with tf.device(device):
    train = tf.train.GradientDescentOptimizer(1e-6).minimize(globals()[model]())
  return train, tf.global_variables_initializer()


def idle_seconds():
  """Of all cores together."""
  fields = open('/proc/stat').readline().split()
  return (int(fields[4]) + int(fields[5])) / os.sysconf('SC_CLK_TCK')


def count_steps(step, meeting, index, seconds, server):
  """What is written into the report."""
  for _ in range(10):
    step()
  begin = meeting.wait('ready', index) + .2  # by the clock of files, which all share
  while time.time() < begin:
    step()
  count, start = 0, time.time()
  cpu, of_server, idle = own_seconds(), seconds_of(server), idle_seconds()
  while time.time() < begin + seconds:
    step()
    count += 1
  report = {'steps': count, 'seconds': time.time() - start, 'cpu': own_seconds() - cpu,
            'server': seconds_of(server) - of_server, 'idle': idle_seconds() - idle}
  meeting.wait('done', index)
  return report


def main():
  is_alone = sys.argv[1] == '--alone'
  model, folder, seconds = sys.argv[-3], sys.argv[-2], float(sys.argv[-1])
  place = json.loads(os.environ['TF_CONFIG'])
  cluster, index = tf.train.ClusterSpec(place['cluster']), place['task']['index']
  config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
  target, device, process = '', None, os.getpid()
  if not is_alone:
    server = tf.train.Server(cluster, place['task']['type'], index, config=config)
    if place['task']['type'] == 'ps':
      with open(os.path.join(folder, 'server'), 'w') as f:
        f.write(str(process))
      server.join()
    own = '/job:worker/task:%d' % index
    config.device_filters.extend(['/job:ps', own])
    target = server.target
    device = tf.train.replica_device_setter(cluster=cluster, worker_device=own)
  meeting = Meeting(folder, cluster.num_tasks('worker'))
  train, initialize = build(model, device)
  with tf.Session(target, config=config) as session:
    if index == 0 or is_alone:
      session.run(initialize)
    meeting.wait('initialized', index)
    if not is_alone:
      process = int(open(os.path.join(folder, 'server')).read())
    report = count_steps(session.make_callable([train]), meeting, index, seconds, process)
  with open(os.path.join(folder, 'report.%d' % index), 'w') as f:
    json.dump(report, f)


if __name__ == '__main__':
  main()
