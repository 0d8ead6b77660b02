"""Ctrl-C: SIGINT ends a step, the program sees KeyboardInterrupt, and the session goes on."""
import unittest

import program

# interrupt(run) calls run, whose step a thread ends by SIGINT. The thread has the GIL for the first
# time when the main thread has begun the step. It sends the signal again where the step goes on.
_BEGIN = '''
import os, signal, threading, time
# A job in the background of a shell begins with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
import leat as tf
x = tf.placeholder(tf.int64, [])
session = tf.Session()
session.run(x, {x: 1})
queue = tf.FIFOQueue(1, tf.int64, [])
element = queue.dequeue()

def interrupt(run, steps=1, wait=0):
  def send():
    while session._session.runs_ < steps: time.sleep(0.001)
    time.sleep(wait)
    while not ended.is_set():
      os.kill(os.getpid(), signal.SIGINT)
      ended.wait(20)
  ended = threading.Event()
  sender = threading.Thread(target=send)
  try:
    sender.start()   # the signal may come before the step does, where there were steps before
    print('returned', run())
  except KeyboardInterrupt:
    print('interrupted')
  finally:
    ended.set()
  sender.join()
  session.run(queue.enqueue(5))
  assert session.run(element) == 5
'''
_ENDED = {
    'a loop without end': '''
endless = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [x])
interrupt(lambda: session.run(endless, {x: 1}))
''',
    'an empty queue': 'interrupt(lambda: session.run(element))',
    'an empty queue, twice': 'for _ in range(2): interrupt(lambda: session.run(element))',
    'a callable': 'interrupt(session.make_callable(element))',
    'a partial run': '''
handle = session.partial_run_setup([element], [])
interrupt(lambda: session.partial_run(handle, element))
''',
    'a function sleeps': '''
asleep = threading.Event()
def sleep(value):
  if value == 1: asleep.wait()
  return value
slept = tf.py_func(sleep, [x], tf.int64)
interrupt(lambda: session.run(slept, {x: 1}))
assert session.run(slept, {x: 2}) == 2
asleep.set()
assert session.run(slept, {x: 3}) == 3
''',
    'a handler is set after a step': '''
signal.signal(signal.SIGINT, lambda *_: None)
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupt(lambda: session.run(element), wait=0.5)
''',
    'a child of fork': '''
child = os.fork()
session = tf.Session()
if child:
  assert os.waitpid(child, 0)[1] == 0
interrupt(lambda: session.run(element))
''',
    'another thread has a step too': '''
found = []
other = tf.FIFOQueue(1, tf.int64, [])
other_element = other.dequeue()
taker = threading.Thread(target=lambda: found.append(session.run(other_element)))
taker.start()
interrupt(lambda: session.run(element), steps=2)
session.run(other.enqueue(9))
taker.join()
assert found == [9], found
''',
}
# The step of a program that handles the signal goes on; the handler runs when it has ended.
_OWN_HANDLER = '''
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
def feed():
  while session._session.runs_ < 1: time.sleep(0.001)
  os.kill(os.getpid(), signal.SIGINT)
  time.sleep(0.3)
  session.run(queue.enqueue(7))
feeder = threading.Thread(target=feed)
feeder.start()
print(session.run(element), seen)
feeder.join()
'''


class InterruptTest(unittest.TestCase):

  def test_a_step_ends(self):
    for name, text in _ENDED.items():
      with self.subTest(name):
        printed = program.run(self, _BEGIN + text, frees='fork' not in text)
        self.assertEqual(set(printed.split()), {'interrupted'})

  def test_a_handler_of_the_program(self):
    self.assertEqual(program.run(self, _BEGIN + _OWN_HANDLER), '7 [1]\n')


if __name__ == '__main__':
  unittest.main()
