// Makes oneDNN's primitive for a convolution of one shape: the forward convolution, or its gradient
// with respect to the input or the filter. For each direction three arrays take part
// (onednn_convolution.h):
//
//     direction         first               second                result
//     forward           input [N,H,W,C]     filter [h,w,I,O]      output [N,H',W',O]
//     backward input    filter              gradient of output    gradient of input
//     backward filter   input               gradient of output    gradient of filter
//
// A primitive is asked for in up to three ways, and the first that oneDNN implements well is taken:
// Winograd's algorithm where it pays, the direct algorithm on data in their plain layout, and the
// direct algorithm on data in a layout of oneDNN's choice. The filter may always be in a layout of
// its choice. Where the layouts differ, reorder primitives copy the arrays into and out of scratch
// memory, which the caller provides. oneDNN's reference code is refused: the library's own kernel
// is faster.
#include "modules/onednn/onednn_convolution.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"

// Describes the three arrays in the layout in which the caller has them.
static dnnl_status_t describe_arrays(leat_onednn_convolution_t* self,
                                     const leat_convolution_shape_t* s) {
  const dnnl_dims_t input = {s->batch, s->in_channels, s->in_height, s->in_width};
  const dnnl_dims_t output = {s->batch, s->out_channels, s->out_height, s->out_width};
  const int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups;
  const dnnl_dims_t filter = {out, in, s->filter_height, s->filter_width};
  const dnnl_dims_t grouped = {s->groups, out, in, s->filter_height, s->filter_width};
  dnnl_memory_desc_t input_plain, output_plain, filter_plain;
  RETURN_IF_FAILED(dnnl_memory_desc_init_by_tag(&input_plain, 4, input, dnnl_f32, dnnl_nhwc));
  RETURN_IF_FAILED(dnnl_memory_desc_init_by_tag(&output_plain, 4, output, dnnl_f32, dnnl_nhwc));
  RETURN_IF_FAILED(
      s->groups == 1
          ? dnnl_memory_desc_init_by_tag(&filter_plain, 4, filter, dnnl_f32, dnnl_hwio)
          : dnnl_memory_desc_init_by_tag(&filter_plain, 5, grouped, dnnl_f32, dnnl_hwigo));
  onednn_array_t* a = self->arrays;
  switch (self->direction) {
    case LEAT_CONVOLUTION_FORWARD:
      a[FIRST] = (onednn_array_t){.argument = DNNL_ARG_SRC, .plain = input_plain};
      a[SECOND] = (onednn_array_t){.argument = DNNL_ARG_WEIGHTS, .plain = filter_plain};
      a[RESULT] = (onednn_array_t){.argument = DNNL_ARG_DST, .plain = output_plain};
      break;
    case LEAT_CONVOLUTION_BACKWARD_INPUT:
      a[FIRST] = (onednn_array_t){.argument = DNNL_ARG_WEIGHTS, .plain = filter_plain};
      a[SECOND] = (onednn_array_t){.argument = DNNL_ARG_DIFF_DST, .plain = output_plain};
      a[RESULT] = (onednn_array_t){.argument = DNNL_ARG_DIFF_SRC, .plain = input_plain};
      break;
    default:
      a[FIRST] = (onednn_array_t){.argument = DNNL_ARG_SRC, .plain = input_plain};
      a[SECOND] = (onednn_array_t){.argument = DNNL_ARG_DIFF_DST, .plain = output_plain};
      a[RESULT] = (onednn_array_t){.argument = DNNL_ARG_DIFF_WEIGHTS, .plain = filter_plain};
  }
  return dnnl_success;
}

// The padding at the end, as oneDNN counts it. Its formula for the output size rounds down, so that
// padding which no output reads may be left out.
static int64_t pad_after(int64_t in, int64_t filter, int64_t out, int64_t stride, int64_t dilation,
                         int64_t before) {
  return LEAT_MAX((out - 1) * stride + (filter - 1) * dilation + 1 - in - before, 0);
}

// How a primitive is asked for: its algorithm, and whether oneDNN may choose the layout of the
// data.
typedef struct request_s {
  dnnl_alg_kind_t algorithm;
  bool relays_data;
} request_t;

