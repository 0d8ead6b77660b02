// The variables of leat/train.h. A variable is a VariableV2, the operations that compute its
// initial value, an Assign, and an Identity named "<name>/read" which is the variable's value in
// formulas; the names are those of TensorFlow's Python library. Initial values are random in most
// layers. The two kinds that depend on the shape are
//
//     Glorot uniform   uniform in [-l, l],  l = sqrt(6 / (fan_in + fan_out))
//     He normal        normal with deviation sqrt(2 / fan_in), truncated at two deviations
//
// where fan_in and fan_out are the numbers of inputs and outputs of a unit. All initializers are
// run by one operation, leat_variables_initializer.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/scope.h"
#include "leat/callable.h"

leat_initializer_t leat_initializer_constant(double value) {
  return (leat_initializer_t){LEAT_INITIALIZER_CONSTANT, value, 0, 0};
}

leat_initializer_t leat_initializer_uniform(double low, double high, int64_t seed) {
  return (leat_initializer_t){LEAT_INITIALIZER_UNIFORM, low, high, seed};
}

leat_initializer_t leat_initializer_truncated_normal(double mean, double deviation, int64_t seed) {
  return (leat_initializer_t){LEAT_INITIALIZER_TRUNCATED_NORMAL, mean, deviation, seed};
}

leat_initializer_t leat_initializer_glorot_uniform(int64_t seed) {
  return (leat_initializer_t){LEAT_INITIALIZER_GLOROT_UNIFORM, 0, 0, seed};
}

leat_initializer_t leat_initializer_he_normal(int64_t seed) {
  return (leat_initializer_t){LEAT_INITIALIZER_HE_NORMAL, 0, 0, seed};
}

// Counts inputs and outputs of a unit. For a matrix [in, out] these are its sizes; for a filter [h,
// w, in, out] each of the h * w taps counts.
static void fans(int rank, const int64_t* dims, double* out_in, double* out_out) {
  double taps = 1;
  for (int i = 0; i + 2 < rank; ++i) taps *= (double)dims[i];
  *out_in = rank > 1 ? taps * (double)dims[rank - 2] : rank == 1 ? (double)dims[0] : 1;
  *out_out = rank > 0 ? taps * (double)dims[rank - 1] : 1;
}

// Turns the kinds that depend on the shape into a uniform or truncated normal one.
static leat_initializer_t resolve(leat_initializer_t initializer, int rank, const int64_t* dims) {
  // A normal distribution truncated at two deviations has this part of its deviation left, for
  // which the deviation is corrected.
  const double kTruncated = 0.87962566103423978;
  double in, out;
  fans(rank, dims, &in, &out);
  if (initializer.kind == LEAT_INITIALIZER_GLOROT_UNIFORM) {
    double limit = sqrt(6 / (in + out));
    return leat_initializer_uniform(-limit, limit, initializer.seed);
  }
  if (initializer.kind == LEAT_INITIALIZER_HE_NORMAL) {
    return leat_initializer_truncated_normal(0, sqrt(2 / in) / kTruncated, initializer.seed);
  }
  return initializer;
}

static TF_Output scalar(leat_scope_t* s, TF_DataType dtype, double value) {
  return leat_cast(s, leat_constant(s, TF_DOUBLE, 0, NULL, &value), dtype);
}

static TF_Output binary(leat_scope_t* s, const char* op, TF_Output x, TF_Output y) {
  TF_Output inputs[] = {x, y};
  return (TF_Output){leat_operation(s, op, NULL, inputs, 2, NULL, 0), 0};
}

static TF_Output add_random(leat_scope_t* s, const char* op, TF_Output shape, TF_DataType dtype,
                            int64_t seed) {
  leat_attribute_t attributes[] = {leat_attribute_type("dtype", dtype),
                                   leat_attribute_int("seed", seed),
                                   leat_attribute_int("seed2", seed)};
  return (TF_Output){leat_operation(s, op, NULL, &shape, 1, attributes, 3), 0};
}

static TF_Output initial_value(leat_scope_t* s, TF_DataType dtype, int rank, const int64_t* dims,
                               leat_initializer_t initializer) {
  int64_t size = rank;
  TF_Output shape = leat_constant(s, TF_INT64, 1, &size, dims);
  initializer = resolve(initializer, rank, dims);
  double a = initializer.a, b = initializer.b;
  if (initializer.kind == LEAT_INITIALIZER_CONSTANT) {
    return binary(s, "Fill", shape, scalar(s, dtype, a));
  }
  bool uniform = initializer.kind == LEAT_INITIALIZER_UNIFORM;
  TF_Output noise =
      add_random(s, uniform ? "RandomUniform" : "TruncatedNormal", shape, dtype, initializer.seed);
  TF_Output scaled = binary(s, "Mul", noise, scalar(s, dtype, uniform ? b - a : b));
  return binary(s, "AddV2", scaled, scalar(s, dtype, a));
}

