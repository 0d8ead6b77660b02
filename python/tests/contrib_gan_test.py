"""contrib.gan: losses against formulas in numpy, scopes of models, what is trained."""
import tempfile
import unittest

import numpy as np

import leat as tf

gan = tf.contrib.gan
REAL, MADE = np.array([1.0, -2.0, 0.5], 'f'), np.array([0.25, 3.0, -1.0], 'f')


def softplus(x):
  return np.log1p(np.exp(x))


def generator(noise):
  return noise * tf.get_variable('w', [], initializer=tf.ones_initializer(),
                                 regularizer=tf.contrib.layers.l2_regularizer(0.5))


def discriminator(data, unused_inputs):
  return tf.reduce_sum(data, 1) * tf.get_variable('v', initializer=2.0)


def classifying(data, unused_inputs):
  return discriminator(data, None), tf.layers.dense(
      data, 2, name='classes', kernel_initializer=tf.ones_initializer())


class LossesTest(unittest.TestCase):

  def setUp(self):
    self.enterContext(tf.Graph().as_default())

  def _check(self, loss, wanted):
    with tf.Session() as session:
      self.assertAlmostEqual(float(session.run(loss)), float(wanted), places=5)

  def test_formulas(self):
    w = gan.losses.wargs
    for loss, wanted in (
        (w.wasserstein_generator_loss(MADE), -MADE.mean()),
        (w.wasserstein_discriminator_loss(REAL, MADE, generated_weights=2.0),
         2 * MADE.mean() - REAL.mean()),
        (w.minimax_discriminator_loss(REAL, MADE, label_smoothing=0.0),
         softplus(-REAL).mean() + softplus(MADE).mean()),
        # A smoothed label is 0.75 + 0.25 / 2.
        (w.modified_discriminator_loss(REAL, MADE),
         (0.875 * softplus(-REAL) + 0.125 * softplus(REAL)).mean() + softplus(MADE).mean()),
        (w.minimax_generator_loss(MADE), -softplus(-1.0) - softplus(MADE).mean()),
        (w.modified_generator_loss(MADE), softplus(-MADE).mean()),
        (w.least_squares_generator_loss(MADE, real_label=2), ((MADE - 2) ** 2).mean() / 2),
        (w.least_squares_discriminator_loss(REAL, MADE, fake_label=-1),
         ((REAL - 1) ** 2).mean() / 2 + ((MADE + 1) ** 2).mean() / 2),
        (w.acgan_generator_loss(np.log([[3.0, 1.0]]), [[1.0, 0.0]]), -np.log(0.75)),
        (w.acgan_discriminator_loss(np.log([[3.0, 1.0]]), np.log([[1.0, 1.0]]), [[1.0, 0.0]]),
         -np.log(0.75) - np.log(0.5)),
        (w.mutual_information_penalty([tf.constant(0.0)], [tf.distributions.Normal(0.0, 1.0)]),
         np.log(2 * np.pi) / 2),
        (w.cycle_consistency_loss([1.0], [3.0], [1.0], [0.0]), 1.5)):
      self._check(loss, wanted)
    self.assertEqual(len(tf.losses.get_losses()), 13)   # the last one adds two

  def test_the_gradient_penalty(self):
    # The gradient of the sum of three numbers times 2 has the norm 2 * sqrt(3).
    with tf.variable_scope('d') as scope:
      discriminator(tf.ones([1, 3]), None)
    for target, one_sided, wanted in ((1.0, False, (2 * 3 ** 0.5 - 1) ** 2),
                                      (4.0, False, (3 ** 0.5 / 2 - 1) ** 2), (4.0, True, 0)):
      loss = gan.losses.wargs.wasserstein_gradient_penalty(
          tf.zeros([2, 3]), tf.ones([2, 3]), None, discriminator, scope, target=target,
          one_sided=one_sided)
      with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        self.assertAlmostEqual(float(session.run(loss)), wanted, places=4)
    self.assertEqual(len(tf.trainable_variables()), 1)

  def test_combined_losses(self):
    x = tf.constant([3.0, 4.0])
    combine = gan.losses.wargs.combine_adversarial_loss
    self._check(combine(tf.constant(2.0), tf.constant(3.0), weight_factor=0.5), 3.5)
    # Norms of 2 and 5: the weight is 2 / 5 / 0.1.
    main, other = tf.reduce_sum(x * [2.0, 0.0]), tf.reduce_sum(x * [3.0, 4.0])
    self._check(combine(main, other, gradient_ratio=0.1, gradient_ratio_epsilon=0.0,
                        variables=[x]), 6 + 4 * 25)
    with self.assertRaisesRegex(ValueError, 'one of weight_factor'):
      combine(main, other)


