"""A training with checkpoints that goes on where it was interrupted: a program of the tests of
faults.

usage: train.py TARGET FOLDER STEPS PAUSE_MS

Trains for STEPS steps in all, in a MonitoredTrainingSession at TARGET ('' is this process), which
saves into FOLDER every 10 steps. After each step it sleeps for PAUSE_MS milliseconds or, where that
is '-', waits for a line of its input, so that a caller decides between which steps something
happens. Prints a JSON object for each step, {"step": n, "loss": the bits
in hexadecimal digits}, and one with "code" and "message" where the training fails. Each loss
depends on all updates before it, and batches on the number of the step alone, so that a step has
the same loss in each run, whatever was restored before it.
"""
import json
import sys
import time

import leat as tf

SAVE_STEPS = 10
ROWS, COLUMNS = 16, 64


def on(device, target):
  return tf.device(device if target else None)


def build(target):
  with on('/job:ps/task:0', target):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable('w', initializer=tf.fill([COLUMNS, COLUMNS], 0.01), use_resource=True)
  with on('/job:worker/task:0', target):
    before = tf.identity(step)
    phase = tf.cast(before, tf.float32) + tf.reshape(tf.range(ROWS * COLUMNS, dtype=tf.float32),
                                                     [ROWS, COLUMNS])
    x = tf.sin(phase)
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - tf.cos(phase)))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    gradients = optimizer.compute_gradients(loss, [w])
  with tf.control_dependencies([before, loss]):
    train = optimizer.apply_gradients(gradients, global_step=step)
  return before, loss, train


def pause(pause_ms):
  if pause_ms == '-':
    sys.stdin.readline()
  else:
    time.sleep(int(pause_ms) / 1e3)


def main():
  target, folder, steps, pause_ms = sys.argv[1:]
  fetches = build(target)
  config = tf.ConfigProto(operation_timeout_in_ms=60000)
  try:
    with tf.train.MonitoredTrainingSession(
        target, checkpoint_dir=folder, save_checkpoint_secs=None, save_checkpoint_steps=SAVE_STEPS,
        save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
        hooks=[tf.train.StopAtStepHook(last_step=int(steps))], config=config) as session:
      while not session.should_stop():
        before, loss, _ = session.run(fetches)
        print(json.dumps({'step': int(before), 'loss': loss.tobytes().hex()}), flush=True)
        pause(pause_ms)
  except (tf.errors.OpError, OSError) as error:
    print(json.dumps({'code': type(error).__name__, 'message': str(error)}), flush=True)
    sys.exit(3)


if __name__ == '__main__':
  main()
