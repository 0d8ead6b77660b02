// Reads checkpoints of TensorFlow's first version. A checkpoint is one table for each shard, found
// by a pattern of file names. The empty key of each table holds a message that lists the shard's
// tensors and slices; when the checkpoint is opened, these lists are joined into one list of slices
// for each tensor, and each slice remembers the table that holds it. Shards that disagree about a
// tensor's dtype or shape are damaged.
//
// The value of a slice's key is a message with its elements as a list of numbers, so that reading
// decodes the message and copies the elements into place. A tensor is assembled from the slices
// that overlap the range asked for, which must cover it; slices of one tensor do not overlap each
// other. After opening nothing changes, so several threads may read.
#include "formats/checkpoint/checkpoint_v1.h"

#include "base/map.h"
#include "formats/checkpoint/table.h"
#include "formats/generated/checkpoint.h"
#include "formats/wire/decode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_proto.h"

typedef struct stored_slice_s {
  leat_tensor_slice_t slice;  // as the file states it; the key is made of this form
  leat_tensor_slice_t box;    // the same with every range resolved
  const leat_table_t* table;
} stored_slice_t;
typedef struct slice_list_s {
  stored_slice_t* items;
  size_t count;
} slice_list_t;

typedef struct stored_tensor_s {
  leat_string_view_t name;
  int dtype;
  leat_shape_t shape;
  slice_list_t slices;
} stored_tensor_t;

struct leat_checkpoint_v1_s {
  leat_allocator_t* allocator;
  leat_file_system_t* fs;
  leat_arena_t arena;
  leat_string_map_t index_by_name;
  stored_tensor_t* tensors;
  size_t count;
  size_t capacity;
  leat_table_t** tables;
  size_t table_count;
  size_t table_capacity;
};

static leat_status_t corrupt(leat_string_view_t name, const char* what) {
  return leat_make_status(LEAT_DATA_LOSS, "Checkpoint read failed for '%.*s': %s",
                          LEAT_SV_ARG(name), what);
}

// The tensor that |meta| describes, which is added when no shard before has named it.
static leat_status_t get_tensor(leat_checkpoint_v1_t* checkpoint,
                                const leat_pb_saved_slice_meta_t* meta,
                                stored_tensor_t** out_tensor) {
  uint64_t index, *place;
  bool added;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(meta->shape, &shape));
  if (leat_string_map_get(&checkpoint->index_by_name, meta->name, &index)) {
    *out_tensor = &checkpoint->tensors[index];
    bool same = (*out_tensor)->dtype == meta->type &&
                leat_shape_equal(&(*out_tensor)->shape, &shape);
    leat_shape_release(&shape);
    return same ? leat_ok_status() : corrupt(meta->name, "shards disagree about its type");
  }
  leat_status_t status = LEAT_GROW(checkpoint->allocator, checkpoint->count + 1,
                                   &checkpoint->tensors, &checkpoint->capacity);
  if (!status) {
    status = leat_string_map_insert(&checkpoint->index_by_name, meta->name, checkpoint->count,
                                    &place, &added);
  }
  if (status) {
    leat_shape_release(&shape);
    return status;
  }
  *out_tensor = &checkpoint->tensors[checkpoint->count++];
  **out_tensor = (stored_tensor_t){.name = meta->name, .dtype = meta->type, .shape = shape};
  return leat_ok_status();
}

// Adds a slice that lies in |table| to |tensor|.
static leat_status_t add_slice(leat_checkpoint_v1_t* checkpoint, stored_tensor_t* tensor,
                               const leat_pb_tensor_slice_proto_t* slice,
                               const leat_table_t* table) {
  void* item;
  leat_shape_t shape;
  leat_arena_t* arena = &checkpoint->arena;
  LEAT_RETURN_IF_ERROR(
      leat_message_list_append(arena, &tensor->slices, sizeof(stored_slice_t), &item));
  stored_slice_t* stored = (stored_slice_t*)item;
  stored->table = table;
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_from_proto(slice, arena, &stored->slice));
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_from_proto(slice, arena, &stored->box));
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_resolve(&stored->box, &tensor->shape, &shape));
  leat_shape_release(&shape);
  return leat_ok_status();
}

// Reads what a shard says of its tensors.
static leat_status_t read_meta(leat_checkpoint_v1_t* checkpoint, const leat_table_t* table) {
  leat_string_view_t value;
  leat_pb_saved_tensor_slices_t slices;
  LEAT_RETURN_IF_ERROR(leat_table_find(table, LEAT_SV(""), &checkpoint->arena, &value));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_saved_tensor_slices_descriptor, value,
                                           &checkpoint->arena, NULL, &slices));
  for (size_t i = 0; slices.meta && i < slices.meta->tensor.count; ++i) {
    const leat_pb_saved_slice_meta_t* meta = &slices.meta->tensor.items[i];
    stored_tensor_t* tensor = NULL;
    if (!leat_dtype_is_valid(meta->type) || leat_dtype_is_ref(meta->type)) {
      return corrupt(meta->name, "dtype is unknown");
    }
    LEAT_RETURN_IF_ERROR(get_tensor(checkpoint, meta, &tensor));
    for (size_t j = 0; j < meta->slice.count; ++j) {
      LEAT_RETURN_IF_ERROR(add_slice(checkpoint, tensor, &meta->slice.items[j], table));
    }
  }
  return leat_ok_status();
}

