// The CPU kernel of RecordInput: batches of records from TFRecord files, in random order, for ever.
//
//   patterns ─▶ files, shuffled for each epoch ─▶ 16 records ─▶ buffer, shuffled ─▶ batch
//
// An epoch gives each record of each file once. The files are shuffled, then rotated by a part of
// their number, and dealt out to |file_parallelism| shards, which are read one after the other. A
// record that comes into the buffer takes a random place in it, whose record goes to the end; a
// batch takes records from the end. The next epoch begins when the buffer is empty. Patterns are
// matched anew for each epoch, so files may come and go.
//
// TensorFlow reads the shards with a thread each, beside the steps, so that its order depends on
// their race but for one shard and an epoch that fits half the buffer; there the order here is the
// same. Here a step reads what it needs: it fills the buffer before it takes a record, and blocks
// its thread meanwhile. A failure is for good, as in TensorFlow. Where TensorFlow would wait for
// ever, for an epoch without records, no shards or no room in the buffer, this is an error.
//
// The place in the files is a resource of the session, since several plans may hold the node.
#include "base/arena.h"
#include "base/checked.h"
#include "base/file_system.h"
#include "base/string_builder.h"
#include "formats/record/compression.h"
#include "formats/record/file_stream.h"
#include "formats/record/record.h"
#include "kernel/resource.h"
#include "kernel/step_check.h"
#include "ops/input/record_order_cpu.h"
#include "ops/kernel_rows.h"

enum { kChunk = 16 };  // records that come into the buffer at a time, the last one first

// The attributes of a node.
typedef struct options_s {
  leat_string_view_t patterns, compression;
  int64_t seed, buffer_size, shards, batch_size;
  float shift;
} options_t;

typedef leat_string_view_t record_t;  // allocated

typedef struct record_input_s {
  leat_resource_t resource;
  options_t options;  // with texts in |names|
  leat_arena_t names;
  leat_mutex_t mutex;
  // Under the mutex.
  leat_status_t failure;  // of a step before
  leat_twister_t twister;
  int64_t epoch;          // from 1
  bool is_reading;        // the epoch has files left
  int64_t epoch_records;  // that it gave so far
  // The files of the epoch. |file| counts those that were begun in the order in which shards take
  // them.
  leat_arena_t paths_arena;
  leat_string_view_t* paths;
  uint32_t* order;  // [path_count]
  size_t path_count, path_room, file;
  leat_file_stream_t* stream;  // NULL between files
  leat_record_reader_t reader;
  record_t chunk[kChunk];  // of this shard
  int chunk_count;
  record_t* buffer;
  size_t buffer_count, buffer_room;
} record_input_t;

// ---- Files --------------------------------------------------------------------------------------

static leat_status_t add_path(void* data, const char* path) {
  record_input_t* r = data;
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), r->path_count + 1, &r->paths, &r->path_room));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&r->paths_arena, leat_string_view_from(path),
                                              &r->paths[r->path_count]));
  ++r->path_count;
  return leat_ok_status();
}

// Finds the files of all patterns, which commas separate.
static leat_status_t find_files(record_input_t* r) {
  leat_string_view_t rest = r->options.patterns;
  leat_arena_deinitialize(&r->paths_arena);
  leat_arena_initialize(leat_allocator_system(), 0, &r->paths_arena);
  r->path_count = 0;
  for (bool is_last = false; !is_last;) {
    const size_t comma = leat_string_view_find(rest, ',');
    is_last = comma == SIZE_MAX;
    leat_string_view_t pattern = leat_string_view_make(rest.data, is_last ? rest.size : comma);
    if (!is_last) rest = leat_string_view_from_index(rest, comma + 1);
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&r->paths_arena, pattern, &pattern));
    LEAT_RETURN_IF_ERROR(
        leat_file_match(leat_file_system_default(), pattern.data, add_path, r));
  }
  if (r->path_count > 0 && r->path_count < UINT32_MAX) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Found no files at %.*s",
                          LEAT_SV_ARG(r->options.patterns));
}

// Puts the files of the next epoch in order.
static leat_status_t begin_epoch(record_input_t* r) {
  LEAT_RETURN_IF_ERROR(find_files(r));
  const size_t count = r->path_count;
  const float shift = r->options.shift;
  const size_t first = shift >= 0 && shift < 1 ? (size_t)(shift * (float)count) : 0;
  uint32_t* shuffled;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->paths_arena, count, &shuffled));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&r->paths_arena, count, &r->order));
  ++r->epoch;
  for (size_t i = 0; i < count; ++i) shuffled[i] = (uint32_t)i;
  leat_record_order_shuffle((uint64_t)r->options.seed, r->epoch, shuffled, count);
  // Shard s takes the files s, s + shards, ... of the rotated list.
  const size_t shards = (size_t)r->options.shards;
  size_t at = 0;
  for (size_t shard = 0; shard < shards && shard < count; ++shard) {
    for (size_t i = shard; i < count; i += LEAT_MIN(shards, count)) {
      r->order[at++] = shuffled[(i + first) % count];
    }
  }
  LEAT_DCHECK(at == count);
  r->file = 0;
  r->epoch_records = 0;
  r->is_reading = true;
  return leat_ok_status();
}

