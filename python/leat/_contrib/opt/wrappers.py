"""Optimizers of tf.contrib.opt around others: averages of the variables, gradients of several
tasks, clipped variables; and scipy's optimizers, which see a graph as a function."""
from __future__ import annotations

from leat._export import export
from leat._graph import gradients as gradient_functions
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies
from leat._ops import array, clip, control, control_flow, math, variable_collections
from leat._platform import log
from leat._train import average, saver
from leat._train.optimizer import Optimizer, WrappingOptimizer


@export('contrib.opt.MovingAverageOptimizer')
class MovingAverageOptimizer(WrappingOptimizer):
  """An optimizer that keeps moving averages of the variables; swapping_saver saves these in the
  places of the variables."""

  def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
    super().__init__(opt, False, opt.get_name())
    self._ema = average.ExponentialMovingAverage(average_decay, num_updates=num_updates)
    self._sequential, self._swapped = sequential_update, None

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    pairs = list(grads_and_vars)
    step = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
    averaged = [v for g, v in pairs if g is not None]
    with control_dependencies([step] if self._sequential else []):
      update = self._ema.apply(averaged)
    self._swapped = {}
    for v in averaged:
      mean = self._ema.average(v)
      self._swapped[v.op.name], self._swapped[mean.op.name] = mean, v
    return control.group(step, update, name='train_with_avg')

  def swapping_saver(self, var_list=None, name='swapping_saver', **kwargs):
    """A Saver that saves averages under the names of the variables, and the other way."""
    if self._swapped is None:
      raise RuntimeError('Must call apply_gradients or minimize before creating the '
                         'swapping_saver')
    if var_list is None:
      var_list = variable_collections.global_variables()
    if not isinstance(var_list, dict):
      var_list = {v.op.name: v for v in var_list}
    return saver.Saver({key: self._swapped.get(v.op.name, v) for key, v in var_list.items()},
                       name=name, **kwargs)


@export('contrib.opt.VariableClippingOptimizer')
class VariableClippingOptimizer(WrappingOptimizer):
  """An optimizer after whose steps variables are clipped: vars_to_clip_dims {variable: axes over
  which the norm is taken} to the norm max_norm."""

  def __init__(self, opt, vars_to_clip_dims, max_norm, use_locking=False,
               colocate_clip_ops_with_vars=False, name='VariableClipping'):
    super().__init__(opt, use_locking, name)
    self._dims, self._max_norm = dict(vars_to_clip_dims), max_norm
    self._colocates = colocate_clip_ops_with_vars

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    pairs = list(grads_and_vars)
    step = self._opt.apply_gradients(pairs, global_step=global_step)
    clipped = []
    with control_dependencies([step]):
      for _, v in pairs:
        if v in self._dims:
          kept = clip.clip_by_norm(v.read_value(), self._max_norm, list(self._dims[v]))
          clipped.append(v.assign(kept, use_locking=self._use_locking).op)
    return control.group(step, *clipped, name=name or self._name)


@export('contrib.opt.MultitaskOptimizerWrapper')
class MultitaskOptimizerWrapper(WrappingOptimizer):
  """An optimizer that leaves a variable, and what is kept for it, alone in steps in which its
  gradient is all zeros: that of a task which the step was not for."""

  def __init__(self, opt):
    if not isinstance(opt, Optimizer):
      raise TypeError('Supplied optimizer must be an instance of tf.train.Optimizer')
    super().__init__(opt, False, opt.get_name())

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    pairs = [(g, v) for g, v in grads_and_vars if g is not None]
    self._opt._create_slots([v for _, v in pairs])

    def one(g, v):
      values = getattr(g, 'values', g)
      some = math.reduce_any(math.not_equal(values, array.zeros_like(values)))

      def update():
        with control_dependencies([self._opt.apply_gradients([(g, v)])]):
          return convert(True)
      return control_flow.cond(some, update, lambda: convert(False)).op
    done = [one(g, v) for g, v in pairs]
    if global_step is None:
      return control.group(*done, name=name)
    with control_dependencies(done):
      return global_step.assign_add(1, name=name).op


@export('contrib.opt.clip_gradients_by_global_norm')
def clip_gradients_by_global_norm(gradients_variables, clip_norm=20.0):
  """(gradient, variable) pairs whose gradients have together at most that norm."""
  found, variables = zip(*gradients_variables)
  clipped, _ = clip.clip_by_global_norm(list(found), clip_norm)
  return list(zip(clipped, variables))


# ---- Optimizers outside of the graph -------------------------------------------------------------


