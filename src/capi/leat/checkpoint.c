// The checkpoint reader of leat/files.h. It opens a checkpoint of either format, TensorFlow's
// current bundle (<prefix>.index and data files) or a file of the first format, and lists its
// tensors by name. The current format is tried first; only where there is no index are files of the
// first format looked for. The list is read at once, because the caller asks for entries by number;
// the values are read one at a time when they are asked for. The entries are sorted by name, which
// capi/checkpoint_reader.c relies on.
#include <stdlib.h>
#include <string.h>

#include "capi/handles.h"
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/checkpoint_v1.h"
#include "formats/wire/shape_proto.h"
#include "leat/files.h"

typedef struct entry_s {
  const char* name;
  int32_t dtype;
  leat_shape_t shape;
} entry_t;

struct leat_checkpoint_t {
  leat_arena_t arena;
  leat_bundle_reader_t* reader;  // current format; else NULL
  leat_checkpoint_v1_t* old;  // first format; else NULL
  entry_t* entries;  // sorted by name
  size_t count;
  size_t capacity;
};

// Appends an entry with the shape of a scalar; the caller may set another shape.
static leat_status_t add_entry(leat_checkpoint_t* checkpoint, leat_string_view_t name,
                               int32_t dtype, entry_t** out_entry) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), checkpoint->count + 1,
                                 &checkpoint->entries, &checkpoint->capacity));
  leat_string_view_t copy;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&checkpoint->arena, name, &copy));
  entry_t* entry = &checkpoint->entries[checkpoint->count++];
  *entry = (entry_t){copy.data, dtype, leat_shape_scalar()};
  *out_entry = entry;
  return leat_ok_status();
}

static leat_status_t add_bundle_entry(void* data, leat_string_view_t name,
                                      const leat_pb_bundle_entry_proto_t* proto) {
  entry_t* entry;
  LEAT_RETURN_IF_ERROR(add_entry(data, name, proto->dtype, &entry));
  return proto->shape ? leat_shape_from_proto(proto->shape, &entry->shape) : leat_ok_status();
}

static int compare_entries(const void* a, const void* b) {
  return strcmp(((const entry_t*)a)->name, ((const entry_t*)b)->name);
}

// Opens a checkpoint of the first format: the file |prefix|, or its shards, <prefix>-00000-of-00002
// and so on. A saver of the first format names a sharded checkpoint by the pattern of its files,
// <prefix>-?????-of-00002.
static leat_status_t open_old(const char* prefix, leat_checkpoint_t* checkpoint) {
  leat_string_view_t pattern;
  bool is_whole = strpbrk(prefix, "*?") || leat_file_exists(leat_file_system_default(), prefix);
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&checkpoint->arena, &pattern, is_whole ? "%s" : "%s-*-of-*", prefix));
  LEAT_RETURN_IF_ERROR(leat_checkpoint_v1_open(leat_file_system_default(), pattern.data,
                                               leat_allocator_system(), &checkpoint->old));
  for (size_t i = 0; i < leat_checkpoint_v1_count(checkpoint->old); ++i) {
    leat_string_view_t name;
    int dtype;
    const leat_shape_t* shape;
    entry_t* entry;
    leat_checkpoint_v1_get(checkpoint->old, i, &name, &dtype, &shape);
    LEAT_RETURN_IF_ERROR(add_entry(checkpoint, name, dtype, &entry));
    entry->shape = leat_shape_retain(shape);
  }
  qsort(checkpoint->entries, checkpoint->count, sizeof(entry_t), compare_entries);
  return leat_ok_status();
}

// Opens a checkpoint of the current format or, where there is none, of the first.
static leat_status_t open_checkpoint(const char* prefix, leat_checkpoint_t* checkpoint) {
  leat_status_t status = leat_bundle_reader_open(leat_file_system_default(), prefix,
                                                 leat_allocator_system(), &checkpoint->reader);
  if (!status) return leat_bundle_reader_each(checkpoint->reader, add_bundle_entry, checkpoint);
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_t old = open_old(prefix, checkpoint);
  if (!old || leat_status_code(old) != LEAT_NOT_FOUND) {
    leat_status_free(status);
    return old;
  }
  leat_status_free(old);
  return status;  // there is neither: the error of the current format is the more useful one
}

leat_checkpoint_t* leat_checkpoint_open(const char* prefix, TF_Status* status) {
  leat_checkpoint_t* checkpoint = NULL;
  leat_status_t result = LEAT_ALLOCATE(leat_allocator_system(), 1, &checkpoint);
  if (!result) {
    leat_arena_initialize(leat_allocator_system(), 0, &checkpoint->arena);
    result = open_checkpoint(prefix, checkpoint);
    if (result) {
      leat_checkpoint_close(checkpoint);
      checkpoint = NULL;
    }
  }
  leat_capi_status_set(status, result);
  return checkpoint;
}

void leat_checkpoint_close(leat_checkpoint_t* checkpoint) {
  if (!checkpoint) return;
  for (size_t i = 0; i < checkpoint->count; ++i) {
    leat_shape_release(&checkpoint->entries[i].shape);
  }
  leat_allocator_free(leat_allocator_system(), checkpoint->entries);
  leat_bundle_reader_free(checkpoint->reader);
  leat_checkpoint_v1_free(checkpoint->old);
  leat_arena_deinitialize(&checkpoint->arena);
  leat_allocator_free(leat_allocator_system(), checkpoint);
}

size_t leat_checkpoint_count(const leat_checkpoint_t* checkpoint) { return checkpoint->count; }

const char* leat_checkpoint_name(const leat_checkpoint_t* checkpoint, size_t index) {
  return index < checkpoint->count ? checkpoint->entries[index].name : NULL;
}

int leat_checkpoint_shape(const leat_checkpoint_t* checkpoint, size_t index,
                          TF_DataType* out_dtype, int64_t* dims, int max_rank) {
  if (index >= checkpoint->count) return -1;
  const entry_t* entry = &checkpoint->entries[index];
  if (out_dtype) *out_dtype = (TF_DataType)entry->dtype;
  for (int i = 0; dims && i < entry->shape.rank && i < max_rank; ++i) {
    dims[i] = leat_shape_dim(&entry->shape, i);
  }
  return entry->shape.rank;
}

// Reads the whole tensor, also where its shape is stored in slices.
TF_Tensor* leat_checkpoint_read(leat_checkpoint_t* checkpoint, const char* name,
                                TF_Status* status) {
  leat_tensor_t tensor;
  TF_Tensor* handle = NULL;
  leat_string_view_t key = leat_string_view_from(name);
  leat_buffer_source_t* source = leat_buffer_source_host();
  leat_status_t result =
      checkpoint->old ? leat_checkpoint_v1_read(checkpoint->old, key, NULL, source, &tensor)
                      : leat_bundle_reader_read(checkpoint->reader, key, source, &tensor);
  if (!result) result = leat_capi_tensor_wrap(&tensor, &handle);
  leat_capi_status_set(status, result);
  return handle;
}
