"""The description of a TPU, which nothing here can reach."""
from __future__ import annotations

from leat._export import export
from leat._graph import errors
from leat._train.cluster_resolver import ClusterResolver


@export('contrib.cluster_resolver.TPUClusterResolver',
        'distribute.cluster_resolver.TPUClusterResolver')
class TPUClusterResolver(ClusterResolver):
  """The name of a TPU. It can be made, as programs do before they look whether they shall use it;
  to ask it for anything is an UnimplementedError."""

  def __init__(self, tpu=None, zone=None, project=None, job_name='worker', coordinator_name=None,
               coordinator_address=None, credentials='default', service=None, discovery_url=None,
               **kwargs):
    del zone, project, credentials, service, discovery_url, kwargs
    self._tpu, self.task_type = tpu, job_name
    self._coordinator = coordinator_name, coordinator_address
    self.task_id = 0

  def _refuse(self, *unused_args, **unused):
    raise errors.UnimplementedError(
        None, None, 'TPU %r cannot be reached: there is no code for TPUs here; a TPUEstimator '
        'with use_tpu=False runs on other devices' % (self._tpu,))

  cluster_spec = master = get_master = get_job_name = num_accelerators = _refuse
