"""Files of Google Cloud Storage by the file system of tensorflow-io, a library of others.

usage: program.py LIBRARY

The library gets Leat in place of TensorFlow, and a server in this process in place of Google's.
Objects stay below 16 KiB: of a larger one that comes quickly the library's own HTTP client writes
behind a buffer of that size (libtensorflow_io_gcs_filesystem.so 0.37.1)."""
import os
import sys

import storage

server = storage.serve('bucket')
os.environ['CLOUD_STORAGE_EMULATOR_ENDPOINT'] = 'http://127.0.0.1:%d' % server.server_port
# The library reads these without asking whether they are set.
os.environ.update({'GCS_APPEND_MODE': '', 'GCS_READ_CACHE_BLOCK_SIZE_MB': '1',
                   'GCS_READ_CACHE_MAX_SIZE_MB': '1', 'GCS_READ_CACHE_MAX_STALENESS': '0',
                   'GCS_STAT_CACHE_MAX_AGE': '0', 'GCS_STAT_CACHE_MAX_ENTRIES': '0'})

import leat as tf  # noqa: E402


def files(session):
  session.run(tf.write_file('gs://bucket/folder/a.txt', 'some text'))
  assert server.objects['folder/a.txt'] == b'some text', server.objects
  assert session.run(tf.read_file('gs://bucket/folder/a.txt')) == b'some text'
  try:
    session.run(tf.read_file('gs://bucket/none'))
    sys.exit('a file that is not there was read')
  except tf.errors.NotFoundError:
    pass
  names = session.run(tf.matching_files('gs://bucket/folder/*.txt'))
  assert list(names) == [b'gs://bucket/folder/a.txt'], names
  with tf.gfile.GFile('gs://bucket/folder/b.txt', 'w') as f:
    f.write('two\nlines')
  assert list(tf.gfile.GFile('gs://bucket/folder/b.txt')) == ['two\n', 'lines']
  assert sorted(tf.gfile.ListDirectory('gs://bucket/folder')) == ['a.txt', 'b.txt']


def records():
  made = [b'record %d' % i for i in range(200)]
  with tf.python_io.TFRecordWriter('gs://bucket/records') as writer:
    for record in made:
      writer.write(record)
  assert list(tf.python_io.tf_record_iterator('gs://bucket/records')) == made


def checkpoints(session):
  variable = tf.Variable(tf.random_normal([30, 30]))
  saver = tf.train.Saver()
  session.run(tf.global_variables_initializer())
  value = session.run(variable)
  path = saver.save(session, 'gs://bucket/model/saved', write_meta_graph=False)
  session.run(variable.assign(tf.zeros([30, 30])))
  assert tf.train.latest_checkpoint('gs://bucket/model') == path
  saver.restore(session, path)
  assert (session.run(variable) == value).all()


tf.load_file_system_library(sys.argv[1])
with tf.Session() as opened:
  files(opened)
  records()
  checkpoints(opened)
print('%d objects' % len(server.objects))