class ModelTest(unittest.TestCase):

  def setUp(self):
    tf.logging.set_verbosity(tf.logging.ERROR)
    self.addCleanup(tf.logging.set_verbosity, tf.logging.get_verbosity())
    self.enterContext(tf.Graph().as_default())

  def _model(self, *scopes):
    return gan.gan_model(generator, discriminator, tf.zeros([2, 3]), tf.ones([2, 3]), *scopes)

  def test_scopes_and_variables(self):
    model = self._model()
    self.assertEqual([v.op.name for v in model.generator_variables], ['Generator/w'])
    self.assertEqual([v.op.name for v in model.discriminator_variables], ['Discriminator/v'])
    self.assertEqual(model.generated_data.op.name, 'Generator/mul')
    with self.assertRaisesRegex(ValueError, r'shape \(\(2, 3\)\) must be the same shape'):
      gan.gan_model(generator, discriminator, tf.zeros([2, 4]), tf.ones([2, 3]), 'G2', 'D2')

  def test_losses_of_a_model(self):
    loss = gan.gan_loss(self._model(), gan.losses.wasserstein_generator_loss,
                        gan.losses.wasserstein_discriminator_loss, gradient_penalty_weight=10.0)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found = session.run(loss)
    # Outputs of 6 for generated and 0 for real data; the regularizer of w adds 0.25.
    self.assertAlmostEqual(float(found.generator_loss), -6 + 0.25, places=5)
    self.assertAlmostEqual(float(found.discriminator_loss), 6 + 10 * (2 * 3 ** 0.5 - 1) ** 2,
                           places=3)
    with self.assertRaisesRegex(ValueError, "discriminator_gen_outputs of the loss"):
      gan.losses.wasserstein_generator_loss(self._model('A', 'B'), discriminator_gen_outputs=1)

  def test_classes_and_structure(self):
    model = gan.acgan_model(generator, classifying, tf.zeros([2, 3]), tf.ones([2, 3]),
                            [[1.0, 0.0], [0.0, 1.0]])
    wasserstein = gan.losses.wasserstein_generator_loss, gan.losses.wasserstein_discriminator_loss
    loss = gan.gan_loss(model, *wasserstein, aux_cond_generator_weight=2.0,
                        aux_cond_discriminator_weight=3.0)
    code = tf.constant([[0.0], [0.0]])
    info = gan.infogan_model(
        lambda inputs: tf.concat(inputs, 1) * tf.get_variable('w', initializer=1.0),
        lambda data, inputs: (discriminator(data, None), [tf.distributions.Normal([[0.0]], 1.0)]),
        tf.zeros([2, 3]), [tf.ones([2, 2])], [code], 'G', 'D')
    told = gan.gan_loss(info, *wasserstein, mutual_information_penalty_weight=2.0)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found, told = session.run([loss, told])
    self.assertAlmostEqual(float(found.generator_loss), -6 + 0.25 + 2 * np.log(2), places=5)
    self.assertAlmostEqual(float(found.discriminator_loss), 6 + 3 * 2 * np.log(2), places=5)
    self.assertAlmostEqual(float(told.generator_loss), -4 + np.log(2 * np.pi), places=5)
    for bad, message in ((dict(aux_cond_generator_weight=1.0), 'need an ACGANModel'),
                         (dict(mutual_information_penalty_weight=1.0), 'needs an InfoGANModel'),
                         (dict(gradient_penalty_weight=-1.0), 'must not be negative')):
      with self.assertRaisesRegex(ValueError, message):
        gan.gan_loss(self._model('g%d' % len(message), 'd%d' % len(message)), **bad)

  def test_data_of_a_pool(self):
    pool = lambda pair: (pair[0] * 3.0, pair[1])
    loss = gan.gan_loss(self._model(), gan.losses.wasserstein_generator_loss,
                        gan.losses.wasserstein_discriminator_loss, tensor_pool_fn=pool)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found = session.run(loss)
    self.assertAlmostEqual(float(found.discriminator_loss), 18, places=5)
    self.assertEqual(len(tf.trainable_variables()), 2)

  def _train_ops(self, **named):
    model = self._model()
    loss = gan.GANLoss(tf.reduce_sum(model.generator_variables[0] * 1.0),
                       tf.reduce_sum(model.discriminator_variables[0] * 1.0))
    make = tf.train.GradientDescentOptimizer
    return gan.gan_train_ops(model, loss, make(1.0), make(1.0), **named)

  def test_updates_run_with_their_network(self):
    model = self._model()
    count = tf.get_local_variable('count', [], initializer=tf.zeros_initializer())
    with tf.name_scope('Generator/'):
      tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(count, 1.0).op)
    loss = gan.GANLoss(model.generator_variables[0] * 1.0, model.discriminator_variables[0] * 1.0)
    make = lambda: tf.train.GradientDescentOptimizer(1.0)
    train = gan.gan_train_ops(model, loss, make(), make())
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
      session.run(train.discriminator_train_op)
      self.assertEqual(session.run([count, *model.generator_variables]), [0, 1])
      session.run(train.generator_train_op)
      self.assertEqual(session.run([count, *model.generator_variables]), [1, 0])
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op('stray'))
    with self.assertRaisesRegex(ValueError, r"unused update ops: \['stray'\]"):
      gan.gan_train_ops(model, loss, make(), make())
    gan.gan_train_ops(model, loss, make(), make(), check_for_unused_update_ops=False)

  def test_how_often_each_is_trained(self):
    for hooks_fn, generator_steps, discriminator_steps in (
        (gan.get_sequential_train_hooks(), 1, 1),
        (gan.get_sequential_train_hooks(gan.GANTrainSteps(3, 2)), 3, 2),
        (gan.get_joint_train_hooks(gan.GANTrainSteps(1, 4)), 1, 4)):
      with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        train = self._train_ops()
        step = gan.gan_train(train, folder, hooks_fn, hooks=[tf.train.StopAtStepHook(5)],
                             save_summaries_steps=None)
        self.assertEqual(step, 5)
        found = tf.train.load_checkpoint(tf.train.latest_checkpoint(folder))
        # Each step of a network takes one off its variable.
        self.assertEqual([float(found.get_tensor(n)) for n in ('Generator/w', 'Discriminator/v')],
                         [1 - 5 * generator_steps, 2 - 5 * discriminator_steps])

  def test_a_step_of_slim(self):
    train = self._train_ops()
    step_fn = gan.get_sequential_train_steps(gan.GANTrainSteps(2, 1))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      stop = {'should_stop': tf.constant(True)}
      self.assertTrue(step_fn(session, train, None, stop)[1])
      self.assertFalse(step_fn(session, train, None, {})[1])
      variables = [*tf.trainable_variables(), tf.train.get_global_step()]
      self.assertEqual(session.run(variables), [1 - 4, 2 - 2, 2])


if __name__ == '__main__':
  unittest.main()
