"""Ragged tensors: what TensorFlow gives for each expression. The tests pass in TensorFlow too."""
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf


def C(*args, **kwargs):
  return tf.ragged.constant(*args, **kwargs)


def R():
  return C([[1, 2, 3], [], [4, 5], [6]])


def R3():
  return C([[[1, 2], [3]], [], [[4], [], [5, 6, 7]]])


def plain(value):
  return value.to_list() if hasattr(value, 'to_list') else np.asarray(value).tolist()


class RaggedTest(unittest.TestCase):

  def setUp(self):
    self._graph = tf.Graph()
    self._entered = self._graph.as_default()
    self._entered.__enter__()
    self.addCleanup(self._entered.__exit__, None, None, None)

  def _check(self, cases):
    with tf.Session() as session:
      for i, (build, expected) in enumerate(cases):
        with self.subTest(number=i, line=build.__code__.co_firstlineno):
          self.assertEqual(plain(session.run(build())), expected)

  def test_slices(self):
    self._check([
      (lambda: R()[0], [1, 2, 3]),
      (lambda: R()[-1], [6]),
      (lambda: R()[1:3], [[], [4, 5]]),
      (lambda: R()[::2], [[1, 2, 3], [4, 5]]),
      (lambda: R()[::-1], [[6], [4, 5], [], [1, 2, 3]]),
      (lambda: R()[:,:2], [[1, 2], [], [4, 5], [6]]),
      (lambda: R()[:,1:], [[2, 3], [], [5], []]),
      (lambda: R()[:,-1:], [[3], [], [5], [6]]),
      (lambda: R()[:,:-1], [[1, 2], [], [4], []]),
      (lambda: R()[:,::2], [[1, 3], [], [4], [6]]),
      (lambda: R()[:,::-1], [[3, 2, 1], [], [5, 4], [6]]),
      (lambda: R()[:,-2::-1], [[2, 1], [], [4], []]),
      (lambda: R()[2,1], 5),
      (lambda: R()[...,None], [[[1], [2], [3]], [], [[4], [5]], [[6]]]),
      (lambda: R()[None], [[[1, 2, 3], [], [4, 5], [6]]]),
      (lambda: R()[:,None], [[[1, 2, 3]], [[]], [[4, 5]], [[6]]]),
      (lambda: R()[:,:,None], [[[1], [2], [3]], [], [[4], [5]], [[6]]]),
      (lambda: R()[1:,None,:1], [[[]], [[4]], [[6]]]),
      (lambda: R3()[0], [[1, 2], [3]]),
      (lambda: R3()[0,1], [3]),
      (lambda: R3()[:,:1], [[[1, 2]], [], [[4]]]),
      (lambda: R3()[:,:,:1], [[[1], [3]], [], [[4], [], [5]]]),
      (lambda: R3()[2,1:], [[], [5, 6, 7]]),
      (lambda: R3()[...,:1], [[[1], [3]], [], [[4], [], [5]]]),
      (lambda: R3()[:, 1:, ::-1], [[[3]], [], [[], [7, 6, 5]]]),
      (lambda: R3()[-1, -1, -1], 7),
    ])

  def test_operators(self):
    self._check([
      (lambda: R()+1, [[2, 3, 4], [], [5, 6], [7]]),
      (lambda: 1+R(), [[2, 3, 4], [], [5, 6], [7]]),
      (lambda: R()*R(), [[1, 4, 9], [], [16, 25], [36]]),
      (lambda: R()+[[10],[20],[30],[40]], [[11, 12, 13], [], [34, 35], [46]]),
      (lambda: R()+C([[10,20,30],[],[1,2],[5]]), [[11, 22, 33], [], [5, 7], [11]]),
      (lambda: R3()+[[[1]]], [[[2, 3], [4]], [], [[5], [], [6, 7, 8]]]),
      (lambda: R3()+tf.constant([[[1]],[[2]],[[3]]]), [[[2, 3], [4]], [], [[7], [], [8, 9, 10]]]),
      (lambda: C([[1,2],[3,4]])+tf.constant([[10,20],[30,40]]), [[11, 22], [33, 44]]),
      (lambda: tf.constant([[10,20],[30,40]])+C([[1,2],[3,4]]), [[11, 22], [33, 44]]),
      (lambda: C([[[1,2],[3,4]],[[5,6]]],ragged_rank=1)+[10,20],
       [[[11, 22], [13, 24]], [[15, 26]]]),
      (lambda: C([[[1,2],[3,4]],[[5,6]]],ragged_rank=1)+tf.constant([[[10]],[[20]]]),
       [[[11, 12], [13, 14]], [[25, 26]]]),
      (lambda: tf.constant([[1],[2],[3],[4]])-R(), [[0, -1, -2], [], [-1, -2], [-2]]),
      (lambda: R()>2, [[False, False, True], [], [True, True], [True]]),
      (lambda: 2<R(), [[False, False, True], [], [True, True], [True]]),
      (lambda: -R(), [[-1, -2, -3], [], [-4, -5], [-6]]),
      (lambda: tf.abs(-R()), [[1, 2, 3], [], [4, 5], [6]]),
      (lambda: R()/2, [[0.5, 1.0, 1.5], [], [2.0, 2.5], [3.0]]),
      (lambda: R()//2, [[0, 1, 1], [], [2, 2], [3]]),
      (lambda: R()%2, [[1, 0, 1], [], [0, 1], [0]]),
      (lambda: R()**2, [[1, 4, 9], [], [16, 25], [36]]),
      (lambda: ~C([[True],[False,True]]), [[False], [True, False]]),
      (lambda: C([[True],[False,True]])&C([[True],[True,False]]), [[True], [False, False]]),
    ])

  def test_gather(self):
    self._check([
      (lambda: tf.gather(R(),[2,0]), [[4, 5], [1, 2, 3]]),
      (lambda: tf.gather(R(),[[2,0],[1,1]]), [[[4, 5], [1, 2, 3]], [[], []]]),
      (lambda: tf.gather(R(),2), [4, 5]),
      (lambda: tf.gather(R3(),[2,2]), [[[4], [], [5, 6, 7]], [[4], [], [5, 6, 7]]]),
      (lambda: tf.gather(tf.constant([10,20,30]),C([[0,1],[],[2]])), [[10, 20], [], [30]]),
      (lambda: tf.gather(R(),C([[0,1],[],[2]])), [[[1, 2, 3], []], [], [[4, 5]]]),
      (lambda: tf.gather_nd(R(),[[0,1],[2,0]]), [2, 4]),
      (lambda: tf.gather_nd(R3(),[[0,1],[2,2]]), [[3], [5, 6, 7]]),
      (lambda: tf.gather_nd(R3(),[[2,2,1]]), [6]),
      (lambda: tf.gather_nd(R(),[[0],[3]]), [[1, 2, 3], [6]]),
      (lambda: tf.ragged.boolean_mask(R(),[True,False,True,False]), [[1, 2, 3], [4, 5]]),
      (lambda: tf.ragged.boolean_mask(R(),C([[True,False,True],[],[False,False],[True]])),
       [[1, 3], [], [], [6]]),
      (lambda: tf.ragged.boolean_mask([[1,2],[3,4]],[[True,False],[True,True]]), [[1], [3, 4]]),
      (lambda: tf.ragged.boolean_mask(R3(),C([[True,False],[],[False,True,True]])),
       [[[1, 2]], [], [[], [5, 6, 7]]]),
      (lambda: tf.where(C([[True,False,True],[],[False,False],[True]])), [[0, 0], [0, 2], [3, 0]]),
      (lambda: tf.where([True,False,True,False],R(),R()*10), [[1, 2, 3], [], [4, 5], [60]]),
      (lambda: tf.batch_gather(R(),C([[0,2],[],[1],[0]])), [[1, 3], [], [5], [6]]),
    ])

  def test_join(self):
    self._check([
      (lambda: tf.concat([R(),R()],0), [[1, 2, 3], [], [4, 5], [6], [1, 2, 3], [], [4, 5], [6]]),
      (lambda: tf.concat([R(),R()],1), [[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5], [6, 6]]),
      (lambda: tf.concat([R3(),R3()],2),
       [[[1, 2, 1, 2], [3, 3]], [], [[4, 4], [], [5, 6, 7, 5, 6, 7]]]),
      (lambda: tf.concat([R(),[[1],[2],[3],[4]]],1), [[1, 2, 3, 1], [2], [4, 5, 3], [6, 4]]),
      (lambda: tf.stack([R(),R()],0), [[[1, 2, 3], [], [4, 5], [6]], [[1, 2, 3], [], [4, 5], [6]]]),
      (lambda: tf.stack([R(),R()],1),
       [[[1, 2, 3], [1, 2, 3]], [[], []], [[4, 5], [4, 5]], [[6], [6]]]),
      (lambda: tf.stack([R(),R()],2), [[[1, 1], [2, 2], [3, 3]], [], [[4, 4], [5, 5]], [[6, 6]]]),
      (lambda: tf.tile(R(),[2,2]),
       [[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5], [6, 6], [1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5], [6,
        6]]),
      (lambda: tf.tile(R3(),[1,2,2]),
       [[[1, 2, 1, 2], [3, 3], [1, 2, 1, 2], [3, 3]], [], [[4, 4], [], [5, 6, 7, 5, 6, 7], [4, 4],
        [], [5, 6, 7, 5, 6, 7]]]),
      (lambda: tf.tile(C([[[1,2],[3,4]],[[5,6]]],ragged_rank=1),[2,2,2]),
       [[[1, 2, 1, 2], [3, 4, 3, 4], [1, 2, 1, 2], [3, 4, 3, 4]], [[5, 6, 5, 6], [5, 6, 5, 6]], [[1,
        2, 1, 2], [3, 4, 3, 4], [1, 2, 1, 2], [3, 4, 3, 4]], [[5, 6, 5, 6], [5, 6, 5, 6]]]),
      (lambda: tf.expand_dims(R(),0), [[[1, 2, 3], [], [4, 5], [6]]]),
      (lambda: tf.expand_dims(R(),1), [[[1, 2, 3]], [[]], [[4, 5]], [[6]]]),
      (lambda: tf.expand_dims(R(),2), [[[1], [2], [3]], [], [[4], [5]], [[6]]]),
      (lambda: tf.repeat([1,2,3],[2,0,1]), [1, 1, 3]),
      (lambda: tf.repeat([[1,2],[3,4]],2,axis=1), [[1, 1, 2, 2], [3, 3, 4, 4]]),
      (lambda: tf.repeat([[1,2],[3,4]],2), [1, 1, 2, 2, 3, 3, 4, 4]),
    ])

  def test_reduce(self):
    self._check([
      (lambda: tf.reduce_sum(R(),0), [11, 7, 3]),
      (lambda: tf.reduce_sum(R(),1), [6, 0, 9, 6]),
      (lambda: tf.reduce_sum(R()), 21),
      (lambda: tf.reduce_max(R3(),2), [[2, 3], [], [4, -2147483648, 7]]),
      (lambda: tf.reduce_mean(R3(),[0,2]), [2.3333333333333335, 3.0, 6.0]),
      (lambda: tf.reduce_sum(R3(),1), [[4, 2], [], [9, 6, 7]]),
      (lambda: tf.reduce_any(C([[True],[False],[]]),1), [True, False, False]),
      (lambda: tf.reduce_all(C([[True],[False],[]]),1), [True, False, True]),
      (lambda: tf.reduce_sum(R(),1,keepdims=True), [[6], [0], [9], [6]]),
      (lambda: tf.unsorted_segment_sum(R(),[0,1,0,1],2), [[5, 7, 3], [6]]),
      (lambda: tf.unsorted_segment_max(R(),[0,1,0,1],3), [[4, 5, 3], [6], []]),
      (lambda: tf.rank(R3()), 3),
      (lambda: tf.size(R3()), 7),
    ])

  def test_convert(self):
    self._check([
      (lambda: R().to_tensor(), [[1, 2, 3], [0, 0, 0], [4, 5, 0], [6, 0, 0]]),
      (lambda: R().to_tensor(-1), [[1, 2, 3], [-1, -1, -1], [4, 5, -1], [6, -1, -1]]),
      (lambda: R().to_tensor(shape=[None,2]), [[1, 2], [0, 0], [4, 5], [6, 0]]),
      (lambda: R().to_tensor(9,shape=[5,4]),
       [[1, 2, 3, 9], [9, 9, 9, 9], [4, 5, 9, 9], [6, 9, 9, 9], [9, 9, 9, 9]]),
      (lambda: R3().to_tensor(),
       [[[1, 2, 0], [3, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[4, 0, 0], [0, 0, 0],
        [5, 6, 7]]]),
      (lambda: C([[[1,2],[3,4]],[[5,6]]],ragged_rank=1).to_tensor(0),
       [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]),
      (lambda: C([[[1,2],[3,4]],[[5,6]]],ragged_rank=1).to_tensor([7,8]),
       [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
      (lambda: C([['a','b'],['c']]).to_tensor(), [[b'a', b'b'], [b'c', b'']]),
      (lambda: C([['a','b'],['c']]).to_tensor('x'), [[b'a', b'b'], [b'c', b'x']]),
      (lambda: R3().to_sparse().values, [1, 2, 3, 4, 5, 6, 7]),
      (lambda: R3().to_sparse().indices,
       [[0, 0, 0], [0, 0, 1], [0, 1, 0], [2, 0, 0], [2, 2, 0], [2, 2, 1], [2, 2, 2]]),
      (lambda: R3().to_sparse().dense_shape, [3, 3, 3]),
      (lambda: R().row_lengths(), [3, 0, 2, 1]),
      (lambda: R3().row_lengths(2), [[2, 1], [], [1, 0, 3]]),
      (lambda: R().value_rowids(), [0, 0, 0, 2, 2, 3]),
      (lambda: R().row_starts(), [0, 3, 3, 5]),
      (lambda: R().row_limits(), [3, 3, 5, 6]),
      (lambda: R().nrows(), 4),
      (lambda: R3().bounding_shape(), [3, 3, 3]),
      (lambda: R3().bounding_shape(axis=1), 3),
      (lambda: R3().merge_dims(0,1), [[1, 2], [3], [4], [], [5, 6, 7]]),
      (lambda: R3().merge_dims(1,2), [[1, 2, 3], [], [4, 5, 6, 7]]),
      (lambda: R3().merge_dims(0,2), [1, 2, 3, 4, 5, 6, 7]),
      (lambda: tf.RaggedTensor.from_value_rowids([1,2,3],[0,0,2],nrows=5),
       [[1, 2], [], [3], [], []]),
      (lambda: tf.RaggedTensor.from_row_lengths([1,2,3],[2,0,1]), [[1, 2], [], [3]]),
      (lambda: tf.RaggedTensor.from_row_starts([1,2,3],[0,2,2]), [[1, 2], [], [3]]),
      (lambda: tf.RaggedTensor.from_row_limits([1,2,3],[2,2,3]), [[1, 2], [], [3]]),
      (lambda: tf.RaggedTensor.from_uniform_row_length([1,2,3,4],2), [[1, 2], [3, 4]]),
      (lambda: tf.RaggedTensor.from_nested_row_lengths([1,2,3,4],[[2,1],[1,2,1]]),
       [[[1], [2, 3]], [[4]]]),
      (lambda: tf.RaggedTensor.from_nested_value_rowids([1,2,3,4],[[0,0,1],[0,1,1,2]]),
       [[[1], [2, 3]], [[4]]]),
      (lambda: tf.RaggedTensor.from_tensor([[1,2,0],[3,0,0]],padding=0), [[1, 2], [3]]),
      (lambda: tf.RaggedTensor.from_tensor([[1,2,0],[3,0,0]],lengths=[1,3]), [[1], [3, 0, 0]]),
      (lambda: tf.RaggedTensor.from_tensor([[[1,2],[3,0]],[[5,0],[0,0]]],padding=0,ragged_rank=2),
       [[[1, 2], [3]], [[5], []]]),
      (lambda: tf.RaggedTensor.from_tensor([[[1,2],[3,0]],[[5,0],[0,0]]],lengths=([1,2],[2,1,1])),
       [[[1, 2]], [[5], [0]]]),
      (lambda: tf.ragged.range([1,2,3],[4,2,6]), [[1, 2, 3], [], [3, 4, 5]]),
      (lambda: tf.ragged.range(3,10,2), [[3, 5, 7, 9]]),
      (lambda: tf.ragged.range([0,5],[5,0],[2,-2]), [[0, 2, 4], [5, 3, 1]]),
    ])

  def test_map(self):
    self._check([
      (lambda: tf.ragged.map_flat_values(lambda x,y: x*y, R(), R()),
       [[1, 4, 9], [], [16, 25], [36]]),
      (lambda: tf.strings.join([C([['a'],['b','c']]),C([['x'],['y','z']])],'-'),
       [[b'a-x'], [b'b-y', b'c-z']]),
      (lambda: tf.strings.join([C([['a'],['b','c']]),'!']), [[b'a!'], [b'b!', b'c!']]),
      (lambda: tf.strings.length(C([['a'],['bb','c']])), [[1], [2, 1]]),
      (lambda: tf.cast(R(),tf.float32), [[1.0, 2.0, 3.0], [], [4.0, 5.0], [6.0]]),
      (lambda: tf.zeros_like(R()), [[0, 0, 0], [], [0, 0], [0]]),
      (lambda: tf.clip_by_value(R(),2,4), [[2, 2, 3], [], [4, 4], [4]]),
      (lambda: tf.map_fn(lambda r: r*2, R()), [[2, 4, 6], [], [8, 10], [12]]),
      (lambda: tf.add_n([R(),R()]), [[2, 4, 6], [], [8, 10], [12]]),
      (lambda: tf.strings.split(['a b','c'],result_type='RaggedTensor'), [[b'a', b'b'], [b'c']]),
      (lambda: tf.strings.split([['a b','c'],['d e','']],result_type='RaggedTensor'),
       [[[b'a', b'b'], [b'c']], [[b'd', b'e'], []]]),
      (lambda: tf.strings.split('a b c',result_type='RaggedTensor'), [[b'a', b'b', b'c']]),
      (lambda: tf.strings.bytes_split(['ab','c']), [[b'a', b'b'], [b'c']]),
      (lambda: tf.strings.ngrams(['a','b','c','d'],2), [b'a b', b'b c', b'c d']),
      (lambda: tf.strings.ngrams(C([['a','b','c'],['d']]),[1,2],pad_values='_'),
       [[b'a', b'b', b'c', b'_ a', b'a b', b'b c', b'c _'], [b'd', b'_ d', b'd _']]),
    ])

  def test_rows_of_one_element_are_repeated(self):
    self._check([(lambda: tf.constant([[1], [2], [3], [4]]) - R(), [[0, -1, -2], [], [-1, -2],
     [-2]])])

  def test_what_is_fetched_may_be_fed(self):
    fed = tf.ragged.placeholder(tf.int32, 1)
    total = tf.reduce_sum(fed, 1)
    with tf.Session() as session:
      value = session.run(R())
      self.assertEqual(value.row_splits.tolist(), [0, 3, 3, 5, 6])
      self.assertEqual(session.run(total, {fed: value}).tolist(), [6, 0, 9, 6])
      found = session.run({'a': [R(), total]}, {fed: value})
      self.assertEqual(found['a'][0].to_list(), value.to_list())

  def test_gradients_reach_the_values(self):
    values = tf.constant([1.0, 2.0, 3.0])
    ragged = tf.RaggedTensor.from_row_splits(values, [0, 2, 2, 3])
    total = tf.reduce_sum((ragged * ragged)[:, :1].to_tensor())
    with tf.Session() as session:
      self.assertEqual(session.run(tf.gradients(total, values)[0]).tolist(), [2.0, 0.0, 6.0])

  def test_splits_that_are_fed_are_checked(self):
    splits = tf.placeholder(tf.int64, [None])
    ragged = tf.RaggedTensor.from_row_splits([1, 2, 3], splits)
    with tf.Session() as session:
      self.assertEqual(session.run(ragged, {splits: [0, 1, 3]}).to_list(), [[1], [2, 3]])
      for wrong in ([1, 3], [0, 2, 1, 3], [0, 2]):
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(ragged, {splits: wrong})

  def test_wrong_arguments(self):
    for wrong, text in (
        (lambda: R()[:, 0], 'Cannot index into an inner ragged dimension'),
        (lambda: C([1, [2]]), 'all scalar values must have the same nesting depth'),
        (lambda: C([[1, 2, 3]], ragged_rank=2), 'depth greater than 2'),
        (lambda: R().with_values([1]), 'incompatible'),
        (lambda: tf.expand_dims(R(), 5), 'axis=5 out of bounds: expected -3<=axis<3'),
        (lambda: tf.RaggedTensor.from_tensor([1]), 'rank of a RaggedTensor must be greater than 1'),
        (lambda: tf.gather_nd(R(), C([[0, 1], [0]])), 'may not be ragged')):
      with self.assertRaisesRegex(ValueError, text):
        wrong()
    with self.assertRaisesRegex(TypeError, 'may not be used as a boolean'):
      bool(R())
    with self.assertRaises(tf.errors.InvalidArgumentError):
      with tf.Session() as session:
        session.run(R() + C([[1, 2], [], [4, 5], [6]]))


if __name__ == '__main__':
  unittest.main()
