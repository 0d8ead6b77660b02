// CPU kernels of the summaries of numbers, histograms and tensors, and of MergeSummary. Each of
// them builds a Summary message in an arena (message_cpu.h), and outputs its encoding as a scalar
// string:
//
//   ScalarSummary     tags [n], values [n]  ->  a value {tag, simple_value} for each
//   HistogramSummary  tag, values           ->  one value {tag, histo}; NaN and infinity are errors
//   TensorSummary     tensor                ->  one value {node name, tensor}
//   MergeSummary      messages              ->  one message with all values; tags must differ
//
// Merging does not decode and encode the values again. By the rules of protocol buffers, two
// encoded messages one after the other are one message whose repeated fields have the items of
// both. The messages are decoded only to check the tags.
#include <math.h>

#include "base/map.h"
#include "device/cpu/half.h"
#include "formats/generated/summary.h"
#include "formats/record/histogram.h"
#include "formats/wire/decode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_proto.h"
#include "ops/kernel_rows.h"
#include "ops/summary/message_cpu.h"
#include "ops/summary/summary_writer_cpu.h"

// Returns element |index| as a double, whatever its type.
static double number_at(const leat_tensor_t* tensor, int64_t index) {
#define AS(type) leat_tensor_data(tensor, const type)[index]
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: return AS(float);
    case LEAT_DTYPE_DOUBLE: return AS(double);
    case LEAT_DTYPE_HALF: return leat_half_to_float(AS(uint16_t));
    case LEAT_DTYPE_BFLOAT16: return leat_bfloat16_to_float(AS(uint16_t));
    case LEAT_DTYPE_INT8: return AS(int8_t);
    case LEAT_DTYPE_INT16: return AS(int16_t);
    case LEAT_DTYPE_INT32: return AS(int32_t);
    case LEAT_DTYPE_INT64: return (double)AS(int64_t);
    case LEAT_DTYPE_UINT8: return AS(uint8_t);
    case LEAT_DTYPE_UINT16: return AS(uint16_t);
    case LEAT_DTYPE_UINT32: return AS(uint32_t);
    case LEAT_DTYPE_BOOL: return AS(bool);
    default: return (double)AS(uint64_t);
  }
#undef AS
}

// ---- Kernels ------------------------------------------------------------------------------------

// The shapes of tags and values must be equal.
static leat_status_t make_scalars(leat_kernel_context_t* c, leat_arena_t* arena) {
  const leat_tensor_t* tags = leat_kernel_input(c, 0);
  const leat_tensor_t* values = leat_kernel_input(c, 1);
  if (!leat_shape_equal(&tags->shape, &values->shape)) {
    return leat_kernel_invalid(c, "tags and values are not the same shape: %s != %s",
                               LEAT_SHAPE_TEXT(&tags->shape), LEAT_SHAPE_TEXT(&values->shape));
  }
  size_t count = (size_t)tags->shape.element_count;
  leat_pb_summary_value_t* items;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &items));
  for (size_t i = 0; i < count; ++i) {
    items[i] = (leat_pb_summary_value_t){
        .tag = leat_tensor_string_at(tags, (int64_t)i),
        .simple_value = (float)number_at(values, (int64_t)i),
        .value_case = LEAT_SUMMARY_SIMPLE_VALUE};
  }
  return leat_summary_set(c, items, count);
}

// What WriteScalarSummary adds: a float to an event file, the number as it is to a database.
static leat_status_t make_scalar(leat_kernel_context_t* c, leat_arena_t* arena) {
  (void)arena;
  const leat_tensor_t* number = leat_kernel_input(c, 3);
  leat_pb_tensor_shape_proto_t scalar = {0};
  leat_pb_tensor_proto_t proto = {.dtype = number->dtype, .tensor_shape = &scalar};
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("scalars")};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin};
  leat_pb_summary_value_t value = {.simple_value = (float)number_at(number, 0),
                                   .value_case = LEAT_SUMMARY_SIMPLE_VALUE};
  bool is_database;
  LEAT_RETURN_IF_ERROR(leat_summary_read_tag(c, 2, &value.tag));
  LEAT_RETURN_IF_ERROR(leat_summary_writer_is_database(c, &is_database));
  if (is_database) {
    proto.tensor_content = leat_string_view_make(number->data, leat_dtype_size(number->dtype));
    value.tensor = &proto;
    value.metadata = &metadata;
    value.value_case = LEAT_SUMMARY_TENSOR;
  }
  return leat_summary_set(c, &value, 1);
}

