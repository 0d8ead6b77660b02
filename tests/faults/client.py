"""A client of a cluster that does what it is told: a program of the tests of faults.

usage: client.py TARGET

Reads commands from its standard input, one JSON object a line, carries each out in a thread of its
own, and answers with a JSON object of the same "id": "code", the name of a status, and "value" or
"message". The commands are

  {"do": "open", "session": NAME, "timeout_ms": N}        a session at TARGET
  {"do": "run", "session": NAME, "step": STEP, "timeout_ms": N}
  {"do": "close", "session": NAME}

where STEP is one of the steps that build() makes. The ps and the worker are the tasks 0 of jobs of
these names.
"""
import json
import sys
import threading

import leat as tf

LARGE = 2_000_000  # floats


def build():
  """-> the graph, {name of a step: what it fetches}"""
  with tf.Graph().as_default() as graph:
    with tf.device('/job:ps/task:0'):
      counter = tf.get_variable('counter', initializer=tf.constant(0, tf.int64), use_resource=True)
      counted = counter.assign_add(1)
      queue = tf.FIFOQueue(1000, tf.float32, [[]], shared_name='queue')
      taken = queue.dequeue()
      put = queue.enqueue(3.0)
      large = tf.random.stateless_uniform([LARGE], seed=[1, 2])
    with tf.device('/job:worker/task:0'):
      steps = {
          'init': counter.initializer,
          'count': tf.identity(counted),                # the counter of the ps, one higher
          'wait': tf.negative(taken),                   # for an element of the queue of the ps
          'put': put,
          'own': tf.negative(tf.random.stateless_uniform([], seed=[3, 4])),  # needs no ps
          'sum': tf.reduce_sum(large),                  # 8 MB from ps to worker
          'large': tf.identity(large),                  # and on to the client
      }
    steps['where'] = tf.constant(1.0)
  return graph, steps


def carry_out(command, target, graph, steps, sessions):
  name = command['session']
  if command['do'] == 'open':
    config = tf.ConfigProto(operation_timeout_in_ms=command['timeout_ms'])
    sessions[name] = tf.Session(target, graph=graph, config=config)
  elif command['do'] == 'close':
    sessions.pop(name).close()
  else:
    options = tf.RunOptions(timeout_in_ms=command['timeout_ms'])
    value = sessions[name].run(steps[command['step']], options=options)
    return float(value.sum()) if command['step'] == 'large' else value and float(value)
  return None


def answer(command, *how):
  result = {'id': command['id'], 'code': 'OK'}
  try:
    result['value'] = carry_out(command, *how)
  except tf.errors.OpError as error:
    result.update(code=error_name(error), message=error.message)
  print(json.dumps(result), flush=True)


def error_name(error):
  """DEADLINE_EXCEEDED of a DeadlineExceededError."""
  names = (name for name in dir(tf.errors) if name.isupper())
  return next(name for name in names if getattr(tf.errors, name) == error.error_code)


def main():
  graph, steps = build()
  sessions = {}
  print(json.dumps({'id': 0}), flush=True)
  for line in sys.stdin:
    how = (json.loads(line), sys.argv[1], graph, steps, sessions)
    threading.Thread(target=answer, args=how, daemon=True).start()


if __name__ == '__main__':
  main()
