// Writes a checkpoint of the first version (one file, one shard), for graphs that still have Save
// and SaveSlices. New graphs write formats/checkpoint/bundle.h.
#ifndef LEAT_FORMATS_CHECKPOINT_CHECKPOINT_V1_WRITER_H_
#define LEAT_FORMATS_CHECKPOINT_CHECKPOINT_V1_WRITER_H_

#include "base/file_system.h"
#include "formats/checkpoint/tensor_slice.h"
#include "tensor/tensor.h"

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

#endif  // LEAT_FORMATS_CHECKPOINT_CHECKPOINT_V1_WRITER_H_
