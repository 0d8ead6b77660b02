"""SqlDataset in both libraries, on databases that Python's sqlite3 has made: each type from each
kind of value, queries of many forms, what is refused, and failures between rows. TensorFlow crashes
where a file cannot be opened, so that only the unit tests see that."""
import functools
import os
import sqlite3
import tempfile

from dataset_kit import compare, raw, tf

from outcome import report

TYPES = [tf.string, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.bool, tf.double]
VALUES = [0, 1, -1, 127, 128, -129, 32768, 65535, 65537, -2**31 - 1, 2**31, 2**63 - 1, -2**63, 0.5,
          -0.0, 1e300, -1e300, 1e-320, 2.0**63, 3.9, -3.9, float('inf'), '', 'text', '12', ' 12x',
          '-7.5e2', '0x10', '1e5', 'nan', '\u00e9\u4e2d', b'', b'\x00\xff\x00', b'42', None]


def make_database(path):
  with sqlite3.connect(path) as database:
    database.execute('CREATE TABLE items (id INTEGER PRIMARY KEY, value)')
    database.executemany('INSERT INTO items (value) VALUES (?)', [(value,) for value in VALUES])
    database.execute('CREATE TABLE people (name TEXT, age INTEGER, height REAL)')
    database.executemany('INSERT INTO people VALUES (?, ?, ?)',
                         [('Ada', 36, 1.65), ('Blaise', 39, None), ('Carl', 77, 1.7)])
    database.execute('CREATE VIEW elders AS SELECT name FROM people WHERE age > 37')
    database.execute('CREATE TABLE empty (x)')
  database.close()


def rows(dataset, types, count=64):
  """All columns of all rows, as tensors; strings with their lengths."""
  shapes = [[None]] * len(types)
  batch = raw.BatchDataset(input_dataset=dataset, batch_size=count, output_types=types,
                           output_shapes=shapes)
  return raw.DatasetToSingleElement(dataset=batch, output_types=types, output_shapes=shapes)


def sql(query, types, path=None, driver='sqlite', op=None, shapes=None):
  return (op or raw.SqlDataset)(
      driver_name=driver, data_source_name=PATH if path is None else path, query=query,
      output_types=types, output_shapes=[[]] * len(types) if shapes is None else shapes)


def select(query, types, **more):
  return lambda: rows(sql(query, types, **more), types)


def forgiving(query, types, count):
  """The first rows of a query of which some fail."""
  spec = dict(output_types=types, output_shapes=[[]] * len(types))
  tolerant = raw.IgnoreErrorsDataset(input_dataset=sql(query, types), **spec)
  return rows(raw.TakeDataset(input_dataset=tolerant, count=count, **spec), types)


def cardinality():
  return [raw.DatasetCardinality(input_dataset=sql('SELECT 1', [tf.int64]))]


FOLDER = tempfile.TemporaryDirectory(prefix='leat-sql')
PATH = os.path.join(FOLDER.name, 'people.db')
make_database(PATH)
with open(os.path.join(FOLDER.name, 'text'), 'w') as other:
  other.write('this is no database, and it is longer than a header would be. ' * 20)
PEOPLE = [tf.string, tf.int32, tf.double]
ALL = 'SELECT name, age, height FROM people ORDER BY age'
CASES = {'of all kinds as %s' % dtype.name: select('SELECT value FROM items ORDER BY id', [dtype])
         for dtype in TYPES}
CASES.update({
    'several columns': select(ALL, PEOPLE),
    'under its former name': select(ALL, PEOPLE, op=raw.ExperimentalSqlDataset),
    'the same column several times': select('SELECT age, age, age FROM people',
                                            [tf.int8, tf.string, tf.bool]),
    'of a view': select('SELECT * FROM elders', [tf.string]),
    'of functions': select("SELECT upper(name) || '!', length(name) FROM people",
                           [tf.string, tf.int64]),
    'of no table': select('SELECT 1, 2.5, NULL', [tf.int64, tf.double, tf.string]),
    'of a pragma': select('PRAGMA table_info(people)',
                          [tf.int64, tf.string, tf.string, tf.int64, tf.string, tf.int64]),
    'of a place in memory': select('SELECT 7', [tf.int64], path=':memory:'),
    'of a URI': lambda: select('SELECT age FROM people', [tf.int64],
                               path='file:%s?mode=ro' % PATH)(),
    'the first of two statements': select('SELECT 1; SELECT 2', [tf.int64]),
    'with a comment': select('SELECT 1 -- one', [tf.int64]),
    'no rows': select('SELECT x FROM empty', [tf.int64]),
    'many rows': lambda: rows(sql(
        'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) '
        'SELECT i, i * i FROM n', [tf.int64, tf.string]), [tf.int64, tf.string], 1 << 17),
    'cardinality': cardinality,
    'no statement': select('', [tf.int64]),
    'only a comment': select('-- nothing', [tf.int64]),
    'bad syntax': select('SELEC 1', [tf.int64]),
    'a table that is not there': select('SELECT * FROM missing', [tf.int64]),
    'too few types': select('SELECT name, age FROM people', [tf.string]),
    'too many types': select('SELECT name FROM people', [tf.string, tf.int64]),
    'a parameter that is not set': select('SELECT ?', [tf.string]),
    'no database': select('SELECT 1 FROM people', [tf.int64],
                          path=os.path.join(FOLDER.name, 'text')),
    'another driver': select('SELECT 1', [tf.int64], driver='mysql'),
    'no driver': select('SELECT 1', [tf.int64], driver=''),
    'as float': select('SELECT 1', [tf.float32]),
    'as uint32': select('SELECT 1', [tf.uint32]),
    'a vector for a column': select('SELECT 1', [tf.int64], shapes=[[1]]),
    'a column of unknown rank': select('SELECT 1', [tf.int64], shapes=[None]),
    'that fails at its first row': select('SELECT abs(-9223372036854775808)', [tf.int64]),
    'that fails at its third row': select('SELECT abs(value) FROM items WHERE id > 10', [tf.int64]),
    'that goes on after failures': functools.partial(
        forgiving, 'SELECT id, abs(value) FROM items WHERE id > 10', [tf.int64, tf.int64], 7),
})


for name, build in CASES.items():
  report('a query ' + name, compare, build)
FOLDER.cleanup()
