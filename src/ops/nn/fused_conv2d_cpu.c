// The CPU kernels of _FusedConv2D and _FusedDepthwiseConv2dNative. The convolution is that of
// Conv2D (conv2d_cpu.h). What follows it, such as a bias and a Relu, is an epilogue
// (epilogue_cpu.h): the convolution hands it each group of rows as soon as they are computed, while
// they are in the cache, so that the fused ops cost no pass over memory of their own.
//
//   input, filter ─▶ convolution ─▶ rows ─▶ epilogue(args) ─▶ the same rows of the output
//
// The attributes may come from a graph that somebody wrote by hand, so that the kernel checks the
// layouts and the arguments' types when it is created. A tensor that is added (fused op Add) is
// brought into the layout of the rows first: channels last, and float for half and bfloat16.
#include "ops/kernel_rows.h"
#include "ops/nn/channels_cpu.h"
#include "ops/nn/conv2d_cpu.h"
#include "ops/nn/epilogue_cpu.h"
#include "ops/nn/widen_cpu.h"

typedef struct leat_fused_conv2d_s {
  leat_conv2d_t conv;
  leat_epilogue_t epilogue;
} leat_fused_conv2d_t;

static leat_status_t create_depthwise(leat_kernel_creation_t* c, void* state) {
  leat_fused_conv2d_t* fused = state;
  fused->conv.is_depthwise = true;
  LEAT_RETURN_IF_ERROR(leat_conv2d_create(c, &fused->conv));
  return leat_epilogue_create(c, fused->conv.dtype, &fused->epilogue);
}

// UNIMPLEMENTED unless the attribute |name| is one of the layouts |first| and |second|.
static leat_status_t check_layout(leat_kernel_creation_t* c, const char* name, const char* first,
                                  const char* second) {
  leat_string_view_t layout;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, name, &layout));
  if (leat_string_view_equals(layout, first) || leat_string_view_equals(layout, second)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_UNIMPLEMENTED, "attribute %s is %.*s, must be %s or %s on the CPU",
                          name, LEAT_SV_ARG(layout), first, second);
}

// INVALID_ARGUMENT unless "TArgs" lists the arguments that the fused ops need, of the node's type.
// Those of FusedBatchNorm may also be float where the node is half. The op wants at least one
// argument; where the fused ops need none it may be anything, and is not read.
static leat_status_t check_arguments(leat_kernel_creation_t* c, const leat_epilogue_t* epilogue) {
  int64_t host_args;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_host_args", &host_args));
  const int64_t given = c->kernel->input_count - 2 - host_args;
  if (given != epilogue->arg_count && !(epilogue->arg_count == 0 && given == 1)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attribute TArgs has %lld types, must have as many as num_args, %d, or "
                            "one when that is 0", (long long)given, epilogue->arg_count);
  }
  for (int i = 0; i < epilogue->arg_count; ++i) {
    const int dtype = c->kernel->input_types[2 + i];
    const bool may_be_wide = epilogue->first == LEAT_EPILOGUE_BATCH_NORM && i < 4;
    if (dtype == epilogue->dtype) continue;
    if (may_be_wide && dtype == leat_wide_type(epilogue->dtype)) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute TArgs has type %s for argument %d, "
                            "must be T, %s", leat_dtype_name(dtype), i,
                            leat_dtype_name(epilogue->dtype));
  }
  return leat_ok_status();
}

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  leat_fused_conv2d_t* fused = state;
  LEAT_RETURN_IF_ERROR(check_layout(c, "data_format", "NHWC", "NCHW"));
  LEAT_RETURN_IF_ERROR(check_layout(c, "filter_format", "HWIO", "HWIO"));
  LEAT_RETURN_IF_ERROR(leat_conv2d_create(c, &fused->conv));
  LEAT_RETURN_IF_ERROR(leat_epilogue_create(c, fused->conv.dtype, &fused->epilogue));
  return check_arguments(c, &fused->epilogue);
}

static void destroy(void* state) {
  leat_convolution_cache_clear(&((leat_fused_conv2d_t*)state)->conv.cache);
}

// Runs the convolution |shape| and what follows. |addend| is what Add adds, wide and with the
// channels last, or without elements where there is no Add.
static leat_status_t run(leat_kernel_context_t* c, const leat_convolution_shape_t* shape,
                         const leat_tensor_t* addend, leat_tensor_t* output) {
  leat_fused_conv2d_t* fused = leat_kernel_state(c);
  const int64_t channels = shape->out_channels;
  const int64_t rows = channels > 0 ? output->shape.element_count / channels : 0;
  leat_epilogue_run_t epilogue;
  LEAT_RETURN_IF_ERROR(leat_epilogue_begin(c, &fused->epilogue, rows, channels, false,
                                           addend->data, &epilogue));
  leat_status_t status = leat_conv2d_run(&fused->conv, c, shape, leat_kernel_input(c, 0),
                                         leat_kernel_input(c, 1), &epilogue.step, output);
  leat_epilogue_end(&epilogue);
  return status;
}

static leat_status_t fused_conv2d__cpu(leat_kernel_context_t* c) {
  leat_fused_conv2d_t* fused = leat_kernel_state(c);
  leat_convolution_shape_t shape;
  leat_tensor_t* output;
  const leat_tensor_t* given;
  int64_t sizes[4];
  LEAT_RETURN_IF_ERROR(leat_conv2d_measure(
      c, &fused->conv, leat_shape_dims(&leat_kernel_input(c, 0)->shape),
      leat_shape_dims(&leat_kernel_input(c, 1)->shape), &shape, sizes));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, sizes, &output));
  LEAT_RETURN_IF_ERROR(leat_epilogue_addend(c, &fused->epilogue, &output->shape, &given));
  leat_tensor_t addend = {0};
  if (given) {
    LEAT_RETURN_IF_ERROR(
        leat_widen_transposed(c, fused->conv.window.channels_first, given, &addend));
  }
  leat_status_t status = run(c, &shape, &addend, output);
  leat_tensor_release(&addend);
  return status;
}

#define ROW(name, types, create_fn)                                                           \
  LEAT_CPU_KERNEL(name, types, leat_fused_conv2d_t, create_fn, fused_conv2d__cpu,             \
                  .destroy = destroy, .expensive = true)

const leat_kernel_row_t leat_fused_conv2d_kernels_cpu[] = {
    ROW("_FusedConv2D", "T: half, float, double", create),
    ROW("_FusedDepthwiseConv2dNative", "T: half, bfloat16, float, double", create_depthwise),
    LEAT_KERNEL_ROWS_END,
};