@export('contrib.opt.ExternalOptimizerInterface')
class ExternalOptimizerInterface:
  """The loss as a function of one vector, which holds all variables, for an optimizer that is no
  operation: a subclass defines _minimize. equalities are tensors that shall be zero, inequalities
  such that shall not be negative; var_to_bounds is {variable: (low, high)}."""

  def __init__(self, loss, var_list=None, equalities=None, inequalities=None, var_to_bounds=None,
               **optimizer_kwargs):
    self._loss = loss
    self._vars = list(var_list or variable_collections.trainable_variables())
    self._equalities, self._inequalities = list(equalities or []), list(inequalities or [])
    self._sizes = [int(v.get_shape().num_elements()) for v in self._vars]
    self._bounds = self._packed_bounds(var_to_bounds or {})
    self.optimizer_kwargs = optimizer_kwargs
    self._loss_gradient = self._packed_gradient(loss)
    self._constraint_gradients = [self._packed_gradient(c)
                                  for c in self._equalities + self._inequalities]

  def _packed_gradient(self, value):
    found = gradient_functions.gradients(value, self._vars)
    return array.concat([
        array.reshape(array.zeros_like(v.value()) if g is None else convert(g), [-1])
        for g, v in zip(found, self._vars)], 0)

  def _packed_bounds(self, bounds):
    import numpy as np
    if not bounds:
      return None
    packed = []
    for v in self._vars:
      low, high = bounds.get(v, (-np.inf, np.inf))
      shape = v.get_shape().as_list()
      packed += zip(np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel())
    return packed

  def minimize(self, session=None, feed_dict=None, fetches=None, step_callback=None,
               loss_callback=None, **run_kwargs):
    """Changes the variables in the session. loss_callback is called with the values of `fetches`
    whenever the loss is computed, step_callback with the vector after each step."""
    import numpy as np
    from leat._session import session as sessions
    session = session or sessions.get_default_session()
    feeds, fetches = dict(feed_dict or {}), list(fetches or [])
    kinds = [v.dtype.base_dtype.as_numpy_dtype for v in self._vars]

    def load(x):
      for v, part, kind in zip(self._vars, np.split(x, np.cumsum(self._sizes)[:-1]), kinds):
        v.load(part.reshape(v.get_shape().as_list()).astype(kind), session)

    def function(tensors, callback=None, more=()):
      def call(x):
        load(x)
        found = session.run(list(tensors) + list(more), feeds, **run_kwargs)
        if callback is not None:
          callback(*found[len(tensors):])
        found = [np.asarray(f, np.float64) for f in found[:len(tensors)]]
        return found[0] if len(found) == 1 else found
      return call
    constraints = self._equalities + self._inequalities
    start = np.concatenate([np.ravel(value) for value in session.run(self._vars, feeds)])
    result = self._minimize(
        initial_val=start.astype(np.float64),
        loss_grad_func=function([self._loss, self._loss_gradient], loss_callback, fetches),
        equality_funcs=[function([c]) for c in self._equalities],
        equality_grad_funcs=[function([g]) for g in
                             self._constraint_gradients[:len(self._equalities)]],
        inequality_funcs=[function([c]) for c in self._inequalities],
        inequality_grad_funcs=[function([g]) for g in
                               self._constraint_gradients[len(self._equalities):len(constraints)]],
        packed_bounds=self._bounds, step_callback=step_callback,
        optimizer_kwargs=self.optimizer_kwargs)
    load(np.asarray(result))

  def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs,
                inequality_funcs, inequality_grad_funcs, packed_bounds, step_callback,
                optimizer_kwargs):
    raise NotImplementedError('To use ExternalOptimizerInterface, subclass from it and implement '
                              'the _minimize() method.')


@export('contrib.opt.ScipyOptimizerInterface')
class ScipyOptimizerInterface(ExternalOptimizerInterface):
  """scipy.optimize.minimize on a graph; further arguments are its: method, options, ..."""
  _DEFAULT_METHOD = 'L-BFGS-B'

  def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs,
                inequality_funcs, inequality_grad_funcs, packed_bounds, step_callback,
                optimizer_kwargs):
    from scipy import optimize
    constraints = [{'type': kind, 'fun': f, 'jac': g, 'args': []}
                   for kind, functions, slopes in (
                       ('eq', equality_funcs, equality_grad_funcs),
                       ('ineq', inequality_funcs, inequality_grad_funcs))
                   for f, g in zip(functions, slopes)]
    given = dict(optimizer_kwargs)
    method = given.pop('method', 'SLSQP' if constraints else self._DEFAULT_METHOD)
    if constraints:
      given['constraints'] = constraints
    result = optimize.minimize(loss_grad_func, initial_val, method=method, jac=True,
                               callback=step_callback, bounds=packed_bounds, **given)
    log.info('Optimization terminated with: %s after %s steps, objective value %s', result.message,
             getattr(result, 'nit', None), result.fun)
    return result['x']