// Opens the table at |path|; leat_file_match() calls this for each file.
static leat_status_t add_shard(void* data, const char* path) {
  leat_checkpoint_v1_t* checkpoint = (leat_checkpoint_v1_t*)data;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(checkpoint->allocator, checkpoint->table_count + 1,
                                 &checkpoint->tables, &checkpoint->table_capacity));
  leat_table_t** table = &checkpoint->tables[checkpoint->table_count];
  LEAT_RETURN_IF_ERROR(leat_table_open(checkpoint->fs, path, checkpoint->allocator, table));
  ++checkpoint->table_count;
  leat_status_t status = read_meta(checkpoint, *table);
  leat_status_code_t code = leat_status_code(status);
  // To the caller, a shard without its meta or with an impossible one is damaged.
  if (code == LEAT_NOT_FOUND || code == LEAT_INVALID_ARGUMENT) {
    leat_status_t damaged = leat_make_status(LEAT_DATA_LOSS, "Checkpoint read failed for '%s': %s",
                                             path, leat_status_message(status));
    leat_status_free(status);
    return damaged;
  }
  return leat_status_annotate(status, "Unable to read file (%s)", path);
}

leat_status_t leat_checkpoint_v1_open(leat_file_system_t* fs, const char* pattern,
                                      leat_allocator_t* allocator,
                                      leat_checkpoint_v1_t** out_checkpoint) {
  leat_checkpoint_v1_t* checkpoint;
  *out_checkpoint = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &checkpoint));
  checkpoint->allocator = allocator;
  checkpoint->fs = fs;
  leat_arena_initialize(allocator, 0, &checkpoint->arena);
  leat_string_map_initialize(allocator, &checkpoint->index_by_name);
  leat_status_t status = leat_file_match(fs, pattern, add_shard, checkpoint);
  if (!status && checkpoint->table_count == 0) {
    status = leat_make_status(LEAT_NOT_FOUND,
                              "Unsuccessful TensorSliceReader constructor: Failed to find any "
                              "matching files for %s", pattern);
  }
  if (status) {
    leat_checkpoint_v1_free(checkpoint);
    return status;
  }
  *out_checkpoint = checkpoint;
  return leat_ok_status();
}

void leat_checkpoint_v1_free(leat_checkpoint_v1_t* checkpoint) {
  if (!checkpoint) return;
  for (size_t i = 0; i < checkpoint->count; ++i) leat_shape_release(&checkpoint->tensors[i].shape);
  for (size_t i = 0; i < checkpoint->table_count; ++i) leat_table_free(checkpoint->tables[i]);
  leat_allocator_free(checkpoint->allocator, checkpoint->tables);
  leat_allocator_free(checkpoint->allocator, checkpoint->tensors);
  leat_string_map_deinitialize(&checkpoint->index_by_name);
  leat_arena_deinitialize(&checkpoint->arena);
  leat_allocator_free(checkpoint->allocator, checkpoint);
}

size_t leat_checkpoint_v1_count(const leat_checkpoint_v1_t* checkpoint) {
  return checkpoint->count;
}

void leat_checkpoint_v1_get(const leat_checkpoint_v1_t* checkpoint, size_t index,
                            leat_string_view_t* out_name, int* out_dtype,
                            const leat_shape_t** out_shape) {
  const stored_tensor_t* tensor = &checkpoint->tensors[index];
  *out_name = tensor->name;
  *out_dtype = tensor->dtype;
  *out_shape = &tensor->shape;
}

bool leat_checkpoint_v1_find(const leat_checkpoint_v1_t* checkpoint, leat_string_view_t name,
                             size_t* out_index) {
  uint64_t index;
  if (!leat_string_map_get(&checkpoint->index_by_name, name, &index)) return false;
  *out_index = (size_t)index;
  return true;
}

static leat_status_t box_shape(const leat_tensor_slice_t* box, leat_shape_t* out_shape) {
  return leat_shape_create(box->rank, box->lengths, out_shape);
}

// Reads the elements of one stored slice. The message holds the elements alone; dtype and shape
// come from the shard's list, and the shape is tested against the size of the message before memory
// is taken, since an element takes at least one byte of it.
static leat_status_t read_slice(const stored_tensor_t* tensor, const stored_slice_t* stored,
                                leat_arena_t* arena, leat_tensor_t* out_tensor) {
  leat_string_builder_t key;
  leat_string_view_t value;
  leat_shape_t shape;
  leat_pb_saved_tensor_slices_t slices;
  *out_tensor = (leat_tensor_t){0};
  leat_string_builder_initialize(arena->allocator, &key);
  leat_tensor_slice_append_key(tensor->name, &stored->slice, &key);
  leat_status_t status = leat_status_clone(key.status);
  if (!status) {
    status = leat_table_find(stored->table, leat_string_builder_view(&key), arena, &value);
  }
  leat_string_builder_deinitialize(&key);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_saved_tensor_slices_descriptor, value, arena,
                                           NULL, &slices));
  if (!slices.data || !slices.data->data) return corrupt(tensor->name, "a slice has no values");
  leat_pb_tensor_proto_t proto = *slices.data->data;
  proto.dtype = tensor->dtype;
  LEAT_RETURN_IF_ERROR(box_shape(&stored->box, &shape));
  if ((uint64_t)shape.element_count > value.size) {
    status = corrupt(tensor->name, "a slice has too few values");
  } else {
    status = leat_partial_shape_to_proto(leat_partial_shape_of(&shape), arena,
                                         &proto.tensor_shape);
  }
  leat_shape_release(&shape);
  LEAT_RETURN_IF_ERROR(status);
  return leat_tensor_from_proto(&proto, leat_buffer_source_host(), out_tensor);
}

