// The formulas of leat/graph.h: constants, placeholders, layers and losses. Each adds one operation
// to the graph, or the few that TensorFlow's Python library builds for the same name, so that
// graphs from either look alike. All of them go through leat_operation, which names the node under
// the scope and keeps the first error in the scope; after an error they return an output without an
// operation, so that a client checks once, at the end. This room includes public headers only; a
// client could have written each of these functions itself.
#include <stdlib.h>
#include <string.h>

#include "client/scope.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static TF_Output first(TF_Operation* operation) { return (TF_Output){operation, 0}; }

static TF_Output unary(leat_scope_t* s, const char* op, TF_Output x) {
  return first(leat_operation(s, op, NULL, &x, 1, NULL, 0));
}

static TF_Output binary(leat_scope_t* s, const char* op, TF_Output x, TF_Output y) {
  TF_Output inputs[] = {x, y};
  return first(leat_operation(s, op, NULL, inputs, 2, NULL, 0));
}

// ---- Values -------------------------------------------------------------------------------------

TF_Output leat_placeholder(leat_scope_t* scope, const char* name, TF_DataType dtype, int rank,
                           const int64_t* dims) {
  leat_attribute_t attributes[] = {leat_attribute_type("dtype", dtype),
                                   leat_attribute_shape("shape", rank, dims)};
  return first(
      leat_operation(scope, "Placeholder", name, NULL, 0, attributes, COUNT(attributes)));
}

// Adds a constant with |tensor|'s value and frees |tensor|, which may be NULL.
static TF_Output constant_of(leat_scope_t* scope, TF_Tensor* tensor) {
  if (!tensor) {
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for a constant");
    return first(NULL);
  }
  leat_attribute_t attributes[] = {leat_attribute_tensor("value", tensor),
                                   leat_attribute_type("dtype", TF_TensorType(tensor))};
  TF_Operation* operation =
      leat_operation(scope, "Const", NULL, NULL, 0, attributes, COUNT(attributes));
  TF_DeleteTensor(tensor);
  return first(operation);
}

// The type must have elements of a fixed size; leat_constant_string is for strings.
TF_Output leat_constant(leat_scope_t* scope, TF_DataType dtype, int rank, const int64_t* dims,
                        const void* values) {
  size_t size = TF_DataTypeSize(dtype);
  if (size == 0) {
    leat_scope_fail(scope, TF_INVALID_ARGUMENT, "a constant has type %d, must be of fixed size",
                    (int)dtype);
    return first(NULL);
  }
  for (int i = 0; i < rank; ++i) size *= (size_t)dims[i];
  TF_Tensor* tensor = leat_scope_is_ok(scope) ? TF_AllocateTensor(dtype, dims, rank, size) : NULL;
  if (tensor && size) memcpy(TF_TensorData(tensor), values, size);
  return leat_scope_is_ok(scope) ? constant_of(scope, tensor) : first(NULL);
}

TF_Output leat_constant_floats(leat_scope_t* scope, int rank, const int64_t* dims,
                               const float* values) {
  return leat_constant(scope, TF_FLOAT, rank, dims, values);
}

TF_Output leat_constant_float(leat_scope_t* scope, float value) {
  return leat_constant(scope, TF_FLOAT, 0, NULL, &value);
}

TF_Output leat_constant_int(leat_scope_t* scope, int32_t value) {
  return leat_constant(scope, TF_INT32, 0, NULL, &value);
}

TF_Output leat_constant_ints(leat_scope_t* scope, int count, const int32_t* values) {
  int64_t size = count;
  return leat_constant(scope, TF_INT32, 1, &size, values);
}

TF_Output leat_constant_string(leat_scope_t* scope, const char* value) {
  if (!leat_scope_is_ok(scope)) return first(NULL);
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  if (tensor) TF_TString_Copy(TF_TensorData(tensor), value, strlen(value));
  return constant_of(scope, tensor);
}

// ---- Formulas -----------------------------------------------------------------------------------

TF_Output leat_add(leat_scope_t* s, TF_Output x, TF_Output y) { return binary(s, "AddV2", x, y); }

TF_Output leat_subtract(leat_scope_t* s, TF_Output x, TF_Output y) {
  return binary(s, "Sub", x, y);
}

TF_Output leat_multiply(leat_scope_t* s, TF_Output x, TF_Output y) {
  return binary(s, "Mul", x, y);
}

