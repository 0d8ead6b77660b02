// TF_Shape: no function of this API sets one, so that every shape is unknown.
#include "tensorflow/c/tf_shape.h"

#include "capi/plugin/plugin.h"

struct TF_Shape {
  leat_partial_shape_t shape;
};

TF_Shape* TF_NewShape(void) {
  TF_Shape* shape = leat_capi_allocate(sizeof *shape);
  if (shape) shape->shape = leat_partial_shape_unknown();
  return shape;
}

int TF_ShapeDims(const TF_Shape* shape) { return shape->shape.rank; }

int64_t TF_ShapeDimSize(const TF_Shape* shape, int d) {
  return d >= 0 && d < shape->shape.rank ? shape->shape.dims[d] : -1;
}

void TF_DeleteShape(TF_Shape* shape) { leat_allocator_free(leat_allocator_system(), shape); }
