#include "trace/file_window.h"

#include <string.h>

leat_status_t leat_file_window_initialize(leat_file_t* file, leat_file_window_t* out_window) {
  *out_window = (leat_file_window_t){.file = file};
  return leat_allocator_allocate_uninitialized(leat_allocator_system(), 16, LEAT_FILE_WINDOW_BYTES,
                                               (void**)&out_window->bytes);
}

void leat_file_window_deinitialize(leat_file_window_t* window) {
  leat_allocator_free(leat_allocator_system(), window->bytes);
}

leat_status_t leat_file_window_refill(leat_file_window_t* window, size_t from, bool* out_is_end) {
  size_t kept = window->size - from, got = 0;
  LEAT_DCHECK(from <= window->size);
  memmove(window->bytes, window->bytes + from, kept);
  window->offset += from;
  LEAT_RETURN_IF_ERROR(window->file->vtable->read_at(window->file, window->offset + kept,
                                                     window->bytes + kept,
                                                     LEAT_FILE_WINDOW_BYTES - kept, &got));
  window->size = kept + got;
  *out_is_end = got == 0;
  return leat_ok_status();
}
