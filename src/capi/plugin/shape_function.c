// What the shape functions of plugins ask (ops.h), over graph/inference/inference.h. The opaque
// context is the leat_inference_t itself. A shape handle holds a partial shape by value, whose
// sizes lie in the graph's arena and are not freed with the handle; a dimension handle holds one
// size. Ranks are checked here, because a plugin may pass any number. A result is written only when
// the function succeeds.
#include "base/checked.h"
#include "capi/plugin/plugin.h"
#include "graph/inference/inference.h"
#include "tensorflow/c/eager/c_api_unified_experimental.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_shape.h"

struct TF_ShapeHandle {
  leat_partial_shape_t shape;
};
struct TF_DimensionHandle {
  int64_t size;
};

// The opaque context is the inference itself.
static leat_inference_t* inference_of(TF_ShapeInferenceContext* ctx) {
  return (leat_inference_t*)ctx;
}

static TF_ShapeHandle* new_handle(leat_partial_shape_t shape) {
  TF_ShapeHandle* handle = leat_capi_allocate(sizeof *handle);
  if (handle) handle->shape = shape;
  return handle;
}

TF_ShapeHandle* TF_NewShapeHandle(void) { return new_handle(leat_partial_shape_unknown()); }

void TF_DeleteShapeHandle(TF_ShapeHandle* handle) {
  leat_allocator_free(leat_allocator_system(), handle);
}

TF_DimensionHandle* TF_NewDimensionHandle(void) {
  TF_DimensionHandle* handle = leat_capi_allocate(sizeof *handle);
  if (handle) handle->size = LEAT_DIM_UNKNOWN;
  return handle;
}

void TF_DeleteDimensionHandle(TF_DimensionHandle* handle) {
  leat_allocator_free(leat_allocator_system(), handle);
}

int TF_DimensionHandleValueKnown(TF_DimensionHandle* dim_handle) {
  return dim_handle->size != LEAT_DIM_UNKNOWN;
}

int64_t TF_DimensionHandleValue(TF_DimensionHandle* dim_handle) { return dim_handle->size; }

// ---- Inputs, outputs, attributes ----------------------------------------------------------------

int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* ctx) {
  return leat_inference_input_count(inference_of(ctx));
}

static leat_status_t out_of_range(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s index out of range", what);
}

void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle,
                                      TF_Status* status) {
  leat_inference_t* c = inference_of(ctx);
  bool exists = i >= 0 && i < leat_inference_input_count(c);
  if (exists) handle->shape = leat_inference_input(c, i);
  leat_capi_status_set(status, exists ? leat_ok_status() : out_of_range("input"));
}

void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* ctx, int i,
                                       TF_ShapeHandle* handle, TF_Status* status) {
  leat_inference_t* c = inference_of(ctx);
  bool exists = i >= 0 && i < c->node->output_count;
  if (exists) leat_inference_set_output(c, i, handle->shape);
  leat_capi_status_set(status, exists ? leat_ok_status() : out_of_range("output"));
}

void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  leat_capi_status_set(status, leat_shape_unknown(inference_of(ctx)));
}

void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext* ctx, const char* attr_name,
                                          TF_DataType* val, TF_Status* status) {
  const leat_node_t* node = inference_of(ctx)->node;
  const leat_attr_value_t* value = NULL;
  leat_status_t result = leat_capi_attr_find(node->attrs, node->attr_count, node->name, attr_name,
                                             LEAT_ATTR_TYPE, false, &value);
  if (!result) *val = (TF_DataType)value->type;
  leat_capi_status_set(status, result);
}

// ---- Shapes -------------------------------------------------------------------------------------

TF_ShapeHandle* TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext* ctx) {
  return new_handle((leat_partial_shape_t){.rank = 0});
}

