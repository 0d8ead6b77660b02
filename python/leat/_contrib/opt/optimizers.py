"""Optimizers of tf.contrib.opt that are an op of their own (AdaMax, AddSign, PowerSign), an op's
option (Nadam), or a formula of several operations (LazyAdam, LARS)."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies
from leat._ops import array, control, math
from leat._ops.sparse import IndexedSlices
from leat._train.optimizer import Optimizer
from leat._train.optimizers import AdamOptimizer, MomentumOptimizer, _Applied

_sqrt = lambda x: apply_op('Sqrt', x=x)


def _write(variable, how, rows, indices):
  """Changes rows of the variable by its method `how`."""
  return getattr(variable, how)(IndexedSlices(rows, indices))


class _OfRows:
  """An optimizer that leaves alone what belongs to rows which a sparse gradient does not have:
  _apply_rows(gradient, variable, indices) changes the others."""

  def _apply_sparse(self, grad, var):
    return self._apply_rows(grad.values, var, grad.indices)

  def _resource_apply_sparse(self, grad, handle, indices):
    return self._apply_rows(grad, handle, indices)

  def _write_rows(self, var, indices, step, new_m, new_v):
    m, v = self.get_slot(var, 'm'), self.get_slot(var, 'v')
    return control.group(_write(var, 'scatter_sub', step, indices),
                         _write(m, 'scatter_update', new_m, indices),
                         _write(v, 'scatter_update', new_v, indices))


@export('contrib.opt.NadamOptimizer')
class NadamOptimizer(AdamOptimizer):
  """Adam with Nesterov's momentum. A sparse gradient moves the rows that it has, though the means
  of the others go on."""

  def _attributes(self):
    return {**super()._attributes(), 'use_nesterov': True}

  def _apply_sparse_with(self, grad, var, indices, scatter_add):
    rate, beta1, _, epsilon = self._numbers(var)
    m, v = self._averaged(grad, var, indices, scatter_add)
    ahead = (1 - beta1) * grad + beta1 * array.gather(m, indices)
    step = rate * ahead / (_sqrt(array.gather(v, indices)) + epsilon)
    return control.group(_write(var, 'scatter_sub', step, indices), m, v)


@export('contrib.opt.AddSignOptimizer')
class AddSignOptimizer(_Applied):
  """variable -= learning_rate * (alpha + decay * sign(gradient) * sign(average)) * gradient, where
  the average is that of gradients, by beta."""
  _op = 'ApplyAddSign'
  _slot_names = (('m', 'm', None),)
  _before = (('lr', 'learning_rate'), ('alpha', 'alpha'), ('sign_decay', 'decay'),
             ('beta', 'beta'))

  def __init__(self, learning_rate=0.1, alpha=1.0, beta=0.9, sign_decay_fn=None, use_locking=False,
               name='AddSignOptimizer'):
    super().__init__(use_locking, name)
    self._learning_rate, self._alpha, self._beta = learning_rate, alpha, beta
    self._sign_decay_fn, self._decay = sign_decay_fn, 1.0

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    if self._sign_decay_fn is not None:
      if global_step is None:
        raise ValueError('global_step is required for AddSign with a sign_decay_fn')
      self._decay = self._sign_decay_fn(global_step)
    return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

  def _settings(self):
    return {'learning_rate': self._learning_rate, 'alpha': self._alpha, 'decay': self._decay,
            'beta': self._beta}

  def _apply_sparse(self, grad, var):
    return self._apply_dense(convert(grad), var)   # rows that are not there have a zero


@export('contrib.opt.PowerSignOptimizer')
class PowerSignOptimizer(AddSignOptimizer):
  """variable -= learning_rate * base ^ (decay * sign(gradient) * sign(average)) * gradient."""
  _op = 'ApplyPowerSign'
  _before = (('lr', 'learning_rate'), ('logbase', 'logbase'), ('sign_decay', 'decay'),
             ('beta', 'beta'))

  def __init__(self, learning_rate=0.1, base=2.718281828459045, beta=0.9, sign_decay_fn=None,
               use_locking=False, name='PowerSignOptimizer'):
    super().__init__(learning_rate, 1.0, beta, sign_decay_fn, use_locking, name)
    self._base = base

  def _settings(self):
    import math as numbers
    return {'learning_rate': self._learning_rate, 'logbase': numbers.log(self._base),
            'decay': self._decay, 'beta': self._beta}


@export('contrib.opt.AdaMaxOptimizer')
class AdaMaxOptimizer(_OfRows, AdamOptimizer):
  """Adam with the largest gradient in the place of the root of the mean square."""

  _op = 'ApplyAdaMax'

  def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False,
               name='AdaMax'):
    super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

  def _inputs(self, var, dtype):
    found = super()._inputs(var, dtype)
    del found['beta2_power']   # the largest gradient has no bias
    return found

  def _apply_rows(self, grad, var, indices):
    given = self._inputs(var, var.dtype.base_dtype)
    beta1, beta2 = given['beta1'], given['beta2']
    m, v = self.get_slot(var, 'm'), self.get_slot(var, 'v')
    new_m = beta1 * array.gather(m, indices) + (1 - beta1) * grad
    new_v = apply_op('Maximum', x=beta2 * array.gather(v, indices), y=apply_op('Abs', x=grad))
    step = given['lr'] / (1 - given['beta1_power']) * new_m / (new_v + given['epsilon'])
    return self._write_rows(var, indices, step, new_m, new_v)


@export('contrib.opt.LazyAdamOptimizer')
class LazyAdamOptimizer(_OfRows, AdamOptimizer):
  """Adam that leaves the averages of rows alone which a sparse gradient does not have."""

  def _apply_rows(self, grad, var, indices):
    rate, beta1, beta2, epsilon = self._numbers(var)
    m, v = self.get_slot(var, 'm'), self.get_slot(var, 'v')
    new_m = beta1 * array.gather(m, indices) + (1 - beta1) * grad
    new_v = beta2 * array.gather(v, indices) + (1 - beta2) * math.square(grad)
    step = rate * new_m / (_sqrt(new_v) + epsilon)
    return self._write_rows(var, indices, step, new_m, new_v)


@export('contrib.opt.LARSOptimizer')
class LARSOptimizer(MomentumOptimizer):
  """Momentum whose rate for a variable is that by which the norm of the variable is larger than
  that of its gradient. Variables whose names have a part of skip_list have the plain rate. What
  accumulates are steps, each with the rate of its time, and not gradients."""

  def __init__(self, learning_rate, momentum=0.9, weight_decay=0.0001, eeta=0.001, epsilon=0.0,
               name='LARSOptimizer', skip_list=None, use_nesterov=False):
    if momentum < 0.0:
      raise ValueError('momentum should be positive: %s' % momentum)
    if weight_decay < 0.0:
      raise ValueError('weight_decay should be positive: %s' % weight_decay)
    super().__init__(learning_rate, momentum, False, name, use_nesterov)
    self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
    self._skip_list = skip_list

  def _scaled(self, grad, var):
    """The gradient times the rate that the norms say."""
    rate = math.cast(self._tensors['learning_rate'], var.dtype.base_dtype)
    if self._skip_list is not None and any(part in var.name for part in self._skip_list):
      return rate * grad
    value = var.value()
    of_value = _sqrt(math.reduce_sum(math.square(value)))
    of_gradient = _sqrt(math.reduce_sum(math.square(grad)))
    ratio = self._eeta * of_value / (of_gradient + self._weight_decay * of_value + self._epsilon)
    both = apply_op('LogicalAnd', x=of_value > 0.0, y=of_gradient > 0.0)
    trust = apply_op('SelectV2', condition=both, t=ratio, e=array.ones_like(ratio))
    return rate * trust * (grad + self._weight_decay * value)

  def _step(self, grad, var):
    return self._apply(self._op, var, self._scaled(grad, var),
                       {'lr': convert(1.0, var.dtype.base_dtype)})

  def _apply_dense(self, grad, var):
    return self._step(grad, var).outputs[0]

  def _resource_apply_dense(self, grad, handle):
    return self._step(grad, handle)


# ---- Decoupled weight decay ----------------------------------------------------------------------


@export('contrib.opt.DecoupledWeightDecayExtension')
class DecoupledWeightDecayExtension:
  """Takes weight_decay times the variable from each variable before the step, outside of the
  gradients: a class to derive an optimizer from, before its own class."""

  def __init__(self, weight_decay, **kwargs):
    self._weight_decay, self._decay_var_list = weight_decay, None
    super().__init__(**kwargs)

  def minimize(self, loss, global_step=None, var_list=None, gate_gradients=Optimizer.GATE_OP,
               aggregation_method=None, colocate_gradients_with_ops=False, name=None,
               grad_loss=None, decay_var_list=None):
    """Optimizer.minimize; with a decay_var_list other variables do not decay."""
    self._decay_var_list = None if decay_var_list is None else set(decay_var_list)
    return super().minimize(
        loss, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops, name=name, grad_loss=grad_loss)

  def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
    if decay_var_list is not None:
      self._decay_var_list = set(decay_var_list)
    return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

  def _prepare(self):
    self._decay = convert(self._call_if_callable(self._weight_decay), name='weight_decay')
    super()._prepare()

  def _decayed(self, var):
    """The operations after which the variable has decayed: none where it does not."""
    if self._decay_var_list is not None and var not in self._decay_var_list:
      return []
    return [var.assign_sub(math.cast(self._decay, var.dtype.base_dtype) * var.value(),
                           self._use_locking).op]

  def _apply_dense(self, grad, var):
    with control_dependencies(self._decayed(var)):
      return super()._apply_dense(grad, var)

  def _resource_apply_dense(self, grad, handle):
    with control_dependencies(self._decayed(handle)):
      return super()._resource_apply_dense(grad, handle)

  def _apply_sparse(self, grad, var):
    with control_dependencies(self._decayed(var)):
      return super()._apply_sparse(grad, var)

  def _resource_apply_sparse(self, grad, handle, indices):
    with control_dependencies(self._decayed(handle)):
      return super()._resource_apply_sparse(grad, handle, indices)


@export('contrib.opt.extend_with_decoupled_weight_decay')
def extend_with_decoupled_weight_decay(base_optimizer):
  """A class of the optimizer with weight_decay, its first argument."""
  class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
    """An optimizer with decoupled weight decay."""

    def __init__(self, weight_decay, *args, **kwargs):
      DecoupledWeightDecayExtension.__init__(self, weight_decay, **_named(base_optimizer, args),
                                             **kwargs)
  OptimizerWithDecoupledWeightDecay.__name__ = base_optimizer.__name__ + 'WithDecay'
  return OptimizerWithDecoupledWeightDecay


def _named(kind, args):
  """Positional arguments of a class by their names."""
  from leat._estimator import arguments
  names = [n for n in arguments.names(kind.__init__) if n != 'self']
  return dict(zip(names, args))


@export('contrib.opt.MomentumWOptimizer')
class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
  """Momentum with decoupled weight decay."""

  def __init__(self, weight_decay, learning_rate, momentum, use_locking=False, name='MomentumW',
               use_nesterov=False):
    super().__init__(weight_decay, learning_rate=learning_rate, momentum=momentum,
                     use_locking=use_locking, name=name, use_nesterov=use_nesterov)


@export('contrib.opt.AdamWOptimizer')
class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
  """Adam with decoupled weight decay."""

  def __init__(self, weight_decay, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8,
               use_locking=False, name='AdamW'):
    super().__init__(weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2,
                     epsilon=epsilon, use_locking=use_locking, name=name)
