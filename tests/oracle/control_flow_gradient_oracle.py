"""Gradients through Switch, Merge, Enter, Exit and NextIteration: TensorFlow builds a graph with
its first control flow, Leat imports it and adds the gradients. First order must agree with
tf.gradients on that graph; second order, which TensorFlow refuses there, with its functional
control flow."""
import warnings

warnings.filterwarnings('ignore')

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

import capi  # noqa: E402
from outcome import report  # noqa: E402

tf.disable_eager_execution()
LEAT = capi.Library()
CASES = {}


def case(*values, second=True):
  """A function of as many tensors as |values|, which are fed. (The gradient of a TensorArray has no
  gradient in TensorFlow; where second is off for another reason, its own answer is an error.)"""
  def add(build):
    CASES[build.__name__] = (build, [np.array(v, 'f8') for v in values], second)
    return build
  return add


def loop(n, body, *start, **options):
  return tf.while_loop(lambda i, *_: i < n, lambda i, *v: [i + 1] + list(body(i, *v)),
                       [0] + list(start), **options)[1:]


@case([1.5, -0.5])
def power(x):
  return loop(4, lambda i, v: [v * x], x)


@case([1.5, -0.5], [0.3, 2.0])
def two_variables(x, y):
  return loop(3, lambda i, a, b: [a * b, tf.sin(a) + b], x, y)


@case([1.5, -0.5], [0.3, 2.0])
def one_exit_unused(x, y):
  return loop(3, lambda i, a, b: [a * b, b * y + a], x, y)[0]


@case([1.5, -0.5])
def no_iteration(x):
  return loop(0, lambda i, v: [v * v], x)


@case([[1., 2.], [3., 4.]], [[.5, .1], [.2, -.3]])
def matrices(x, w):
  return loop(3, lambda i, v: [tf.tanh(tf.matmul(v, w))], x)


@case([1.5, -0.5], [2.0, 1.0])
def value_does_not_depend_on_itself(x, y):
  return loop(3, lambda i, a, b: [b * b, tf.sin(b)], x, y)


@case([1.5, -0.5])
def nested(x):
  def outer(i, v):
    return [loop(2, lambda j, w: [w * v + tf.sin(w) * x], v)[0]]
  return loop(3, outer, x)


@case([0.9, -0.5])
def nested_three(x):
  def middle(i, v):
    return [loop(2, lambda j, w: [w * v + x * tf.cast(j, tf.float64)], v)[0]]
  def outer(i, v):
    return [loop(2, middle, v * x)[0]]
  return loop(2, outer, x)


@case([1.5, -0.5])
def inner_count_varies(x):
  def outer(i, v):
    return [loop(i, lambda j, w: [w * x + tf.cos(w)], v)[0]]
  return loop(4, outer, x)


@case(0.7, [1.5, -0.5])
def conditional(p, x):
  return tf.cond(p > 0, lambda: x * x * p, lambda: tf.sin(x))


@case(-0.7, [1.5, -0.5])
def conditional_other_side(p, x):
  return tf.cond(p > 0, lambda: x * x * p, lambda: tf.sin(x))


@case(0.7, [1.5, -0.5], [.2, .4])
def one_side_only(p, x, y):
  return tf.cond(p > 0, lambda: x * x, lambda: tf.sin(y))


@case(0.7, -2.0, [1.5, -0.5])
def nested_conditionals(p, q, x):
  return tf.cond(p > 0, lambda: tf.cond(q > 0, lambda: x * x, lambda: x * q * tf.cos(x)),
                 lambda: x * 3)


@case([1.5, -0.5])
def conditional_in_loop(x):
  return loop(5, lambda i, v: [tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: tf.sin(v) + x)],
              x)


@case([1.5, -0.5])
def conditional_on_value_in_loop(x):
  def body(i, v):
    return [tf.cond(tf.reduce_sum(v) > 1.2, lambda: tf.cos(v * v), lambda: v + x * x)]
  return loop(6, body, x)


@case([1.5, -0.5])
def nested_conditionals_in_loop(x):
  def body(i, v):
    inner = lambda: tf.cond(i > 2, lambda: v * tf.sin(v * x), lambda: v * v * 0.5)
    return [tf.cond(tf.equal(i % 2, 0), inner, lambda: v + x)]
  return loop(6, body, x)


@case(0.7, [1.5, -0.5])
def loop_in_conditional(p, x):
  return tf.cond(p > 0, lambda: loop(3, lambda i, v: [v * x * p], x)[0], lambda: tf.sin(x))


@case(-0.7, [1.5, -0.5])
def loop_in_conditional_not_taken(p, x):
  return tf.cond(p > 0, lambda: loop(3, lambda i, v: [v * x * p], x)[0], lambda: tf.sin(x))


@case([1.5, -0.5])
def loop_in_conditional_in_loop(x):
  def body(i, v):
    return [tf.cond(tf.equal(i % 2, 0), lambda: loop(2, lambda j, w: [w * x + tf.sin(w)], v)[0],
                    lambda: v * tf.cos(x))]
  return loop(4, body, x)


