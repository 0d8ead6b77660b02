// Names and small files of snapshots. A directory is listed whole and then sorted, since file
// systems list in any order, and an order that differs from run to run would hide faults.
#include "data_service/snapshot_files.h"

#include <stdlib.h>
#include <string.h>

#include "formats/generated/tensor.h"
#include "formats/record/record.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "formats/wire/text.h"

// ---- Names --------------------------------------------------------------------------------------

bool leat_snapshot_parse_name(const char* name, const char* prefix, size_t count,
                              int64_t* out_numbers) {
  leat_string_view_t rest = leat_string_view_from(name);
  if (!leat_string_view_starts_with(rest, leat_string_view_from(prefix))) return false;
  rest = leat_string_view_from_index(rest, strlen(prefix));
  for (size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    const size_t end = is_last ? rest.size : leat_string_view_find(rest, '_');
    if (end > rest.size || (!is_last && end == rest.size) ||
        !leat_string_view_to_int64(leat_string_view_make(rest.data, end), &out_numbers[i]) ||
        out_numbers[i] < (is_last && count > 1 ? -1 : 0)) {
      return false;
    }
    if (!is_last) rest = leat_string_view_from_index(rest, end + 1);
  }
  return true;
}

typedef struct listing_s {
  const char *directory, *prefix;
  size_t number_count, count, capacity;
  leat_snapshot_entry_t* items;
} listing_t;

// A leat_file_name_fn_t.
static leat_status_t add_entry(void* data, const char* name) {
  listing_t* listing = data;
  leat_snapshot_entry_t entry = {{0}};
  if (!leat_snapshot_parse_name(name, listing->prefix, listing->number_count, entry.numbers)) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Reading a snapshot failed: %s has an entry '%s', must be %s and %zu "
                            "numbers",
                            listing->directory, name, listing->prefix, listing->number_count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), listing->count + 1, &listing->items,
                                 &listing->capacity));
  listing->items[listing->count++] = entry;
  return leat_ok_status();
}

static int compare_entries(const void* left, const void* right) {
  const leat_snapshot_entry_t *a = left, *b = right;
  for (int i = 0; i < 3; ++i) {
    if (a->numbers[i] != b->numbers[i]) return a->numbers[i] < b->numbers[i] ? -1 : 1;
  }
  return 0;
}

leat_status_t leat_snapshot_list(leat_file_system_t* fs, const char* directory, const char* prefix,
                                 size_t number_count, leat_arena_t* arena,
                                 leat_snapshot_entries_t* out_entries) {
  listing_t listing = {.directory = directory, .prefix = prefix, .number_count = number_count};
  *out_entries = (leat_snapshot_entries_t){0};
  leat_status_t status = fs->vtable->list(fs, directory, add_entry, &listing);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  if (!status && listing.count) {
    qsort(listing.items, listing.count, sizeof listing.items[0], compare_entries);
    status = LEAT_NEW(arena, listing.count, &out_entries->items);
    if (!status) {
      memcpy(out_entries->items, listing.items, listing.count * sizeof listing.items[0]);
      out_entries->count = listing.count;
    }
  }
  leat_allocator_free(leat_allocator_system(), listing.items);
  return status;
}

leat_status_t leat_snapshot_find(leat_file_system_t* fs, const char* path, bool* out_is_there) {
  leat_file_stat_t stat;
  leat_status_t status = fs->vtable->stat(fs, path, &stat);
  *out_is_there = !status;
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  return leat_ok_status();
}

// ---- Splits -------------------------------------------------------------------------------------

static leat_status_t write_file(leat_file_system_t* fs, const char* path,
                                leat_string_view_t bytes) {
  leat_file_t* file;
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, path, LEAT_FILE_WRITE, leat_allocator_system(), &file));
  leat_status_t status = file->vtable->write(file, bytes.data, bytes.size);
  return leat_status_join(status, leat_file_close(file));
}

