// The CPU kernel of DecodeProtoV2. It walks twice over each message: first it counts the values of
// each field, which gives the shapes of the outputs, then it stores them.
//
//   message ─walk─▶ (field, index, item) ─▶ count, or element [message, index] of the output
//
// Fields that the node does not ask for, and values whose wire type does not fit the field, are
// skipped. Of several values of a singular field the last one counts. Elements behind the last
// value of a field are 0 or empty; where a singular field is absent, they are its default. The
// value of a group is its bytes with the tags around them, as TensorFlow has it, though EncodeProto
// writes tags around what it is given.
//
// Messages in text, and those that are to be sanitized, are written anew in binary form before that
// (ops/input/message_value_cpu.h).
#include <stdlib.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/input/message_type_cpu.h"
#include "ops/input/message_value_cpu.h"
#include "ops/kernel_rows.h"

typedef struct decode_s {
  leat_arena_t arena;
  leat_type_fields_t fields;
  const leat_type_t* type;  // of messages that are written anew; NULL: they are read as they are
  bool is_text;
} decode_t;

static leat_status_t decode_create(leat_kernel_creation_t* c, void* memory) {
  decode_t* state = memory;
  const leat_attr_value_t* names;
  leat_string_view_t format;
  bool sanitizes;
  leat_arena_initialize(leat_allocator_system(), 0, &state->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "field_names", &names));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "message_format", &format));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "sanitize", &sanitizes));
  if ((int64_t)names->count != c->kernel->output_count - 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "field_names and output_types attributes must "
                            "have the same length");
  }
  if (!leat_string_view_equals(format, "binary") && !leat_string_view_equals(format, "text")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "format must be one of binary or text");
  }
  LEAT_RETURN_IF_ERROR(leat_type_fields_find(c, true, &state->arena, &state->fields));
  for (int32_t i = 0; i < state->fields.count; ++i) {
    const leat_type_field_t* field = &state->fields.items[i];
    const int dtype = c->kernel->output_types[1 + field->place];
    if (leat_type_field_fits(field, dtype)) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Unexpected output type for %.*s: %s to %s",
                            LEAT_SV_ARG(field->name), leat_type_field_type_name(field),
                            leat_dtype_name(dtype));
  }
  state->is_text = leat_string_view_equals(format, "text");
  return state->is_text || sanitizes ? leat_type_find(c, &state->arena, &state->type)
                                     : leat_ok_status();
}

static void decode_destroy(void* memory) {
  leat_arena_deinitialize(&((decode_t*)memory)->arena);
}

// ---- Reading ------------------------------------------------------------------------------------

// Stores a number, or a copy of the text.
static leat_status_t store(leat_tensor_t* output, int64_t at, const leat_type_field_t* field,
                           leat_wire_item_t item) {
  switch (output->dtype) {
    case LEAT_DTYPE_STRING: return leat_tensor_set_string(output, at, item.text);
    case LEAT_DTYPE_BOOL: leat_tensor_data(output, bool)[at] = item.bits != 0; break;
    case LEAT_DTYPE_FLOAT:
    case LEAT_DTYPE_INT32:
    case LEAT_DTYPE_UINT32: leat_tensor_data(output, uint32_t)[at] = (uint32_t)item.bits; break;
    default:
      if (field->kind == LEAT_FIELD_FLOAT) {
        float number;
        memcpy(&number, &item.bits, sizeof number);
        leat_tensor_data(output, double)[at] = number;
      } else {
        leat_tensor_data(output, uint64_t)[at] = item.bits;
      }
  }
  return leat_ok_status();
}

// ---- Walking ------------------------------------------------------------------------------------

typedef struct walk_s {
  leat_kernel_context_t* c;
  const leat_type_fields_t* fields;
  int64_t message;       // its index in the batch
  int32_t* counts;       // [fields] values of this message so far, by place
  leat_tensor_t** outputs;  // [fields] by place; NULL: values are only counted
} walk_t;

