// The messages of leat/inspect.h: any of TensorFlow's messages that stand in files and buffers,
// converted between binary and text form, or read field by field. Both work over the descriptors of
// src/formats, which know the name, number, type and place of each field, so that no code here is
// specific to a message.
//
// A leat_message_t is a decoded message; a view is a pointer to it or to a message inside it, with
// its descriptor. Views are values that the caller does not free; they are valid until the message
// is closed. A field that is absent, or a name that does not exist, reads as empty, which lets
// callers follow long paths without a check at each step.
#include "base/map.h"
#include "capi/handles.h"
#include "formats/generated/api_def.h"
#include "formats/generated/checkpoint.h"
#include "formats/generated/config.h"
#include "formats/generated/device_attributes.h"
#include "formats/generated/event.h"
#include "formats/generated/example.h"
#include "formats/generated/graph.h"
#include "formats/generated/meta_graph.h"
#include "formats/generated/object_graph.h"
#include "formats/generated/op_performance_data.h"
#include "formats/generated/queue_runner.h"
#include "formats/generated/rewriter_config.h"
#include "formats/generated/run_metadata.h"
#include "formats/generated/server.h"
#include "formats/generated/variable.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/json.h"
#include "formats/wire/text.h"
#include "leat/inspect.h"

// The messages that files and buffers consist of; all others are inside these.
static const leat_message_descriptor_t* const kTypes[] = {
    &leat_pb_api_defs_descriptor,
    &leat_pb_attr_value_descriptor,
    &leat_pb_bundle_entry_proto_descriptor,
    &leat_pb_bundle_header_proto_descriptor,
    &leat_pb_callable_options_descriptor,
    &leat_pb_checkpoint_state_descriptor,
    &leat_pb_cluster_def_descriptor,
    &leat_pb_config_proto_descriptor,
    &leat_pb_cost_graph_def_descriptor,
    &leat_pb_device_attributes_descriptor,
    &leat_pb_event_descriptor,
    &leat_pb_example_descriptor,
    &leat_pb_fingerprint_def_descriptor,
    &leat_pb_function_def_descriptor,
    &leat_pb_function_def_library_descriptor,
    &leat_pb_gpu_options_descriptor,
    &leat_pb_graph_def_descriptor,
    &leat_pb_histogram_proto_descriptor,
    &leat_pb_kernel_def_descriptor,
    &leat_pb_kernel_list_descriptor,
    &leat_pb_meta_graph_def_descriptor,
    &leat_pb_node_def_descriptor,
    &leat_pb_op_def_descriptor,
    &leat_pb_op_info_tensor_properties_descriptor,
    &leat_pb_op_list_descriptor,
    &leat_pb_queue_runner_def_descriptor,
    &leat_pb_resource_handle_proto_descriptor,
    &leat_pb_rewriter_config_descriptor,
    &leat_pb_run_metadata_descriptor,
    &leat_pb_run_options_descriptor,
    &leat_pb_saved_model_descriptor,
    &leat_pb_saved_object_graph_descriptor,
    &leat_pb_saved_tensor_slices_descriptor,
    &leat_pb_saver_def_descriptor,
    &leat_pb_sequence_example_descriptor,
    &leat_pb_server_def_descriptor,
    &leat_pb_signature_def_descriptor,
    &leat_pb_step_stats_descriptor,
    &leat_pb_summary_descriptor,
    &leat_pb_summary_metadata_descriptor,
    &leat_pb_tensor_proto_descriptor,
    &leat_pb_tensor_shape_proto_descriptor,
    &leat_pb_trackable_object_graph_descriptor,
    &leat_pb_variable_def_descriptor,
    &leat_pb_version_def_descriptor,
};

// Finds a descriptor by its full name ("tensorflow.GraphDef") or the last part of it.
static leat_status_t find_type(const char* name,
                               const leat_message_descriptor_t** out_descriptor) {
  for (size_t i = 0; name && i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    const char* last = strrchr(kTypes[i]->name, '.');
    if (!strcmp(kTypes[i]->name, name) || (last && !strcmp(last + 1, name))) {
      *out_descriptor = kTypes[i];
      return leat_ok_status();
    }
  }
  return leat_make_status(LEAT_NOT_FOUND,
                          "Reading a message failed: type is '%s', must be one of TensorFlow's, "
                          "such as GraphDef",
                          name ? name : "");
}