@case([1.5, -0.5, 0.25])
def shape_grows(x):
  start = tf.placeholder_with_default(x[:1], [None])
  return loop(3, lambda i, v: [tf.concat([v * x[0], x], 0)], start,
              shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])


@case([[1., 2.], [3., 4.], [5., 6.]])
def rows(table):
  return loop(4, lambda i, v: [v * tf.gather(table, [i % 3, (i + 1) % 3])],
              tf.ones([2, 2], tf.float64))


@case([[1., 2.], [3., 4.], [5., 6.]])
def rows_in_nested_loops(table):
  def outer(i, v):
    return [loop(2, lambda j, w: [w * tf.gather(table, [(i + j) % 3])], v)[0]]
  return loop(3, outer, tf.ones([1, 2], tf.float64))


@case(0.7, [[1., 2.], [3., 4.], [5., 6.]], second=False)
def rows_on_one_side(p, table):
  return tf.cond(p > 0, lambda: tf.gather(table, [2, 0, 2]) ** 2,
                 lambda: tf.ones([3, 2], tf.float64))


@case([1.5, -0.5, 0.25], second=False)
def array_written_and_read(x):
  def body(i, v, flow):
    array = tf.TensorArray(tf.float64, handle=made.handle, flow=flow)
    array = array.write(i, v * x)
    return [tf.sin(v) + x, array.flow]
  if tf.control_flow_v2_enabled():
    made = tf.TensorArray(tf.float64, 4)
    _, _, array = tf.while_loop(lambda i, v, a: i < 4,
                                lambda i, v, a: [i + 1, tf.sin(v) + x, a.write(i, v * x)],
                                [0, x, made])
  else:
    made = tf.TensorArray(tf.float64, 4)
    _, flow = loop(4, body, x, made.flow)
    array = tf.TensorArray(tf.float64, handle=made.handle, flow=flow)
  return array.stack() * x


@case([[1.5, -0.5, 0.25], [1., 2., 3.]], second=False)
def map_and_fold(x):
  mapped = tf.map_fn(lambda row: row * tf.sin(row), x)
  return tf.foldl(lambda a, row: a * row + tf.cos(row), mapped, tf.ones([3], tf.float64))


@case([[1.5, -0.5, 0.25], [1., 2., 3.]], second=False)
def scan(x):
  return tf.scan(lambda a, row: a * row + tf.cos(a), x, tf.ones([3], tf.float64))


@case([[.1, .2], [.3, -.4], [.5, .6]], [[.5, .1], [.2, -.3], [.7, .4], [.1, .9]])
def recurrent_net(xs, w):
  def body(i, h):
    return [tf.tanh(tf.matmul(tf.concat([tf.expand_dims(xs[i], 0), h], 1), w))]
  return loop(3, body, tf.zeros([1, 2], tf.float64))


@case([1.5, -0.5], second=False)
def gradient_inside_the_loop(x):
  return loop(3, lambda i, v: [tf.gradients(tf.sin(v) * x, v)[0] + v], x)


def graph_of(build, values, functional):
  (tf.enable_control_flow_v2 if functional else tf.disable_control_flow_v2)()
  xs = [tf.placeholder(tf.float64, v.shape, 'x%d' % i) for i, v in enumerate(values)]
  return xs, tf.identity(build(*xs), 'y')


def forward_graph(build, values, functional):
  with tf.Graph().as_default() as graph:
    graph_of(build, values, functional)
    return graph.as_graph_def().SerializeToString()


def answers_of_tensorflow(build, values, order):
  with tf.Graph().as_default():
    xs, y = graph_of(build, values, order == 2)
    dxs = tf.gradients(y, xs)
    if order == 2:
      dxs = tf.gradients([d for d in dxs if d is not None], xs)
    dxs = [tf.zeros_like(x) if d is None else tf.convert_to_tensor(d) for d, x in zip(dxs, xs)]
    with tf.Session() as session:
      return session.run(dxs, dict(zip(xs, values)))


def compare(build, values, order, functional):
  wanted = answers_of_tensorflow(build, values, order)
  session = capi.Session(LEAT, forward_graph(build, values, functional))
  names = ['x%d:0' % i for i in range(len(values))]
  ys = ['y:0']
  for _ in range(order):
    dxs = session.gradients(ys, names)
    ys = [d for d in dxs if d]
  got = session.run(ys, dict(zip(names, values)))
  session.close()
  for i, d in enumerate(dxs):
    value = got.pop(0) if d else np.zeros_like(values[i])
    if not np.allclose(value, wanted[i], 1e-9, 1e-9):
      return 'x%d gets %s, not %s' % (i, value.ravel()[:6], wanted[i].ravel()[:6])


for name, (build, values, second) in CASES.items():
  report('control_flow_gradient.%s' % name, compare, build, values, 1, False)
  if second:
    report('control_flow_gradient.%s.second' % name, compare, build, values, 2, False)
  if build is not gradient_inside_the_loop:
    report('control_flow_gradient.%s.functional' % name, compare, build, values, 1, True)