static int compare_number(const void* key, const void* item) {
  const uint32_t number = *(const uint32_t*)key;
  const leat_type_field_t* field = item;
  return (number > field->number) - (number < field->number);
}

// The field with this number; of several the first.
static const leat_type_field_t* find_field(const leat_type_fields_t* fields, uint32_t number) {
  if (fields->count == 0) return NULL;
  const leat_type_field_t* found = bsearch(&number, fields->items, (size_t)fields->count,
                                           sizeof *fields->items, compare_number);
  while (found && found > fields->items && found[-1].number == number) --found;
  return found;
}

// Takes one value: counts it, and stores it where there are outputs.
static leat_status_t take_item(walk_t* w, const leat_type_field_t* field, leat_wire_item_t item) {
  int32_t* count = &w->counts[field->place];
  const int64_t index = field->is_repeated ? *count : 0;
  if (*count == INT32_MAX) {
    return leat_kernel_invalid(w->c, "field %.*s has 2^31 values or more",
                               LEAT_SV_ARG(field->name));
  }
  *count = (int32_t)index + 1;
  if (!w->outputs) return leat_ok_status();
  leat_tensor_t* output = w->outputs[field->place];
  const int64_t room = leat_shape_dim(&output->shape, output->shape.rank - 1);
  LEAT_DCHECK(index < room);
  return store(output, w->message * room + index, field, item);
}

static leat_status_t malformed(const walk_t* w) {
  return leat_kernel_error(w->c, LEAT_DATA_LOSS, "message %lld of the batch is malformed",
                           (long long)w->message);
}

static leat_status_t walk_message(walk_t* w, leat_string_view_t bytes) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  while (next < end) {
    uint32_t number, type;
    leat_wire_item_t item = {0};
    const uint8_t* begin = next;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (!next) return malformed(w);
    const leat_type_field_t* field = find_field(w->fields, number);
    if (field && type == field->wire_type && type == LEAT_WIRE_GROUP_BEGIN) {
      next = leat_wire_skip(next, end, number, type);
      if (!next) return malformed(w);
      item.text = leat_string_view_make((const char*)begin, (size_t)(next - begin));
      LEAT_RETURN_IF_ERROR(take_item(w, field, item));
    } else if (field && type == field->wire_type) {
      next = leat_type_field_read(field, next, end, &item);
      if (!next) return malformed(w);
      LEAT_RETURN_IF_ERROR(take_item(w, field, item));
    } else if (field && type == LEAT_WIRE_LENGTH) {
      if (field->wire_type == LEAT_WIRE_GROUP_BEGIN) return malformed(w);
      leat_string_view_t packed;
      next = leat_wire_read_bytes(next, end, &packed);
      if (!next) return malformed(w);
      const uint8_t* inner = (const uint8_t*)packed.data;
      const uint8_t* inner_end = inner + packed.size;
      while (inner < inner_end) {
        inner = leat_type_field_read(field, inner, inner_end, &item);
        if (!inner) return malformed(w);
        LEAT_RETURN_IF_ERROR(take_item(w, field, item));
      }
    } else {
      next = leat_wire_skip(next, end, number, type);
      if (!next) return malformed(w);
    }
  }
  return leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

// Allocates the output of |field|, with room for |most| values of each message, and fills it with
// zeros or the default.
static leat_status_t allocate_values(leat_kernel_context_t* c, const leat_type_field_t* field,
                                     int32_t most, leat_tensor_t** out_output) {
  const leat_shape_t* batch = &leat_kernel_input(c, 0)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  if (batch->rank == LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "bytes has rank %d, must be below %d", batch->rank,
                               LEAT_SHAPE_MAX_RANK);
  }
  for (int d = 0; d < batch->rank; ++d) dims[d] = leat_shape_dim(batch, d);
  dims[batch->rank] = most > 1 ? most : 1;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 1 + field->place, batch->rank + 1, dims, out_output));
  leat_tensor_fill_zero(*out_output);
  if (field->is_repeated) return leat_ok_status();
  for (int64_t i = 0; i < (*out_output)->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(store(*out_output, i, field, field->default_item));
  }
  return leat_ok_status();
}