static void close_file(record_input_t* r) {
  if (!r->stream) return;
  leat_record_reader_deinitialize(&r->reader);
  leat_file_stream_close(r->stream);
  r->stream = NULL;
}

static leat_status_t open_file(record_input_t* r) {
  const char* path = r->paths[r->order[r->file]].data;
  leat_status_t status =
      leat_file_stream_open(leat_file_system_default(), path, r->options.compression,
                            leat_allocator_system(), &r->stream);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {  // it went meanwhile
    leat_status_free(status);
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Can't open %s", path);
  }
  if (status) return status;
  ++r->file;
  leat_record_reader_initialize(leat_file_stream_source(r->stream),
                                r->options.compression.size ? LEAT_COMPRESSION_MAX_BYTES : 0,
                                leat_allocator_system(), &r->reader);
  return leat_ok_status();
}

// ---- Records ------------------------------------------------------------------------------------

static void free_record(record_t* record) {
  leat_allocator_free(leat_allocator_system(), (char*)record->data);
}

// Moves records of the chunk into the buffer, as long as there is room.
static leat_status_t add_chunk(record_input_t* r) {
  while (r->chunk_count > 0 && r->buffer_count < (uint64_t)r->options.buffer_size) {
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), r->buffer_count + 1, &r->buffer,
                                   &r->buffer_room));
    const uint64_t place = leat_twister_next(&r->twister) % (r->buffer_count + 1);
    r->buffer[r->buffer_count] = r->buffer[place];
    r->buffer[place] = r->chunk[--r->chunk_count];
    ++r->buffer_count;
  }
  return leat_ok_status();
}

// Reads a record into the chunk. |*out_there| is false at the end of the file, which is closed.
static leat_status_t read_record(record_input_t* r, bool* out_there) {
  leat_string_view_t bytes;
  char* copy;
  leat_status_t status = leat_record_reader_next(&r->reader, &bytes);
  *out_there = !status;
  if (leat_status_code(status) == LEAT_OUT_OF_RANGE) {
    leat_status_free(status);
    close_file(r);
    return leat_ok_status();
  }
  if (status) return status;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_clone_string(leat_allocator_system(), bytes.data, bytes.size, &copy));
  r->chunk[r->chunk_count++] = leat_string_view_make(copy, bytes.size);
  ++r->epoch_records;
  return leat_ok_status();
}

// Whether the next file belongs to another shard than the last one.
static bool is_shard_over(const record_input_t* r) {
  const size_t shards = LEAT_MIN((size_t)r->options.shards, r->path_count);
  const size_t longer = r->path_count % shards, size = r->path_count / shards;
  const size_t in_longer = longer * (size + 1);
  return r->file <= in_longer ? r->file % (size + 1) == 0 : (r->file - in_longer) % size == 0;
}

// Does one thing toward a full buffer: makes room in the chunk, or reads a record, or turns to the
// next file. The end of the last file ends the reading.
static leat_status_t read_on(record_input_t* r) {
  bool there;
  if (r->chunk_count == kChunk) return add_chunk(r);
  if (r->stream) return read_record(r, &there);
  const bool is_last = r->file == r->path_count;
  if (r->chunk_count > 0 && (is_last || is_shard_over(r))) return add_chunk(r);
  if (!is_last) return open_file(r);
  r->is_reading = false;
  if (r->epoch_records > 0) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Found no records in the files at %.*s",
                          LEAT_SV_ARG(r->options.patterns));
}

// Fills the buffer, or reads to the end of the epoch. Where that end comes with an empty buffer,
// the next epoch begins.
static leat_status_t fill_buffer(record_input_t* r, leat_step_pace_t* pace) {
  do {
    if (r->buffer_count == 0 && !r->is_reading) LEAT_RETURN_IF_ERROR(begin_epoch(r));
    while (r->is_reading && r->buffer_count < (uint64_t)r->options.buffer_size) {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, 2000));
      LEAT_RETURN_IF_ERROR(read_on(r));
    }
  } while (r->buffer_count == 0);
  return leat_ok_status();
}

// ---- The resource -------------------------------------------------------------------------------

static void record_input_destroy(leat_resource_t* resource) {
  record_input_t* r = (record_input_t*)resource;
  close_file(r);
  for (int i = 0; i < r->chunk_count; ++i) free_record(&r->chunk[i]);
  for (size_t i = 0; i < r->buffer_count; ++i) free_record(&r->buffer[i]);
  leat_allocator_free(leat_allocator_system(), r->buffer);
  leat_allocator_free(leat_allocator_system(), r->paths);
  leat_arena_deinitialize(&r->paths_arena);
  leat_arena_deinitialize(&r->names);
  leat_status_free(r->failure);
  leat_mutex_deinitialize(&r->mutex);
  leat_allocator_free(leat_allocator_system(), r);
}

static const leat_resource_kind_t kRecordInputKind = {.name = "RecordInput",
                                                      .destroy = record_input_destroy};