TF_Output leat_divide(leat_scope_t* s, TF_Output x, TF_Output y) {
  return binary(s, "RealDiv", x, y);
}

TF_Output leat_matmul(leat_scope_t* s, TF_Output a, TF_Output b) {
  return binary(s, "MatMul", a, b);
}

TF_Output leat_relu(leat_scope_t* s, TF_Output x) { return unary(s, "Relu", x); }

TF_Output leat_softmax(leat_scope_t* s, TF_Output logits) { return unary(s, "Softmax", logits); }

TF_Output leat_reshape(leat_scope_t* scope, TF_Output x, int rank, const int64_t* dims) {
  int64_t size = rank;
  return binary(scope, "Reshape", x, leat_constant(scope, TF_INT64, 1, &size, dims));
}

TF_Output leat_conv2d(leat_scope_t* scope, TF_Output input, TF_Output filter, int stride,
                      const char* padding) {
  TF_Output inputs[] = {input, filter};
  int64_t strides[] = {1, stride, stride, 1};
  leat_attribute_t attributes[] = {leat_attribute_ints("strides", 4, strides),
                                   leat_attribute_string("padding", padding)};
  return first(
      leat_operation(scope, "Conv2D", NULL, inputs, 2, attributes, COUNT(attributes)));
}

TF_Output leat_bias_add(leat_scope_t* s, TF_Output x, TF_Output bias) {
  return binary(s, "BiasAdd", x, bias);
}

TF_Output leat_max_pool(leat_scope_t* scope, TF_Output x, int size) {
  int64_t window[] = {1, size, size, 1};
  leat_attribute_t attributes[] = {leat_attribute_ints("ksize", 4, window),
                                   leat_attribute_ints("strides", 4, window),
                                   leat_attribute_string("padding", "SAME")};
  return first(leat_operation(scope, "MaxPool", NULL, &x, 1, attributes, COUNT(attributes)));
}

// Keeps each element with probability |keep| and divides it by |keep|, so that the mean stays the
// same.
TF_Output leat_dropout(leat_scope_t* scope, TF_Output x, TF_Output keep, int64_t seed) {
  TF_Output shape = unary(scope, "Shape", x);
  leat_attribute_t attributes[] = {leat_attribute_type("dtype", TF_FLOAT),
                                   leat_attribute_int("seed", seed),
                                   leat_attribute_int("seed2", seed)};
  TF_Output noise = first(
      leat_operation(scope, "RandomUniform", NULL, &shape, 1, attributes, COUNT(attributes)));
  TF_Output kept = binary(scope, "Less", noise, keep);
  TF_Output scaled = leat_divide(scope, x, keep);
  TF_Output inputs[] = {kept, scaled, leat_constant_float(scope, 0)};
  return first(leat_operation(scope, "SelectV2", NULL, inputs, 3, NULL, 0));
}

TF_Output leat_sparse_softmax_cross_entropy(leat_scope_t* scope, TF_Output logits,
                                            TF_Output labels) {
  return leat_mean(scope, binary(scope, "SparseSoftmaxCrossEntropyWithLogits", logits, labels));
}

// The mean over all axes: range(0, rank) names them for any rank.
TF_Output leat_mean(leat_scope_t* scope, TF_Output x) {
  TF_Output zero = leat_constant_int(scope, 0);
  TF_Output one = leat_constant_int(scope, 1);
  TF_Output range[] = {zero, unary(scope, "Rank", x), one};
  TF_Output axes = first(leat_operation(scope, "Range", NULL, range, 3, NULL, 0));
  return binary(scope, "Mean", x, axes);
}

TF_Output leat_argmax(leat_scope_t* scope, TF_Output logits) {
  return binary(scope, "ArgMax", logits, leat_constant_int(scope, -1));
}

TF_Output leat_cast(leat_scope_t* scope, TF_Output x, TF_DataType dtype) {
  leat_attribute_t to = leat_attribute_type("DstT", dtype);
  return first(leat_operation(scope, "Cast", NULL, &x, 1, &to, 1));
}

// The part of the rows whose largest logit is at the label.
TF_Output leat_accuracy(leat_scope_t* scope, TF_Output logits, TF_Output labels) {
  TF_Output guess = leat_argmax(scope, logits);
  TF_Output right = binary(scope, "Equal", guess, leat_cast(scope, labels, TF_INT64));
  return leat_mean(scope, leat_cast(scope, right, TF_FLOAT));
}
