// The optimizers of leat/train.h. leat_minimize adds gradients with TF_AddGradients, one Apply
// operation for each variable, and the slots (accumulators) that the update rule keeps:
//
//   gradient of a ────┐                 ┌──▶ Apply a ──┐
//   gradient of b ────┴▶ all_gradients ─┴──▶ Apply b ──┴──▶ train
//
// The updates wait for all gradients. While a gradient is computed, no variable that it reads
// changes; and when a variable changes, nobody holds its old value any more, so that it changes in
// place. The rules, with g the gradient and r the learning rate (the kernels have the details):
//
//   SGD       w -= r g
//   Momentum  a = momentum a + g;  w -= r a
//   Adagrad   a += g^2;            w -= r g / sqrt(a)
//   Adam      m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
//             w -= r sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon)
//   RMSProp   s = decay s + (1 - decay) g^2;  a = momentum a + r g / sqrt(s + epsilon);  w -= a
//
// Adam's powers b1^t and b2^t are two variables that all updates read; they advance when all
// updates have read them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/scope.h"

leat_optimizer_t leat_optimizer_sgd(float learning_rate) {
  return (leat_optimizer_t){.kind = LEAT_OPTIMIZER_SGD, .learning_rate = learning_rate};
}

leat_optimizer_t leat_optimizer_momentum(float learning_rate, float momentum) {
  return (leat_optimizer_t){
      .kind = LEAT_OPTIMIZER_MOMENTUM, .learning_rate = learning_rate, .momentum = momentum};
}

leat_optimizer_t leat_optimizer_adam(float learning_rate) {
  return (leat_optimizer_t){.kind = LEAT_OPTIMIZER_ADAM,
                            .learning_rate = learning_rate,
                            .beta1 = 0.9f,
                            .beta2 = 0.999f,
                            .epsilon = 1e-8f};
}

leat_optimizer_t leat_optimizer_adagrad(float learning_rate) {
  return (leat_optimizer_t){.kind = LEAT_OPTIMIZER_ADAGRAD,
                            .learning_rate = learning_rate,
                            .initial_accumulator = 0.1f};
}

leat_optimizer_t leat_optimizer_rmsprop(float learning_rate) {
  return (leat_optimizer_t){.kind = LEAT_OPTIMIZER_RMSPROP,
                            .learning_rate = learning_rate,
                            .decay = 0.9f,
                            .epsilon = 1e-10f};
}

// What all updates of one optimizer share.
typedef struct update_t {
  leat_scope_t* scope;
  leat_scope_t* after;  // the same scope, where operations wait for all gradients
  const leat_optimizer_t* optimizer;
  TF_Output beta1_power, beta2_power;  // Adam: references to b1^t and b2^t
} update_t;

static TF_Output scalar(const update_t* u, TF_DataType dtype, float value) {
  TF_Output constant = leat_constant_float(u->scope, value);
  return dtype == TF_FLOAT ? constant : leat_cast(u->scope, constant, dtype);
}

// The learning rate as a tensor of type |dtype|: a tensor of the client's, or a constant.
static TF_Output learning_rate(const update_t* u, TF_DataType dtype) {
  TF_Output rate = u->optimizer->rate;
  if (!rate.oper) return scalar(u, dtype, u->optimizer->learning_rate);
  return TF_OperationOutputType(rate) == dtype ? rate : leat_cast(u->scope, rate, dtype);
}

// Adds a slot of variable |v|, which begins as |initial|.
static TF_Output slot(const update_t* u, const leat_variable_record_t* v, const char* kind,
                      float initial) {
  size_t size = strlen(v->name) + strlen(kind) + 2;
  char* name = malloc(size);
  TF_Output handle = {NULL, 0};
  if (name) {
    snprintf(name, size, "%s/%s", v->name, kind);
    leat_scope_t* scope = leat_scope_enter(u->scope, "slots");
    handle = leat_scope_add_slot(scope, name, v->dtype, v->rank, v->dims, (double)initial);
    leat_scope_free(scope);
  } else {
    leat_scope_fail(u->scope, TF_RESOURCE_EXHAUSTED, "no memory for a slot of '%s'", v->name);
  }
  free(name);
  return handle;
}

// Adds an Apply operation after all gradients. |nesterov| is its attribute, or -1 where it has
// none.
static TF_Operation* apply(const update_t* u, const char* op, const TF_Output* inputs, int count,
                           int nesterov) {
  leat_attribute_t attribute = leat_attribute_bool("use_nesterov", nesterov);
  return leat_operation(u->after, op, NULL, inputs, count, &attribute, nesterov >= 0 ? 1 : 0);
}

