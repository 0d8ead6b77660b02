"""Deep Q-learning (Mnih et al. 2015) on a pole that is balanced on a cart: python dqn.py

A network estimates the return of each action in a state. The agent acts by it, mostly, and learns
from a memory of transitions, drawn at random, so that one batch is not one stretch of one episode.
The targets come from a copy of the network that follows slowly, or learning would chase itself.
The environment is forty lines of numpy, below. An episode is over when the pole falls or after 200
steps, each of which is a reward of 1, so that 200 is the best return.
"""
import collections
import math
import time

import leat as tf
import numpy as np

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-dqn', 'Folder of checkpoints and summaries.')
flags.DEFINE_integer('steps', 30000, 'Steps in all at most, those of earlier runs included.')
flags.DEFINE_float('solved', 195.0, 'Ends when the mean return of 20 greedy episodes is this.')
flags.DEFINE_integer('batch_size', 64, 'Transitions a step of learning.')
flags.DEFINE_integer('memory', 20000, 'Transitions remembered.')
flags.DEFINE_integer('warm_up', 500, 'Steps of random actions before learning begins.')
flags.DEFINE_integer('evaluate', 1000, 'Steps between two evaluations.')
flags.DEFINE_float('learning_rate', 1e-3, 'Of Adam.')
flags.DEFINE_float('discount', 0.99, 'Of the return.')
flags.DEFINE_integer('seed', 1, 'Of the initial values, the actions and the environment.')
flags.DEFINE_bool('smoke', False, 'A few steps, to see that all works.')
FLAGS = flags.FLAGS

STATE, ACTIONS, LONGEST = 4, 2, 200
Transition = collections.namedtuple('Transition', 'state action reward next_state over')


class CartPole:
  """A cart on a track with a pole on it, as Barto, Sutton and Anderson (1983) describe it.

  The state is the cart's place and speed, and the pole's angle and angular speed. Actions 0 and 1
  push the cart to the left and to the right.
  """
  GRAVITY, FORCE, INTERVAL = 9.8, 10.0, 0.02
  CART, POLE, HALF_LENGTH = 1.0, 0.1, 0.5
  WIDEST, STEEPEST = 2.4, math.radians(12)

  def __init__(self, random):
    self._random = random
    self.reset()

  def reset(self):
    self.state = self._random.uniform(-0.05, 0.05, STATE)
    self._steps = 0
    return self.state

  def step(self, action):
    """(state, reward, whether the pole fell, whether the episode ended)."""
    x, speed, angle, turning = self.state
    force = self.FORCE if action == 1 else -self.FORCE
    mass = self.CART + self.POLE
    sine, cosine = math.sin(angle), math.cos(angle)
    push = (force + self.POLE * self.HALF_LENGTH * turning ** 2 * sine) / mass
    turn = (self.GRAVITY * sine - cosine * push) / (
        self.HALF_LENGTH * (4.0 / 3.0 - self.POLE * cosine ** 2 / mass))
    acceleration = push - self.POLE * self.HALF_LENGTH * turn * cosine / mass
    self.state = np.array([x, speed, angle, turning]) + self.INTERVAL * np.array(
        [speed, acceleration, turning, turn])
    self._steps += 1
    fell = abs(self.state[0]) > self.WIDEST or abs(self.state[2]) > self.STEEPEST
    return self.state, 1.0, fell, fell or self._steps >= LONGEST


def q_network(states, scope):
  """The estimated return of each action, [batch, ACTIONS]."""
  with tf.variable_scope(scope):
    hidden = tf.layers.dense(states, 64, tf.nn.relu)
    hidden = tf.layers.dense(hidden, 64, tf.nn.relu)
    return tf.layers.dense(hidden, ACTIONS)


