// Kernel of MatchingFilesDataset, whose elements are the paths of the files that match patterns:
// for one pattern after the other, each in byte order. Directories are left out, and a path that
// matches two patterns comes twice. The file system is asked when the iterator comes to a pattern,
// so that files which a pipeline wrote before it began are seen. If no pattern has a match, that is
// NOT_FOUND and not an end, as in TensorFlow.
#include "base/arena.h"
#include "base/file_system.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct matching_iterator_s {
  leat_iterator_t base;
  int64_t pattern;     // index of the next pattern to ask for
  leat_arena_t arena;  // holds the paths of the current one
  leat_string_view_t* paths;
  size_t path_count, path_room, next;
  bool found_any;
} matching_iterator_t;

static leat_status_t matching_start(leat_iterator_t* self) {
  leat_arena_initialize(leat_allocator_system(), 0, &((matching_iterator_t*)self)->arena);
  return leat_ok_status();
}

static void matching_stop(leat_iterator_t* self) {
  matching_iterator_t* it = (matching_iterator_t*)self;
  leat_allocator_free(leat_allocator_system(), it->paths);
  if (it->arena.allocator) leat_arena_deinitialize(&it->arena);
}

static leat_status_t add_path(void* data, const char* path) {
  matching_iterator_t* it = data;
  leat_file_system_t* files = leat_file_system_default();
  leat_file_stat_t stat;
  leat_status_t status = files->vtable->stat(files, path, &stat);
  if (status) {  // it went meanwhile
    leat_status_free(status);
    return leat_ok_status();
  }
  if (stat.is_directory) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), it->path_count + 1, &it->paths, &it->path_room));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&it->arena, leat_string_view_from(path),
                                              &it->paths[it->path_count]));
  ++it->path_count;
  return leat_ok_status();
}

// Asks for the files of the next pattern.
static leat_status_t match_next(matching_iterator_t* it) {
  const leat_tensor_t* patterns = &it->base.dataset->tensors[0];
  leat_string_view_t pattern;
  leat_arena_deinitialize(&it->arena);
  leat_arena_initialize(leat_allocator_system(), 0, &it->arena);
  it->path_count = it->next = 0;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(
      &it->arena, leat_tensor_string_at(patterns, it->pattern), &pattern));
  LEAT_RETURN_IF_ERROR(leat_file_match(leat_file_system_default(), pattern.data, add_path, it));
  ++it->pattern;
  it->found_any |= it->path_count > 0;
  return leat_ok_status();
}

static leat_status_t matching_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  matching_iterator_t* it = (matching_iterator_t*)self;
  const int64_t count = self->dataset->tensors[0].shape.element_count;
  while (it->next == it->path_count && it->pattern < count) {
    LEAT_RETURN_IF_ERROR(leat_pull_check(pull));
    LEAT_RETURN_IF_ERROR(match_next(it));
  }
  if (it->next == it->path_count) {
    if (it->found_any || count == 0) return leat_ok_status();
    return leat_make_status(LEAT_NOT_FOUND, "Don't find any matched files");
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(it->paths[it->next], out));
  ++it->next;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static const leat_dataset_kind_t kMatching = {.name = "MatchingFiles",
                                              .dataset_bytes = sizeof(leat_dataset_t),
                                              .iterator_bytes = sizeof(matching_iterator_t),
                                              .start = matching_start,
                                              .next = matching_next,
                                              .stop = matching_stop,
                                              .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t matching__cpu(leat_kernel_context_t* c) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_scalar(LEAT_DTYPE_STRING, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kMatching, spec, 0, 1, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, 1, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_matching_dataset_kernels_cpu[] = {
    {.op = "MatchingFilesDataset", .device_type = "CPU", .compute = matching__cpu},
    LEAT_KERNEL_ROWS_END,
};
