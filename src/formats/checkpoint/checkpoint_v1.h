// Checkpoints of the first version: one table a shard. The empty key holds the names, dtypes, whole
// shapes and slices of the shard's tensors; each slice has a key of its own.
#ifndef LEAT_FORMATS_CHECKPOINT_CHECKPOINT_V1_H_
#define LEAT_FORMATS_CHECKPOINT_CHECKPOINT_V1_H_

#include "base/file_system.h"
#include "formats/checkpoint/tensor_slice.h"
#include "tensor/tensor.h"

// ---- Reading (checkpoint_v1.c) ------------------------------------------------------------------

// A reader that was opened may be used by several threads.
typedef struct leat_checkpoint_v1_s leat_checkpoint_v1_t;

// Opens what a program of 2016 saved: Restore, RestoreSlice and the tools that list a checkpoint
// do. |pattern| matches the shards' files (a path without wildcards is one). NOT_FOUND when none
// does, DATA_LOSS when they are not sound tables or contradict each other.
LEAT_MUST_USE leat_status_t leat_checkpoint_v1_open(leat_file_system_t* fs, const char* pattern,
                                                    leat_allocator_t* allocator,
                                                    leat_checkpoint_v1_t** out_checkpoint);
void leat_checkpoint_v1_free(leat_checkpoint_v1_t* checkpoint);  // NULL is allowed

// The number of tensors, whatever their slices.
size_t leat_checkpoint_v1_count(const leat_checkpoint_v1_t* checkpoint);
// Tensor |index|, in the order of the files. Borrowed.
void leat_checkpoint_v1_get(const leat_checkpoint_v1_t* checkpoint, size_t index,
                            leat_string_view_t* out_name, int* out_dtype,
                            const leat_shape_t** out_shape);
// The index of the tensor |name|; false when there is none.
bool leat_checkpoint_v1_find(const leat_checkpoint_v1_t* checkpoint, leat_string_view_t name,
                             size_t* out_index);
// |slice| of the tensor |name| (NULL: all of it). NOT_FOUND when there is none, INVALID_ARGUMENT
// when what is stored does not cover the slice.
LEAT_MUST_USE leat_status_t leat_checkpoint_v1_read(const leat_checkpoint_v1_t* checkpoint,
                                                    leat_string_view_t name,
                                                    const leat_tensor_slice_t* slice,
                                                    leat_buffer_source_t* source,
                                                    leat_tensor_t* out_tensor);

// ---- Writing (checkpoint_v1_writer.c) -----------------------------------------------------------
// One file, one shard, for graphs that still have Save and SaveSlices. New graphs write
// formats/checkpoint/bundle.h.

// Keeps what is added, encoded, until it is finished. One thread at a time.
typedef struct leat_checkpoint_v1_writer_s leat_checkpoint_v1_writer_t;

// |path| is copied; nothing is written yet.
LEAT_MUST_USE leat_status_t leat_checkpoint_v1_writer_create(
    leat_file_system_t* fs, const char* path, leat_allocator_t* allocator,
    leat_checkpoint_v1_writer_t** out_writer);
void leat_checkpoint_v1_writer_free(leat_checkpoint_v1_writer_t* writer);  // NULL is allowed
// |tensor| is |slice| of a tensor |name| of |full_shape|. INTERNAL when another slice of |name| had
// another shape or type, INVALID_ARGUMENT for a type that the format lacks or 2 GiB and more.
LEAT_MUST_USE leat_status_t leat_checkpoint_v1_writer_add(leat_checkpoint_v1_writer_t* writer,
                                                          leat_string_view_t name,
                                                          const leat_shape_t* full_shape,
                                                          const leat_tensor_slice_t* slice,
                                                          const leat_tensor_t* tensor);
// Writes the file: whole, or not at all.
LEAT_MUST_USE leat_status_t leat_checkpoint_v1_writer_finish(leat_checkpoint_v1_writer_t* writer);

#endif  // LEAT_FORMATS_CHECKPOINT_CHECKPOINT_V1_H_
