// The CPU kernel of EncodeProto (decode.c has its definition). A message has the fields of the node
// in the order of their numbers; of each it has as many values as |sizes| says, from the front of
// the field's row in the input. A size of 0 or below leaves the field out.
//
//   sizes [batch..., fields], values of a field [batch..., n] -> messages [batch...]
//
// The fields are looked up once, when the kernel is made, in the descriptors that the node names
// (message_type_cpu.h). Values are written as bytes straight from the tensors, since no struct for
// the type of the message exists in the library. A packed field says its size before its values, so
// they are first collected in |scratch|, which all fields and messages use again. Ranks, batch
// sizes and types are checked before the first byte; a size that is larger than its row ends the
// step when its message is reached. A tensor may be wider than its field (int64 for int32, double
// for float), in which case the value is cut or rounded to the field's type. Messages are written
// one after the other on the kernel's thread, which looks at the step's deadline now and then.
#include "base/string_builder.h"
#include "kernel/step_check.h"
#include "ops/input/message_type_cpu.h"
#include "ops/kernel_rows.h"

typedef struct encode_s {
  leat_arena_t arena;
  leat_type_fields_t fields;
} encode_t;

static leat_status_t encode_create(leat_kernel_creation_t* c, void* memory) {
  encode_t* state = memory;
  leat_arena_initialize(leat_allocator_system(), 0, &state->arena);
  return leat_type_fields_find(c, false, &state->arena, &state->fields);
}

static void encode_destroy(void* memory) {
  leat_arena_deinitialize(&((encode_t*)memory)->arena);
}

// ---- Writing ------------------------------------------------------------------------------------

static void append_varint(leat_string_builder_t* out, uint64_t value) {
  uint8_t bytes[LEAT_WIRE_MAX_VARINT_BYTES];
  const uint8_t* end = leat_wire_write_varint(bytes, value);
  leat_string_builder_append(out, leat_string_view_make((const char*)bytes, (size_t)(end - bytes)));
}

static void append_tag(leat_string_builder_t* out, const leat_type_field_t* field,
                       uint32_t wire_type) {
  append_varint(out, (uint64_t)field->number << 3 | wire_type);
}

// The number at |at| as the wire has it: the bits that a varint or a number of a fixed size holds.
static uint64_t bits_at(const leat_tensor_t* values, int64_t at, const leat_type_field_t* field) {
  uint64_t bits;
  switch (values->dtype) {
    case LEAT_DTYPE_BOOL: return leat_tensor_data(values, const bool)[at];
    case LEAT_DTYPE_FLOAT:
    case LEAT_DTYPE_UINT32: bits = leat_tensor_data(values, const uint32_t)[at]; break;
    case LEAT_DTYPE_INT32:
      bits = (uint64_t)(int64_t)leat_tensor_data(values, const int32_t)[at];
      break;
    default: bits = leat_tensor_data(values, const uint64_t)[at];
  }
  switch (field->kind) {
    case LEAT_FIELD_FLOAT:
      if (values->dtype == LEAT_DTYPE_DOUBLE) {
        const float number = (float)leat_tensor_data(values, const double)[at];
        uint32_t single;
        memcpy(&single, &number, sizeof single);
        return single;
      }
      return bits;
    case LEAT_FIELD_INT32: return (uint64_t)(int64_t)(int32_t)bits;
    case LEAT_FIELD_UINT32: return (uint32_t)bits;
    case LEAT_FIELD_SINT32: return (uint32_t)bits << 1 ^ (0 - ((uint32_t)bits >> 31));
    case LEAT_FIELD_SINT64: return bits << 1 ^ (0 - (bits >> 63));
    default: return bits;
  }
}

// Appends one value without its tag.
static void append_value(leat_string_builder_t* out, const leat_tensor_t* values, int64_t at,
                         const leat_type_field_t* field) {
  if (field->wire_type == LEAT_WIRE_LENGTH) {
    const leat_string_view_t text = leat_tensor_string_at(values, at);
    append_varint(out, text.size);
    leat_string_builder_append(out, text);
    return;
  }
  const uint64_t bits = bits_at(values, at, field);
  char bytes[8];
  leat_wire_store64(bytes, bits);
  if (field->wire_type == LEAT_WIRE_VARINT) {
    append_varint(out, bits);
  } else {
    const size_t size = field->wire_type == LEAT_WIRE_FIXED32 ? 4 : 8;
    leat_string_builder_append(out, leat_string_view_make(bytes, size));
  }
}

