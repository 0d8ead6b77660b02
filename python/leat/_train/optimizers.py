"""The optimizers. Each says which op applies a gradient, with which slots and settings."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._graph.scope import colocate_with, control_dependencies
from leat._ops import array, assign, control, math, variables
from leat._train.optimizer import Optimizer, _is_resource


class _Applied(Optimizer):
  """An optimizer whose updates are single ops: `_op` with `_slot_names` and `_settings`.

  `_arguments(var)` are the op's inputs between the slots and the gradient; a resource variable has
  the same op with 'Resource' in front."""
  _op, _sparse_op = None, None
  _slot_names = ()        # (argument of the op, name of the slot, name of its variable)
  _before, _after = (), ()  # arguments before and after the gradient: (argument, setting)

  def _settings(self):
    """{argument: number, tensor or function}."""
    raise NotImplementedError

  def _prepare(self):
    self._tensors = {}
    for name, value in self._settings().items():
      value = self._call_if_callable(value)
      self._tensors[name] = convert(value, name=name)

  def _create_slots(self, var_list):
    for v in var_list:
      for _, slot, op_name in self._slot_names:
        self._zeros_slot(v, slot, op_name or self._name)

  def _inputs(self, var, dtype):
    found = {'var': var._ref() if isinstance(var, variables.Variable) else var}
    for argument, slot, _ in self._slot_names:
      found[argument] = self.get_slot(var, slot)._ref()
    for argument, setting in self._before + self._after:
      found[argument] = math.cast(self._tensors[setting], dtype)
    return found

  def _attributes(self):
    return {'use_locking': self._use_locking}

  def _apply(self, op, var, grad, more=None):
    dtype = var.dtype.base_dtype
    inputs = self._inputs(var, dtype)
    inputs.update(more or {})
    inputs['grad'] = math.cast(grad, dtype)
    result = make_op(('Resource' if _is_resource(var) else '') + op, **inputs,
                     **self._attributes())
    return result

  def _apply_dense(self, grad, var):
    op = self._apply(self._op, var, grad)
    return op if _is_resource(var) else op.outputs[0]

  def _resource_apply_dense(self, grad, handle):
    return self._apply(self._op, handle, grad)

  def _apply_sparse(self, grad, var):
    return self._apply(self._sparse_op, var, grad.values, {'indices': grad.indices}).outputs[0]

  def _resource_apply_sparse(self, grad, handle, indices):
    return self._apply(self._sparse_op, handle, grad, {'indices': indices})


@export('train.GradientDescentOptimizer')
class GradientDescentOptimizer(_Applied):
  """variable -= learning_rate * gradient. learning_rate is a number or a tensor."""

  def __init__(self, learning_rate, use_locking=False, name='GradientDescent'):
    super().__init__(use_locking, name)
    self._learning_rate = learning_rate

  def _settings(self):
    return {'learning_rate': self._learning_rate}

  def _apply_dense(self, grad, var):
    return apply_op('ApplyGradientDescent', var=var._ref(), delta=grad,
                    alpha=math.cast(self._tensors['learning_rate'], var.dtype.base_dtype),
                    use_locking=self._use_locking).op

  def _resource_apply_dense(self, grad, handle):
    return make_op('ResourceApplyGradientDescent', var=handle._ref(), delta=grad,
                   alpha=math.cast(self._tensors['learning_rate'], handle.dtype.base_dtype),
                   use_locking=self._use_locking)

  def _apply_sparse_duplicate_indices(self, grad, var):
    from leat._ops.sparse import IndexedSlices
    rate = math.cast(self._tensors['learning_rate'], var.dtype.base_dtype)
    delta = IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
    return var.scatter_sub(delta, use_locking=self._use_locking)

  def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
    rate = math.cast(self._tensors['learning_rate'], handle.dtype.base_dtype)
    return make_op('ResourceScatterAdd', resource=handle._ref(), indices=indices,
                   updates=-grad * rate)


@export('train.MomentumOptimizer')
class MomentumOptimizer(_Applied):
  """accumulation = momentum * accumulation + gradient; variable -= learning_rate * accumulation.
  With use_nesterov the gradient is taken as if the step had been made."""
  _op, _sparse_op = 'ApplyMomentum', 'SparseApplyMomentum'
  _slot_names = (('accum', 'momentum', None),)
  _before, _after = (('lr', 'learning_rate'),), (('momentum', 'momentum'),)

  def __init__(self, learning_rate, momentum, use_locking=False, name='Momentum',
               use_nesterov=False):
    super().__init__(use_locking, name)
    self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

  def _settings(self):
    return {'learning_rate': self._learning_rate, 'momentum': self._momentum}

  def _attributes(self):
    return {'use_locking': self._use_locking, 'use_nesterov': self._use_nesterov}


@export('train.AdagradOptimizer')
class AdagradOptimizer(_Applied):
  """accumulation += gradient^2; variable -= learning_rate * gradient / sqrt(accumulation)."""
  _op, _sparse_op = 'ApplyAdagrad', 'SparseApplyAdagrad'
  _slot_names = (('accum', 'accumulator', None),)
  _before = (('lr', 'learning_rate'),)

  def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False,
               name='Adagrad'):
    if initial_accumulator_value <= 0.0:
      raise ValueError('initial_accumulator_value must be positive: %s' % initial_accumulator_value)
    super().__init__(use_locking, name)
    self._learning_rate, self._initial = learning_rate, initial_accumulator_value

  def _settings(self):
    return {'learning_rate': self._learning_rate}

  def _create_slots(self, var_list):
    for v in var_list:
      self._constant_slot(v, 'accumulator', self._initial, self._name)


@export('train.AdadeltaOptimizer')
class AdadeltaOptimizer(_Applied):
  """Adadelta (Zeiler, 2012)."""
  _op, _sparse_op = 'ApplyAdadelta', 'SparseApplyAdadelta'
  _slot_names = (('accum', 'accum', None), ('accum_update', 'accum_update', None))
  _before = (('lr', 'lr'), ('rho', 'rho'), ('epsilon', 'epsilon'))

  def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False,
               name='Adadelta'):
    super().__init__(use_locking, name)
    self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

  def _settings(self):
    return {'lr': self._lr, 'rho': self._rho, 'epsilon': self._epsilon}


@export('train.RMSPropOptimizer')
class RMSPropOptimizer(_Applied):
  """Divides the gradient by the root of a running mean of its square (`decay`), with momentum. With
  `centered` the mean of the gradient is subtracted from it first."""

  def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False,
               centered=False, name='RMSProp'):
    super().__init__(use_locking, name)
    self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
    self._epsilon, self._centered = epsilon, centered
    self._op = 'ApplyCenteredRMSProp' if centered else 'ApplyRMSProp'
    self._sparse_op = 'Sparse' + self._op
    self._slot_names = ((('mg', 'mg', None),) if centered else ()) + (
        ('ms', 'rms', None), ('mom', 'momentum', None))
    self._before = (('lr', 'learning_rate'), ('rho', 'decay'), ('momentum', 'momentum'),
                    ('epsilon', 'epsilon'))

  def _settings(self):
    return {'learning_rate': self._learning_rate, 'decay': self._decay, 'momentum': self._momentum,
            'epsilon': self._epsilon}

  def _create_slots(self, var_list):
    for v in var_list:
      self._constant_slot(v, 'rms', 1.0, self._name)
      if self._centered:
        self._zeros_slot(v, 'mg', self._name)
      self._zeros_slot(v, 'momentum', self._name)


@export('train.FtrlOptimizer')
class FtrlOptimizer(_Applied):
  """FTRL-proximal (McMahan et al., 2013), for sparse features: weights of little use become exactly
  0 by the strength of l1."""
  _slot_names = (('accum', 'accum', None), ('linear', 'linear', None))

  def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1,
               l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
               name='Ftrl', accum_name=None, linear_name=None,
               l2_shrinkage_regularization_strength=0.0, beta=None):
    super().__init__(use_locking, name)
    for value, what in ((initial_accumulator_value, 'initial_accumulator_value'),
                        (l1_regularization_strength, 'l1_regularization_strength'),
                        (l2_regularization_strength, 'l2_regularization_strength'),
                        (l2_shrinkage_regularization_strength,
                         'l2_shrinkage_regularization_strength')):
      if value < 0.0:
        raise ValueError('%s %f needs to be positive or zero' % (what, value))
    if learning_rate_power > 0.0:
      raise ValueError('learning_rate_power %f needs to be negative or zero' % learning_rate_power)
    self._values = {'lr': learning_rate, 'l1': l1_regularization_strength,
                    'l2': l2_regularization_strength + (beta or 0.0) / (2. * learning_rate)
                    if beta else l2_regularization_strength, 'lr_power': learning_rate_power}
    self._initial = initial_accumulator_value
    self._accum_name, self._linear_name = accum_name, linear_name
    self._op, self._sparse_op = 'ApplyFtrl', 'SparseApplyFtrl'
    self._before = (('lr', 'lr'), ('l1', 'l1'), ('l2', 'l2'), ('lr_power', 'lr_power'))
    if l2_shrinkage_regularization_strength > 0.0:
      self._op, self._sparse_op = 'ApplyFtrlV2', 'SparseApplyFtrlV2'
      self._values['l2_shrinkage'] = l2_shrinkage_regularization_strength
      self._before += (('l2_shrinkage', 'l2_shrinkage'),)

  def _settings(self):
    return self._values

  def _create_slots(self, var_list):
    for v in var_list:
      self._constant_slot(v, 'accum', self._initial, self._accum_name or self._name)
      self._zeros_slot(v, 'linear', self._linear_name or self._name)


@export('train.ProximalGradientDescentOptimizer')
class ProximalGradientDescentOptimizer(_Applied):
  """Gradient descent with the proximal operator of L1 and L2."""

  def __init__(self, learning_rate, l1_regularization_strength=0.0,
               l2_regularization_strength=0.0, use_locking=False, name='ProximalGradientDescent'):
    super().__init__(use_locking, name)
    self._values = {'alpha': learning_rate, 'l1': l1_regularization_strength,
                    'l2': l2_regularization_strength}

  def _settings(self):
    return self._values

  def _apply(self, op, var, grad, more=None):
    dtype = var.dtype.base_dtype
    inputs = {n: math.cast(t, dtype) for n, t in self._tensors.items()}
    key = 'grad' if more else 'delta'
    return make_op(('Resource' if _is_resource(var) else '') + op, var=var._ref(),
                   use_locking=self._use_locking, **{key: grad}, **inputs, **(more or {}))

  _op, _sparse_op = 'ApplyProximalGradientDescent', 'SparseApplyProximalGradientDescent'


@export('train.ProximalAdagradOptimizer')
class ProximalAdagradOptimizer(AdagradOptimizer):
  """Adagrad with the proximal operator of L1 and L2."""
  _op, _sparse_op = 'ApplyProximalAdagrad', 'SparseApplyProximalAdagrad'
  _before = (('lr', 'learning_rate'), ('l1', 'l1'), ('l2', 'l2'))

  def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
               l2_regularization_strength=0.0, use_locking=False, name='ProximalAdagrad'):
    super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
    self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

  def _settings(self):
    return {'learning_rate': self._learning_rate, 'l1': self._l1, 'l2': self._l2}


@export('train.AdagradDAOptimizer')
class AdagradDAOptimizer(_Applied):
  """Adagrad with dual averaging."""
  _op, _sparse_op = 'ApplyAdagradDA', 'SparseApplyAdagradDA'
  _slot_names = (('gradient_accumulator', 'gradient_accumulator', None),
                 ('gradient_squared_accumulator', 'gradient_squared_accumulator', None))
  _before = (('lr', 'lr'), ('l1', 'l1'), ('l2', 'l2'))

  def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1,
               l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
               name='AdagradDA'):
    if initial_gradient_squared_accumulator_value <= 0.0:
      raise ValueError('initial_gradient_squared_accumulator_value must be positive: %s' %
                       initial_gradient_squared_accumulator_value)
    super().__init__(use_locking, name)
    self._values = {'lr': learning_rate, 'l1': l1_regularization_strength,
                    'l2': l2_regularization_strength}
    self._global_step, self._initial = global_step, initial_gradient_squared_accumulator_value

  def _settings(self):
    return self._values

  def _prepare(self):
    super()._prepare()
    self._step = math.cast(array.identity(self._global_step) + 1, dtypes.int64)  # the first is 1

  def _create_slots(self, var_list):
    for v in var_list:
      self._zeros_slot(v, 'gradient_accumulator', self._name)
      self._constant_slot(v, 'gradient_squared_accumulator', self._initial, self._name)

  def _inputs(self, var, dtype):
    found = super()._inputs(var, dtype)
    found['global_step'] = self._step
    return found


@export('train.AdamOptimizer')
class AdamOptimizer(_Applied):
  """Adam (Kingma and Ba, 2014): steps of about learning_rate, along a running mean of the gradient
  (beta1) divided by the root of a running mean of its square (beta2), both without their bias
  towards 0; epsilon is added to the root."""
  _op = 'ApplyAdam'
  _slot_names = (('m', 'm', None), ('v', 'v', None))
  _before = (('lr', 'learning_rate'), ('beta1', 'beta1'), ('beta2', 'beta2'),
             ('epsilon', 'epsilon'))

  def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False,
               name='Adam'):
    super().__init__(use_locking, name)
    self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

  def _settings(self):
    return {'learning_rate': self._lr, 'beta1': self._beta1, 'beta2': self._beta2,
            'epsilon': self._epsilon}

  def _powers(self, graph):
    return (self._get_non_slot_variable('beta1_power', graph),
            self._get_non_slot_variable('beta2_power', graph))

  def _get_beta_accumulators(self):
    from leat._graph import graph as graphs
    return self._powers(graphs.get_default_graph())

  def _create_slots(self, var_list):
    first = min(var_list, key=lambda v: v.name)
    self._create_non_slot_variable(self._call_if_callable(self._beta1), 'beta1_power', first)
    self._create_non_slot_variable(self._call_if_callable(self._beta2), 'beta2_power', first)
    super()._create_slots(var_list)

  def _inputs(self, var, dtype):
    found = super()._inputs(var, dtype)
    for name, power in zip(('beta1_power', 'beta2_power'), self._powers(var.graph)):
      found[name] = math.cast(power, dtype)
    return found

  def _numbers(self, var):
    """(the rate without the biases of both means, beta1, beta2, epsilon) in the variable's type."""
    dtype = var.dtype.base_dtype
    beta1_power, beta2_power = (math.cast(p, dtype) for p in self._powers(var.graph))
    lr, beta1, beta2, epsilon = (math.cast(self._tensors[n], dtype) for n in (
        'learning_rate', 'beta1', 'beta2', 'epsilon'))
    return lr * math.sqrt(1 - beta2_power) / (1 - beta1_power), beta1, beta2, epsilon

  def _averaged(self, grad, var, indices, scatter_add):
    """Both means, in which rows that the gradient does not have count as zeros."""
    _, beta1, beta2, _ = self._numbers(var)
    m = self.get_slot(var, 'm')
    m_new = m.assign(m * beta1, use_locking=self._use_locking)
    with control_dependencies([m_new]):
      m_new = scatter_add(m, indices, grad * (1 - beta1))
    v = self.get_slot(var, 'v')
    v_new = v.assign(v * beta2, use_locking=self._use_locking)
    with control_dependencies([v_new]):
      v_new = scatter_add(v, indices, grad * grad * (1 - beta2))
    return m_new, v_new

  def _apply_sparse_with(self, grad, var, indices, scatter_add):
    rate, _, _, epsilon = self._numbers(var)
    m_new, v_new = self._averaged(grad, var, indices, scatter_add)
    update = var.assign_sub(rate * m_new / (math.sqrt(v_new) + epsilon),
                            use_locking=self._use_locking)
    return control.group(update, m_new, v_new)

  def _apply_sparse(self, grad, var):
    add = lambda x, i, v: assign.scatter_add(x, i, v, use_locking=self._use_locking)
    return self._apply_sparse_with(grad.values, var, grad.indices, add)

  def _resource_apply_sparse(self, grad, handle, indices):
    def add(x, i, v):
      op = make_op('ResourceScatterAdd', resource=x.handle, indices=i, updates=v)
      with control_dependencies([op]):
        return x.value()
    return self._apply_sparse_with(grad, handle, indices, add)

  def _finish(self, update_ops, name_scope):

    with control_dependencies(update_ops):
      beta1_power, beta2_power = self._get_beta_accumulators()
      with colocate_with(beta1_power.op):
        first = beta1_power.assign(beta1_power * math.cast(
            self._tensors['beta1'], beta1_power.dtype.base_dtype), use_locking=self._use_locking)
        second = beta2_power.assign(beta2_power * math.cast(
            self._tensors['beta2'], beta2_power.dtype.base_dtype), use_locking=self._use_locking)
    return control.group(*update_ops + [first, second], name=name_scope)
