// CPU kernels that name the shards of a checkpoint, and that merge checkpoints. Each parameter
// server saves its variables under a name such as "model-00003-of-00010":
//
//   ShardedFilename ─▶ SaveV2 of each server ─▶ MergeV2Checkpoints ─▶ one checkpoint "model"
//
// MergeV2Checkpoints makes one checkpoint of the shards by writing a common index and moving the
// data files. Merging leaves the shards' directories empty, and they are deleted where the
// attribute asks for it. A directory that cannot be deleted is no error, because shards often share
// one. The kernels block on the file system.
#include <string.h>

#include "formats/checkpoint/bundle.h"
#include "formats/path.h"
#include "ops/kernel_rows.h"

// ---- Names --------------------------------------------------------------------------------------

static leat_status_t set_text(leat_kernel_context_t* c, leat_string_builder_t* text) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_tensor_set_string(output, 0, leat_string_builder_view(text));
}

// Makes "base-00003-of-00010" for ShardedFilename (base, shard, count), or "base-?????-of-00010"
// for ShardedFilespec (base, count), a pattern that matches all shards.
static leat_status_t sharded_name__cpu(leat_kernel_context_t* c) {
  int count = leat_kernel_input_count(c);
  leat_string_view_t base = leat_tensor_string_at(leat_kernel_input(c, 0), 0);
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_append(&text, base);
  if (count == 3) {
    leat_string_builder_print(&text, "-%05d",
                              *leat_tensor_data(leat_kernel_input(c, 1), const int32_t));
  } else {
    leat_string_builder_append(&text, LEAT_SV("-?????"));
  }
  leat_string_builder_print(&text, "-of-%05d",
                            *leat_tensor_data(leat_kernel_input(c, count - 1), const int32_t));
  leat_status_t status = set_text(c, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

// ---- Merging ------------------------------------------------------------------------------------

typedef struct merge_s {
  bool delete_old_directories;
  bool allow_missing_files;
} merge_t;

static leat_status_t merge_create(leat_kernel_creation_t* c, void* state) {
  merge_t* merge = state;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_bool(c, "delete_old_dirs", &merge->delete_old_directories));
  return leat_kernel_attr_bool(c, "allow_missing_files", &merge->allow_missing_files);
}

// Reads the prefixes of input 0 as paths; those without an index file are left out where missing
// files are allowed.
static leat_status_t read_prefixes(const leat_kernel_context_t* c, leat_arena_t* arena,
                                   const char*** out_prefixes, size_t* out_count) {
  const merge_t* merge = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  size_t total = (size_t)input->shape.element_count;
  *out_count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, total, out_prefixes));
  for (size_t i = 0; i < total; ++i) {
    leat_string_view_t prefix;
    const char* index_path;
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(arena, leat_tensor_string_at(input, (int64_t)i), &prefix));
    LEAT_RETURN_IF_ERROR(leat_bundle_index_path(prefix.data, arena, &index_path));
    if (merge->allow_missing_files && !leat_file_exists(leat_file_system_default(), index_path)) {
      continue;
    }
    (*out_prefixes)[(*out_count)++] = prefix.data;
  }
  return leat_ok_status();
}

// Deletes the directories that the shards left empty, except that of the target. Failures are
// ignored, because shards often share a directory, which is then gone already.
static leat_status_t delete_directories(const char* const* prefixes, size_t count,
                                        const char* target, leat_arena_t* arena) {
  leat_file_system_t* fs = leat_file_system_default();
  const char *target_directory, *directory;
  LEAT_RETURN_IF_ERROR(leat_path_directory(target, arena, &target_directory));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_path_directory(prefixes[i], arena, &directory));
    if (strcmp(directory, target_directory) == 0) continue;
    leat_status_free(fs->vtable->remove(fs, directory));
  }
  return leat_ok_status();
}

static leat_status_t merge_prefixes(const leat_kernel_context_t* c, leat_arena_t* arena) {
  const merge_t* merge = leat_kernel_state(c);
  const char** prefixes;
  size_t count;
  leat_string_view_t target;
  LEAT_RETURN_IF_ERROR(read_prefixes(c, arena, &prefixes, &count));
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(arena, leat_tensor_string_at(leat_kernel_input(c, 1), 0), &target));
  LEAT_RETURN_IF_ERROR(leat_bundle_merge(leat_file_system_default(), prefixes, count, target.data,
                                         leat_allocator_system()));
  if (!merge->delete_old_directories) return leat_ok_status();
  return delete_directories(prefixes, count, target.data, arena);
}

static leat_status_t merge__cpu(leat_kernel_context_t* c) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = merge_prefixes(c, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_kernel_row_t leat_shard_kernels_cpu[] = {
    {.op = "ShardedFilename", .device_type = "CPU", .compute = sharded_name__cpu},
    {.op = "ShardedFilespec", .device_type = "CPU", .compute = sharded_name__cpu},
    {.op = "MergeV2Checkpoints",
     .device_type = "CPU",
     .create = merge_create,
     .state_bytes = sizeof(merge_t),
     .compute = merge__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
