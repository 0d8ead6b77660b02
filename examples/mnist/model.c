// The three networks of the example. Read model_build first: a graph, a formula, a loss, an
// optimizer. The networks differ in the formula alone, from one matrix to two convolutions, and
// each layer is a function that makes its variables in a scope of its own. The softmax regression
// is trained by gradient descent that is written out in operations, to show what leat_minimize()
// builds for the other two. What is fed differs between training and testing only in |keep|, the
// share of units that dropout leaves.
#include <string.h>

#include "leat/gradients.h"
#include "mnist.h"

static TF_Output dense(leat_scope_t* s, const char* name, TF_Output x, int64_t in, int64_t out) {
  leat_scope_t* layer = leat_scope_enter(s, name);
  TF_Output w = leat_variable(layer, "w", TF_FLOAT, 2, (int64_t[]){in, out},
                              leat_initializer_glorot_uniform(1));
  TF_Output b =
      leat_variable(layer, "b", TF_FLOAT, 1, &out, leat_initializer_constant(0));
  TF_Output y = leat_add(layer, leat_matmul(layer, x, w), b);
  leat_scope_free(layer);
  return y;
}

static TF_Output convolution(leat_scope_t* s, const char* name, TF_Output x, int64_t in,
                             int64_t out) {
  leat_scope_t* layer = leat_scope_enter(s, name);
  TF_Output w = leat_variable(layer, "w", TF_FLOAT, 4, (int64_t[]){5, 5, in, out},
                              leat_initializer_he_normal(2));
  TF_Output b =
      leat_variable(layer, "b", TF_FLOAT, 1, &out, leat_initializer_constant(0));
  TF_Output y = leat_relu(layer, leat_bias_add(layer, leat_conv2d(layer, x, w, 1, "SAME"), b));
  TF_Output pooled = leat_max_pool(layer, y, 2);
  leat_scope_free(layer);
  return pooled;
}

// [batch, 784] -> 10
static TF_Output softmax(leat_scope_t* s, const model_t* m) {
  return dense(s, "out", m->images, PIXELS, CLASSES);
}

// [batch, 784] -> 256 -> 10
static TF_Output mlp(leat_scope_t* s, const model_t* m) {
  TF_Output h = leat_relu(s, dense(s, "hidden", m->images, PIXELS, 256));
  return dense(s, "out", leat_dropout(s, h, m->keep, 3), 256, CLASSES);
}

// [batch, 28, 28, 1] -> conv, pool -> 14 x 14 x 16 -> conv, pool -> 7 x 7 x 32 -> 128 -> 10
static TF_Output cnn(leat_scope_t* s, const model_t* m) {
  TF_Output picture = leat_reshape(s, m->images, 4, (int64_t[]){-1, SIDE, SIDE, 1});
  TF_Output h = convolution(s, "conv1", picture, 1, 16);
  h = convolution(s, "conv2", h, 16, 32);
  h = leat_reshape(s, h, 2, (int64_t[]){-1, 7 * 7 * 32});
  h = leat_relu(s, dense(s, "hidden", h, 7 * 7 * 32, 128));
  return dense(s, "out", leat_dropout(s, h, m->keep, 3), 128, CLASSES);
}

// Gradient descent by hand: the derivatives of the loss by each variable, and behind all of them an
// operation for each variable that subtracts its derivative times |rate|. leat_minimize does this
// for any optimizer.
static TF_Operation* descend(leat_scope_t* s, TF_Output loss, TF_Output rate) {
  enum { COUNT = 2 };  // softmax has a matrix and biases
  TF_Output variables[COUNT];
  leat_derivative_t slopes[COUNT];
  TF_Operation *computed[COUNT], *updates[COUNT];
  for (int i = 0; i < COUNT; ++i) variables[i] = leat_variable_at(s, i);
  if (TF_GetCode(leat_scope_status(s)) != TF_OK) return NULL;
  leat_gradients(leat_scope_graph(s), &loss, 1, variables, COUNT, NULL, slopes,
                 leat_scope_status(s));
  if (TF_GetCode(leat_scope_status(s)) != TF_OK) return NULL;
  for (int i = 0; i < COUNT; ++i) computed[i] = slopes[i].values.oper;
  leat_scope_t* after = leat_scope_after(s, computed, COUNT);
  for (int i = 0; i < COUNT; ++i) {
    updates[i] = leat_operation(after, "ApplyGradientDescent", NULL,
                                (TF_Output[]){variables[i], rate, slopes[i].values}, 3, NULL, 0);
  }
  leat_scope_free(after);
  return leat_group(s, "descend", updates, COUNT);
}

void model_build(const char* kind, const char* records, model_t* m) {
  *m = (model_t){.images = {NULL, 0}};
  m->graph = TF_NewGraph();
  leat_scope_t* s = m->scope = leat_scope_create(m->graph);
  if (records) {
    input_build(s, records, &m->input);
    m->images = m->input.images;
    m->labels = m->input.labels;
  } else {
    m->images = leat_placeholder(s, "images", TF_FLOAT, 2, (int64_t[]){-1, PIXELS});
    m->labels = leat_placeholder(s, "labels", TF_INT32, 1, (int64_t[]){-1});
  }
  m->keep = leat_placeholder(s, "keep", TF_FLOAT, 0, NULL);
  m->rate = leat_placeholder(s, "rate", TF_FLOAT, 0, NULL);
  int is_softmax = strcmp(kind, "softmax") == 0;
  m->logits = is_softmax ? softmax(s, m) : strcmp(kind, "cnn") == 0 ? cnn(s, m) : mlp(s, m);
  m->loss = leat_sparse_softmax_cross_entropy(s, m->logits, m->labels);
  if (is_softmax) {
    m->first_rate = 0.5f;
    m->train = descend(s, m->loss, m->rate);
  } else {
    leat_optimizer_t adam = leat_optimizer_adam(0);
    adam.rate = m->rate;
    m->first_rate = 2e-3f;
    m->train = leat_minimize(s, adam, m->loss);
  }
  m->init = leat_variables_initializer(s);
}

void model_free(model_t* m) {
  input_free(&m->input);
  leat_scope_free(m->scope);
  TF_DeleteGraph(m->graph);
}
