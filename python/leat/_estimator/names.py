"""Names of tf.estimator for the hooks, which are in tf.train."""
from __future__ import annotations

ALIASES = {'estimator.' + name: 'train.' + name for name in (
    'CheckpointSaverHook', 'CheckpointSaverListener', 'FeedFnHook', 'FinalOpsHook',
    'GlobalStepWaiterHook', 'LoggingTensorHook', 'NanLossDuringTrainingError', 'NanTensorHook',
    'ProfilerHook', 'SecondOrStepTimer', 'SessionRunArgs', 'SessionRunContext', 'SessionRunHook',
    'SessionRunValues', 'StepCounterHook', 'StopAtStepHook', 'SummarySaverHook')}