// Reads one of Adam's powers in the variable's type.
static TF_Output power(const update_t* u, TF_Output handle, TF_DataType dtype) {
  TF_Output read = {leat_operation(u->scope, "Identity", NULL, &handle, 1, NULL, 0), 0};
  return dtype == TF_FLOAT ? read : leat_cast(u->scope, read, dtype);
}

static TF_Operation* apply_adam(const update_t* u, const leat_variable_record_t* v, TF_Output g) {
  const leat_optimizer_t* o = u->optimizer;
  TF_Output m = slot(u, v, "m", 0), n = slot(u, v, "v", 0);
  TF_Output inputs[] = {v->handle,
                        m,
                        n,
                        power(u, u->beta1_power, v->dtype),
                        power(u, u->beta2_power, v->dtype),
                        learning_rate(u, v->dtype),
                        scalar(u, v->dtype, o->beta1),
                        scalar(u, v->dtype, o->beta2),
                        scalar(u, v->dtype, o->epsilon),
                        g};
  return apply(u, "ApplyAdam", inputs, 10, 0);
}

static TF_Operation* apply_rmsprop(const update_t* u, const leat_variable_record_t* v,
                                   TF_Output g) {
  const leat_optimizer_t* o = u->optimizer;
  TF_Output ms = slot(u, v, "rms", 1), momentum = slot(u, v, "momentum", 0);
  TF_Output inputs[] = {v->handle,
                        ms,
                        momentum,
                        learning_rate(u, v->dtype),
                        scalar(u, v->dtype, o->decay),
                        scalar(u, v->dtype, o->momentum),
                        scalar(u, v->dtype, o->epsilon),
                        g};
  return apply(u, "ApplyRMSProp", inputs, 8, -1);
}

// Adds the update of one variable by the optimizer's rule, with its slots. NULL after an error.
static TF_Operation* apply_one(const update_t* u, const leat_variable_record_t* variable,
                               TF_Output gradient) {
  // The record is copied: adding slots moves the list that |variable| points into.
  leat_variable_record_t copy = *variable;
  const leat_variable_record_t* v = &copy;
  const leat_optimizer_t* o = u->optimizer;
  TF_Output rate = learning_rate(u, v->dtype);
  switch (o->kind) {
    case LEAT_OPTIMIZER_SGD:
      return apply(u, "ApplyGradientDescent", (TF_Output[]){v->handle, rate, gradient}, 3, -1);
    case LEAT_OPTIMIZER_MOMENTUM: {
      TF_Output accumulator = slot(u, v, "momentum", 0);
      TF_Output momentum = scalar(u, v->dtype, o->momentum);
      TF_Output inputs[] = {v->handle, accumulator, rate, gradient, momentum};
      return apply(u, "ApplyMomentum", inputs, 5, o->use_nesterov != 0);
    }
    case LEAT_OPTIMIZER_ADAGRAD: {
      TF_Output accumulator = slot(u, v, "adagrad", o->initial_accumulator);
      TF_Output inputs[] = {v->handle, accumulator, rate, gradient};
      return apply(u, "ApplyAdagrad", inputs, 4, -1);
    }
    case LEAT_OPTIMIZER_ADAM: return apply_adam(u, v, gradient);
    case LEAT_OPTIMIZER_RMSPROP: return apply_rmsprop(u, v, gradient);
  }
  leat_scope_fail(u->scope, TF_INVALID_ARGUMENT, "the optimizer's kind is %d, must be known",
                  (int)o->kind);
  return NULL;
}

static TF_Output add_power(leat_scope_t* scope, const char* name, float value) {
  return leat_scope_add_slot(scope, name, TF_FLOAT, 0, NULL, (double)value);
}

// Multiplies one of Adam's powers by its beta, after all updates have read it.
static TF_Operation* advance_power(leat_scope_t* scope, TF_Output power_handle, float beta,
                                   TF_Operation* const* updates, int count) {
  TF_Output read = {leat_operation(scope, "Identity", NULL, &power_handle, 1, NULL, 0), 0};
  TF_Output next = leat_multiply(scope, read, leat_constant_float(scope, beta));
  leat_scope_t* after = leat_scope_after(scope, updates, count);
  TF_Output inputs[] = {power_handle, next};
  TF_Operation* assign = leat_operation(after, "Assign", NULL, inputs, 2, NULL, 0);
  leat_scope_free(after);
  return assign;
}

