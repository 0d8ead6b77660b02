// Checkpoints whose index is a sound table of arbitrary entries, over arbitrary data. The input is
// the number of entries, for each u8 key size, u8 value size, key, value, then the data file. The
// table is made by the table writer, because a checksum or a key out of order would otherwise end
// almost every input before its entries are read. All tensors that the entries describe are then
// read. The table and the input as a whole are also read as checkpoints of the first version. Files
// are in memory (memory_file_system_t).
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/checkpoint_v1.h"
#include "formats/checkpoint/table.h"
#include "memory_file.h"

typedef struct growing_file_s {
  leat_file_t base;
  leat_string_builder_t bytes;
} growing_file_t;

static leat_status_t grow(leat_file_t* self, const void* data, size_t size) {
  growing_file_t* file = (growing_file_t*)self;
  leat_string_builder_append(&file->bytes, leat_string_view_make(data, size));
  return leat_ok_status();
}

// The index for *.index, the data for every other path.
typedef struct checkpoint_files_s {
  leat_file_system_t base;
  memory_file_system_t index, data;
} checkpoint_files_t;

static leat_status_t open_either(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                 leat_allocator_t* allocator, leat_file_t** out_file) {
  checkpoint_files_t* files = (checkpoint_files_t*)self;
  memory_file_system_t* chosen = strstr(path, ".index") ? &files->index : &files->data;
  return chosen->base.vtable->open(&chosen->base, path, mode, allocator, out_file);
}

static leat_status_t stat_either(leat_file_system_t* self, const char* path,
                                 leat_file_stat_t* out_stat) {
  (void)self, (void)path;
  *out_stat = (leat_file_stat_t){.size_bytes = 1};
  return leat_ok_status();
}

// Writes the entries that |data| begins with; how many bytes they took.
static size_t write_index(const uint8_t* data, size_t size, growing_file_t* file) {
  leat_table_writer_t writer;
  size_t at = 1;
  int count = size > 0 ? data[0] : 0;
  leat_table_writer_initialize(&file->base, 64, leat_allocator_system(), &writer);
  for (int i = 0; i < count && at + 2 <= size; ++i) {
    size_t key = data[at], value = data[at + 1];
    at += 2;
    if (key + value > size - at) break;
    const char* bytes = (const char*)data + at;
    // Out of order: the table goes without it.
    leat_status_free(leat_table_writer_add(&writer, leat_string_view_make(bytes, key),
                                           leat_string_view_make(bytes + key, value)));
    at += key + value;
  }
  leat_status_free(leat_table_writer_finish(&writer));
  leat_table_writer_deinitialize(&writer);
  return at < size ? at : size;
}

static leat_status_t read_entry(void* data, leat_string_view_t name,
                                const leat_pb_bundle_entry_proto_t* entry) {
  leat_tensor_t tensor;
  (void)entry;
  leat_status_t status =
      leat_bundle_reader_read(data, name, leat_buffer_source_host(), &tensor);
  if (!status) leat_tensor_release(&tensor);
  leat_status_free(status);
  return leat_ok_status();
}

static void read_bundle(leat_file_system_t* fs) {
  leat_bundle_reader_t* reader;
  leat_status_t status = leat_bundle_reader_open(fs, "c", leat_allocator_system(), &reader);
  if (!status) {
    status = leat_bundle_reader_each(reader, read_entry, reader);
    leat_bundle_reader_free(reader);
  }
  leat_status_free(status);
}

static void read_v1(leat_file_system_t* fs) {
  leat_checkpoint_v1_t* checkpoint;
  leat_status_t status = leat_checkpoint_v1_open(fs, "c", leat_allocator_system(), &checkpoint);
  for (size_t i = 0; !status && i < leat_checkpoint_v1_count(checkpoint); ++i) {
    leat_string_view_t name;
    const leat_shape_t* shape;
    leat_tensor_t tensor;
    int dtype;
    leat_checkpoint_v1_get(checkpoint, i, &name, &dtype, &shape);
    leat_status_t read = leat_checkpoint_v1_read(checkpoint, name, NULL,
                                                 leat_buffer_source_host(), &tensor);
    if (!read) leat_tensor_release(&tensor);
    leat_status_free(read);
  }
  if (!status) leat_checkpoint_v1_free(checkpoint);
  leat_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const leat_file_vtable_t growing = {.write = grow};
  static const leat_file_system_vtable_t either = {.open = open_either, .stat = stat_either};
  growing_file_t file = {.base = {.vtable = &growing, .path = "c.index"}};
  leat_string_builder_initialize(leat_allocator_system(), &file.bytes);
  size_t used = write_index(data, size, &file);
  leat_string_view_t index = leat_string_builder_view(&file.bytes);
  checkpoint_files_t files = {.base = {&either}};
  memory_file_system_initialize((const uint8_t*)index.data, index.size, &files.index);
  memory_file_system_initialize(data + used, size - used, &files.data);
  read_bundle(&files.base);
  // The index is a table too, and so may the input be.
  files.data = files.index;
  read_v1(&files.base);
  memory_file_system_initialize(data, size, &files.data);
  read_v1(&files.base);
  leat_string_builder_deinitialize(&file.bytes);
  return 0;
}
