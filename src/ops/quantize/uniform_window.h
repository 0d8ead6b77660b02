// The geometry of the uniform convolutions: any number of spatial dimensions, in any order of the
// tensors' dimensions, with strides, dilations of input and kernel, and groups.
//
//   read     once for a node: the attributes
//   fit      for tensors of a rank
//   measure  for shapes, some of whose sizes a shape function may not know: the output's
//
// The functions keep nothing and may be called from any thread; definitions and kernels use them.
#ifndef LEAT_OPS_QUANTIZE_UNIFORM_WINDOW_H_
#define LEAT_OPS_QUANTIZE_UNIFORM_WINDOW_H_

#include "graph/op/attr.h"

#define LEAT_UNIFORM_MAX_RANK 10
#define LEAT_UNIFORM_MAX_SPATIAL (LEAT_UNIFORM_MAX_RANK - 2)

// Which dimension of a tensor is what. For the kernel, |batch| is the output's features and
// |feature| the input's.
typedef struct leat_uniform_dims_s {
  int batch, feature;
  int spatial[LEAT_UNIFORM_MAX_SPATIAL];
} leat_uniform_dims_t;

// Along one spatial dimension. |before| and |after| are the padding, once it is measured; a
// negative one cuts off.
typedef struct leat_uniform_axis_s {
  int64_t stride, lhs_dilation, rhs_dilation;
  int64_t before, after;
} leat_uniform_axis_t;

typedef enum leat_uniform_padding_e {
  LEAT_UNIFORM_EXPLICIT,
  LEAT_UNIFORM_SAME,
  LEAT_UNIFORM_VALID,
} leat_uniform_padding_t;

typedef struct leat_uniform_window_s {
  int spatial;       // number of spatial dimensions; the rank is two more
  bool is_any_rank;  // no attribute depends on the rank; |spatial| is the greatest
  leat_uniform_dims_t lhs, rhs, output;
  leat_uniform_axis_t axes[LEAT_UNIFORM_MAX_SPATIAL];
  leat_uniform_padding_t padding;
  int64_t feature_groups, batch_groups;
} leat_uniform_window_t;

// Reads the attributes. INVALID_ARGUMENT for lists of different lengths, numbers that are not
// positive, an unknown padding, dimension numbers that are no message or no permutation.
LEAT_MUST_USE leat_status_t leat_uniform_window_read(const leat_attr_t* attrs, int attr_count,
                                                     leat_uniform_window_t* out_window);
// Makes |w| one for tensors of |rank|. INVALID_ARGUMENT for a rank that the attributes do not fit,
// or outside 3 to LEAT_UNIFORM_MAX_RANK.
LEAT_MUST_USE leat_status_t leat_uniform_window_fit(leat_uniform_window_t* w, int rank);
// Computes the sizes of the output, and the padding, from those of lhs and rhs, all of them
// [w->spatial + 2]. Where LEAT_DIM_UNKNOWN takes part, so is the result. INVALID_ARGUMENT for sizes
// that do not fit.
LEAT_MUST_USE leat_status_t leat_uniform_window_measure(leat_uniform_window_t* w,
                                                        const int64_t* lhs, const int64_t* rhs,
                                                        int64_t* out_dims);

#endif  // LEAT_OPS_QUANTIZE_UNIFORM_WINDOW_H_