// Describes the convolution to oneDNN. In oneDNN a dilation of 0 means none.
static dnnl_status_t describe_convolution(const leat_onednn_convolution_t* self,
                                          const leat_convolution_shape_t* s, request_t request,
                                          dnnl_convolution_desc_t* out_desc) {
  const dnnl_dims_t strides = {s->stride_height, s->stride_width};
  const dnnl_dims_t dilations = {s->dilation_height - 1, s->dilation_width - 1};
  const dnnl_dims_t before = {s->pad_top, s->pad_left};
  const dnnl_dims_t after = {pad_after(s->in_height, s->filter_height, s->out_height,
                                       s->stride_height, s->dilation_height, s->pad_top),
                             pad_after(s->in_width, s->filter_width, s->out_width, s->stride_width,
                                       s->dilation_width, s->pad_left)};
  dnnl_memory_desc_t wanted[ARRAYS];
  for (int i = 0; i < ARRAYS; ++i) {
    wanted[i] = self->arrays[i].plain;
    if (i == onednn_filter_index(self->direction) || request.relays_data) {
      RETURN_IF_FAILED(dnnl_memory_desc_init_by_tag(&wanted[i], wanted[i].ndims, wanted[i].dims,
                                                    dnnl_f32, dnnl_format_tag_any));
    }
  }
  switch (self->direction) {
    case LEAT_CONVOLUTION_FORWARD:
      return dnnl_dilated_convolution_forward_desc_init(
          out_desc, dnnl_forward_inference, request.algorithm, &wanted[FIRST], &wanted[SECOND],
          self->has_bias ? &self->bias : NULL, &wanted[RESULT], strides, dilations, before, after);
    case LEAT_CONVOLUTION_BACKWARD_INPUT:
      return dnnl_dilated_convolution_backward_data_desc_init(
          out_desc, request.algorithm, &wanted[RESULT], &wanted[FIRST], &wanted[SECOND], strides,
          dilations, before, after);
    default:
      return dnnl_dilated_convolution_backward_weights_desc_init(
          out_desc, request.algorithm, &wanted[FIRST], &wanted[RESULT], NULL, &wanted[SECOND],
          strides, dilations, before, after);
  }
}

// Describes the forward convolution, which oneDNN wants as a hint for that of a gradient.
static dnnl_status_t describe_forward(const leat_onednn_convolution_t* self,
                                      const leat_convolution_shape_t* shape, request_t request,
                                      dnnl_primitive_desc_t* out_hint) {
  leat_onednn_convolution_t forward = {.direction = LEAT_CONVOLUTION_FORWARD};
  dnnl_convolution_desc_t desc;
  *out_hint = NULL;
  if (self->direction == LEAT_CONVOLUTION_FORWARD) return dnnl_success;
  RETURN_IF_FAILED(describe_arrays(&forward, shape));
  RETURN_IF_FAILED(describe_convolution(&forward, shape, request, &desc));
  desc.prop_kind = dnnl_forward_training;
  return dnnl_primitive_desc_create(out_hint, &desc, NULL, onednn_engine(), NULL);
}

// The attributes of a primitive: its scratch memory comes from the caller.
static dnnl_status_t make_attributes(dnnl_primitive_attr_t* out_attributes) {
  RETURN_IF_FAILED(dnnl_primitive_attr_create(out_attributes));
  return dnnl_primitive_attr_set_scratchpad_mode(*out_attributes, dnnl_scratchpad_mode_user);
}

static const char* implementation(dnnl_primitive_desc_t description) {
  const char* name = NULL;
  const dnnl_status_t status =
      dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void*)&name);
  return status == dnnl_success && name ? name : "";
}

