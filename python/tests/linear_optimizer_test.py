"""tf.contrib.linear_optimizer: weights beside those that solve the problem, which are known in
closed form for squares, and by the slope of the loss for others."""
import itertools
import unittest

import numpy as np

import leat as tf

optimizer = tf.contrib.linear_optimizer

X = np.array([[1., 2.], [-1., .5], [.25, -2.], [3., 1.]], np.float32)
Y = np.array([1., -2., .5, 2.], np.float32)
WEIGHTS = np.array([1., 2., .5, 1.], np.float32)


class SdcaModelTest(unittest.TestCase):

  def setUp(self):
    default = tf.Graph().as_default()
    default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)

  def _train(self, kind='squared_loss', labels=Y, l1=0., l2=1., is_sparse=False, steps=60):
    """(weights, duality gap, predictions, loss, loss with norms) after steps."""
    sizes = [1, 1] if is_sparse == 'columns' else [2]
    if is_sparse == 'columns':   # the first without values, which are 1
      rows = np.arange(4)
      sparse = [optimizer.SparseFeatureColumn(rows, 0 * rows, None),
                optimizer.SparseFeatureColumn(rows, 0 * rows, X[:, 1])]
    elif is_sparse:
      places = np.argwhere(X != 0)
      sparse = [optimizer.SparseFeatureColumn(places[:, 0], places[:, 1], X[X != 0])]
    else:
      sparse = []
    variables = [tf.Variable(tf.zeros([n]), use_resource=False) for n in sizes]
    examples = dict(sparse_features=sparse, dense_features=[] if is_sparse else [X],
                    example_labels=labels, example_weights=WEIGHTS,
                    example_ids=['a', 'b', 'c', 'd'])
    model = optimizer.SdcaModel(
        examples, dict(sparse_features_weights=variables if is_sparse else [],
                       dense_features_weights=[] if is_sparse else variables),
        dict(loss_type=kind, symmetric_l1_regularization=l1, symmetric_l2_regularization=l2))
    step = tf.train.get_or_create_global_step()
    train = model.update_weights(model.minimize(step))
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(), tf.tables_initializer()])
      self.assertTrue(np.isnan(session.run(model.approximate_duality_gap())))
      for _ in range(steps):
        session.run(train)
      self.assertEqual(session.run(step), steps)
      found = session.run([model.approximate_duality_gap(), model.predictions(examples),
                           model.unregularized_loss(examples), model.regularized_loss(examples)])
      return [np.concatenate(session.run(variables)), *found]

  def test_squares(self):
    x = np.concatenate([np.ones([4, 1]), X[:, 1:]], 1)
    for is_sparse in (False, True, 'columns'):
      with tf.Graph().as_default():
        inputs = x if is_sparse == 'columns' else X
        best = np.linalg.solve((inputs.T * WEIGHTS) @ inputs + 2 * np.eye(2),
                               (inputs.T * WEIGHTS) @ Y)
        w, gap, predictions, loss, whole = self._train(l2=2., is_sparse=is_sparse)
        np.testing.assert_allclose(w, best, rtol=1e-3, err_msg=str(is_sparse))
        self.assertLess(abs(gap), 1e-4)
        np.testing.assert_allclose(predictions, inputs @ w, rtol=1e-5)
        squares = np.sum(WEIGHTS * (Y - inputs @ w) ** 2) / 2 / WEIGHTS.sum()
        self.assertAlmostEqual(loss, squares, places=5)
        self.assertAlmostEqual(whole, squares + np.sum(w ** 2) / WEIGHTS.sum(), places=5)

  def test_the_l1_norm_makes_zeros(self):
    w, gap, *_ = self._train(l1=5.)
    # Of the second weight the slope at 0 is smaller than l1.
    first = (X[:, 0] * WEIGHTS * Y).sum() - 5.
    np.testing.assert_allclose(w, [first / ((X[:, 0] ** 2 * WEIGHTS).sum() + 1), 0], rtol=1e-3,
                               atol=1e-6)
    self.assertLess(abs(gap), 1e-3)

  def test_the_slope_of_a_logistic_loss_ends(self):
    labels = (Y > 0).astype(np.float32)
    w, gap, chances, loss, _ = self._train('logistic_loss', labels, steps=100)
    expected = 1 / (1 + np.exp(-X @ w))
    np.testing.assert_allclose(chances, expected, rtol=1e-5)
    np.testing.assert_allclose(X.T @ (WEIGHTS * (expected - labels)) + w, [0, 0], atol=1e-3)
    self.assertLess(abs(gap), 1e-3)
    self.assertAlmostEqual(loss, -np.sum(WEIGHTS * np.log(
        np.where(labels > 0, expected, 1 - expected))) / WEIGHTS.sum(), places=4)

  def test_what_is_missing_or_wrong_is_refused(self):
    examples = dict(sparse_features=[], dense_features=[X], example_labels=Y,
                    example_weights=WEIGHTS, example_ids=['a', 'b', 'c', 'd'])
    variables = dict(sparse_features_weights=[], dense_features_weights=[tf.Variable([0., 0.])])
    options = dict(loss_type='squared_loss', symmetric_l1_regularization=0.,
                   symmetric_l2_regularization=1.)
    for changed, message in (
        (({}, variables, options), 'must all be specified'),
        (({**examples, 'example_ids': None}, variables, options), 'example_ids has to be'),
        (({**examples, 'dense_features': X}, variables, options), 'dense_features must be a list'),
        ((examples, variables, {**options, 'loss_type': 'absolute'}), 'Unsupported loss_type'),
        ((examples, variables, {**options, 'symmetric_l1_regularization': -1.}), 'non-negative')):
      with self.assertRaisesRegex(ValueError, message):
        optimizer.SdcaModel(*changed)


