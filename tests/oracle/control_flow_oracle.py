"""Conditionals and loops that are built through leat/control_flow.h: each program below is written
once and run by two front ends, TensorFlow's own tf.while_loop and tf.cond (with its first control
flow) and a small one over Leat's C API, which does no bookkeeping of contexts. The graphs must be
the same, node for node: names, ops, inputs, control inputs, devices, colocation, frames and what
is known of shapes. Then both run them, and their gradients, and the values must agree."""
import ctypes
import warnings

warnings.filterwarnings('ignore')

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

import capi  # noqa: E402
from flow_front_ends import LEAT, Leat, Output, TensorFlow  # noqa: E402
from outcome import report  # noqa: E402

PROGRAMS = {}


def program(**feeds):
  """A function of a front end, which returns what is fetched. Its gradients by the floats that are
  fed are compared too."""
  def add(build):
    PROGRAMS[build.__name__] = (build, {k: np.float32(v) if isinstance(v, float) else np.array(v)
                                        for k, v in feeds.items()})
    return build
  return add


def add(f, x, y, **o):
  return f.op('AddV2', x=x, y=y, **o)


def mul(f, x, y, **o):
  return f.op('Mul', x=x, y=y, **o)


def less(f, x, y):
  return f.op('Less', x=x, y=y)


def x_of(f):
  return f.feed('x', tf.float32)


@program(x=1.5)
def sum_loop(f):
  x, limit, zero = x_of(f), f.constant(5), f.constant(0)
  return f.loop(lambda i, v: less(f, i, limit),
                lambda i, v: [add(f, i, f.constant(1)), mul(f, v, x)], [zero, x])


@program(x=1.5)
def conditional(f):
  x, zero = x_of(f), f.constant(0.)
  return f.conditional(less(f, zero, x), lambda: mul(f, x, x), lambda: f.op('Neg', x=x))


@program(x=-1.5)
def conditional_with_outer_results_and_constants(f):
  x, zero = x_of(f), f.constant(0.)
  return f.conditional(less(f, zero, x), lambda: [x, f.constant(7.), zero],
                       lambda: [zero, mul(f, x, f.constant(2.)), f.op('Sin', x=x)])


@program(x=1.1)
def nested_loops(f):
  x, two, three, zero = x_of(f), f.constant(2), f.constant(3), f.constant(0)
  def outer(i, v):
    inner = f.loop(lambda j, w: less(f, j, two),
                   lambda j, w: [add(f, j, f.constant(1)), add(f, mul(f, w, v), x)], [zero, v])
    return [add(f, i, f.constant(1)), inner[1]]
  return f.loop(lambda i, v: less(f, i, three), outer, [zero, x])


@program(x=1.1)
def conditional_in_loop(f):
  x, four, two, zero = x_of(f), f.constant(4), f.constant(2), f.constant(0)
  def body(i, v):
    part = f.conditional(less(f, i, two), lambda: mul(f, v, x), lambda: add(f, f.op('Sin', x=v), x))
    return [add(f, i, f.constant(1)), part[0]]
  return f.loop(lambda i, v: less(f, i, four), body, [zero, x])


@program(x=1.1)
def loop_in_conditional(f):
  x, three, zero = x_of(f), f.constant(3), f.constant(0)
  def true():
    return f.loop(lambda i, v: less(f, i, three),
                  lambda i, v: [add(f, i, f.constant(1)), mul(f, v, x)], [zero, x])[1]
  return f.conditional(less(f, f.constant(0.), x), true, lambda: f.op('Cos', x=x))


@program(x=0.9)
def everything_nested(f):
  x, three, zero, one = x_of(f), f.constant(3), f.constant(0), f.constant(1)
  def body(i, v):
    def true():
      inner = f.loop(lambda j, w: less(f, j, i), lambda j, w: [add(f, j, one), mul(f, w, x)],
                     [zero, v], name='inner')[1]
      return f.conditional(less(f, inner, x), lambda: [mul(f, inner, v)],
                           lambda: [f.op('Sin', x=inner)])[0]
    part = f.conditional(less(f, one, i), true, lambda: add(f, v, x), name='outer')
    return [add(f, i, one), part[0]]
  return f.loop(lambda i, v: less(f, i, three), body, [zero, x])


@program(x=1.1)
def constant_in_a_loop_in_a_loop(f):
  x, two, zero, one = x_of(f), f.constant(2), f.constant(0), f.constant(1)
  def outer(i, v):
    inner = f.loop(lambda j, w: less(f, j, two),
                   lambda j, w: [add(f, j, one), add(f, mul(f, x, x), w)], [zero, x])
    return [add(f, i, one), add(f, v, inner[1])]
  return f.loop(lambda i, v: less(f, i, two), outer, [zero, x])