// Walks over all messages, and counts into |sizes| [messages][fields].
static leat_status_t walk_all(walk_t* w, const leat_tensor_t* messages, int32_t* sizes) {
  leat_step_pace_t pace = leat_step_pace_of(w->c);
  const int32_t count = w->fields->count;
  for (w->message = 0; w->message < messages->shape.element_count; ++w->message) {
    const leat_string_view_t bytes = leat_tensor_string_at(messages, w->message);
    w->counts = sizes + w->message * count;
    if (count > 0) memset(w->counts, 0, (size_t)count * sizeof *sizes);
    LEAT_RETURN_IF_ERROR(walk_message(w, bytes));
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 20 + 10 * (double)bytes.size));
  }
  return leat_ok_status();
}

// Makes |out_messages| of the messages, written anew.
static leat_status_t rewrite(leat_kernel_context_t* c, leat_tensor_t* out_messages) {
  const decode_t* state = leat_kernel_state(c);
  const leat_tensor_t* given = leat_kernel_input(c, 0);
  leat_step_pace_t pace = leat_step_pace_of(c);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING,
                                            &given->shape, out_messages));
  for (int64_t i = 0; i < given->shape.element_count; ++i) {
    const leat_string_view_t bytes = leat_tensor_string_at(given, i);
    leat_status_t status =
        leat_message_rewrite(state->type, state->is_text, bytes, out_messages, i);
    if (!status) status = leat_step_pace_count(&pace, 100 + 50 * (double)bytes.size);
    if (!status) continue;
    leat_tensor_release(out_messages);
    return status;
  }
  return leat_ok_status();
}

static leat_status_t decode(leat_kernel_context_t* c, const leat_tensor_t* messages,
                            leat_arena_t* arena, leat_tensor_t* sizes) {
  const decode_t* state = leat_kernel_state(c);
  const leat_type_fields_t* fields = &state->fields;
  walk_t w = {.c = c, .fields = fields};
  LEAT_RETURN_IF_ERROR(walk_all(&w, messages, sizes->data));
  leat_tensor_t** outputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)fields->count, &outputs));
  for (int32_t i = 0; i < fields->count; ++i) {
    const leat_type_field_t* field = &fields->items[i];
    int32_t most = 0;
    for (int64_t m = field->place; m < sizes->shape.element_count; m += fields->count) {
      most = LEAT_MAX(most, leat_tensor_data(sizes, const int32_t)[m]);
    }
    LEAT_RETURN_IF_ERROR(allocate_values(c, field, most, &outputs[field->place]));
  }
  w.outputs = outputs;
  return walk_all(&w, messages, sizes->data);
}

static leat_status_t decode_proto__cpu(leat_kernel_context_t* c) {
  const decode_t* state = leat_kernel_state(c);
  const leat_shape_t* batch = &leat_kernel_input(c, 0)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  leat_tensor_t* sizes;
  leat_arena_t arena;
  if (batch->element_count == 0) {
    return leat_kernel_invalid(c, "Bufs argument must contain at least one value");
  }
  for (int d = 0; d < batch->rank; ++d) dims[d] = leat_shape_dim(batch, d);
  dims[batch->rank] = state->fields.count;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, batch->rank + 1, dims, &sizes));
  leat_tensor_t written = {0};
  if (state->type) LEAT_RETURN_IF_ERROR(rewrite(c, &written));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      decode(c, state->type ? &written : leat_kernel_input(c, 0), &arena, sizes);
  leat_arena_deinitialize(&arena);
  leat_tensor_release(&written);
  return status;
}

const leat_kernel_row_t leat_decode_proto_kernels_cpu[] = {
    LEAT_CPU_KERNEL("DecodeProtoV2", NULL, decode_t, decode_create, decode_proto__cpu,
                    .destroy = decode_destroy, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
