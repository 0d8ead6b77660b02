// The wire decoder on arbitrary bytes, read as the message that the first byte chooses. What
// decodes must encode, and decode again to the same bytes.
#include <stdlib.h>

#include "formats/generated/checkpoint.h"
#include "formats/generated/event.h"
#include "formats/generated/example.h"
#include "formats/generated/meta_graph.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_proto.h"

static const leat_message_descriptor_t* const descriptors[] = {
    &leat_pb_graph_def_descriptor,        &leat_pb_saved_model_descriptor,
    &leat_pb_config_proto_descriptor,     &leat_pb_event_descriptor,
    &leat_pb_run_metadata_descriptor,     &leat_pb_sequence_example_descriptor,
    &leat_pb_tensor_proto_descriptor,     &leat_pb_bundle_entry_proto_descriptor,
    &leat_pb_saved_tensor_slices_descriptor,
};

// The message's bytes, NULL where it is refused. The caller frees.
static char* recode(const leat_message_descriptor_t* descriptor, const char* data, size_t size,
                    size_t* out_size) {
  leat_arena_t arena;
  leat_string_builder_t out;
  void* message = NULL;
  char* bytes = NULL;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_status_t status = leat_arena_allocate(&arena, descriptor->size_bytes, &message);
  if (!status) {
    status = leat_message_decode(descriptor, leat_string_view_make(data, size), &arena, NULL,
                                 message);
  }
  if (!status) status = leat_message_encode(descriptor, message, &out);
  if (!status && out.size == 0) leat_string_builder_append(&out, LEAT_SV(""));
  if (!status) status = leat_string_builder_finish(&out, &bytes, out_size);
  if (!status && !bytes) *out_size = 0;
  leat_status_free(status);
  leat_string_builder_deinitialize(&out);
  leat_arena_deinitialize(&arena);
  return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t first_size, second_size;
  if (size == 0) return 0;
  const leat_message_descriptor_t* descriptor =
      descriptors[data[0] % LEAT_ARRAY_SIZE(descriptors)];
  char* first = recode(descriptor, (const char*)data + 1, size - 1, &first_size);
  if (!first) return 0;
  char* second = recode(descriptor, first, first_size, &second_size);
  bool same = second && first_size == second_size && !memcmp(first, second, first_size);
  bool empty = first_size == 0;
  leat_allocator_free(leat_allocator_system(), first);
  leat_allocator_free(leat_allocator_system(), second);
  if (!same && !empty) __builtin_trap();
  return 0;
}
