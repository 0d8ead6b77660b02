// Checkpoints of the second version ("tensor bundles"): named tensors in data files, and an index
// that says where.
//
//   <prefix>.index                   table: "" -> BundleHeaderProto, name -> BundleEntryProto
//   <prefix>.data-00000-of-00001     the elements of all tensors, one behind the other
//
// The header states how many data files there are, which is the number behind "-of-"; an entry
// states the number before it. A checkpoint that replaces another one of the same prefix gets data
// files with other numbers before "-of-", so that both can exist at once; bundle_publish.c says how
// the numbers are chosen.
//
// A tensor may be stored as slices: then its entry lists them, and each has an entry of its own
// under the key that leat_tensor_slice_append_key makes. Elements are little-endian; strings are
// the varint sizes of all, a masked crc32c of the sizes, then the bytes. Every entry has the masked
// crc32c of its bytes.
#ifndef LEAT_FORMATS_CHECKPOINT_BUNDLE_H_
#define LEAT_FORMATS_CHECKPOINT_BUNDLE_H_

#include "base/file_system.h"
#include "formats/checkpoint/tensor_slice.h"
#include "formats/generated/checkpoint.h"
#include "tensor/tensor.h"

// Paths in |arena|, NUL-terminated.
LEAT_MUST_USE leat_status_t leat_bundle_index_path(const char* prefix, leat_arena_t* arena,
                                                   const char** out_path);
LEAT_MUST_USE leat_status_t leat_bundle_data_path(const char* prefix, int shard, int shard_count,
                                                  leat_arena_t* arena, const char** out_path);

// ---- Writing ----
// Tensors go to a temporary file as they are added; nothing is kept of them. One thread at a time.
typedef struct leat_bundle_writer_s leat_bundle_writer_t;

// Makes the directory of |prefix| when there is none.
LEAT_MUST_USE leat_status_t leat_bundle_writer_create(leat_file_system_t* fs, const char* prefix,
                                                      leat_allocator_t* allocator,
                                                      leat_bundle_writer_t** out_writer);
// Removes what was not published; NULL is allowed.
void leat_bundle_writer_free(leat_bundle_writer_t* writer);
// INVALID_ARGUMENT for the empty name or one that was added; UNIMPLEMENTED for resources and
// variants. After an error only free is of use.
LEAT_MUST_USE leat_status_t leat_bundle_writer_add(leat_bundle_writer_t* writer,
                                                   leat_string_view_t name,
                                                   const leat_tensor_t* tensor);
// |tensor| is |slice| of a tensor |name| of |full_shape|. A slice that is all of it is added whole.
LEAT_MUST_USE leat_status_t leat_bundle_writer_add_slice(leat_bundle_writer_t* writer,
                                                         leat_string_view_t name,
                                                         const leat_shape_t* full_shape,
                                                         const leat_tensor_slice_t* slice,
                                                         const leat_tensor_t* tensor);
// Publishes the checkpoint. An older one of the prefix stays whole until the new one replaces it in
// one step, even if the process dies or the power fails; then its data files are removed.
LEAT_MUST_USE leat_status_t leat_bundle_writer_finish(leat_bundle_writer_t* writer);

// Makes one checkpoint of |count| (the shards of a distributed save): their data files are renamed,
// their indexes become one and are removed. A tensor may be in several only as slices. An older
// checkpoint |prefix| is replaced as by leat_bundle_writer_finish.
LEAT_MUST_USE leat_status_t leat_bundle_merge(leat_file_system_t* fs, const char* const* prefixes,
                                              size_t count, const char* prefix,
                                              leat_allocator_t* allocator);

// ---- Reading ----
// A reader that was opened may be used by several threads.
typedef struct leat_bundle_reader_s leat_bundle_reader_t;

LEAT_MUST_USE leat_status_t leat_bundle_reader_open(leat_file_system_t* fs, const char* prefix,
                                                    leat_allocator_t* allocator,
                                                    leat_bundle_reader_t** out_reader);
void leat_bundle_reader_free(leat_bundle_reader_t* reader);  // NULL is allowed
// The entry of |name|, in |arena|: dtype, shape, slices. NOT_FOUND when there is none.
LEAT_MUST_USE leat_status_t leat_bundle_reader_find(const leat_bundle_reader_t* reader,
                                                    leat_string_view_t name, leat_arena_t* arena,
                                                    leat_pb_bundle_entry_proto_t* out_entry);
// Hands each tensor's name and entry to |fn|, by name; not those of single slices.
typedef leat_status_t (*leat_bundle_entry_fn_t)(void* data, leat_string_view_t name,
                                                const leat_pb_bundle_entry_proto_t* entry);
LEAT_MUST_USE leat_status_t leat_bundle_reader_each(const leat_bundle_reader_t* reader,
                                                    leat_bundle_entry_fn_t fn, void* data);
// The tensor |name|, put together when it is stored as slices. DATA_LOSS when bytes are missing or
// do not match their checksum.
LEAT_MUST_USE leat_status_t leat_bundle_reader_read(leat_bundle_reader_t* reader,
                                                    leat_string_view_t name,
                                                    leat_buffer_source_t* source,
                                                    leat_tensor_t* out_tensor);
// A slice of it; INVALID_ARGUMENT when the stored slices do not cover |slice|.
LEAT_MUST_USE leat_status_t leat_bundle_reader_read_slice(leat_bundle_reader_t* reader,
                                                          leat_string_view_t name,
                                                          const leat_tensor_slice_t* slice,
                                                          leat_buffer_source_t* source,
                                                          leat_tensor_t* out_tensor);

#endif  // LEAT_FORMATS_CHECKPOINT_BUNDLE_H_