static TF_Output output_of(TF_Operation* operation) { return (TF_Output){operation, 0}; }

static TF_Output constant_of(leat_scope_t* s, TF_Tensor* tensor) {
  leat_attribute_t attributes[] = {leat_attribute_tensor("value", tensor),
                                   leat_attribute_type("dtype", TF_TensorType(tensor))};
  return output_of(leat_operation(s, "Const", NULL, NULL, 0, attributes, 2));
}

// Adds a variable with exactly this name.
static TF_Output add_variable(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                              const int64_t* dims, leat_initializer_t initializer, int trainable) {
  TF_Output none = {NULL, 0};
  leat_attribute_t attributes[] = {leat_attribute_shape("shape", rank, dims),
                                   leat_attribute_type("dtype", dtype)};
  TF_Output handle = {leat_scope_add(scope, "VariableV2", name, NULL, 0, attributes, 2), 0};
  if (!handle.oper) return none;
  leat_scope_t* inner = leat_scope_enter(scope, name + strlen(scope->prefix));
  TF_Output value = initial_value(inner, dtype, rank, dims, initializer);
  TF_Output assign_inputs[] = {handle, value};
  TF_Operation* assign = leat_operation(inner, "Assign", NULL, assign_inputs, 2, NULL, 0);
  TF_Output read = {leat_operation(inner, "Identity", "read", &handle, 1, NULL, 0), 0};
  leat_scope_add_variable(scope, handle, assign, name, dtype, rank, dims, trainable);
  leat_scope_free(inner);
  return leat_scope_is_ok(scope) ? read : none;
}

// Adds a variable whose name must be new: checkpoints know a variable by its name, so that another
// name would be another variable.
static TF_Output add_named(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                           const int64_t* dims, leat_initializer_t initializer, int trainable) {
  TF_Output read = {NULL, 0};
  for (int i = 0; i < rank; ++i) {
    if (dims[i] >= 0) continue;
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Adding variable '%s' failed: dimension %d is %lld, must be known", name, i,
                    (long long)dims[i]);
  }
  char* unique = leat_scope_name(scope, name);
  if (!unique) return read;
  const char* given = unique + strlen(scope->prefix);
  if (strcmp(given, name)) {
    leat_scope_fail(scope, TF_ALREADY_EXISTS,
                    "Adding variable '%s%s' failed: the graph has a node of this name",
                    scope->prefix, name);
  } else {
    read = add_variable(scope, unique, dtype, rank, dims, initializer, trainable);
  }
  free(unique);
  return read;
}

TF_Output leat_variable(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                        const int64_t* dims, leat_initializer_t initializer) {
  return add_named(scope, name, dtype, rank, dims, initializer, 1);
}

TF_Output leat_variable_untrained(leat_scope_t* scope, const char* name, TF_DataType dtype,
                                  int rank, const int64_t* dims,
                                  leat_initializer_t initializer) {
  return add_named(scope, name, dtype, rank, dims, initializer, 0);
}

TF_Output leat_scope_add_slot(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                              const int64_t* dims, double value) {
  TF_Output none = {NULL, 0};
  char* unique = leat_scope_name(scope, name);
  if (!unique) return none;
  int before = scope->root->variable_count;
  add_variable(scope, unique, dtype, rank, dims, leat_initializer_constant(value), 0);
  free(unique);
  return scope->root->variable_count > before ? scope->root->variables[before].handle : none;
}

int leat_variable_count(const leat_scope_t* scope) {
  return scope ? scope->root->variable_count : 0;
}

TF_Output leat_variable_at(const leat_scope_t* scope, int index) {
  if (!scope || index < 0 || index >= scope->root->variable_count) return (TF_Output){NULL, 0};
  return scope->root->variables[index].handle;
}

TF_Operation* leat_variables_initializer(leat_scope_t* scope) {
  if (!leat_scope_is_ok(scope)) return NULL;
  int count = scope->root->variable_count;
  TF_Operation** initializers = calloc((size_t)count + 1, sizeof *initializers);
  if (!initializers) {
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for %d initializers", count);
    return NULL;
  }
  for (int i = 0; i < count; ++i) initializers[i] = scope->root->variables[i].initializer;
  TF_Operation* init = leat_group(scope, "init", initializers, count);
  free(initializers);
  return init;
}