static leat_status_t write_scalar__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_scalar);
}

static leat_status_t scalar_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_scalars);
}

static leat_status_t make_histogram(leat_kernel_context_t* c, leat_arena_t* arena) {
  int first = leat_summary_first_input(c);
  const leat_tensor_t* values = leat_kernel_input(c, first + 1);
  leat_histogram_t histogram;
  leat_pb_histogram_proto_t proto;
  leat_pb_summary_value_t value = {.histo = &proto, .value_case = LEAT_SUMMARY_HISTOGRAM};
  LEAT_RETURN_IF_ERROR(leat_summary_read_tag(c, first, &value.tag));
  LEAT_RETURN_IF_ERROR(leat_histogram_create(arena, &histogram));
  for (int64_t i = 0; i < values->shape.element_count; ++i) {
    double number = number_at(values, i);
    if (!isfinite(number)) {
      return leat_kernel_invalid(c, "%s in summary histogram for: %.*s",
                                 isnan(number) ? "Nan" : "Infinity",
                                 LEAT_SV_ARG(c->kernel->node_name));
    }
    leat_histogram_add(&histogram, number);
  }
  LEAT_RETURN_IF_ERROR(leat_histogram_to_proto(&histogram, arena, &proto));
  return leat_summary_set(c, &value, 1);
}

static leat_status_t histogram_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_histogram);
}

// Numbers are written as raw bytes (tensor_content) even where there are few of them, as
// TensorFlow's kernel does.
static leat_status_t tensor_to_proto(const leat_tensor_t* tensor, leat_arena_t* arena,
                                     leat_pb_tensor_proto_t* out_proto) {
  if (leat_dtype_in(tensor->dtype, LEAT_DTYPES_OBJECT)) {
    return leat_tensor_to_proto(tensor, arena, out_proto);
  }
  *out_proto = (leat_pb_tensor_proto_t){.dtype = tensor->dtype};
  out_proto->tensor_content =
      leat_string_view_make((const char*)tensor->data, leat_tensor_size_bytes(tensor));
  return leat_partial_shape_to_proto(leat_partial_shape_of(&tensor->shape), arena,
                                     &out_proto->tensor_shape);
}

static leat_status_t make_tensor(leat_kernel_context_t* c, leat_arena_t* arena) {
  leat_pb_tensor_proto_t proto;
  leat_pb_summary_value_t value = {
      .node_name = c->kernel->node_name, .tensor = &proto, .value_case = LEAT_SUMMARY_TENSOR};
  LEAT_RETURN_IF_ERROR(tensor_to_proto(leat_kernel_input(c, 0), arena, &proto));
  return leat_summary_set(c, &value, 1);
}

static leat_status_t tensor_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_tensor);
}

// As in TensorFlow, metadata that cannot be decoded are left out, without an error, but a database
// refuses them.
static leat_status_t read_metadata(const leat_kernel_context_t* c, leat_string_view_t bytes,
                                   leat_arena_t* arena,
                                   leat_pb_summary_metadata_t* out_metadata) {
  bool is_database = false;
  leat_status_t status = leat_message_decode(&leat_pb_summary_metadata_descriptor, bytes, arena,
                                             NULL, out_metadata);
  if (!status) return leat_ok_status();
  leat_status_free(status);
  *out_metadata = (leat_pb_summary_metadata_t){0};
  if (leat_summary_first_input(c)) {
    LEAT_RETURN_IF_ERROR(leat_summary_writer_is_database(c, &is_database));
  }
  return is_database ? leat_kernel_invalid(c, "Bad serialized_metadata") : leat_ok_status();
}

