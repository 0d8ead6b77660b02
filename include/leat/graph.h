/* leat/graph.h: building graphs in straight-line C, over TensorFlow's C API.
 *
 * A scope adds operations to a TF_Graph. The first error is kept; later calls on the scope do
 * nothing and return an output whose |oper| is NULL, so that a model reads like its formula and
 * is checked once, with leat_scope_status(). A scope belongs to one thread; it does not own the
 * graph.
 *
 *   TF_Graph* graph = TF_NewGraph();
 *   leat_scope_t* s = leat_scope_create(graph);
 *   TF_Output x = leat_placeholder(s, "x", TF_FLOAT, 2, (int64_t[]){-1, 3});
 *   TF_Output w = leat_constant_floats(s, 2, (int64_t[]){3, 1}, (float[]){1, 2, 3});
 *   TF_Output y = leat_matmul(s, x, w);
 *   if (TF_GetCode(leat_scope_status(s)) != TF_OK) puts(TF_Message(leat_scope_status(s)));
 *   leat_scope_free(s);
 *
 * Shapes are given as in the comments: [batch, in] x [in, out] -> [batch, out]. */
#ifndef LEAT_GRAPH_PUBLIC_H_
#define LEAT_GRAPH_PUBLIC_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_scope_t leat_scope_t;

/* Never NULL unless memory is gone; then every function here accepts NULL and does nothing. */
TF_CAPI_EXPORT extern leat_scope_t* leat_scope_create(TF_Graph* graph);
TF_CAPI_EXPORT extern void leat_scope_free(leat_scope_t* scope);
/* A scope whose names begin with |name|/; it shares the status and the variables of |parent|. Each
 * scope is freed on its own, in any order. */
TF_CAPI_EXPORT extern leat_scope_t* leat_scope_enter(leat_scope_t* parent, const char* name);
/* A scope under the same names whose operations run after |operations| too. */
TF_CAPI_EXPORT extern leat_scope_t* leat_scope_after(leat_scope_t* parent,
                                                     TF_Operation* const* operations, int count);
/* A scope under the same names whose operations are placed on |device|, copied ("/device:CPU:1";
 * parts may be missing); "" leaves it to the placer again. */
TF_CAPI_EXPORT extern leat_scope_t* leat_scope_on(leat_scope_t* parent, const char* device);
TF_CAPI_EXPORT extern TF_Graph* leat_scope_graph(const leat_scope_t* scope);
/* Borrowed. The first error of this scope and those entered from it, or TF_OK. */
TF_CAPI_EXPORT extern TF_Status* leat_scope_status(leat_scope_t* scope);

/* - Any operation -------------------------------------------------------------------------------
 * An attribute is named and typed by the macro that makes it; attributes that follow from the
 * inputs (T, N) are left out. |name| NULL takes the op's; names are made unique in the graph by a
 * number behind them.
 *
 *   leat_operation(s, "Sum", NULL, (TF_Output[]){x, axis}, 2, (leat_attribute_t[]){
 *       leat_attribute_bool("keep_dims", 1)}, 1);                                                */
typedef struct leat_attribute_t {
  const char* name;
  int kind;        /* the letter that the macro below gives */
  int64_t integer; /* of an int, bool or type; how many there are in a list or shape */
  float real;
  const char* text;         /* NUL-terminated */
  const int64_t* integers;  /* of a list, a shape */
  TF_Tensor* tensor;        /* borrowed */
  const TF_DataType* types;
  const int* ranks; /* of a list of shapes, whose sizes follow one another in |integers| */
} leat_attribute_t;
#define leat_attribute_int(n, v) {(n), 'i', (v), 0, 0, 0, 0, 0, 0}
#define leat_attribute_float(n, v) {(n), 'f', 0, (v), 0, 0, 0, 0, 0}
#define leat_attribute_bool(n, v) {(n), 'b', (v), 0, 0, 0, 0, 0, 0}
#define leat_attribute_type(n, v) {(n), 't', (v), 0, 0, 0, 0, 0, 0}
#define leat_attribute_string(n, v) {(n), 's', 0, 0, (v), 0, 0, 0, 0}
#define leat_attribute_ints(n, count, v) {(n), 'l', (count), 0, 0, (v), 0, 0, 0}
#define leat_attribute_types(n, count, v) {(n), 'y', (count), 0, 0, 0, 0, (v), 0}
#define leat_attribute_shape(n, rank, v) {(n), 'h', (rank), 0, 0, (v), 0, 0, 0}
#define leat_attribute_tensor(n, v) {(n), 'v', 0, 0, 0, 0, (v), 0, 0}
#define leat_attribute_shapes(n, count, r, v) {(n), 'H', (count), 0, 0, (v), 0, 0, (r)}
/* Inputs of a list argument (N * T) stand in their place, one after the other. NULL on error.
 *
 *   leat_operation(s, "AddN", NULL, (TF_Output[]){x, y, z}, 3, NULL, 0);                        */