// The names stand in a constant beside a list of bools, of which the true ones are selected.
TF_Output leat_variables_uninitialized(leat_scope_t* scope) {
  const TF_Output none = {NULL, 0};
  leat_scope_t* s = leat_scope_enter(scope, "report_uninitialized_variables");
  const leat_scope_root_t* root = s ? s->root : NULL;
  const int64_t count = root ? root->variable_count : 0;
  TF_Output* is_there = calloc((size_t)count + 1, sizeof *is_there);
  TF_Tensor* names =
      TF_AllocateTensor(TF_STRING, &count, 1, (size_t)count * sizeof(TF_TString));
  if (!is_there || !names) leat_scope_fail(s, TF_RESOURCE_EXHAUSTED, "no memory for names");
  for (int64_t i = 0; is_there && names && i < count; ++i) {
    const leat_variable_record_t* v = &root->variables[i];
    TF_TString_Copy(&((TF_TString*)TF_TensorData(names))[i], v->name, strlen(v->name));
    is_there[i] = output_of(leat_operation(s, "IsVariableInitialized", NULL, &v->handle, 1, NULL,
                                           0));
  }
  TF_Output missing = none, absent = none;
  if (leat_scope_is_ok(s) && count == 0) {
    absent = constant_of(s, names);
  } else if (leat_scope_is_ok(s)) {
    TF_Output all = output_of(leat_operation(s, "Pack", NULL, is_there, (int)count, NULL, 0));
    missing = output_of(leat_operation(s, "LogicalNot", NULL, &all, 1, NULL, 0));
    TF_Output places = output_of(leat_operation(s, "Where", NULL, &missing, 1, NULL, 0));
    TF_Output inputs[] = {constant_of(s, names), leat_reshape(s, places, 1, (int64_t[]){-1}),
                          leat_constant_int(s, 0)};
    absent = output_of(leat_operation(s, "GatherV2", NULL, inputs, 3, NULL, 0));
  }
  free(is_there);
  TF_DeleteTensor(names);
  leat_scope_free(s);
  return leat_scope_is_ok(scope) ? absent : none;
}

#define GLOBAL_STEP "global_step"

static const leat_variable_record_t* find_global_step(const leat_scope_t* scope) {
  for (int i = 0; scope && i < scope->root->variable_count; ++i) {
    const leat_variable_record_t* v = &scope->root->variables[i];
    if (!strcmp(v->name, GLOBAL_STEP)) return v;
  }
  return NULL;
}

TF_Output leat_global_step(leat_scope_t* scope) {
  if (find_global_step(scope)) {
    return output_of(TF_GraphOperationByName(scope->root->graph, GLOBAL_STEP "/read"));
  }
  if (!scope) return (TF_Output){NULL, 0};
  char no_prefix[] = "";
  leat_scope_t outside = *scope;
  outside.prefix = no_prefix;
  outside.control_count = 0;
  return leat_variable_untrained(&outside, GLOBAL_STEP, TF_INT64, 0, NULL,
                                 leat_initializer_constant(0));
}

TF_Operation* leat_count_step(leat_scope_t* scope, TF_Operation* train) {
  leat_global_step(scope);
  leat_scope_t* after = leat_scope_is_ok(scope) ? leat_scope_after(scope, &train, 1) : NULL;
  const leat_variable_record_t* step = after ? find_global_step(scope) : NULL;
  TF_Operation* count = NULL;
  if (step) {
    const int64_t one = 1;
    TF_Output inputs[] = {step->handle, leat_constant(scope, TF_INT64, 0, NULL, &one)};
    count = leat_operation(after, "AssignAdd", "count_step", inputs, 2, NULL, 0);
  }
  leat_scope_free(after);
  return count;
}

void leat_target_run(TF_Session* session, TF_Operation* target, TF_Status* status) {
  const TF_Operation* targets[] = {target};
  if (!target) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "the target is NULL, must be an operation");
    return;
  }
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, status);
}

// Uses a callable, since it takes the timeout as a number instead of a serialized message. The
// callable's signature stays with the session, so that making it again is only a look-up.
void leat_target_run_within(TF_Session* session, TF_Operation* target, int64_t timeout_ms,
                            TF_Status* status) {
  const TF_Operation* targets[] = {target};
  leat_callable_t* step =
      leat_callable_create(session, NULL, 0, NULL, 0, targets, 1, status);
  if (!step) return;
  leat_callable_run_within(step, timeout_ms, NULL, NULL, status);
  leat_callable_free(step);
}