// Asks oneDNN for a primitive. dnnl_unimplemented where it has none, or only its reference code.
static dnnl_status_t choose_primitive(leat_onednn_convolution_t* self,
                                      const leat_convolution_shape_t* shape, request_t request,
                                      dnnl_primitive_attr_t attributes) {
  dnnl_convolution_desc_t desc;
  dnnl_primitive_desc_t hint = NULL;
  RETURN_IF_FAILED(describe_forward(self, shape, request, &hint));
  dnnl_status_t status = describe_convolution(self, shape, request, &desc);
  if (status == dnnl_success) {
    status = dnnl_primitive_desc_create(&self->description, &desc, attributes, onednn_engine(),
                                        hint);
  }
  if (hint) dnnl_primitive_desc_destroy(hint);
  if (status != dnnl_success) return status;
  if (!strncmp(implementation(self->description), "ref", 3)) {
    dnnl_primitive_desc_destroy(self->description);
    self->description = NULL;
    return dnnl_unimplemented;
  }
  return dnnl_success;
}

static dnnl_memory_desc_t query(dnnl_primitive_desc_t description, dnnl_query_t what, int index) {
  const dnnl_memory_desc_t* found = dnnl_primitive_desc_query_md(description, what, index);
  dnnl_memory_desc_t none;
  memset(&none, 0, sizeof none);
  return found ? *found : none;
}

// Makes the primitive that copies an array between its two layouts; none where they are the same.
static dnnl_status_t make_reorder(onednn_array_t* array, bool is_result,
                                  dnnl_primitive_attr_t attributes) {
  if (dnnl_memory_desc_equal(&array->plain, &array->inner)) return dnnl_success;
  dnnl_primitive_desc_t description;
  const dnnl_engine_t engine = onednn_engine();
  RETURN_IF_FAILED(dnnl_reorder_primitive_desc_create(
      &description, is_result ? &array->inner : &array->plain, engine,
      is_result ? &array->plain : &array->inner, engine, attributes));
  array->reorder_scratchpad = query(description, dnnl_query_scratchpad_md, 0);
  dnnl_status_t status = dnnl_primitive_create(&array->reorder, description);
  dnnl_primitive_desc_destroy(description);
  return status;
}

// Reads the layouts that the primitive chose, makes the reorders, and divides the scratch memory: a
// copy of each reordered array, and behind them a scratchpad that all primitives share, since they
// run one after the other.
static dnnl_status_t make_reorders(leat_onednn_convolution_t* self,
                                   dnnl_primitive_attr_t attributes) {
  size_t offset = 0;
  self->scratchpad = query(self->description, dnnl_query_scratchpad_md, 0);
  size_t pads = dnnl_memory_desc_get_size(&self->scratchpad);
  for (int i = 0; i < ARRAYS; ++i) {
    onednn_array_t* array = &self->arrays[i];
    array->inner = query(self->description, dnnl_query_exec_arg_md, array->argument);
    RETURN_IF_FAILED(make_reorder(array, i == RESULT, attributes));
    if (!array->reorder) continue;
    array->scratch_offset = offset;
    offset += leat_align_up(dnnl_memory_desc_get_size(&array->inner), 64);
    pads = LEAT_MAX(pads, dnnl_memory_desc_get_size(&array->reorder_scratchpad));
  }
  self->pads_offset = offset;
  self->scratch_bytes = offset + pads;
  return dnnl_success;
}

// Whether Winograd's algorithm is expected to be faster; the limits were measured on AVX-512.
// Transforming the filter takes time in proportion to its size (in the forward primitive far more,
// since its filter is laid out by a slow general reorder), while the gain is in proportion to the
// filter's size times the number of output positions. With few channels the transforms of the data
// use up the gain.
static bool winograd_pays(leat_convolution_direction_t direction,
                          const leat_convolution_shape_t* s, int flags) {
  if (s->filter_height != 3 || s->filter_width != 3 || s->groups != 1) return false;
  if (s->stride_height != 1 || s->stride_width != 1) return false;
  if (s->dilation_height != 1 || s->dilation_width != 1) return false;
  if (s->in_channels < 32 || s->out_channels < 32) return false;
  const int64_t positions = s->batch * s->out_height * s->out_width;
  if (flags & LEAT_ONEDNN_CONSTANT_FILTER) return positions >= 128;
  return positions >= (direction == LEAT_CONVOLUTION_FORWARD ? 4000 : 500);
}

// Whether oneDNN gave a Winograd primitive; it may give another for that request.
static bool is_winograd(const leat_onednn_convolution_t* self) {
  return strstr(implementation(self->description), "wino") != NULL;
}

