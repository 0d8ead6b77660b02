// Synchronous data parallelism: each device has a replica of the model's formula and a share of the
// batch; the variables are one. Gradients are averaged before any is applied, so that the losses
// are those of the whole batch on one device.
#include <math.h>
#include <stdio.h>

#include "parallel.h"

#define STEPS 200
#define RATE 0.5f
#define VARIABLES 4  // two layers' weights and biases

typedef struct { layer_t hidden, out; } model_t;

static TF_Output replica_loss(leat_scope_t* s, model_t m, int part, int parts) {
  TF_Output h = leat_relu(s, layer_apply(s, m.hidden, points(s, part, parts)));
  return leat_sparse_softmax_cross_entropy(s, layer_apply(s, m.out, h), labels(s, part, parts));
}

static TF_Output mean_of(leat_scope_t* s, const TF_Output* values, int count) {
  TF_Output sum = {leat_operation(s, "AddN", NULL, values, count, NULL, 0), 0};
  return leat_multiply(s, sum, leat_constant_float(s, 1.0f / (float)count));
}

// |out_train| applies the mean of the replicas' gradients, all at once.
static TF_Output build(program_t* p, int replicas, TF_Operation** out_train) {
  leat_scope_t* s = p->scope;
  model_t m = {layer_make(s, "hidden", 2, HIDDEN), layer_make(s, "out", HIDDEN, CLASSES)};
  TF_Output read[] = {m.hidden.weights, m.hidden.bias, m.out.weights, m.out.bias};
  TF_Output losses[DEVICES], gradients[VARIABLES][DEVICES], mean[VARIABLES];
  TF_Operation *means[VARIABLES], *updates[VARIABLES];
  for (int i = 0; i < replicas; ++i) {
    TF_Output slopes[VARIABLES] = {{NULL, 0}};
    leat_scope_t* replica = on_device(s, i);
    losses[i] = replica_loss(replica, m, i, replicas);
    program_check(p, "building a replica");
    TF_AddGradients(p->graph, &losses[i], 1, read, VARIABLES, NULL, p->status, slopes);
    program_check(p, "adding gradients");
    for (int k = 0; k < VARIABLES; ++k) gradients[k][i] = slopes[k];
    leat_scope_free(replica);
  }
  for (int k = 0; k < VARIABLES; ++k) {
    mean[k] = mean_of(s, gradients[k], replicas);
    means[k] = mean[k].oper;
  }
  leat_scope_t* after = leat_scope_after(s, means, VARIABLES);
  for (int k = 0; k < VARIABLES; ++k) {
    TF_Output inputs[] = {leat_variable_at(s, k), leat_constant_float(s, RATE), mean[k]};
    updates[k] = leat_operation(after, "ApplyGradientDescent", NULL, inputs, 3, NULL, 0);
  }
  leat_scope_free(after);
  *out_train = leat_group(s, "train", updates, VARIABLES);
  return mean_of(s, losses, replicas);
}

static void train(int replicas, float losses[STEPS]) {
  program_t p = program_begin();
  TF_Operation* train = NULL;
  TF_Output loss = build(&p, replicas, &train);
  program_open(&p, PROCESSORS);
  leat_callable_t* step = prepare(&p, loss, train);
  for (int i = 0; i < STEPS; ++i) losses[i] = run_number(step);
  leat_callable_free(step);
  program_end(&p);
}

int run_synchronous(void) {
  float one[STEPS], all[STEPS], apart = 0;
  train(1, one);
  train(DEVICES, all);
  for (int i = 0; i < STEPS; ++i) apart = fmaxf(apart, fabsf(one[i] - all[i]));
  printf("synchronous: %d replicas, loss %.3f -> %.3f, at most %.0e from one device\n", DEVICES,
         all[0], all[STEPS - 1], apart);
  return !(all[STEPS - 1] < all[0] / 2 && apart <= 1e-5f);
}
