// The kernel of OptionsDataset, which gives the elements of its input and says how to make them. Of
// the options, a serialized tensorflow.data.Options, one has a meaning here: "deterministic",
// whether elements that are made at the same time must keep their order. It is told to the
// iterators of all datasets below; options of an outer dataset win.
#include "formats/wire/wire.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

enum { FIELD_DETERMINISTIC = 1 };  // of the message Options

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

static const leat_dataset_kind_t kOptions = {.name = "Options",
                                             .dataset_bytes = sizeof(options_t),
                                             .iterator_bytes = sizeof(leat_iterator_t),
                                             .start = options_start,
                                             .next = options_next};

// Reads the field from the message and passes over all others.
static leat_status_t read_order(leat_string_view_t message, leat_dataset_order_t* out_order) {
  const uint8_t* next = (const uint8_t*)message.data;
  const uint8_t* end = next + message.size;
  while (next && next < end) {
    uint32_t number, type;
    uint64_t value;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (next && number == FIELD_DETERMINISTIC && type == LEAT_WIRE_VARINT) {
      next = leat_wire_read_varint(next, end, &value);
      if (next) *out_order = value ? LEAT_ORDER_KEPT : LEAT_ORDER_ANY;
    } else if (next) {
      next = leat_wire_skip(next, end, number, type);
    }
  }
  if (next) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "attribute 'serialized_options' is not a serialized "
                          "tensorflow.data.Options");
}

static leat_status_t options_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t message;
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "serialized_options", &message));
  return read_order(message, state);
}

static leat_status_t options__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kOptions, &dataset));
  ((options_t*)dataset)->order = *(const leat_dataset_order_t*)leat_kernel_state(c);
  return leat_dataset_set_output(c, dataset);
}

const leat_kernel_row_t leat_options_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("OptionsDataset", NULL, leat_dataset_order_t, options_create, options__cpu),
    LEAT_KERNEL_ROWS_END,
};
