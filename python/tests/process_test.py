"""What a process does around the library: interpreters, threads, its end, and its memory."""
import unittest

import program

# A second interpreter is refused, whichever imports first, and the main one is not disturbed.
_INTERPRETERS = '''
import _xxsubinterpreters as interpreters
program = """
try:
  import leat as tf
  tf.constant(1)
except ImportError as error:
  assert 'main interpreter' in str(error), error
else:
  raise AssertionError('imported')
"""
first = interpreters.create()
interpreters.run_string(first, program)
import leat as tf
session = tf.Session()
second = interpreters.create()
for interpreter in (first, second):
  interpreters.run_string(interpreter, program)
  interpreters.destroy(interpreter)
  assert session.run(tf.constant(3)) == 3
'''
# Steps that compute, and steps that wait for ever, are under way when the interpreter ends.
_END_AMID_STEPS = '''
import threading, leat as tf
x = tf.random_normal([300, 300])
steps = [tf.reduce_sum(tf.matmul(x, x)), tf.FIFOQueue(1, tf.int64, []).dequeue()]
session = tf.Session()
begun = threading.Barrier(len(steps) + 1)
def run(step):
  begun.wait()
  while True: session.run(step)
for step in steps: threading.Thread(target=run, args=[step], daemon=True).start()
begun.wait()
while session._session.runs_ < len(steps): pass
'''
# Whatever holds something of the library is freed by a thread that did not make it.
_FREED_ELSEWHERE = '''
import gc, queue, threading
import numpy as np
import leat as tf
given = queue.Queue()
def free():
  while given.get() is not None: gc.collect()
freeing = threading.Thread(target=free)
freeing.start()
for _ in range(20):
  with tf.Graph().as_default() as graph:
    v = tf.Variable(np.ones(10000, np.float32))
    y = v * 2.0
    session = tf.Session()
    session.run(v.initializer)
    made = [graph, v, y, session, session.make_callable(y), session.run(y),
            session.run(tf.get_session_handle(y)), tf.GraphDef.FromString(
                graph.as_graph_def().SerializeToString())]
  del graph, v, y, session
  while made: given.put(made.pop())
given.put(None)
freeing.join()
'''
# A child that makes a session of its own uses several threads, though it has none of its parent's,
# which have steps under way at the fork.
_FORK = '''
import os, threading
import leat as tf
def sums():
  x = tf.random_normal([600, 600])
  return tf.add_n([tf.reduce_sum(tf.matmul(x, x * float(i))) for i in range(4)])
def run():
  while not ended.is_set(): session.run(y)
y = sums()
session = tf.Session()
session.run(y)
ended = threading.Event()
threads = [threading.Thread(target=run) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(3):
  child = os.fork()
  if not child:
    with tf.Graph().as_default(), tf.Session() as own: own.run(sums())
    os._exit(0)
  assert os.waitpid(child, 0)[1] == 0
ended.set()
for thread in threads: thread.join()
'''
# |name| runs often; the second half of the rounds may add |limit| kB to what the process holds.
_MEMORY = '''
import re
import numpy as np
import leat as tf

def held():
  # Other files in /proc tell what each core counted a while ago.
  with open('/proc/self/smaps_rollup') as f:
    return int(re.search(r'^Rss: +([0-9]+) kB', f.read(), re.M).group(1))

def watch(name, rounds, limit, once):
  for _ in range(rounds // 2): once()
  before = held()
  for _ in range(rounds // 2): once()
  assert held() - before < limit, '%s: %d kB more' % (name, held() - before)

def graph():
  with tf.Graph().as_default():
    v = tf.Variable([1.0, 2.0])
    gradient = tf.gradients(v * v, v)
    with tf.Session() as session:
      session.run(v.initializer)
      session.run(gradient)

x = tf.placeholder(tf.float32, [None])
y = x * 2.0
fed = np.ones(100, np.float32)
session = tf.Session()
function = session.make_callable(y, [x])
watch('run', 20000, 256, lambda: session.run(y, {x: fed}))
watch('a callable', 20000, 256, lambda: function(fed))
watch('graphs', 200, 1024, graph)
'''


class ProcessTest(unittest.TestCase):

  def test_interpreters(self):
    program.run(self, _INTERPRETERS)

  def test_the_end_amid_steps(self):
    program.run(self, _END_AMID_STEPS, frees=False)

  def test_freed_by_another_thread(self):
    program.run(self, _FREED_ELSEWHERE)

  @unittest.skipIf(program.SANITIZED, "in a child, ASan's allocator waits for locks that threads "
                   'of the parent held')
  def test_a_fork_amid_steps(self):
    program.run(self, _FORK, frees=False)

  @unittest.skipIf(program.SANITIZED, 'sanitizers keep freed memory')
  def test_memory_is_flat(self):
    program.run(self, _MEMORY)


if __name__ == '__main__':
  unittest.main()
