// The text format on arbitrary bytes. What is parsed must print, and parse again.
#include "formats/generated/meta_graph.h"
#include "formats/wire/text.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_arena_t arena;
  leat_string_builder_t out;
  leat_pb_meta_graph_def_t message, again;
  const leat_message_descriptor_t* descriptor = &leat_pb_meta_graph_def_descriptor;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_status_t status = leat_text_parse(
      descriptor, leat_string_view_make((const char*)data, size), &arena, &message);
  if (!status) {
    status = leat_text_print(descriptor, &message, LEAT_TEXT_LINES, &out);
    if (!status) {
      status = leat_text_parse(descriptor, leat_string_builder_view(&out), &arena, &again);
    }
    if (leat_status_code(status) == LEAT_INVALID_ARGUMENT) __builtin_trap();
  }
  leat_status_free(status);
  leat_string_builder_deinitialize(&out);
  leat_arena_deinitialize(&arena);
  return 0;
}