// Chooses among Winograd's algorithm (3x3, stride 1, AVX-512), the direct one on plain data, and
// the direct one on data in oneDNN's layout, in this order.
static dnnl_status_t choose_request(leat_onednn_convolution_t* self,
                                    const leat_convolution_shape_t* shape, int flags,
                                    dnnl_primitive_attr_t attributes) {
  static const request_t winograd = {dnnl_convolution_winograd, true};
  static const request_t direct = {dnnl_convolution_direct, false};
  static const request_t relaid = {dnnl_convolution_direct, true};
  if (winograd_pays(self->direction, shape, flags) &&
      choose_primitive(self, shape, winograd, attributes) == dnnl_success) {
    if (is_winograd(self)) return dnnl_success;
    dnnl_primitive_desc_destroy(self->description);
    self->description = NULL;
  }
  dnnl_status_t status = choose_primitive(self, shape, direct, attributes);
  if (status == dnnl_unimplemented) status = choose_primitive(self, shape, relaid, attributes);
  return status;
}

static dnnl_status_t make_primitive(leat_onednn_convolution_t* self,
                                    const leat_convolution_shape_t* shape, int flags) {
  dnnl_primitive_attr_t attributes = NULL;
  const dnnl_dims_t bias = {shape->out_channels};
  RETURN_IF_FAILED(describe_arrays(self, shape));
  RETURN_IF_FAILED(dnnl_memory_desc_init_by_tag(&self->bias, 1, bias, dnnl_f32, dnnl_a));
  dnnl_status_t status = make_attributes(&attributes);
  if (status == dnnl_success) status = choose_request(self, shape, flags, attributes);
  if (status == dnnl_success) status = dnnl_primitive_create(&self->primitive, self->description);
  if (status == dnnl_success) status = make_reorders(self, attributes);
  if (attributes) dnnl_primitive_attr_destroy(attributes);
  return status;
}

int onednn_convolution_create(leat_convolution_direction_t direction,
                              const leat_convolution_shape_t* shape, int flags,
                              leat_onednn_convolution_t** out_convolution) {
  *out_convolution = NULL;
  if ((flags & LEAT_ONEDNN_BIAS) && direction != LEAT_CONVOLUTION_FORWARD) {
    return LEAT_INVALID_ARGUMENT;
  }
  leat_onednn_convolution_t* self = calloc(1, sizeof *self);
  if (!self) return LEAT_RESOURCE_EXHAUSTED;
  self->direction = direction;
  self->has_bias = flags & LEAT_ONEDNN_BIAS;
  const int threads = onednn_enter();
  const dnnl_status_t status = make_primitive(self, shape, flags);
  onednn_leave(threads);
  if (status != dnnl_success) {
    onednn_convolution_destroy(self);
    return onednn_code(status);
  }
  *out_convolution = self;
  return LEAT_OK;
}

void onednn_convolution_destroy(leat_onednn_convolution_t* self) {
  if (!self) return;
  while (self->frames) {
    onednn_frame_t* frame = self->frames;
    self->frames = frame->next;
    onednn_frame_destroy(frame);
  }
  for (int i = 0; i < ARRAYS; ++i) {
    if (self->arrays[i].reorder) dnnl_primitive_destroy(self->arrays[i].reorder);
  }
  if (self->primitive) dnnl_primitive_destroy(self->primitive);
  if (self->description) dnnl_primitive_desc_destroy(self->description);
  free(self);
}

const char* onednn_convolution_name(const leat_onednn_convolution_t* self) {
  return implementation(self->description);
}

size_t onednn_convolution_scratch_bytes(const leat_onednn_convolution_t* self) {
  return self->scratch_bytes;
}

size_t onednn_convolution_packed_filter_bytes(const leat_onednn_convolution_t* self) {
  const onednn_array_t* filter = &self->arrays[onednn_filter_index(self->direction)];
  if (self->direction == LEAT_CONVOLUTION_BACKWARD_FILTER || !filter->reorder) return 0;
  return dnnl_memory_desc_get_size(&filter->inner);
}
