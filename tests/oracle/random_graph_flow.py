"""Control flow in random graphs: conditionals and loops as nodes of the graph (Switch, Merge,
Enter) and as calls of functions (If, While, PartitionedCall). A branch and a body are random graphs
of their own, on values from outside."""
from tensorflow.core.framework import function_pb2

from random_graph import EXACT, Info, Scope, Unfit, as_types, enum, rounded, widest
from random_graph_ops import LARGE_TYPES, OPERATIONS, operation

CARRIED = ('float', 'double', 'int32', 'bool', 'string')
DEEPEST = 2


def grow(s, count):
  """Adds operations to a branch or a body."""
  for _ in range(count):
    function, anywhere = s.random.choice(OPERATIONS)
    if anywhere or s.is_top:
      try:
        with s.attempt():
          function(s)
      except Unfit:
        pass


def result(s, like):
  """A value of the scope with the type and shape of |like|: bounded, if a loop carries it on."""
  found = [v for v in s.values if v.dtype == like.dtype and v.shape == like.shape]
  x = found[-1] if found else like
  if x.dtype in LARGE_TYPES:
    return s.emit('Tanh', [x], [x.shape], lambda i: rounded(x.dtype, 1.0, i.error))[0]
  return s.emit('Identity', [x], [x.shape], lambda i: i)[0]


def some_values(s, most):
  """Values that go into a branch, a body or a function."""
  if s.depth >= DEEPEST:
    raise Unfit
  return [s.choose(CARRIED) for _ in range(s.random.randint(1, most))]


# ---- Nodes of the graph ------------------------------------------------------------------------
@operation(weight=2)
def conditional(s):
  """Switch and Merge: the branches lie in the graph, and one of them is dead."""
  outside, chosen = some_values(s, 3), s.choose('bool', rank=0)
  pivots = s.raw('Switch', [chosen, chosen], [(), ()])
  switched = [s.raw('Switch', [x, chosen], [x.shape] * 2) for x in outside]
  for x, both in zip(outside, switched):
    both[0].info = both[1].info = x.info
  results, records = [], []
  for side in (0, 1):
    pivot = s.raw('Identity', [pivots[side]])[0]
    branch = s.within([both[side] for both in switched], pivot.node)
    grow(branch, s.random.randint(1, 6))
    results.append([result(branch, x) for x in branch.values[:len(outside)]])
    records.append((branch, [both[side] for both in switched]))
  outputs = []
  for x, *both in zip(outside, *results):
    outputs.append(s.raw('Merge', [both], [x.shape, ()])[0])
  def rule(_, *infos):
    sides = [branch.infos_of(values, zip(inputs, infos))
             for values, (branch, inputs) in zip(results, records)]
    return [widest(*both) for both in zip(*sides)]
  s.record([chosen] + outside, outputs, rule)
  return outputs


@operation(weight=2)
def loop(s):
  """Enter, Merge, Switch, NextIteration, Exit: a loop of a few iterations in the graph."""
  outside, times = some_values(s, 3), s.random.randint(0, 3)
  frame, start = s.name('frame'), s.constant('int32', 0)
  enter = lambda x, constant: s.raw('Enter', [x], [x.shape], frame_name=frame, is_constant=constant)
  entered = [enter(x, False)[0] for x in [start] + outside]
  limit = enter(s.constant('int32', times), True)[0]
  merged = [s.raw('Merge', [[x, x]], [x.shape, ()])[0] for x in entered]
  merges = [n for n in s.nodes if n.name in {m.node for m in merged}]
  go_on = s.raw('LoopCond', s.raw('Less', [merged[0], limit]))[0]
  switched = [s.raw('Switch', [x, go_on], [x.shape] * 2) for x in merged]
  for x, both in zip([start] + outside, switched):
    both[1].info = x.info
  carried = [s.raw('Identity', [both[1]], [both[1].shape])[0] for both in switched]
  for x, value in zip([start] + outside, carried):
    value.info = x.info
  body = s.within(carried, carried[0].node)
  grow(body, s.random.randint(1, 6))
  one = body.constant('int32', 1)
  results = [result(body, x) for x in carried[1:]]
  ends = [s.raw('AddV2', [carried[0], one])[0]] + results
  for merge, value in zip(merges, ends):
    again = s.raw('NextIteration', [value], [value.shape])[0]
    merge.input[1] = again.reference(s.in_function)
  outputs = [s.raw('Exit', [both[0]], [both[0].shape])[0] for both in switched]
  s.record(outside, outputs[1:], loop_rule(body, carried[1:], results, times))
  return outputs