TF_CAPI_EXPORT extern TF_Operation* leat_operation(leat_scope_t* scope, const char* op,
                                                   const char* name, const TF_Output* inputs,
                                                   int input_count,
                                                   const leat_attribute_t* attributes,
                                                   int attribute_count);
/* A NoOp that runs after |operations|: one target for several. */
TF_CAPI_EXPORT extern TF_Operation* leat_group(leat_scope_t* scope, const char* name,
                                               TF_Operation* const* operations, int count);

/* - Values --------------------------------------------------------------------------------------
 * A size of -1 is not known before the run. */
TF_CAPI_EXPORT extern TF_Output leat_placeholder(leat_scope_t* scope, const char* name,
                                                 TF_DataType dtype, int rank, const int64_t* dims);
/* |values| are copied; rank 0 is a scalar. */
TF_CAPI_EXPORT extern TF_Output leat_constant(leat_scope_t* scope, TF_DataType dtype, int rank,
                                              const int64_t* dims, const void* values);
TF_CAPI_EXPORT extern TF_Output leat_constant_floats(leat_scope_t* scope, int rank,
                                                     const int64_t* dims, const float* values);
TF_CAPI_EXPORT extern TF_Output leat_constant_float(leat_scope_t* scope, float value);
TF_CAPI_EXPORT extern TF_Output leat_constant_int(leat_scope_t* scope, int32_t value);
/* int32 [count] */
TF_CAPI_EXPORT extern TF_Output leat_constant_ints(leat_scope_t* scope, int count,
                                                   const int32_t* values);
TF_CAPI_EXPORT extern TF_Output leat_constant_string(leat_scope_t* scope, const char* value);

/* ---- Layers and formulas --------------------------------------------------------------------*/
TF_CAPI_EXPORT extern TF_Output leat_add(leat_scope_t* scope, TF_Output x, TF_Output y);
TF_CAPI_EXPORT extern TF_Output leat_subtract(leat_scope_t* scope, TF_Output x, TF_Output y);
TF_CAPI_EXPORT extern TF_Output leat_multiply(leat_scope_t* scope, TF_Output x, TF_Output y);
TF_CAPI_EXPORT extern TF_Output leat_divide(leat_scope_t* scope, TF_Output x, TF_Output y);
/* [m, k] x [k, n] -> [m, n] */
TF_CAPI_EXPORT extern TF_Output leat_matmul(leat_scope_t* scope, TF_Output a, TF_Output b);
TF_CAPI_EXPORT extern TF_Output leat_relu(leat_scope_t* scope, TF_Output x);
TF_CAPI_EXPORT extern TF_Output leat_softmax(leat_scope_t* scope, TF_Output logits);
/* At most one size may be -1. */
TF_CAPI_EXPORT extern TF_Output leat_reshape(leat_scope_t* scope, TF_Output x, int rank,
                                             const int64_t* dims);
/* input [batch, height, width, in], filter [h, w, in, out] -> [batch, height/stride, ..., out];
 * padding "SAME" or "VALID". */
TF_CAPI_EXPORT extern TF_Output leat_conv2d(leat_scope_t* scope, TF_Output input, TF_Output filter,
                                            int stride, const char* padding);
TF_CAPI_EXPORT extern TF_Output leat_bias_add(leat_scope_t* scope, TF_Output x, TF_Output bias);
/* The largest of each |size| x |size| window, moved by |size|: [n, h, w, c] -> [n, h/size, ...]. */
TF_CAPI_EXPORT extern TF_Output leat_max_pool(leat_scope_t* scope, TF_Output x, int size);
/* Keeps an element with probability |keep| (a scalar float, so that evaluation can feed 1) and
 * scales it by 1/keep. |seed| 0 draws one. */
TF_CAPI_EXPORT extern TF_Output leat_dropout(leat_scope_t* scope, TF_Output x, TF_Output keep,
                                             int64_t seed);
/* logits [batch, classes] float, labels [batch] int32 or int64 -> the mean loss, a scalar */
TF_CAPI_EXPORT extern TF_Output leat_sparse_softmax_cross_entropy(leat_scope_t* scope,
                                                                  TF_Output logits,
                                                                  TF_Output labels);
/* The mean over all elements, a scalar. */
TF_CAPI_EXPORT extern TF_Output leat_mean(leat_scope_t* scope, TF_Output x);
/* logits [batch, classes] -> the index of the largest, int64 [batch] */
TF_CAPI_EXPORT extern TF_Output leat_argmax(leat_scope_t* scope, TF_Output logits);
TF_CAPI_EXPORT extern TF_Output leat_cast(leat_scope_t* scope, TF_Output x, TF_DataType dtype);
/* logits [batch, classes], labels int32 or int64 [batch] -> the share that is right, a scalar */
TF_CAPI_EXPORT extern TF_Output leat_accuracy(leat_scope_t* scope, TF_Output logits,
                                              TF_Output labels);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_GRAPH_PUBLIC_H_ */
