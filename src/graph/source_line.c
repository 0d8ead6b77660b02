// A table of lines hangs in the storage of the graph whose builder told them, and graphs that are
// made from it find it there, since their storages lead to their parents'. It has a lock of its
// own: a compiled graph is asked for its lines without the lock of the program's graph, which may
// grow meanwhile. The names that are its keys, and the names of files, lie in the storage and stay.
#include "graph/source_line.h"

#include "base/checked.h"
#include "base/map.h"
#include "graph/storage.h"

struct leat_source_lines_s {
  leat_mutex_t mutex;
  leat_string_map_t lines;    // name of a node -> the number of its file << 32 | line
  leat_string_view_t* files;  // each once
  size_t file_count, file_capacity;
};

void leat_source_lines_free(leat_source_lines_t* lines) {
  if (!lines) return;
  leat_string_map_deinitialize(&lines->lines);
  leat_allocator_free(leat_allocator_system(), lines->files);
  leat_mutex_deinitialize(&lines->mutex);
  leat_allocator_free(leat_allocator_system(), lines);
}

static leat_status_t find_or_create(leat_graph_storage_t* storage,
                                    leat_source_lines_t** out_lines) {
  *out_lines = atomic_load_explicit(&storage->source_lines, memory_order_relaxed);
  if (*out_lines) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_lines));
  leat_mutex_initialize(&(*out_lines)->mutex);
  leat_string_map_initialize(leat_allocator_system(), &(*out_lines)->lines);
  atomic_store_explicit(&storage->source_lines, *out_lines, memory_order_release);
  return leat_ok_status();
}

// The number of |file|. Nodes in a row mostly come from one file, so the newest is looked at first.
static leat_status_t file_number(leat_source_lines_t* lines, leat_graph_storage_t* storage,
                                 leat_string_view_t file, size_t* out_number) {
  for (size_t i = lines->file_count; i-- > 0;) {
    *out_number = i;
    if (leat_string_view_equal(lines->files[i], file)) return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), lines->file_count + 1, &lines->files,
                                 &lines->file_capacity));
  LEAT_RETURN_IF_ERROR(
      leat_graph_storage_copy_text(storage, file, &lines->files[lines->file_count]));
  *out_number = lines->file_count++;
  return leat_ok_status();
}

leat_status_t leat_graph_set_source_line(leat_graph_t* graph, int32_t node,
                                         leat_string_view_t file, uint32_t line) {
  leat_source_lines_t* lines;
  size_t number = 0;
  LEAT_DCHECK(node >= 0 && (size_t)node < graph->node_count);
  LEAT_RETURN_IF_ERROR(find_or_create(graph->storage, &lines));
  leat_mutex_lock(&lines->mutex);
  leat_status_t status = file_number(lines, graph->storage, file, &number);
  if (!status) {
    status = leat_string_map_set(&lines->lines, graph->nodes[node].name,
                                 (uint64_t)number << 32 | line);
  }
  leat_mutex_unlock(&lines->mutex);
  return status;
}

static bool look_up(leat_source_lines_t* lines, leat_string_view_t name,
                    leat_string_view_t* out_file, uint32_t* out_line) {
  uint64_t place = 0;
  leat_mutex_lock(&lines->mutex);
  const bool found = leat_string_map_get(&lines->lines, name, &place);
  if (found) *out_file = lines->files[place >> 32];
  leat_mutex_unlock(&lines->mutex);
  *out_line = (uint32_t)place;
  return found;
}

bool leat_graph_has_source_lines(const leat_graph_t* graph) {
  const leat_graph_storage_t* s = graph->storage;
  while (s && !atomic_load_explicit(&s->source_lines, memory_order_acquire)) s = s->parent;
  return s != NULL;
}

bool leat_graph_find_source_line(const leat_graph_t* graph, leat_string_view_t name,
                                 leat_string_view_t* out_file, uint32_t* out_line) {
  for (;;) {
    for (leat_graph_storage_t* s = graph->storage; s; s = s->parent) {
      leat_source_lines_t* lines = atomic_load_explicit(&s->source_lines, memory_order_acquire);
      if (lines && look_up(lines, name, out_file, out_line)) return true;
    }
    const size_t slash = leat_string_view_find_last(name, '/');
    if (slash == SIZE_MAX || slash + 1 >= name.size || name.data[slash + 1] != '_') return false;
    name.size = slash;
  }
}