@program(x=1.5)
def maximum_iterations(f):
  x = x_of(f)
  return f.loop(lambda v: less(f, v, f.constant(100.)), lambda v: mul(f, v, x), [x],
                maximum_iterations=3)


@program(x=1.5)
def maximum_iterations_in_a_conditional(f):
  x = x_of(f)
  def true():
    return f.loop(lambda v, w: less(f, v, f.constant(100.)), lambda v, w: [mul(f, v, x), v], [x, x],
                  maximum_iterations=3, parallel_iterations=4)
  return f.conditional(less(f, f.constant(0.), x), true, lambda: [x, x])


@program(x=1.5)
def loop_after_operations(f):
  x, limit, zero = x_of(f), f.constant(3), f.constant(0)
  before = f.op('Neg', x=x)
  with f.after([before]):
    return f.loop(lambda i, v: less(f, i, limit),
                  lambda i, v: [add(f, i, f.constant(1)), mul(f, v, x)], [zero, x])


@program(x=1.5)
def conditional_after_operations(f):
  x, zero = x_of(f), f.constant(0.)
  before = f.op('Neg', x=x)
  with f.after([before]):
    return f.conditional(less(f, zero, x), lambda: mul(f, x, f.constant(3.)),
                         lambda: f.op('Neg', x=x))


@program(x=1.5)
def control_inputs_from_outside(f):
  x, limit, zero = x_of(f), f.constant(3), f.constant(0)
  before = f.op('Neg', x=x)
  def body(i, v):
    with f.after([before]):
      part = mul(f, v, x)
      one = f.constant(1)
    return [add(f, i, one), part]
  return f.loop(lambda i, v: less(f, i, limit), body, [zero, x])


@program(x=1.5)
def operations_as_results(f):
  x, zero = x_of(f), f.constant(0.)
  def true():
    with f.after([f.op('Neg', x=x)]):
      return f.op('NoOp')
  return f.conditional(less(f, zero, x), true, lambda: f.op('NoOp')) + [f.op('Neg', x=x)]


@program(x=1.5)
def devices(f):
  with f.device('/device:CPU:0'):
    x, limit, zero = x_of(f), f.constant(3), f.constant(0)
  def body(i, v):
    with f.device('/device:CPU:0'):
      part = f.conditional(less(f, v, x), lambda: add(f, v, x), lambda: mul(f, v, x))
    return [add(f, i, f.constant(1)), part[0]]
  return f.loop(lambda i, v: less(f, i, limit), body, [zero, x])


@program(x=1.5)
def left_for_a_while(f):
  x, limit, zero = x_of(f), f.constant(3), f.constant(0)
  def body(i, v):
    with f.after(None):
      outside = mul(f, x, f.constant(2.))
    return [add(f, i, f.constant(1)), add(f, v, outside)]
  return f.loop(lambda i, v: less(f, i, limit), body, [zero, x])


@program(x=1.5)
def shape_invariants(f):
  x, limit, zero, axis = x_of(f), f.constant(3), f.constant(0), f.constant(0)
  start = f.op('ExpandDims', input=x, axis=axis)
  def body(i, v):
    return [add(f, i, f.constant(1)), f.op('ConcatV2', values=[v, v], axis=axis)]
  return f.loop(lambda i, v: less(f, i, limit), body, [zero, start], shapes=[(), (None,)])


@program(x=1.5)
def results_from_outside_and_swapped(f):
  x, limit, zero = x_of(f), f.constant(3), f.constant(0)
  return f.loop(lambda i, v, w, u: less(f, i, limit),
                lambda i, v, w, u: [add(f, i, f.constant(1)), w, x, u], [zero, x, x, x])


@program(x=1.5)
def references(f):
  x, two, zero, one = x_of(f), f.constant(2), f.constant(0), f.constant(1.)
  v = f.variable('v')
  def body(i, w):
    added = f.op('AssignAdd', ref=v, value=x)
    def true():
      return f.op('Identity', input=f.op('AssignSub', ref=v, value=one))
    with f.after([added]):
      part = f.conditional(less(f, x, w), true, lambda: w)
    return [add(f, i, f.constant(1)), add(f, part[0], x)]
  with f.after([f.op('Assign', ref=v, value=one)]):
    return f.loop(lambda i, w: less(f, i, two), body, [zero, x])


@program(x=1.5)
def resource_variables(f):
  x, two, zero = x_of(f), f.constant(2), f.constant(0)
  v = f.resource('v')
  def body(i, w):
    f.op('AssignAddVariableOp', resource=v, value=x)
    part = f.conditional(less(f, x, w), lambda: mul(f, f.read(v), x), lambda: f.read(v))
    return [add(f, i, f.constant(1)), add(f, part[0], w)]
  with f.after([f.op('AssignVariableOp', resource=v, value=f.constant(3.))]):
    return f.loop(lambda i, w: less(f, i, two), body, [zero, x])