class Agent:
  """The graph: placeholders of a batch of transitions, greedy (the best action of each state),
  train_op, and update_target, by which the copy follows the network."""

  def __init__(self):
    self.states = tf.placeholder(tf.float32, [None, STATE], 'states')
    self.actions = tf.placeholder(tf.int32, [None], 'actions')
    self.rewards = tf.placeholder(tf.float32, [None], 'rewards')
    self.next_states = tf.placeholder(tf.float32, [None, STATE], 'next_states')
    self.over = tf.placeholder(tf.float32, [None], 'over')

    values = q_network(self.states, 'online')
    self.greedy = tf.argmax(values, axis=1)
    taken = tf.reduce_sum(values * tf.one_hot(self.actions, ACTIONS), axis=1)
    future = tf.reduce_max(q_network(self.next_states, 'target'), axis=1)
    target = tf.stop_gradient(self.rewards + FLAGS.discount * (1.0 - self.over) * future)
    self.loss = tf.losses.huber_loss(target, taken)

    online, copy = (tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope + '/')
                    for scope in ('online', 'target'))
    self.global_step = tf.train.get_or_create_global_step()
    self.count_step = tf.assign_add(self.global_step, 1)  # of the environment
    self.train_op = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(
        self.loss, var_list=online)
    self.update_target = tf.group(*(c.assign_add(0.01 * (o - c)) for c, o in zip(copy, online)))
    self.copy_target = tf.group(*(c.assign(o) for c, o in zip(copy, online)))
    self.mean_return = tf.placeholder(tf.float32, [], 'mean_return')
    self.summary = tf.summary.merge([tf.summary.scalar('loss', self.loss),
                                     tf.summary.scalar('return', self.mean_return)])

  def feed(self, transitions):
    batch = Transition(*(np.array(column) for column in zip(*transitions)))
    return {self.states: batch.state, self.actions: batch.action, self.rewards: batch.reward,
            self.next_states: batch.next_state, self.over: batch.over}


def mean_return(act, episodes=20):
  """Of greedy episodes in an environment whose beginnings are the same each time."""
  environment, total = CartPole(np.random.RandomState(0)), 0.0
  for _ in range(episodes):
    state, ended = environment.reset(), False
    while not ended:
      state, reward, _, ended = environment.step(act([state])[0])
      total += reward
  return total / episodes


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.warm_up, FLAGS.evaluate = 60, 20, 60
  tf.set_random_seed(FLAGS.seed)
  agent, saver = Agent(), tf.train.Saver()
  with tf.Session() as session:
    latest = tf.train.latest_checkpoint(FLAGS.train_dir)
    if latest:
      saver.restore(session, latest)
    else:
      session.run(tf.global_variables_initializer())
      session.run(agent.copy_target)
    writer = tf.summary.FileWriter(FLAGS.train_dir, session.graph)
    step, solved = train(session, agent, saver, writer)
    writer.close()
    print('step %d: mean return %.1f' % (step, solved))


def train(session, agent, saver, writer):
  """Acts and learns to the last step, or to the return that is wanted; (step, mean return)."""
  # Calls of these cost less than those of Session.run(), which looks at its arguments each time.
  act = session.make_callable(agent.greedy, [agent.states])
  count_step = session.make_callable(agent.count_step)
  first = step = session.run(agent.global_step)
  random = np.random.RandomState(FLAGS.seed + step)
  environment, memory = CartPole(random), collections.deque(maxlen=FLAGS.memory)
  state, start, result = environment.reset(), time.time(), mean_return(act)
  while step < FLAGS.steps and result < FLAGS.solved:
    step = count_step()
    exploring = max(0.05, 1.0 - step / 5000)
    action = random.randint(ACTIONS) if random.rand() < exploring else act([state])[0]
    next_state, reward, fell, ended = environment.step(action)
    memory.append(Transition(state, action, reward, next_state, float(fell)))
    state = environment.reset() if ended else next_state
    if step - first < FLAGS.warm_up:
      continue
    chosen = random.randint(len(memory), size=FLAGS.batch_size)
    feed = agent.feed([memory[i] for i in chosen])
    session.run(agent.train_op, feed)
    session.run(agent.update_target)
    if step % FLAGS.evaluate == 0:
      result = mean_return(act)
      loss, summary = session.run([agent.loss, agent.summary],
                                  {agent.mean_return: result, **feed})
      writer.add_summary(summary, step)
      saver.save(session, FLAGS.train_dir + '/model.ckpt', global_step=step)
      print('step %d, loss %.4f, mean return %.1f, %.0f s'
            % (step, loss, result, time.time() - start), flush=True)
  return step, result


if __name__ == '__main__':
  tf.app.run()
