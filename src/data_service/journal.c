// Writes and reads a dispatcher's journal. The invariant is that every file but the last one holds
// whole records alone, and that the last one holds, in front of a torn record at most, all that
// anybody was answered for:
//
//   - changes that belong together are one write, which is synced before the caller goes on;
//   - what a write that failed has left is cut off (leat_record_writer_t);
//   - a torn record at the end of the last file is cut off before the next file begins.
//
// So a torn record is one whose write was never answered, and may go; anywhere else a record that
// cannot be read stands before others that were answered for, and nobody can say what it was. A
// checksum that does not fit is such an error at the very end too: a killed process leaves the
// beginning of a record, never other bytes.
#include "data_service/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "formats/record/record.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/wire.h"

struct leat_journal_s {
  leat_file_system_t* fs;
  leat_arena_t arena;  // of |directory|
  leat_string_view_t directory;
  leat_file_t* file;  // NULL: none is open yet
  leat_record_writer_t writer;
};

// ---- Reading ------------------------------------------------------------------------------------

// Decodes one record, and hands it to |fn|.
static leat_status_t take_record(leat_string_view_t record, leat_journal_fn_t fn, void* data) {
  leat_pb_dispatcher_update_t update;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_dispatcher_update_descriptor, record, &arena, NULL, &update);
  if (leat_status_code(status) == LEAT_INVALID_ARGUMENT) {
    leat_status_free(status);
    status = leat_make_status(LEAT_DATA_LOSS, "it is no message");
  }
  if (!status) status = fn(data, &update);
  leat_arena_deinitialize(&arena);
  return status;
}

// Whether |rest| is the beginning of a record and nothing else: its head is cut short, or says
// rightly that more bytes follow than there are.
static bool is_torn(leat_string_view_t rest) {
  enum { SIZE_BYTES = 8, HEAD_BYTES = 12, ENDS_BYTES = 16 };
  if (rest.size < HEAD_BYTES) return rest.size > 0;
  return leat_crc32c_mask(leat_crc32c(rest.data, SIZE_BYTES)) ==
             leat_wire_load32(rest.data + SIZE_BYTES) &&
         (rest.size < ENDS_BYTES || leat_wire_load64(rest.data) > rest.size - ENDS_BYTES);
}

leat_status_t leat_journal_read(leat_string_view_t bytes, bool is_last, leat_journal_fn_t fn,
                                void* data, size_t* out_whole_bytes) {
  leat_record_bytes_source_t source;
  leat_record_reader_t reader;
  leat_string_view_t record;
  leat_status_t status = leat_ok_status();
  int64_t number = 0;
  leat_record_bytes_source_initialize(bytes, &source);
  leat_record_reader_initialize(&source.base, 0, leat_allocator_system(), &reader);
  *out_whole_bytes = 0;
  while (*out_whole_bytes < bytes.size) {
    if (is_torn(leat_string_view_from_index(bytes, *out_whole_bytes))) {
      if (!is_last) status = leat_make_status(LEAT_DATA_LOSS, "the file ends inside the record");
      break;
    }
    status = leat_record_reader_next(&reader, &record);
    if (!status) status = take_record(record, fn, data);
    if (status) break;
    *out_whole_bytes = (size_t)reader.offset;
    ++number;
  }
  leat_record_reader_deinitialize(&reader);
  return leat_status_annotate(status, "record %" PRId64, number);
}

// ---- The files ----------------------------------------------------------------------------------

static leat_status_t name_file(leat_string_view_t directory, int64_t number, leat_arena_t* arena,
                               leat_string_view_t* out_path) {
  return leat_arena_print(arena, out_path, "%.*s/journal_%" PRId64, LEAT_SV_ARG(directory),
                          number);
}

typedef struct listing_s {
  int64_t count, last;  // of the files of the journal
} listing_t;

// A leat_file_name_fn_t. Whatever else lies in the directory is passed over.
static leat_status_t count_file(void* data, const char* name) {
  listing_t* listing = data;
  char again[32];
  int64_t number = 0;
  if (strncmp(name, "journal_", 8) || strlen(name) > 8 + 9) return leat_ok_status();
  for (const char* digit = name + 8; *digit; ++digit) {
    if (*digit < '0' || *digit > '9') return leat_ok_status();
    number = 10 * number + (*digit - '0');
  }
  snprintf(again, sizeof again, "journal_%" PRId64, number);
  if (strcmp(name, again)) return leat_ok_status();  // "journal_", "journal_007"
  ++listing->count;
  if (number > listing->last) listing->last = number;
  return leat_ok_status();
}

// How many files there are: those from 0 to the last number.
static leat_status_t count_files(const leat_journal_t* journal, int64_t* out_count) {
  listing_t listing = {.last = -1};
  LEAT_RETURN_IF_ERROR(journal->fs->vtable->list(journal->fs, journal->directory.data, count_file,
                                                 &listing));
  *out_count = listing.count;
  if (listing.count == listing.last + 1) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS,
                          "Reading a journal failed: %.*s has %" PRId64
                          " files up to journal_%" PRId64 ", must have each from journal_0 on",
                          LEAT_SV_ARG(journal->directory), listing.count, listing.last);
}