def loop_rule(body, carried, results, times):
  def rule(*infos):
    for _ in range(times):
      infos = body.infos_of(results, zip(carried, infos))
    return list(infos)
  return rule


# ---- Functions ---------------------------------------------------------------------------------
def function(s, inputs, build):
  """A function of the library: build(scope) -> its results. -> its name, its Scope, its arguments
  and its results."""
  definition = function_pb2.FunctionDef()
  definition.signature.name = s.name('function')
  body = Scope(s.graph, [], [], None, True, s.depth + 1)
  for x in inputs:
    argument = body.argument(s.name('argument'), x)
    definition.signature.input_arg.add(name=argument.node, type=enum(x.dtype))
  arguments = list(body.values)
  results = build(body)
  for x in results:
    name = s.name('result')
    definition.signature.output_arg.add(name=name, type=enum(x.dtype))
    definition.ret[name] = x.reference(True)
  definition.node_def.extend(body.nodes)
  s.graph.functions.append(definition)
  return definition.signature.name, body, arguments, results


def named(name):
  """-> a function that sets an AttrValue to the function's name."""
  def put(attr):
    attr.func.name = name
  return put


def grown(like):
  def build(body):
    grow(body, body.random.randint(1, 8))
    return [result(body, x) for x in body.values[:like]]
  return build


@operation(weight=2)
def call(s):
  inputs = some_values(s, 3)
  name, body, arguments, results = function(s, inputs, grown(len(inputs)))
  op = s.random.choice(['PartitionedCall', 'StatefulPartitionedCall'])
  return s.emit(op, [inputs], [x.shape for x in results], lambda *infos: body.infos_of(
      results, zip(arguments, infos)), f=named(name), Tout=as_types(results))


@operation(weight=2)
def functional_conditional(s):
  inputs, op = some_values(s, 3), s.random.choice(['If', 'StatelessIf'])
  chosen = s.choose(('bool', 'int32'), rank=0)
  branches = [function(s, inputs, grown(len(inputs))) for _ in range(2)]
  results = branches[0][3]
  def rule(_, *infos):
    sides = [body.infos_of(values, zip(arguments, infos))
             for _, body, arguments, values in branches]
    return [widest(*both) for both in zip(*sides)]
  return s.emit(op, [chosen, inputs], [x.shape for x in results], rule,
                then_branch=named(branches[0][0]), else_branch=named(branches[1][0]),
                Tout=as_types(results))


@operation(weight=2)
def functional_loop(s):
  inputs, times = some_values(s, 3), s.random.randint(0, 3)
  start = s.constant('int32', 0)

  def condition(body):
    return body.emit('Less', [body.values[0], body.constant('int32', times)], [()],
                     lambda *_: EXACT)

  def step(body):
    count, one = body.values[0], body.constant('int32', 1)
    results = grown(len(inputs) + 1)(body)[1:]
    return body.emit('AddV2', [count, one], [()], lambda *_: Info(9.0, 0.0, 0)) + results

  name = function(s, [start] + inputs, condition)[0]
  next_name, body, arguments, results = function(s, [start] + inputs, step)
  of_loop = loop_rule(body, arguments[1:], results[1:], times)
  op = s.random.choice(['While', 'StatelessWhile'])
  return s.emit(op, [[start] + inputs], [x.shape for x in results],
                lambda _, *infos: [Info(9.0, 0.0, 0)] + of_loop(*infos),
                cond=named(name), body=named(next_name))
