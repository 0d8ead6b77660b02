"""Names of tf.contrib.data for what tf.data and tf.data.experimental have."""
from __future__ import annotations

ALIASES = {'contrib.data.*': 'data.experimental.*', 'contrib.data.Dataset': 'data.Dataset',
           'contrib.data.Iterator': 'data.Iterator',
           'contrib.data.TextLineDataset': 'data.TextLineDataset',
           'contrib.data.TFRecordDataset': 'data.TFRecordDataset',
           'contrib.data.FixedLengthRecordDataset': 'data.FixedLengthRecordDataset'}