// ---- Text ---------------------------------------------------------------------------------------

typedef leat_status_t (*convert_fn_t)(const leat_message_descriptor_t* descriptor,
                                      leat_string_view_t from, leat_arena_t* arena,
                                      leat_string_builder_t* out);

static leat_status_t to_text(const leat_message_descriptor_t* descriptor, leat_string_view_t from,
                             leat_arena_t* arena, leat_string_builder_t* out) {
  void* message;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, descriptor->size_bytes, &message));
  LEAT_RETURN_IF_ERROR(leat_message_decode(descriptor, from, arena, NULL, message));
  return leat_text_print(descriptor, message, LEAT_TEXT_LINES, out);
}

static leat_status_t from_text(const leat_message_descriptor_t* descriptor,
                               leat_string_view_t from, leat_arena_t* arena,
                               leat_string_builder_t* out) {
  void* message;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, descriptor->size_bytes, &message));
  LEAT_RETURN_IF_ERROR(leat_text_parse(descriptor, from, arena, message));
  return leat_message_encode(descriptor, message, out);
}

// Converts |from| with |fn| and returns the result in a new buffer. The decoded message lies in an
// arena that ends with the call.
static TF_Buffer* convert(convert_fn_t fn, const char* type, const TF_Buffer* from,
                          TF_Status* status) {
  const leat_message_descriptor_t* descriptor = NULL;
  leat_string_builder_t out;
  leat_arena_t arena;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t result = find_type(type, &descriptor);
  if (!result) result = fn(descriptor, leat_capi_buffer_bytes(from), &arena, &out);
  leat_arena_deinitialize(&arena);
  return leat_capi_buffer_return(result, &out, status);
}

TF_Buffer* leat_message_to_text(const char* type, const TF_Buffer* message, TF_Status* status) {
  return convert(to_text, type, message, status);
}

TF_Buffer* leat_message_from_text(const char* type, const TF_Buffer* text, TF_Status* status) {
  return convert(from_text, type, text, status);
}

// ---- What the messages are ----------------------------------------------------------------------

// Walks over the messages that can be reached from kTypes. |messages| maps the names of those that
// were met to their descriptors and is the list of what is still to be written too: its entries
// keep the order in which they were added.
typedef struct listing_s {
  leat_string_map_t messages;
  leat_string_map_t enums;
  leat_string_builder_t out;
} listing_t;

static leat_status_t meet(leat_string_map_t* map, const char* name, const void* descriptor) {
  return leat_string_map_insert(map, leat_string_view_from(name), (uint64_t)(uintptr_t)descriptor,
                                NULL, NULL);
}

static leat_status_t list_field(listing_t* listing, const leat_message_field_t* field) {
  static const char* const kKinds[] = {
      "double",  "float",   "int32",    "int64",    "uint32", "uint64", "sint32", "sint64",
      "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",   "enum",   "string", "bytes",
      "message"};
  static const char* const kLabels[] = {"singular", "repeated", "packed", "map"};
  const char* type = field->message       ? field->message->name
                     : field->enumeration ? field->enumeration->name
                                          : NULL;
  if (field->message) LEAT_RETURN_IF_ERROR(meet(&listing->messages, type, field->message));
  if (field->enumeration) LEAT_RETURN_IF_ERROR(meet(&listing->enums, type, field->enumeration));
  leat_string_builder_print(&listing->out, "[\"%s\", %u, \"%s\", \"%s\", %s%s%s, %d]",
                            field->name, (unsigned)field->number, kKinds[field->kind],
                            kLabels[field->label], type ? "\"" : "", type ? type : "null",
                            type ? "\"" : "", (int)field->case_offset);
  return leat_ok_status();
}