// Copies the elements that |slice| and |wanted| have in common to |target|. Boxes of strings would
// have to be copied string by string, so strings are only read when they are stored in one slice.
static leat_status_t copy_slice(const stored_tensor_t* tensor, const stored_slice_t* slice,
                                const leat_tensor_slice_t* wanted, leat_arena_t* arena,
                                leat_tensor_t* target) {
  leat_tensor_t stored;
  LEAT_RETURN_IF_ERROR(read_slice(tensor, slice, arena, &stored));
  leat_status_t status = leat_ok_status();
  if (leat_tensor_slice_equal(&slice->box, wanted)) {
    status = leat_tensor_copy_elements(tensor->dtype, stored.data, target->data,
                                       stored.shape.element_count);
  } else if (leat_dtype_in(tensor->dtype, LEAT_DTYPES_OBJECT)) {
    status = leat_make_status(LEAT_UNIMPLEMENTED,
                              "Checkpoint read failed for '%.*s': slices are of %s, must be of "
                              "numbers",
                              LEAT_SV_ARG(tensor->name), leat_dtype_name(tensor->dtype));
  } else {
    leat_tensor_slice_copy_common(&slice->box, stored.data, wanted, target->data,
                                  leat_dtype_size(tensor->dtype));
  }
  leat_tensor_release(&stored);
  return status;
}

// Assembles |wanted| from all slices that overlap it. Because slices do not overlap each other, the
// range is covered exactly when the numbers of common elements add up to its size.
static leat_status_t read_slices(const stored_tensor_t* tensor, const leat_tensor_slice_t* wanted,
                                 leat_arena_t* arena, leat_buffer_source_t* source,
                                 leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  int64_t covered = 0;
  for (size_t i = 0; i < tensor->slices.count; ++i) {
    covered += leat_tensor_slice_count_common(&tensor->slices.items[i].box, wanted);
  }
  LEAT_RETURN_IF_ERROR(box_shape(wanted, &shape));
  leat_status_t status = leat_ok_status();
  if (covered != shape.element_count) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Does not have sufficient slices for partitioned tensor %.*s",
                              LEAT_SV_ARG(tensor->name));
  } else {
    status = leat_tensor_allocate(source, tensor->dtype, &shape, out_tensor);
  }
  leat_shape_release(&shape);
  LEAT_RETURN_IF_ERROR(status);
  leat_tensor_fill_zero(out_tensor);
  for (size_t i = 0; i < tensor->slices.count; ++i) {
    const stored_slice_t* stored = &tensor->slices.items[i];
    if (leat_tensor_slice_count_common(&stored->box, wanted) == 0) continue;
    LEAT_RETURN_IF_ERROR(copy_slice(tensor, stored, wanted, arena, out_tensor));
  }
  return leat_ok_status();
}

leat_status_t leat_checkpoint_v1_read(const leat_checkpoint_v1_t* checkpoint,
                                      leat_string_view_t name, const leat_tensor_slice_t* slice,
                                      leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  size_t index;
  leat_arena_t arena;
  leat_tensor_slice_t wanted;
  leat_shape_t shape;
  *out_tensor = (leat_tensor_t){0};
  if (!leat_checkpoint_v1_find(checkpoint, name, &index)) {
    return leat_make_status(LEAT_NOT_FOUND, "Tensor name \"%.*s\" not found in checkpoint files",
                            LEAT_SV_ARG(name));
  }
  const stored_tensor_t* tensor = &checkpoint->tensors[index];
  int rank = slice ? slice->rank : tensor->shape.rank;
  leat_arena_initialize(checkpoint->allocator, 0, &arena);
  leat_status_t status = leat_tensor_slice_make_full(rank, &arena, &wanted);
  if (!status && slice) {
    memcpy(wanted.starts, slice->starts, (size_t)rank * sizeof(int64_t));
    memcpy(wanted.lengths, slice->lengths, (size_t)rank * sizeof(int64_t));
  }
  if (!status) status = leat_tensor_slice_resolve(&wanted, &tensor->shape, &shape);
  if (!status) {
    leat_shape_release(&shape);
    status = read_slices(tensor, &wanted, &arena, source, out_tensor);
  }
  leat_arena_deinitialize(&arena);
  if (status) leat_tensor_release(out_tensor);
  return status;
}
