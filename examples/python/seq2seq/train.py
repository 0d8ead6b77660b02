"""Trains the translator of dates: python train.py --train_dir /tmp/dates

With --devices its four layers lie on /cpu:0 to /cpu:3 of this process. Under

    leat launch -n 1 --ps 3 -- python train.py --train_dir /tmp/dates

they lie on four tasks: the worker has the first layer and runs this loop, the others serve.
"""
import json
import os
import time

import leat as tf
import numpy as np

import dates
import model

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-dates', 'Folder of checkpoints and summaries.')
flags.DEFINE_integer('steps', 1000, 'Steps in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 64, 'Pairs a step.')
flags.DEFINE_integer('units', 96, 'Units of each layer.')
flags.DEFINE_integer('report', 100, 'Steps between two reports.')
flags.DEFINE_bool('devices', False, 'Whether each layer gets a CPU device of its own.')
flags.DEFINE_integer('seed', 1, 'Of the initial values and of the dates.')
flags.DEFINE_bool('smoke', False, 'A few steps of a small model, to see that all works.')
FLAGS = flags.FLAGS


def placement():
  """(devices of the layers, the session's master, its config), as the flags and TF_CONFIG say.

  A task that is no worker serves here until it is ended.
  """
  if 'TF_CONFIG' in os.environ:
    place = json.loads(os.environ['TF_CONFIG'])
    server = tf.train.Server(place['cluster'], place['task']['type'], place['task']['index'])
    if place['task']['type'] != 'worker':
      server.join()
    devices = ['/job:worker/task:0'] + ['/job:ps/task:%d' % i for i in range(model.LAYERS - 1)]
    return devices, server.target, None
  if FLAGS.devices:
    devices = ['/device:CPU:%d' % i for i in range(model.LAYERS)]
    return devices, '', tf.ConfigProto(device_count={'CPU': model.LAYERS})
  return [None] * model.LAYERS, '', None


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size, FLAGS.units, FLAGS.report = 4, 8, 16, 2
  devices, master, config = placement()
  tf.set_random_seed(FLAGS.seed)
  translator = model.Model(FLAGS.units, devices)
  unseen = dates.batch(np.random.RandomState(0), 4 * FLAGS.batch_size)

  def feed(pairs):
    return dict(zip((translator.source, translator.length, translator.target), pairs))

  def evaluate(step_context):
    return step_context.session.run([translator.global_step, translator.accuracy], feed(unseen))

  with tf.train.MonitoredTrainingSession(
      master, checkpoint_dir=FLAGS.train_dir, config=config, save_summaries_steps=FLAGS.report,
      hooks=[tf.train.StopAtStepHook(last_step=FLAGS.steps)]) as session:
    # A run that goes on must not see the dates of its first steps again. (Hooks are not called for
    # what run_step_fn() runs: it is no step.)
    step, _ = session.run_step_fn(evaluate)
    random = np.random.RandomState(FLAGS.seed + step)
    start = time.time()
    while not session.should_stop():
      loss, _ = session.run([translator.loss, translator.train_op],
                            feed(dates.batch(random, FLAGS.batch_size)))
      step += 1
      if step % FLAGS.report == 0:
        _, exact = session.run_step_fn(evaluate)
        print('step %d, loss %.4f, exact %.1f %%, %.0f s'
              % (step, loss, 100 * exact, time.time() - start), flush=True)

  report(translator, unseen, feed, master, config)


def report(translator, unseen, feed, master, config):
  """Prints how many unseen dates are translated exactly, and the first of them."""
  with tf.Session(master, config=config) as session:
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(FLAGS.train_dir))
    exact, ids = session.run([translator.accuracy, translator.translation], feed(unseen))
  for source, translated in list(zip(unseen[0], ids))[:5]:
    print('%-30s %s' % (dates.decode(source), dates.decode(translated)))
  print('exact: %.1f %%' % (100 * exact))


if __name__ == '__main__':
  tf.app.run()