// Cuts a file back to its whole records.
static leat_status_t cut_file(leat_file_system_t* fs, const char* path, size_t size) {
  leat_file_t* file;
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, path, LEAT_FILE_APPEND, leat_allocator_system(), &file));
  leat_status_t status = leat_file_truncate(file, size);
  if (!status) status = file->vtable->sync(file);
  return leat_status_join(status, leat_file_close(file));
}

static leat_status_t read_file(leat_journal_t* journal, int64_t number, bool is_last,
                               leat_journal_fn_t fn, void* data) {
  leat_string_view_t path;
  char* bytes;
  size_t size, whole_bytes;
  LEAT_RETURN_IF_ERROR(name_file(journal->directory, number, &journal->arena, &path));
  LEAT_RETURN_IF_ERROR(
      leat_file_read_all(journal->fs, path.data, leat_allocator_system(), &bytes, &size));
  leat_status_t status =
      leat_journal_read(leat_string_view_make(bytes, size), is_last, fn, data, &whole_bytes);
  leat_allocator_free(leat_allocator_system(), bytes);
  if (status) {
    return leat_status_annotate(status, "Reading a journal failed: %.*s", LEAT_SV_ARG(path));
  }
  return whole_bytes < size ? cut_file(journal->fs, path.data, whole_bytes) : status;
}

static leat_status_t begin_file(leat_journal_t* journal, int64_t number) {
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(name_file(journal->directory, number, &journal->arena, &path));
  LEAT_RETURN_IF_ERROR(leat_file_open(journal->fs, path.data, LEAT_FILE_WRITE,
                                      leat_allocator_system(), &journal->file));
  leat_record_writer_initialize(journal->file, &journal->writer);
  return journal->fs->vtable->sync_directory(journal->fs, journal->directory.data);
}

static leat_status_t open_journal(leat_journal_t* journal, leat_string_view_t directory,
                                  leat_journal_fn_t fn, void* data) {
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&journal->arena, &journal->directory, "%.*s",
                                        LEAT_SV_ARG(directory)));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(journal->fs, journal->directory.data));
  LEAT_RETURN_IF_ERROR(count_files(journal, &count));
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(read_file(journal, i, i == count - 1, fn, data));
  }
  return begin_file(journal, count);
}

leat_status_t leat_journal_open(leat_file_system_t* fs, leat_string_view_t directory,
                                leat_journal_fn_t fn, void* data, leat_journal_t** out_journal) {
  leat_journal_t* journal;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &journal));
  journal->fs = fs;
  leat_arena_initialize(leat_allocator_system(), 0, &journal->arena);
  leat_status_t status = open_journal(journal, directory, fn, data);
  if (status) {
    leat_journal_close(journal);
    return status;
  }
  *out_journal = journal;
  return leat_ok_status();
}

void leat_journal_close(leat_journal_t* journal) {
  if (!journal) return;
  if (journal->file) {
    leat_record_writer_deinitialize(&journal->writer);
    leat_status_free(leat_file_close(journal->file));  // all that counts was synced
  }
  leat_arena_deinitialize(&journal->arena);
  leat_allocator_free(leat_allocator_system(), journal);
}

// ---- Writing ------------------------------------------------------------------------------------

static leat_status_t encode_updates(const leat_pb_dispatcher_update_t* updates, size_t count,
                                    leat_string_builder_t* out) {
  leat_string_builder_t message;
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < count && !status; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &message);
    status = leat_message_encode(&leat_pb_dispatcher_update_descriptor, &updates[i], &message);
    if (!status) status = leat_status_clone(message.status);
    if (!status) leat_record_append(out, leat_string_builder_view(&message));
    leat_string_builder_deinitialize(&message);
  }
  return status ? status : leat_status_clone(out->status);
}

// Writes and syncs |records|. What could not be synced is cut off like what could not be written:
// nobody is answered for it.
static leat_status_t add_records(leat_journal_t* journal, leat_string_view_t records) {
  leat_record_writer_t* writer = &journal->writer;
  const uint64_t size = writer->size;
  LEAT_RETURN_IF_ERROR(leat_record_writer_add_encoded(writer, records));
  leat_status_t status = journal->file->vtable->sync(journal->file);
  if (!status) return status;
  leat_status_t cut = leat_file_truncate(journal->file, size);
  if (cut) leat_journal_fail(journal, status);
  leat_status_free(cut);  // |status| is the cause
  writer->size = size;
  return status;
}

leat_status_t leat_journal_write(leat_journal_t* journal,
                                 const leat_pb_dispatcher_update_t* updates, size_t count) {
  leat_string_builder_t records;
  leat_string_builder_initialize(leat_allocator_system(), &records);
  leat_status_t status = encode_updates(updates, count, &records);
  if (!status) status = add_records(journal, leat_string_builder_view(&records));
  leat_string_builder_deinitialize(&records);
  return leat_status_annotate(status, "Writing to the journal %s failed", journal->file->path);
}

void leat_journal_fail(leat_journal_t* journal, leat_status_t status) {
  if (!journal->writer.broken) journal->writer.broken = leat_status_clone(status);
}