class SdcaOptimizerTest(unittest.TestCase):

  def _features(self):
    return {'id': tf.constant(['a', 'b', 'c', 'd']), 'x': tf.constant(X)}, tf.constant(Y[:, None])

  def test_a_regressor(self):
    """The bias is a weight too, and is as large as the norm lets it be."""
    column = tf.contrib.layers.real_valued_column('x', dimension=2)
    regressor = tf.contrib.learn.LinearRegressor(
        [column], optimizer=optimizer.SDCAOptimizer('id', symmetric_l2_regularization=1.))
    regressor.fit(input_fn=self._features, steps=80)
    inputs = np.concatenate([X, np.ones([4, 1])], 1)
    best = np.linalg.solve(inputs.T @ inputs + np.eye(3), inputs.T @ Y)
    found = list(itertools.islice(regressor.predict(input_fn=self._features), 4))
    np.testing.assert_allclose(found, inputs @ best, rtol=1e-3)

  def test_models_that_it_does_not_train(self):
    sdca = optimizer.SDCAOptimizer('id')
    column = tf.contrib.layers.real_valued_column('x', dimension=2)
    labels = lambda: (self._features()[0], tf.constant([[0], [1], [2], [0]]))
    with self.assertRaisesRegex(ValueError, '3 logits, must have 1'):
      tf.contrib.learn.LinearClassifier([column], n_classes=3, optimizer=sdca).fit(
          input_fn=labels, steps=1)
    core = tf.feature_column.numeric_column('x', [2])
    with self.assertRaisesRegex(ValueError, 'feature columns of contrib.layers'):
      tf.contrib.learn.LinearRegressor([core], optimizer=sdca).fit(
          input_fn=self._features, steps=1)
    with self.assertRaisesRegex(ValueError, 'linear models alone'):
      tf.contrib.learn.DNNLinearCombinedRegressor(
          linear_feature_columns=[column], linear_optimizer=sdca, dnn_feature_columns=[column],
          dnn_hidden_units=[2]).fit(input_fn=self._features, steps=1)


if __name__ == '__main__':
  unittest.main()
