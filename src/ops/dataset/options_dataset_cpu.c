// The kernels of OptionsDataset, which gives the elements of its input and says how to make them,
// and of GetOptions, which tells what was said. Options are a serialized tensorflow.data.Options.
// Every dataset has those of all datasets below it, merged as messages are: what an outer dataset
// sets wins, lists are joined. They are merged when a dataset gets its inputs, so that one that
// stands below another in many ways costs nothing more.
//
// Of the options, one has a meaning here: "deterministic", whether elements that are made at the
// same time must keep their order. It is told to the iterators of all datasets below; options of an
// outer dataset win.
#include "base/string_builder.h"
#include "formats/generated/dataset_options.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// ---- Merging ------------------------------------------------------------------------------------

static leat_status_t parse(leat_string_view_t bytes, leat_arena_t* arena,
                           leat_pb_options_t* out_options) {
  return leat_status_annotate(
      leat_message_decode(&leat_pb_options_descriptor, bytes, arena, NULL, out_options),
      "attribute 'serialized_options' is not a serialized tensorflow.data.Options");
}

// Sets |*out| to |bytes| as the encoder writes them: each field once, in the order of numbers.
static leat_status_t normalize(leat_string_view_t bytes, leat_tensor_t* out) {
  leat_arena_t arena;
  leat_string_builder_t text;
  leat_pb_options_t options;
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = parse(bytes, &arena, &options);
  if (!status) status = leat_message_encode(&leat_pb_options_descriptor, &options, &text);
  if (!status) status = leat_tensor_scalar_string(leat_string_builder_view(&text), out);
  leat_string_builder_deinitialize(&text);
  leat_arena_deinitialize(&arena);
  return status;
}

// Two messages, one behind the other, are the message into which they merge.
leat_status_t leat_dataset_add_options(leat_dataset_t* dataset, leat_string_view_t options) {
  leat_string_builder_t both;
  leat_tensor_t merged;
  leat_string_builder_initialize(leat_allocator_system(), &both);
  if (dataset->options.dtype) {
    leat_string_builder_append(&both, leat_tensor_string_at(&dataset->options, 0));
  }
  leat_string_builder_append(&both, options);
  leat_status_t status = leat_status_clone(both.status);
  if (!status && both.size > LEAT_MAX_OPTIONS_BYTES) {
    status = leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                              "the options of a dataset and of those below have %zu bytes, must "
                              "have at most %d",
                              both.size, LEAT_MAX_OPTIONS_BYTES);
  }
  if (!status) status = normalize(leat_string_builder_view(&both), &merged);
  leat_string_builder_deinitialize(&both);
  if (status) return status;
  leat_tensor_release(&dataset->options);
  dataset->options = merged;
  return leat_ok_status();
}

// ---- The dataset --------------------------------------------------------------------------------

typedef struct options_s {
  leat_dataset_t base;
  leat_dataset_order_t order;
} options_t;

static leat_status_t options_start(leat_iterator_t* self) {
  if (self->order == LEAT_ORDER_DEFAULT) self->order = ((const options_t*)self->dataset)->order;
  return leat_iterator_open_input(self, self->dataset->inputs[0]);
}

static leat_status_t options_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  return leat_iterator_next(self->input, pull, out, out_poll);
}

static leat_status_t options_seek(leat_iterator_t* self, int64_t index) {
  return leat_iterator_seek(self->input, index);
}

static const leat_dataset_kind_t kOptions = {.name = "Options",
                                             .dataset_bytes = sizeof(options_t),
                                             .iterator_bytes = sizeof(leat_iterator_t),
                                             .start = options_start,
                                             .next = options_next,
                                             .seek = options_seek};

typedef struct options_node_s {
  leat_tensor_t message;
  leat_dataset_order_t order;
} options_node_t;

static leat_status_t options_create(leat_kernel_creation_t* c, void* state) {
  options_node_t* node = state;
  leat_arena_t arena;
  leat_string_view_t message;
  leat_pb_options_t options;
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "serialized_options", &message));
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(message, &node->message));
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = parse(message, &arena, &options);
  if (!status && options.optional_deterministic_case) {
    node->order = options.deterministic ? LEAT_ORDER_KEPT : LEAT_ORDER_ANY;
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static void options_node_destroy(void* state) {
  leat_tensor_release(&((options_node_t*)state)->message);
}

static leat_status_t options__cpu(leat_kernel_context_t* c) {
  const options_node_t* node = leat_kernel_state(c);
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kOptions, &dataset));
  ((options_t*)dataset)->order = node->order;
  leat_status_t status =
      leat_dataset_add_options(dataset, leat_tensor_string_at(&node->message, 0));
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

static leat_status_t get_options__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  leat_tensor_t* output;
  const leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  if (!dataset->options.dtype) return leat_ok_status();
  return leat_tensor_set_string(output, 0, leat_tensor_string_at(&dataset->options, 0));
}

const leat_kernel_row_t leat_options_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("OptionsDataset", NULL, options_node_t, options_create, options__cpu,
                    .destroy = options_node_destroy),
    {.op = "GetOptions", .device_type = "CPU", .compute = get_options__cpu},
    LEAT_KERNEL_ROWS_END,
};
