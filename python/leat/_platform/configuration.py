"""tf.config: which devices sessions of this process see, and how they run.

TensorFlow has these settings for programs without sessions, and takes them also for sessions that
are made without a ConfigProto. Here the settings are one ConfigProto, which such sessions get
(`default`); it is None until a program sets something, so that a session costs nothing then.
Logical devices are the physical ones that are visible: each is one device of a session.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import message

PhysicalDevice = collections.namedtuple('PhysicalDevice', ['name', 'device_type'])
LogicalDevice = collections.namedtuple('LogicalDevice', ['name', 'device_type'])


class LogicalDeviceConfiguration(collections.namedtuple('LogicalDeviceConfiguration', [
    'memory_limit', 'experimental_priority', 'experimental_device_ordinal'])):
  """How much memory, in megabytes, one of the devices that stand for a GPU may take."""

  def __new__(cls, memory_limit=None, experimental_priority=None, experimental_device_ordinal=None):
    return super().__new__(cls, memory_limit, experimental_priority, experimental_device_ordinal)


class _Settings:
  config = None      # a ConfigProto
  visible = None     # the devices that set_visible_devices has left


_settings = _Settings()


def default():
  """The ConfigProto of sessions that are given none; None where nothing was set."""
  return _settings.config


def _changed():
  if _settings.config is None:
    _settings.config = message.of('ConfigProto')(allow_soft_placement=False)
  return _settings.config


@export('config.list_physical_devices', 'config.experimental.list_physical_devices')
def list_physical_devices(device_type=None):
  """[PhysicalDevice] of this machine, of one type where it is given: 'CPU', 'GPU'."""
  from leat._session.device_list import list_local_devices
  found = [PhysicalDevice('/physical_device:' + d.name.rpartition('/device:')[2], d.device_type)
           for d in list_local_devices(message.of('ConfigProto')())]
  return [d for d in found if device_type in (None, d.device_type)]


@export('config.get_visible_devices', 'config.experimental.get_visible_devices')
def get_visible_devices(device_type=None):
  """[PhysicalDevice] that sessions see."""
  found = list_physical_devices() if _settings.visible is None else _settings.visible
  return [d for d in found if device_type in (None, d.device_type)]


def _numbers(devices):
  return [int(d.name.rpartition(':')[2]) for d in devices]


@export('config.set_visible_devices', 'config.experimental.set_visible_devices')
def set_visible_devices(devices, device_type=None):
  """Sessions that are made later see, of all devices of the type, those in the list only."""
  devices = list(devices) if isinstance(devices, (list, tuple)) else [devices]
  known = list_physical_devices()
  for device in devices:
    if device not in known:
      raise ValueError('Unrecognized device: %r' % (device,))
    if device_type is not None and device.device_type != device_type:
      raise ValueError('Unrecognized device: %r' % (device,))
  kept = [] if device_type is None else [d for d in get_visible_devices()
                                         if d.device_type != device_type]
  _settings.visible = kept + devices
  config = _changed()
  gpus = [d for d in _settings.visible if d.device_type == 'GPU']
  config.device_count['GPU'] = len(gpus)
  config.gpu_options.visible_device_list = ','.join(map(str, _numbers(gpus)))


@export('config.list_logical_devices', 'config.experimental.list_logical_devices')
def list_logical_devices(device_type=None):
  """[LogicalDevice] that operations can be placed on."""
  return [LogicalDevice('/device:' + d.name.rpartition('/physical_device:')[2], d.device_type)
          for d in get_visible_devices(device_type)]


@export('config.get_logical_device_configuration',
        'config.experimental.get_virtual_device_configuration')
def get_logical_device_configuration(device):
  """None: a device is not divided."""
  _check_device(device)


@export('config.set_logical_device_configuration',
        'config.experimental.set_virtual_device_configuration')
def set_logical_device_configuration(device, logical_devices):
  """Divides a device. A device here is one: several CPUs are asked for by the device_count of a
  ConfigProto, and ValueError is raised for a GPU in several parts."""
  _check_device(device)
  if device.device_type == 'CPU':
    _changed().device_count['CPU'] = len(logical_devices)
  elif len(logical_devices) != 1:
    raise ValueError('%r: a GPU is one device, it cannot be divided into %d' % (
        device, len(logical_devices)))


@export('config.experimental.set_memory_growth')
def set_memory_growth(device, enable):
  """Whether memory of a GPU is taken as it is needed."""
  _check_device(device)
  if device.device_type != 'GPU':
    raise ValueError('Cannot set memory growth on non-GPU devices')
  _changed().gpu_options.allow_growth = bool(enable)


@export('config.experimental.get_memory_growth')
def get_memory_growth(device):
  """What set_memory_growth has said; None where it was not called."""
  _check_device(device)
  if device.device_type != 'GPU':
    raise ValueError('Cannot get memory growth on non-GPU devices')
  return None if _settings.config is None else _settings.config.gpu_options.allow_growth


def _check_device(device):
  if device not in list_physical_devices():
    raise ValueError('Unrecognized device: %r' % (device,))


# ---- How sessions run ----------------------------------------------------------------------------


def _value(field, otherwise):
  return otherwise if _settings.config is None else getattr(_settings.config, field)


@export('config.threading.set_intra_op_parallelism_threads')
def set_intra_op_parallelism_threads(num_threads):
  """How many threads an operation may use; 0 for as many as there are processors."""
  _changed().intra_op_parallelism_threads = num_threads


@export('config.threading.get_intra_op_parallelism_threads')
def get_intra_op_parallelism_threads():
  """What set_intra_op_parallelism_threads has said; 0 from the start."""
  return _value('intra_op_parallelism_threads', 0)


@export('config.threading.set_inter_op_parallelism_threads')
def set_inter_op_parallelism_threads(num_threads):
  """How many operations may run at a time; 0 for as many as there are processors."""
  _changed().inter_op_parallelism_threads = num_threads


@export('config.threading.get_inter_op_parallelism_threads')
def get_inter_op_parallelism_threads():
  """What set_inter_op_parallelism_threads has said; 0 from the start."""
  return _value('inter_op_parallelism_threads', 0)


@export('config.set_soft_device_placement')
def set_soft_device_placement(enabled):
  """Whether an operation may run elsewhere where its device cannot run it."""
  _changed().allow_soft_placement = bool(enabled)


@export('config.get_soft_device_placement')
def get_soft_device_placement():
  """What set_soft_device_placement has said; False from the start."""
  return _value('allow_soft_placement', False)


@export('debugging.set_log_device_placement')
def set_log_device_placement(enabled):
  """Whether a session says where it places operations."""
  _changed().log_device_placement = bool(enabled)


@export('debugging.get_log_device_placement')
def get_log_device_placement():
  """What set_log_device_placement has said; False from the start."""
  return _value('log_device_placement', False)


@export('config.optimizer.set_jit')
def set_jit(enabled):
  """Nothing is compiled just in time here: the setting is kept, and changes nothing."""
  _changed().graph_options.optimizer_options.global_jit_level = 1 if enabled else 0


@export('config.optimizer.get_jit')
def get_jit():
  """'autoclustering' where set_jit has said so, else ''."""
  return 'autoclustering' if _settings.config is not None and \
      _settings.config.graph_options.optimizer_options.global_jit_level == 1 else ''


@export('config.optimizer.set_experimental_options')
def set_experimental_options(options):
  """Passes of the graph optimizer that are switched on or off by their names in RewriterConfig:
  {'constant_folding': False}."""
  rewrites = _changed().graph_options.rewrite_options
  for name, value in options.items():
    if name in ('disable_meta_optimizer', 'disable_model_pruning'):
      setattr(rewrites, name, bool(value))
    else:
      setattr(rewrites, name, 1 if value else 2)


@export('config.optimizer.get_experimental_options')
def get_experimental_options():
  """The passes that set_experimental_options has switched."""
  if _settings.config is None:
    return {}
  rewrites = _settings.config.graph_options.rewrite_options
  names = ('layout_optimizer', 'constant_folding', 'shape_optimization', 'remapping',
           'arithmetic_optimization', 'dependency_optimization', 'loop_optimization',
           'function_optimization', 'debug_stripper')
  found = {n: getattr(rewrites, n) == 1 for n in names if getattr(rewrites, n)}
  return {**found, **{n: True for n in ('disable_meta_optimizer', 'disable_model_pruning')
                      if getattr(rewrites, n)}}


EXPORTS = {'config.PhysicalDevice': 'PhysicalDevice', 'config.LogicalDevice': 'LogicalDevice',
           'config.LogicalDeviceConfiguration': 'LogicalDeviceConfiguration',
           'config.experimental.VirtualDeviceConfiguration': 'LogicalDeviceConfiguration'}