@program(x=1.5)
def arrays(f):
  x, four, zero = x_of(f), f.constant(4), f.constant(0)
  handle, flow = f.array(four)
  def body(i, v, flow):
    flow = f.op('TensorArrayWriteV3', handle=handle, index=i, value=mul(f, v, x), flow_in=flow)
    return [add(f, i, f.constant(1)), add(f, v, x), flow]
  ends = f.loop(lambda i, v, flow: less(f, i, four), body, [zero, x, flow])
  rows = f.op('Range', start=zero, limit=four, delta=f.constant(1))
  return ends[:2] + [f.gather(handle, rows, ends[2])]


@program(x=0.5)
def conditionals_in_conditionals(f):
  x, one, zero = x_of(f), f.constant(1.), f.constant(0.)
  def true():
    inner = f.conditional(less(f, x, one), lambda: [mul(f, x, x), one],
                          lambda: [f.op('Neg', x=one), x])
    return [inner[0], add(f, inner[1], x)]
  return f.conditional(less(f, zero, x), true, lambda: [x, f.conditional(
      less(f, one, x), lambda: f.constant(3.), lambda: mul(f, x, one))[0]])


@program(x=0.5)
def predicates_from_outside(f):
  x, three, zero = x_of(f), f.constant(3), f.constant(0)
  positive, small = less(f, f.constant(0.), x), less(f, x, f.constant(.1))
  def body(i, v):
    part = f.conditional(positive, lambda: mul(f, v, x), lambda: v)
    inner = f.loop(lambda w: small, lambda w: mul(f, w, x), [part[0]])
    return [add(f, i, f.constant(1)), add(f, inner[0], part[0])]
  return f.loop(lambda i, v: less(f, i, three), body, [zero, x])


@program(x=0.5)
def loops_one_after_the_other(f):
  x, three, zero, one = x_of(f), f.constant(3), f.constant(0), f.constant(1)
  def twice(v):
    return f.loop(lambda i, w: less(f, i, three), lambda i, w: [add(f, i, one), add(f, w, x)],
                  [zero, v])[1]
  return f.conditional(less(f, x, f.constant(1.)), lambda: twice(twice(x)),
                       lambda: x) + [twice(twice(x))]


@program(x=0.5)
def five_deep(f):
  x, two, zero, one = x_of(f), f.constant(2), f.constant(0), f.constant(1)
  def nest(depth, v):
    if depth == 0:
      return mul(f, v, add(f, x, f.constant(1.)))
    if depth % 2:
      return f.conditional(less(f, v, f.constant(100.)), lambda: nest(depth - 1, v), lambda: x)[0]
    return f.loop(lambda i, w: less(f, i, two),
                  lambda i, w: [add(f, i, one), nest(depth - 1, w)], [zero, v])[1]
  return [nest(5, x)]


@program(x=0.5)
def calls_of_functions(f):
  x, three, zero = x_of(f), f.constant(3), f.constant(0)
  def body(i, v):
    part = f.conditional(less(f, v, x), lambda: f.call(v), lambda: f.call(x))
    return [add(f, i, f.constant(1)), add(f, f.call(x), mul(f, part[0], f.call(v)))]
  return f.loop(lambda i, v: less(f, i, three), body, [zero, x], shapes=[(), None])


@program(x=0.5)
def imports(f):
  x, three, zero = x_of(f), f.constant(3), f.constant(0)
  def body(i, v):
    part = f.conditional(less(f, v, x), lambda: f.importing(v), lambda: f.importing(x))
    return [add(f, i, f.constant(1)), add(f, f.importing(x), mul(f, part[0], f.importing(v)))]
  return f.loop(lambda i, v: less(f, i, three), body, [zero, x])


def random_program(seed):
  """Statements in branches and bodies, up to three deep, that read whatever is in sight."""
  def build(f):
    random = np.random.RandomState(seed)
    x, two, zero, one = x_of(f), f.constant(2), f.constant(0), f.constant(1)

    def block(seen, depth):
      seen = list(seen)
      any_of = lambda: seen[random.randint(len(seen))]
      for _ in range(random.randint(1, 4)):
        kind = random.randint(7 if depth else 4)
        if kind == 0:
          seen.append(f.constant(float(random.randint(1, 9)) / 8))
        elif kind < 3:
          seen.append(f.op('Sin', x=add(f, any_of(), any_of())))
        elif kind == 3:
          seen.append(f.op('Sin', x=mul(f, any_of(), any_of())))
        elif kind == 4:
          count = random.randint(1, 3)
          branch = lambda: block(seen, depth - 1)[-count:]
          seen += f.conditional(less(f, any_of(), any_of()), branch, branch)
        else:
          start = [any_of() for _ in range(random.randint(1, 3))]
          def body(i, *values):
            inside = block(seen + list(values), depth - 1)
            return [add(f, i, one)] + inside[-len(values):]
          seen += f.loop(lambda i, *_: less(f, i, two), body, [zero] + start)[1:]
      return seen

    return block([x, f.constant(.5)], 3)[-2:]

  build.__name__ = 'random_%d' % seed
  return program(x=0.7)(build)