static leat_status_t list_messages(listing_t* listing) {
  leat_string_builder_t* out = &listing->out;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    LEAT_RETURN_IF_ERROR(meet(&listing->messages, kTypes[i]->name, kTypes[i]));
  }
  leat_string_builder_append(out, LEAT_SV("{\"messages\": {"));
  for (size_t i = 0; i < listing->messages.count; ++i) {
    const leat_message_descriptor_t* descriptor =
        (const leat_message_descriptor_t*)(uintptr_t)listing->messages.entries[i].value;
    leat_string_builder_print(out, "%s\n\"%s\": [", i ? "," : "", descriptor->name);
    for (size_t f = 0; f < descriptor->field_count; ++f) {
      if (f) leat_string_builder_append(out, LEAT_SV(", "));
      LEAT_RETURN_IF_ERROR(list_field(listing, &descriptor->fields[f]));
    }
    leat_string_builder_append(out, LEAT_SV("]"));
  }
  leat_string_builder_append(out, LEAT_SV("}, \"enums\": {"));
  for (size_t i = 0; i < listing->enums.count; ++i) {
    const leat_enum_descriptor_t* descriptor =
        (const leat_enum_descriptor_t*)(uintptr_t)listing->enums.entries[i].value;
    leat_string_builder_print(out, "%s\n\"%s\": {", i ? "," : "", descriptor->name);
    for (size_t v = 0; v < descriptor->value_count; ++v) {
      leat_string_builder_print(out, "%s\"%s\": %d", v ? ", " : "", descriptor->values[v].name,
                                (int)descriptor->values[v].number);
    }
    leat_string_builder_append(out, LEAT_SV("}"));
  }
  leat_string_builder_append(out, LEAT_SV("}}\n"));
  return leat_ok_status();
}

TF_Buffer* leat_messages_json(TF_Status* status) {
  listing_t listing;
  leat_string_map_initialize(leat_allocator_system(), &listing.messages);
  leat_string_map_initialize(leat_allocator_system(), &listing.enums);
  leat_string_builder_initialize(leat_allocator_system(), &listing.out);
  leat_status_t result = list_messages(&listing);
  leat_string_map_deinitialize(&listing.messages);
  leat_string_map_deinitialize(&listing.enums);
  return leat_capi_buffer_return(result, &listing.out, status);
}

// ---- Reading field by field ---------------------------------------------------------------------

struct leat_message_t {
  leat_arena_t arena;
  const leat_message_descriptor_t* descriptor;
  void* data;
};

static leat_status_t open_message(const char* type, leat_string_view_t bytes,
                                  leat_message_t* message) {
  LEAT_RETURN_IF_ERROR(find_type(type, &message->descriptor));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&message->arena, message->descriptor->size_bytes,
                                           &message->data));
  return leat_message_decode(message->descriptor, bytes, &message->arena, NULL, message->data);
}

leat_message_t* leat_message_open(const char* type, const TF_Buffer* bytes, TF_Status* status) {
  leat_message_t* message = NULL;
  leat_status_t result = LEAT_ALLOCATE(leat_allocator_system(), 1, &message);
  if (!result) {
    leat_arena_initialize(leat_allocator_system(), 0, &message->arena);
    result = open_message(type, leat_capi_buffer_bytes(bytes), message);
    if (result) {
      leat_message_close(message);
      message = NULL;
    }
  }
  leat_capi_status_set(status, result);
  return message;
}

void leat_message_close(leat_message_t* message) {
  if (!message) return;
  leat_arena_deinitialize(&message->arena);
  leat_allocator_free(leat_allocator_system(), message);
}

leat_message_view_t leat_message_view(const leat_message_t* message) {
  if (!message) return (leat_message_view_t){NULL, NULL};
  return (leat_message_view_t){message->descriptor, message->data};
}

// A field and its values: a list's items, or the one value of a singular field.
typedef struct field_s {
  const leat_message_field_t* field;
  const char* values;
  size_t count;
} field_t;

