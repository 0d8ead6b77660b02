// JSON as a message: what comes out must be one that the decoder takes.
#include <stdlib.h>

#include "formats/generated/graph.h"
#include "formats/wire/decode.h"
#include "formats/wire/json_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_string_builder_t bytes;
  leat_arena_t arena;
  leat_pb_graph_def_t graph;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_json_to_wire(
      &leat_pb_graph_def_descriptor, leat_string_view_make((const char*)data, size), &bytes);
  if (!status) {
    status = leat_message_decode(&leat_pb_graph_def_descriptor, leat_string_builder_view(&bytes),
                                 &arena, NULL, &graph);
    if (status && leat_status_code(status) != LEAT_RESOURCE_EXHAUSTED) __builtin_trap();
  }
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&bytes);
  return 0;
}