// Appends the values [begin, end) of a field. |scratch| serves packed ones, whose size comes first.
static void append_field(leat_string_builder_t* out, leat_string_builder_t* scratch,
                         const leat_tensor_t* values, int64_t begin, int64_t end,
                         const leat_type_field_t* field) {
  if (field->is_packed && begin < end) {
    scratch->size = 0;
    for (int64_t i = begin; i < end; ++i) append_value(scratch, values, i, field);
    append_tag(out, field, LEAT_WIRE_LENGTH);
    append_varint(out, leat_string_builder_view(scratch).size);
    leat_string_builder_append(out, leat_string_builder_view(scratch));
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    append_tag(out, field, field->wire_type);
    if (field->wire_type == LEAT_WIRE_GROUP_BEGIN) {
      leat_string_builder_append(out, leat_tensor_string_at(values, i));
      append_tag(out, field, LEAT_WIRE_GROUP_END);
    } else {
      append_value(out, values, i, field);
    }
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

// Whether the first |count| sizes of the shapes agree.
static bool agree(const leat_shape_t* a, const leat_shape_t* b, int count) {
  for (int d = 0; d < count; ++d) {
    if (leat_shape_dim(a, d) != leat_shape_dim(b, d)) return false;
  }
  return true;
}

static leat_status_t check_inputs(const leat_kernel_context_t* c, const leat_type_fields_t* fields,
                                  const leat_shape_t* batch, int rank) {
  const leat_shape_t* sizes = &leat_kernel_input(c, 0)->shape;
  if (fields->count != leat_kernel_input_count(c) - 1) {
    return leat_kernel_invalid(c, "Length of inputs list must match field_names");
  }
  for (int32_t i = 0; i < fields->count; ++i) {
    const leat_type_field_t* field = &fields->items[i];
    const leat_tensor_t* values = leat_kernel_input(c, 1 + field->place);
    if (values->shape.rank != rank + 1 || rank < 1 || !agree(&values->shape, batch, rank)) {
      return leat_kernel_invalid(c, "field %.*s has values of shape %s, must be at least a matrix "
                                 "and match %s up to the last dimension", LEAT_SV_ARG(field->name),
                                 LEAT_SHAPE_TEXT(&values->shape), LEAT_SHAPE_TEXT(batch));
    }
    if (!leat_type_field_fits(field, values->dtype)) {
      return leat_kernel_invalid(c, "Incompatible type for field %.*s.  Saw dtype: %s but field "
                                 "type is: %s", LEAT_SV_ARG(field->name),
                                 leat_dtype_name(values->dtype), leat_type_field_type_name(field));
    }
  }
  if (sizes->rank == rank + 1 && agree(sizes, batch, rank) &&
      leat_shape_dim(sizes, rank) == fields->count) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "sizes should be batch_size + [len(field_names)].  Saw: %s",
                             LEAT_SHAPE_TEXT(sizes));
}

// Appends message |index| of the batch.
static leat_status_t append_message(const leat_kernel_context_t* c,
                                    const leat_type_fields_t* fields, int64_t index,
                                    leat_string_builder_t* scratch, leat_string_builder_t* out) {
  const int32_t* sizes =
      leat_tensor_data(leat_kernel_input(c, 0), const int32_t) + index * fields->count;
  for (int32_t i = 0; i < fields->count; ++i) {
    const leat_type_field_t* field = &fields->items[i];
    const leat_tensor_t* values = leat_kernel_input(c, 1 + field->place);
    const int64_t room = leat_shape_dim(&values->shape, values->shape.rank - 1);
    const int32_t size = sizes[field->place];
    if (size > room) {
      return leat_kernel_invalid(c, "Size to write must not be larger than value tensor; but saw: "
                                 "%d > %lld at message %lld field %d", size, (long long)room,
                                 (long long)index, field->place);
    }
    append_field(out, scratch, values, index * room, index * room + size, field);
  }
  return leat_ok_status();
}

static leat_status_t encode_all(leat_kernel_context_t* c, const leat_type_fields_t* fields,
                                leat_string_builder_t* scratch, leat_string_builder_t* message,
                                leat_tensor_t* output) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    message->size = 0;
    LEAT_RETURN_IF_ERROR(append_message(c, fields, i, scratch, message));
    LEAT_RETURN_IF_ERROR(leat_status_clone(scratch->status));
    LEAT_RETURN_IF_ERROR(leat_status_clone(message->status));
    const leat_string_view_t bytes = leat_string_builder_view(message);
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, bytes));
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 50 + 10 * (double)bytes.size));
  }
  return leat_ok_status();
}

static leat_status_t encode_proto__cpu(leat_kernel_context_t* c) {
  const encode_t* state = leat_kernel_state(c);
  const leat_shape_t* batch = &leat_kernel_input(c, 1)->shape;
  const int rank = batch->rank - 1;
  leat_string_builder_t scratch, message;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_inputs(c, &state->fields, batch, rank));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, rank, leat_shape_dims(batch), &output));
  leat_string_builder_initialize(leat_allocator_system(), &scratch);
  leat_string_builder_initialize(leat_allocator_system(), &message);
  leat_status_t status = encode_all(c, &state->fields, &scratch, &message, output);
  leat_string_builder_deinitialize(&message);
  leat_string_builder_deinitialize(&scratch);
  return status;
}

const leat_kernel_row_t leat_encode_proto_kernels_cpu[] = {
    LEAT_CPU_KERNEL("EncodeProto", NULL, encode_t, encode_create, encode_proto__cpu,
                    .destroy = encode_destroy, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