// Finds the values of a field. A singular scalar counts as present; a message or a member of a
// oneof only if it is set.
static field_t find_field(leat_message_view_t view, const char* name) {
  const leat_message_descriptor_t* descriptor = view.type;
  const leat_message_field_t* field =
      view.data && name ? leat_message_find_field_by_name(descriptor, leat_string_view_from(name))
                        : NULL;
  if (!field) return (field_t){NULL, NULL, 0};
  const char* data = view.data;
  const char* place = data + field->offset;
  if (field->label != LEAT_FIELD_SINGULAR) {
    const leat_pb_list_t* list = (const leat_pb_list_t*)place;
    return (field_t){field, list->items, list->count};
  }
  uint32_t chosen = field->number;
  if (field->case_offset >= 0) memcpy(&chosen, data + field->case_offset, sizeof chosen);
  bool is_there = chosen == field->number;
  if (field->kind == LEAT_FIELD_MESSAGE) {
    place = *(const char* const*)place;
    is_there = is_there && place;
  }
  return (field_t){field, place, is_there};
}

// Returns value |index| of field |name|; NULL where there is none.
static const void* find_value(leat_message_view_t view, const char* name, size_t index,
                              field_t* out_field) {
  *out_field = find_field(view, name);
  if (index >= out_field->count) return NULL;
  return out_field->values + index * leat_message_field_size(out_field->field);
}

size_t leat_message_count(leat_message_view_t view, const char* field) {
  return find_field(view, field).count;
}

leat_message_view_t leat_message_child(leat_message_view_t view, const char* field,
                                       size_t index) {
  field_t found;
  const void* value = find_value(view, field, index, &found);
  if (!value || found.field->kind != LEAT_FIELD_MESSAGE) return (leat_message_view_t){NULL, NULL};
  return (leat_message_view_t){found.field->message, value};
}

int64_t leat_message_integer(leat_message_view_t view, const char* field, size_t index) {
  field_t found;
  const void* value = find_value(view, field, index, &found);
  if (!value) return 0;
  switch ((leat_field_kind_t)found.field->kind) {
    case LEAT_FIELD_INT32: case LEAT_FIELD_SINT32: case LEAT_FIELD_SFIXED32: case LEAT_FIELD_ENUM:
      return *(const int32_t*)value;
    case LEAT_FIELD_UINT32: case LEAT_FIELD_FIXED32: return *(const uint32_t*)value;
    case LEAT_FIELD_INT64: case LEAT_FIELD_SINT64: case LEAT_FIELD_SFIXED64:
    case LEAT_FIELD_UINT64: case LEAT_FIELD_FIXED64:
      return *(const int64_t*)value;
    case LEAT_FIELD_BOOL: return *(const bool*)value;
    default: return 0;
  }
}

double leat_message_real(leat_message_view_t view, const char* field, size_t index) {
  field_t found;
  const void* value = find_value(view, field, index, &found);
  if (!value) return 0;
  switch ((leat_field_kind_t)found.field->kind) {
    case LEAT_FIELD_DOUBLE: return *(const double*)value;
    case LEAT_FIELD_FLOAT: return (double)*(const float*)value;
    case LEAT_FIELD_UINT64: case LEAT_FIELD_FIXED64: return (double)*(const uint64_t*)value;
    default: return (double)leat_message_integer(view, field, index);
  }
}

const char* leat_message_string(leat_message_view_t view, const char* field, size_t index,
                                size_t* out_size) {
  field_t found;
  const void* value = find_value(view, field, index, &found);
  leat_string_view_t text = LEAT_SV("");
  if (value && (found.field->kind == LEAT_FIELD_STRING || found.field->kind == LEAT_FIELD_BYTES)) {
    text = *(const leat_string_view_t*)value;
  } else if (value && found.field->kind == LEAT_FIELD_ENUM) {
    text = leat_string_view_from(
        leat_enum_name(found.field->enumeration, *(const int32_t*)value));
  }
  if (out_size) *out_size = text.size;
  return text.data ? text.data : "";
}

TF_Buffer* leat_message_view_to_text(leat_message_view_t view, TF_Status* status) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_status_t result =
      view.data ? leat_text_print(view.type, view.data, LEAT_TEXT_LINES, &out) : leat_ok_status();
  return leat_capi_buffer_return(result, &out, status);
}