for seed in range(40):
  random_program(seed)


def nodes_of(graph_def, build):
  """The nodes as comparable values. The order of control inputs means nothing. What is imported
  and reads only what it is mapped to waits for the pivot here, and not in TensorFlow."""
  found = {}
  for node in tf.GraphDef.FromString(graph_def).node:
    attrs = {k: str(node.attr[k]) for k in
             ('_class', 'frame_name', 'is_constant', 'parallel_iterations', 'T', 'dtype', 'value')
             if k in node.attr}
    inputs = [i[:-2] if i.endswith(':0') else i for i in node.input]
    found[node.name] = (node.op, [i for i in inputs if i[0] != '^'],
                        sorted(i for i in inputs if i[0] == '^' and build is not imports),
                        node.device, attrs)
  return found


def shapes_in_leat(graph, name, count):
  """The known shapes of a node's outputs, as TensorFlow writes them."""
  operation, shapes = LEAT.TF_GraphOperationByName(graph, name.encode()), []
  for i in range(count):
    output = Output(operation, i)
    rank = LEAT.TF_GraphGetTensorNumDims(graph, output, LEAT.status)
    dims = (ctypes.c_int64 * max(rank, 1))()
    if rank >= 0:
      LEAT.TF_GraphGetTensorShape(graph, output, dims, rank, LEAT.status)
    LEAT.check()
    shapes.append(None if rank < 0 else [None if d < 0 else d for d in dims[:rank]])
  return shapes


def compare_shapes(build):
  graph, _ = built_by_tensorflow(build)
  front = Leat()
  build(front)
  different = []
  for operation in graph.get_operations():
    wanted = [None if o.shape.rank is None else o.shape.as_list() for o in operation.outputs]
    got = shapes_in_leat(front.graph, operation.name, len(wanted))
    if got != wanted:
      different.append('%s (%s) has %s, not %s' % (operation.name, operation.type, got, wanted))
  LEAT.TF_DeleteGraph(front.graph)
  return '; '.join(different[:4])


def built_by_tensorflow(build):
  with tf.Graph().as_default() as graph:
    return graph, build(TensorFlow())


def compare_nodes(build):
  graph, _ = built_by_tensorflow(build)
  wanted = nodes_of(graph.as_graph_def().SerializeToString(), build)
  front = Leat()
  build(front)
  session = capi.Session(LEAT, graph=front.graph)
  got = nodes_of(session.graph_def(), build)
  session.close()
  different = ['%s is %s, not %s' % (n, got.get(n), wanted.get(n))
               for n in sorted(set(got) | set(wanted)) if got.get(n) != wanted.get(n)]
  return '; '.join(different[:4])


def compare_values(build, feeds, with_gradients):
  graph, fetches = built_by_tensorflow(build)
  are_floats = [y.dtype.base_dtype == tf.float32 for y in fetches]
  if with_gradients:
    with graph.as_default():
      fetches = tf.gradients([y for y, is_float in zip(fetches, are_floats) if is_float],
                             graph.get_tensor_by_name('x:0'))
  # Its optimizer breaks some of the random programs: "Retval[0] does not have value".
  config = tf.ConfigProto()
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  with tf.Session(graph=graph, config=config) as session:
    known = [y for y in fetches if y is not None]
    wanted = session.run(known, {k + ':0': v for k, v in feeds.items()})
  front = Leat()
  fetches = build(front)
  session = capi.Session(LEAT, graph=front.graph)
  if with_gradients:
    fetches = session.gradients([y for y, is_float in zip(fetches, are_floats) if is_float],
                                ['x:0'])
  fetches = [y for y in fetches if y is not None]
  got = session.run(fetches, {k + ':0': v for k, v in feeds.items()}) if fetches else []
  session.close()
  if len(got) != len(wanted):
    return '%d results, not %d' % (len(got), len(wanted))
  for i, (a, b) in enumerate(zip(got, wanted)):
    if not np.allclose(a, b, 1e-4, 1e-6):
      return 'result %d is %s, not %s' % (i, a, b)


for name, (build, feeds) in PROGRAMS.items():
  report('control_flow.%s.nodes' % name, compare_nodes, build)
  if build is not calls_of_functions:  # whose shapes TensorFlow does not know
    report('control_flow.%s.shapes' % name, compare_shapes, build)
  report('control_flow.%s.values' % name, compare_values, build, feeds, False)
  if build not in (references, resource_variables):
    report('control_flow.%s.gradients' % name, compare_values, build, feeds, True)