static leat_status_t make_record_input(void* data, leat_resource_t** out_resource) {
  record_input_t* r;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &r));
  r->resource.kind = &kRecordInputKind;
  atomic_init(&r->resource.references, 1);
  r->options = *(const options_t*)data;
  leat_arena_initialize(leat_allocator_system(), 0, &r->names);
  leat_arena_initialize(leat_allocator_system(), 0, &r->paths_arena);
  leat_mutex_initialize(&r->mutex);
  leat_twister_initialize((uint64_t)r->options.seed, &r->twister);
  leat_status_t status =
      leat_arena_copy_string(&r->names, r->options.patterns, &r->options.patterns);
  if (!status) {
    status = leat_arena_copy_string(&r->names, r->options.compression, &r->options.compression);
  }
  *out_resource = &r->resource;
  if (status) leat_resource_release(&r->resource);
  return status;
}

// Reads an integer attribute that is at least |least|.
static leat_status_t read_count(leat_kernel_creation_t* c, const char* name, int64_t least,
                                int64_t* out_count) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, out_count));
  if (*out_count >= least) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (RecordInput): %s is %lld, must be >= "
                          "%lld",
                          LEAT_SV_ARG(c->kernel->node_name), name, (long long)*out_count,
                          (long long)least);
}

static leat_status_t read_options(leat_kernel_creation_t* c, options_t* o) {
  leat_compression_t unused;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "file_pattern", &o->patterns));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "compression_type", &o->compression));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "file_random_seed", &o->seed));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "file_shuffle_shift_ratio", &o->shift));
  LEAT_RETURN_IF_ERROR(read_count(c, "file_buffer_size", 1, &o->buffer_size));
  LEAT_RETURN_IF_ERROR(read_count(c, "file_parallelism", 1, &o->shards));
  LEAT_RETURN_IF_ERROR(read_count(c, "batch_size", 0, &o->batch_size));
  // Any other name means no compression, as in TensorFlow.
  if (!leat_compression_from_name(o->compression, &unused) &&
      !leat_string_view_equals(o->compression, "SNAPPY")) {
    o->compression = LEAT_SV("");
  }
  return leat_ok_status();
}

// Finds the resource of the node, or makes it. The attributes are part of its name because nodes of
// two functions may have the same one.
static leat_status_t record_input_create(leat_kernel_creation_t* c, void* memory) {
  options_t o;
  leat_string_builder_t name;
  leat_resource_t** out_resource = memory;
  LEAT_RETURN_IF_ERROR(read_options(c, &o));
  if (!c->session_resources) return make_record_input(&o, out_resource);
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_print(&name, "%lld;%lld;%lld;%lld;%a;%.*s;%.*s;%.*s", (long long)o.seed,
                            (long long)o.buffer_size, (long long)o.shards, (long long)o.batch_size,
                            (double)o.shift, LEAT_SV_ARG(o.compression), LEAT_SV_ARG(o.patterns),
                            LEAT_SV_ARG(c->kernel->node_name));
  leat_status_t status = name.status;
  name.status = leat_ok_status();
  if (!status) {
    status = leat_resource_manager_find_or_make(
        c->session_resources, LEAT_SV(""), leat_string_builder_view(&name), &kRecordInputKind,
        make_record_input, &o, out_resource);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

static void record_input_end(void* memory) { leat_resource_release(*(leat_resource_t**)memory); }

// ---- The kernel ---------------------------------------------------------------------------------

// Takes the record at the end of the buffer.
static leat_status_t take_record(record_input_t* r, leat_step_pace_t* pace, leat_tensor_t* output,
                                 int64_t i) {
  LEAT_RETURN_IF_ERROR(fill_buffer(r, pace));
  LEAT_DCHECK(r->buffer_count > 0);
  record_t* record = &r->buffer[r->buffer_count - 1];
  LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, *record));
  free_record(record);
  --r->buffer_count;
  return leat_ok_status();
}

static leat_status_t take_batch(record_input_t* r, leat_kernel_context_t* c,
                                leat_tensor_t* output) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  if (r->failure) return leat_status_clone(r->failure);
  for (int64_t i = 0; i < r->options.batch_size; ++i) {
    leat_status_t status = take_record(r, &pace, output, i);
    const leat_status_code_t code = leat_status_code(status);
    // What ended this step alone does not stand in the way of the next one.
    if (status && code != LEAT_CANCELLED && code != LEAT_DEADLINE_EXCEEDED) {
      r->failure = leat_status_clone(status);
    }
    if (status) return status;
  }
  return leat_ok_status();
}

static leat_status_t record_input__cpu(leat_kernel_context_t* c) {
  record_input_t* r = *(record_input_t**)leat_kernel_state(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 1, &r->options.batch_size, &output));
  leat_mutex_lock(&r->mutex);
  leat_status_t status = take_batch(r, c, output);
  leat_mutex_unlock(&r->mutex);
  return status;
}

const leat_kernel_row_t leat_record_input_kernels_cpu[] = {
    LEAT_CPU_KERNEL("RecordInput", NULL, record_input_t*, record_input_create, record_input__cpu,
                    .destroy = record_input_end, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