leat_status_t leat_snapshot_write_split(leat_file_system_t* fs, const char* temporary,
                                        const char* path, int64_t split) {
  leat_pb_tensor_shape_proto_t shape = {0};
  const leat_pb_tensor_proto_t proto = {
      .dtype = LEAT_DTYPE_INT64,
      .tensor_shape = &shape,
      .tensor_content = leat_string_view_make((const char*)&split, sizeof split)};
  leat_string_builder_t message, record;
  leat_string_builder_initialize(leat_allocator_system(), &message);
  leat_string_builder_initialize(leat_allocator_system(), &record);
  leat_status_t status = leat_message_encode(&leat_pb_tensor_proto_descriptor, &proto, &message);
  if (!status) status = leat_status_clone(message.status);
  if (!status) leat_record_append(&record, leat_string_builder_view(&message));
  if (!status) status = leat_status_clone(record.status);
  if (!status) status = write_file(fs, temporary, leat_string_builder_view(&record));
  if (!status) status = fs->vtable->rename(fs, temporary, path);
  leat_string_builder_deinitialize(&message);
  leat_string_builder_deinitialize(&record);
  return status;
}

static leat_status_t read_scalar(leat_string_view_t bytes, leat_arena_t* arena,
                                 int64_t* out_split) {
  leat_record_bytes_source_t source;
  leat_record_reader_t reader;
  leat_string_view_t record;
  leat_pb_tensor_proto_t proto;
  leat_tensor_t tensor = {0};
  leat_record_bytes_source_initialize(bytes, &source);
  leat_record_reader_initialize(&source.base, 0, leat_allocator_system(), &reader);
  leat_status_t status = leat_record_reader_next(&reader, &record);
  if (!status) {
    status = leat_message_decode(&leat_pb_tensor_proto_descriptor, record, arena, NULL, &proto);
  }
  if (!status) status = leat_tensor_from_content(&proto, arena, leat_buffer_source_host(), &tensor);
  leat_record_reader_deinitialize(&reader);
  const bool is_number = tensor.dtype == LEAT_DTYPE_INT64 && tensor.shape.rank == 0;
  if (!status && is_number) *out_split = *(const int64_t*)tensor.data;
  leat_tensor_release(&tensor);
  if (!status && is_number) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_DATA_LOSS, "it holds no scalar of int64");
}

leat_status_t leat_snapshot_read_split(leat_file_system_t* fs, const char* path,
                                       int64_t* out_split) {
  char* bytes;
  size_t size;
  leat_arena_t arena;
  LEAT_RETURN_IF_ERROR(leat_file_read_all(fs, path, leat_allocator_system(), &bytes, &size));
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = read_scalar(leat_string_view_make(bytes, size), &arena, out_split);
  leat_arena_deinitialize(&arena);
  leat_allocator_free(leat_allocator_system(), bytes);
  if (!status) return status;
  return leat_status_annotate(status, "Reading the split %s failed", path);
}

// ---- Messages -----------------------------------------------------------------------------------

leat_status_t leat_snapshot_read_message(leat_file_system_t* fs, const char* path, bool is_text,
                                         const leat_message_descriptor_t* descriptor,
                                         leat_arena_t* arena, void* out_message) {
  char* bytes;
  size_t size;
  leat_string_view_t kept;
  LEAT_RETURN_IF_ERROR(leat_file_read_all(fs, path, leat_allocator_system(), &bytes, &size));
  leat_status_t status = leat_arena_copy_string(arena, leat_string_view_make(bytes, size), &kept);
  leat_allocator_free(leat_allocator_system(), bytes);
  LEAT_RETURN_IF_ERROR(status);
  status = is_text ? leat_text_parse(descriptor, kept, arena, out_message)
                   : leat_message_decode(descriptor, kept, arena, NULL, out_message);
  if (!status) return status;
  return leat_status_annotate(status, "Reading %s failed", path);
}

leat_status_t leat_snapshot_write_message(leat_file_system_t* fs, const char* path, bool is_text,
                                          const leat_message_descriptor_t* descriptor,
                                          const void* message) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = is_text ? leat_text_print(descriptor, message, LEAT_TEXT_LINES, &bytes)
                                 : leat_message_encode(descriptor, message, &bytes);
  if (!status) status = leat_status_clone(bytes.status);
  if (!status) status = leat_file_write_atomically(fs, path, bytes.data, bytes.size);
  leat_string_builder_deinitialize(&bytes);
  return status;
}
