// The rule for depths and the gradients of convolutions of any number of dimensions. The gradient
// of each op of a kind is a node of each of the other two ops, with the same window.
#include "ops/nn/convolution.h"

leat_status_t leat_convolution_check_depths(int64_t in, int64_t filter_in, int64_t out) {
  if (in == LEAT_DIM_UNKNOWN || filter_in == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (filter_in == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Depth of filter must not be 0");
  }
  if (in % filter_in != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Depth of input (%lld) is not a multiple of input depth of filter "
                            "(%lld)", (long long)in, (long long)filter_in);
  }
  const int64_t groups = in / filter_in;
  if (in == filter_in || out == LEAT_DIM_UNKNOWN || (groups > 0 && out % groups == 0)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Depth of output (%lld) is not a multiple of the number of groups (%lld)",
                          (long long)out, (long long)groups);
}

leat_status_t leat_convolution_gradient(leat_gradient_t* g, const leat_convolution_kind_t* kind) {
  leat_builder_t* b = &g->builder;
  const leat_output_t input = leat_gradient_input(g, 0), filter = leat_gradient_input(g, 1);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_output_t input_sizes = leat_build_shape_of(b, input);
  const leat_output_t filter_sizes = leat_build_shape_of(b, filter);
  leat_gradient_set_input(
      g, 0, leat_window_build_like(g, kind->to_input, LEAT_INPUTS(input_sizes, filter, dy)));
  leat_gradient_set_input(
      g, 1, leat_window_build_like(g, kind->to_filter, LEAT_INPUTS(input, filter_sizes, dy)));
  return leat_ok_status();
}

// dx is linear in the filter and in dy: the gradient for the filter is that of a convolution whose
// input is ddx, and the gradient for dy is the convolution of ddx. The sizes get none.
leat_status_t leat_convolution_to_input_gradient(leat_gradient_t* g,
                                                 const leat_convolution_kind_t* kind) {
  const leat_output_t filter = leat_gradient_input(g, 1), dy = leat_gradient_input(g, 2);
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  const leat_output_t sizes = leat_build_shape_of(&g->builder, filter);
  leat_gradient_set_input(g, 1,
                          leat_window_build_like(g, kind->to_filter, LEAT_INPUTS(ddx, sizes, dy)));
  leat_gradient_set_input(g, 2, leat_window_build_like(g, kind->forward, LEAT_INPUTS(ddx, filter)));
  return leat_ok_status();
}

// Likewise for dfilter, which is linear in the input and in dy.
leat_status_t leat_convolution_to_filter_gradient(leat_gradient_t* g,
                                                  const leat_convolution_kind_t* kind) {
  const leat_output_t input = leat_gradient_input(g, 0), dy = leat_gradient_input(g, 2);
  const leat_output_t ddf = leat_gradient_of_output(g, 0);
  const leat_output_t sizes = leat_build_shape_of(&g->builder, input);
  leat_gradient_set_input(g, 0,
                          leat_window_build_like(g, kind->to_input, LEAT_INPUTS(sizes, ddf, dy)));
  leat_gradient_set_input(g, 2, leat_window_build_like(g, kind->forward, LEAT_INPUTS(input, ddf)));
  return leat_ok_status();
}