typedef struct gradients_t {
  TF_Output* variables;  // references to the trainable variables
  TF_Output* gradients;
  int* records;          // the number of each among the scope's variables
  int count;
  const char *loss, *loss_op;
} gradients_t;

static void add_gradients(leat_scope_t* scope, TF_Output loss, gradients_t* g) {
  int total = scope->root->variable_count;
  g->variables = calloc((size_t)total + 1, sizeof(TF_Output));
  g->gradients = calloc((size_t)total + 1, sizeof(TF_Output));
  g->records = calloc((size_t)total + 1, sizeof(int));
  if (!g->variables || !g->gradients || !g->records) {
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for %d gradients", total);
    return;
  }
  for (int i = 0; i < total; ++i) {
    if (!scope->root->variables[i].trainable) continue;
    g->variables[g->count] = scope->root->variables[i].handle;
    g->records[g->count++] = i;
  }
  if (g->count == 0) return;
  TF_AddGradients(scope->root->graph, &loss, 1, g->variables, g->count, NULL, scope->root->status,
                  g->gradients);
}

// Adds the operation that waits for all gradients. |room| has room for them. Fails where the loss
// depends on no variable.
static TF_Operation* add_gate(leat_scope_t* scope, const gradients_t* g, TF_Operation** room) {
  int count = 0;
  for (int i = 0; i < g->count; ++i) {
    // A gradient without an operation: the loss does not depend on that variable.
    if (g->gradients[i].oper) room[count++] = g->gradients[i].oper;
  }
  if (count == 0) {
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Minimize failed for node '%s' (%s): the loss depends on no trainable "
                    "variable, must on one at least",
                    g->loss, g->loss_op);
  }
  return leat_group(scope, "all_gradients", room, count);
}

// Adds the updates of all variables, which wait for all gradients, and the operation "train", which
// waits for the updates. Adam's powers advance after the updates, since those read them.
static TF_Operation* add_updates(update_t* u, const gradients_t* g) {
  leat_scope_t* scope = u->scope;
  TF_Operation** updates = calloc((size_t)g->count + 3, sizeof *updates);
  if (!updates) {
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for %d updates", g->count);
    return NULL;
  }
  TF_Operation* gate = add_gate(scope, g, updates);
  u->after = leat_scope_after(scope, &gate, 1);
  int count = 0;
  for (int i = 0; i < g->count && leat_scope_is_ok(scope); ++i) {
    if (!g->gradients[i].oper) continue;
    updates[count++] = apply_one(u, &scope->root->variables[g->records[i]], g->gradients[i]);
  }
  if (u->optimizer->kind == LEAT_OPTIMIZER_ADAM && leat_scope_is_ok(scope)) {
    int applied = count;
    updates[count++] =
        advance_power(scope, u->beta1_power, u->optimizer->beta1, updates, applied);
    updates[count++] =
        advance_power(scope, u->beta2_power, u->optimizer->beta2, updates, applied);
  }
  TF_Operation* train =
      leat_scope_is_ok(scope) ? leat_group(scope, "train", updates, count) : NULL;
  leat_scope_free(u->after);
  free(updates);
  return train;
}

TF_Operation* leat_minimize(leat_scope_t* scope, leat_optimizer_t optimizer, TF_Output loss) {
  if (!leat_scope_is_ok(scope)) return NULL;
  if (!loss.oper) {
    leat_scope_fail(scope, TF_INVALID_ARGUMENT, "Minimize failed: the loss is missing, must be an "
                                                "output");
    return NULL;
  }
  gradients_t gradients = {.loss = TF_OperationName(loss.oper),
                           .loss_op = TF_OperationOpType(loss.oper)};
  add_gradients(scope, loss, &gradients);
  TF_Operation* train = NULL;
  if (leat_scope_is_ok(scope)) {
    update_t update = {.scope = scope, .optimizer = &optimizer};
    if (optimizer.kind == LEAT_OPTIMIZER_ADAM) {
      update.beta1_power = add_power(scope, "beta1_power", optimizer.beta1);
      update.beta2_power = add_power(scope, "beta2_power", optimizer.beta2);
    }
    train = add_updates(&update, &gradients);
  }
  free(gradients.variables);
  free(gradients.gradients);
  free(gradients.records);
  return train;
}