// A tensor with its tag and metadata: inputs (tag, tensor, metadata) of TensorSummaryV2, and
// (..., tensor, tag, metadata) of WriteSummary.
static leat_status_t make_tensor_v2(leat_kernel_context_t* c, leat_arena_t* arena) {
  int first = leat_summary_first_input(c);
  int tag = first ? 3 : 0, tensor = first ? 2 : 1;
  leat_pb_tensor_proto_t proto;
  leat_pb_summary_metadata_t metadata = {0};
  leat_pb_summary_value_t value = {
      .tensor = &proto, .metadata = &metadata, .value_case = LEAT_SUMMARY_TENSOR};
  leat_string_view_t bytes;
  LEAT_RETURN_IF_ERROR(leat_summary_read_tag(c, tag, &value.tag));
  LEAT_RETURN_IF_ERROR(leat_summary_read_tag(c, first + 2, &bytes));
  LEAT_RETURN_IF_ERROR(tensor_to_proto(leat_kernel_input(c, tensor), arena, &proto));
  LEAT_RETURN_IF_ERROR(read_metadata(c, bytes, arena, &metadata));
  if (first && bytes.size == 0) value.metadata = NULL;
  return leat_summary_set(c, &value, 1);
}

static leat_status_t tensor_summary_v2__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_tensor_v2);
}

// ---- Merging ------------------------------------------------------------------------------------

// Decodes one message and adds its tags to |tags|; a tag that is there already is an error.
static leat_status_t check_tags(const leat_kernel_context_t* c, leat_string_view_t bytes,
                                leat_arena_t* arena, leat_string_map_t* tags) {
  leat_pb_summary_t summary;
  leat_status_t status =
      leat_message_decode(&leat_pb_summary_descriptor, bytes, arena, NULL, &summary);
  if (status) {
    leat_status_free(status);
    return leat_kernel_invalid(c, "Could not parse one of the summary inputs");
  }
  for (size_t i = 0; i < summary.value.count; ++i) {
    leat_string_view_t tag = summary.value.items[i].tag;
    uint64_t* unused;
    bool is_new;
    if (tag.size == 0) continue;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(tags, tag, 0, &unused, &is_new));
    if (!is_new) {
      return leat_kernel_invalid(c, "Duplicate tag %.*s found in summary inputs",
                                 LEAT_SV_ARG(tag));
    }
  }
  return leat_ok_status();
}

// Appends the encoded messages of all inputs, which makes one message, and outputs it.
static leat_status_t append_summaries(leat_kernel_context_t* c, leat_arena_t* arena,
                                      leat_string_map_t* tags, leat_string_builder_t* out) {
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    for (int64_t k = 0; k < input->shape.element_count; ++k) {
      leat_string_view_t bytes = leat_tensor_string_at(input, k);
      LEAT_RETURN_IF_ERROR(check_tags(c, bytes, arena, tags));
      leat_string_builder_append(out, bytes);
    }
  }
  return leat_summary_set_text(c, out);
}

static leat_status_t merge(leat_kernel_context_t* c, leat_arena_t* arena) {
  leat_string_map_t tags;
  leat_string_builder_t text;
  leat_string_map_initialize(leat_allocator_system(), &tags);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = append_summaries(c, arena, &tags, &text);
  leat_string_builder_deinitialize(&text);
  leat_string_map_deinitialize(&tags);
  return status;
}

static leat_status_t merge_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, merge);
}

#define REAL \
  "T: bfloat16, double, float, half, int16, int32, int64, int8, uint16, uint32, uint64, uint8"

const leat_kernel_row_t leat_summarize_kernels_cpu[] = {
    {.op = "ScalarSummary",
     .device_type = "CPU",
     .constraints = REAL,
     .compute = scalar_summary__cpu},
    {.op = "HistogramSummary",
     .device_type = "CPU",
     .constraints = REAL,
     .compute = histogram_summary__cpu},
    {.op = "WriteScalarSummary",
     .device_type = "CPU",
     .constraints = REAL,
     .compute = write_scalar__cpu},
    {.op = "WriteHistogramSummary",
     .device_type = "CPU",
     .constraints = REAL ", bool",
     .compute = histogram_summary__cpu},
    {.op = "WriteSummary", .device_type = "CPU", .compute = tensor_summary_v2__cpu},
    {.op = "TensorSummary", .device_type = "CPU", .compute = tensor_summary__cpu},
    {.op = "TensorSummaryV2", .device_type = "CPU", .compute = tensor_summary_v2__cpu},
    {.op = "MergeSummary", .device_type = "CPU", .compute = merge_summary__cpu},
    LEAT_KERNEL_ROWS_END,
};