TF_ShapeHandle* TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext* ctx,
                                                       size_t size) {
  TF_ShapeHandle* handle = TF_NewShapeHandle();
  int64_t dim = (int64_t)size;
  // A size that is not valid leaves the shape unknown.
  if (handle) leat_status_free(leat_inference_make(inference_of(ctx), 1, &dim, &handle->shape));
  return handle;
}

int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle) {
  return handle->shape.rank < 0 ? -1 : handle->shape.rank;
}

int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle) {
  return handle->shape.rank >= 0;
}

// INVALID_ARGUMENT where |rank| is not one that a shape can have.
static leat_status_t check_rank(int64_t rank) {
  if (rank >= 0 && rank <= LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Rank is %lld, must be in [0, %d]",
                          (long long)rank, LEAT_SHAPE_MAX_RANK);
}

void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle,
                                      int64_t rank, TF_ShapeHandle* result, TF_Status* status) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  leat_status_t checked = check_rank(rank);
  if (!checked) {
    checked = leat_inference_with_rank(inference_of(ctx), handle->shape, (int)rank, &shape);
  }
  if (!checked) result->shape = shape;
  leat_capi_status_set(status, checked);
}

void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle,
                                             int64_t rank, TF_ShapeHandle* result,
                                             TF_Status* status) {
  leat_status_t checked = check_rank(rank);
  if (!checked) {
    checked = leat_inference_with_rank_at_least(inference_of(ctx), handle->shape, (int)rank);
  }
  if (!checked) result->shape = handle->shape;
  leat_capi_status_set(status, checked);
}

void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle,
                                            int64_t rank, TF_ShapeHandle* result,
                                            TF_Status* status) {
  leat_status_t checked = check_rank(rank);
  if (!checked) {
    checked = leat_inference_with_rank_at_most(inference_of(ctx), handle->shape, (int)rank);
  }
  if (!checked) result->shape = handle->shape;
  leat_capi_status_set(status, checked);
}

// A negative |i| counts from the end. A dimension that does not exist is unknown.
void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle,
                                 int64_t i, TF_DimensionHandle* result) {
  int rank = shape_handle->shape.rank;
  bool exists = i >= -(int64_t)rank && i < rank;
  result->size = exists ? leat_partial_shape_dim(shape_handle->shape, (int)i) : LEAT_DIM_UNKNOWN;
}

// Larger indices mean the same as the largest that fits; both lie outside every shape.
static int clamp_index(int64_t index) {
  return (int)LEAT_MAX(INT32_MIN / 2, LEAT_MIN(index, INT32_MAX));
}

void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle,
                                      int64_t start, int64_t end, TF_ShapeHandle* result,
                                      TF_Status* status) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  leat_status_t cut = leat_inference_subshape(inference_of(ctx), shape_handle->shape,
                                              clamp_index(start), clamp_index(end), &shape);
  if (!cut) result->shape = shape;
  leat_capi_status_set(status, cut);
}

void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext* ctx,
                                               TF_ShapeHandle* first, TF_ShapeHandle* second,
                                               TF_ShapeHandle* result, TF_Status* status) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  leat_status_t joined = leat_inference_concatenate(inference_of(ctx), first->shape,
                                                    second->shape, &shape);
  if (!joined) result->shape = shape;
  leat_capi_status_set(status, joined);
}

// ---- TF_Shape -----------------------------------------------------------------------------------
// A client's own is unknown, since no function of the API sets one; those of signatures are known.

TF_Shape* TF_NewShape(void) {
  TF_Shape* shape = leat_capi_allocate(sizeof *shape);
  if (shape) shape->num_dims = -1;
  return shape;
}

int TF_ShapeDims(const TF_Shape* shape) { return shape->num_dims; }

int64_t TF_ShapeDimSize(const TF_Shape* shape, int d) {
  return d >= 0 && d < shape->num_dims ? shape->dim_sizes[d] : -1;
}

void TF_DeleteShape(TF_Shape* shape) { leat_allocator_free(leat_allocator_system(), shape); }
