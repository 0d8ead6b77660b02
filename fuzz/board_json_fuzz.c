// Requests in JSON, as a client may send any: each is read or refused.
#include "board/groups_request.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_arena_t arena;
  board_groups_request_t request;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_free(board_groups_request_read(leat_string_view_make((const char*)data, size), &arena,
                                             &request));
  leat_arena_deinitialize(&arena);
  return 0;
}
