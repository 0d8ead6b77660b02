// The kernel of ListSnapshotChunksDataset, whose elements are the paths of the files of a snapshot
// that several processes write together, also while they write it:
//
//   <path>/chunks/chunk_<stream>_<number>_<elements>   the files that are complete
//   <path>/DONE                                        there will be no others
//   <path>/ERROR                                       why there will be no others: a StatusProto
//
// The files of all streams that are there are given by their numbers in the streams. When all were
// given and the snapshot is not done, the directory is read again, ten times a second. Whether it
// is done is asked before the directory is read, so that the last files cannot be missed.
#include <stdlib.h>

#include "base/file_system.h"
#include "base/map.h"
#include "base/string_builder.h"
#include "formats/generated/snapshot.h"
#include "formats/wire/text.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/sleeper_cpu.h"
#include "ops/kernel_rows.h"

enum { POLL_US = 100000 };

// The one tensor is the path of the snapshot.
typedef struct chunk_list_iterator_s {
  leat_iterator_t base;
  leat_arena_t arena;         // of the names
  leat_string_map_t seen;     // the names that were put into |names|
  leat_string_view_t* names;  // those that were found last, in order
  size_t count, room;
  size_t next;  // of |names|, the first that was not given
  bool is_done;
  leat_sleeper_t* sleeper;
  bool sleeps;
} chunk_list_iterator_t;

static leat_string_view_t path_of(const leat_dataset_t* dataset) {
  return leat_tensor_string_at(&dataset->tensors[0], 0);
}

static leat_status_t chunk_list_start(leat_iterator_t* self) {
  chunk_list_iterator_t* it = (chunk_list_iterator_t*)self;
  leat_arena_initialize(leat_allocator_system(), 0, &it->arena);
  leat_string_map_initialize(leat_allocator_system(), &it->seen);
  return leat_sleeper_create(&it->sleeper);
}

static void chunk_list_stop(leat_iterator_t* self) {
  chunk_list_iterator_t* it = (chunk_list_iterator_t*)self;
  leat_sleeper_release(it->sleeper);
  leat_allocator_free(leat_allocator_system(), it->names);
  leat_string_map_deinitialize(&it->seen);
  leat_arena_deinitialize(&it->arena);
}

// ---- What is there ------------------------------------------------------------------------------

// Sets |out_path| to the path of |name| in the snapshot.
static leat_status_t join(const leat_dataset_t* dataset, const char* name,
                          leat_string_builder_t* out_path) {
  out_path->size = 0;
  leat_string_builder_print(out_path, "%.*s/%s", LEAT_SV_ARG(path_of(dataset)), name);
  return leat_status_clone(out_path->status);
}

static leat_status_t failure_of(leat_string_view_t text) {
  leat_arena_t arena;
  leat_pb_status_proto_t proto;
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  leat_status_t status = leat_text_parse(&leat_pb_status_proto_descriptor, text, &arena, &proto);
  if (status) {
    leat_status_free(status);
    status = leat_make_status(LEAT_INTERNAL, "the file ERROR of a snapshot is no StatusProto");
  } else if (proto.code > LEAT_OK && proto.code <= LEAT_UNAUTHENTICATED) {
    status = leat_make_status((leat_status_code_t)proto.code, "%.*s", LEAT_SV_ARG(proto.message));
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// Finds whether the snapshot is done. Fails as the file ERROR says, where there is one.
static leat_status_t read_state(const leat_dataset_t* dataset, bool* out_is_done) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_string_builder_t path;
  char* text = NULL;
  size_t size;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_status_t status = join(dataset, "ERROR", &path);
  if (!status && leat_file_exists(fs, path.data)) {
    status = leat_file_read_all(fs, path.data, leat_allocator_system(), &text, &size);
    if (!status) status = failure_of(leat_string_view_make(text, size));
    leat_allocator_free(leat_allocator_system(), text);
  }
  if (!status) status = join(dataset, "DONE", &path);
  if (!status) *out_is_done = leat_file_exists(fs, path.data);
  leat_string_builder_deinitialize(&path);
  return status;
}

// Calls |fn| with the name of each file. NOT_FOUND where there is no directory of them yet.
static leat_status_t list(const leat_dataset_t* dataset, leat_file_name_fn_t fn, void* data) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_string_builder_t path;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_status_t status = join(dataset, "chunks", &path);
  if (!status) status = fs->vtable->list(fs, path.data, fn, data);
  leat_string_builder_deinitialize(&path);
  return status;
}

static leat_status_t add_name(void* data, const char* name) {
  chunk_list_iterator_t* it = data;
  leat_string_view_t text = leat_string_view_from(name);
  uint64_t ignored;
  if (leat_string_map_get(&it->seen, text, &ignored)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), it->count + 1, &it->names, &it->room));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&it->arena, text, &text));
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&it->seen, text, 0));
  it->names[it->count++] = text;
  return leat_ok_status();
}

// Takes "_" and a number off |*inout_rest|.
static bool take_number(leat_string_view_t* inout_rest, int64_t* out_number) {
  if (!leat_string_view_starts_with(*inout_rest, LEAT_SV("_"))) return false;
  size_t end = 1;
  while (end < inout_rest->size && inout_rest->data[end] != '_') ++end;
  const leat_string_view_t digits = leat_string_view_make(inout_rest->data + 1, end - 1);
  *inout_rest = leat_string_view_from_index(*inout_rest, end);
  return leat_string_view_to_int64(digits, out_number);
}

static bool read_numbers(leat_string_view_t name, int64_t* out_stream, int64_t* out_number) {
  const leat_string_view_t noun = LEAT_SV("chunk");
  int64_t elements;
  if (!leat_string_view_starts_with(name, noun)) return false;
  leat_string_view_t rest = leat_string_view_from_index(name, noun.size);
  return take_number(&rest, out_stream) && take_number(&rest, out_number) &&
         take_number(&rest, &elements) && !rest.size;
}

// Other names than those of chunks come last.
static int compare_names(const void* a, const void* b) {
  const leat_string_view_t one = *(const leat_string_view_t*)a;
  const leat_string_view_t other = *(const leat_string_view_t*)b;
  int64_t stream[2] = {0}, number[2] = {0};
  const bool is_chunk = read_numbers(one, &stream[0], &number[0]);
  const bool is_other_chunk = read_numbers(other, &stream[1], &number[1]);
  if (is_chunk != is_other_chunk) return is_chunk ? -1 : 1;
  if (is_chunk && number[0] != number[1]) return number[0] < number[1] ? -1 : 1;
  if (is_chunk && stream[0] != stream[1]) return stream[0] < stream[1] ? -1 : 1;
  return leat_string_view_compare(one, other);
}

// Finds the files that were not there before.
static leat_status_t look(chunk_list_iterator_t* it) {
  LEAT_RETURN_IF_ERROR(read_state(it->base.dataset, &it->is_done));
  it->next = it->count = 0;
  leat_status_t status = list(it->base.dataset, add_name, it);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  if (it->count) qsort(it->names, it->count, sizeof *it->names, compare_names);
  return status;
}

// ---- The dataset --------------------------------------------------------------------------------

static leat_status_t give(chunk_list_iterator_t* it, leat_tensor_t* out, leat_poll_t* out_poll) {
  leat_string_builder_t path;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_string_builder_print(&path, "%.*s/chunks/%.*s", LEAT_SV_ARG(path_of(it->base.dataset)),
                            LEAT_SV_ARG(it->names[it->next]));
  leat_status_t status = leat_status_clone(path.status);
  if (!status) status = leat_tensor_scalar_string(leat_string_builder_view(&path), out);
  leat_string_builder_deinitialize(&path);
  if (status) return status;
  ++it->next;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static leat_status_t chunk_list_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                     leat_poll_t* out_poll) {
  chunk_list_iterator_t* it = (chunk_list_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(leat_sleeper_take_failure(it->sleeper));
  if (it->next == it->count && !it->is_done && (!it->sleeps || leat_sleeper_is_over(it->sleeper))) {
    it->sleeps = false;
    LEAT_RETURN_IF_ERROR(look(it));
  }
  if (it->next < it->count) return give(it, out, out_poll);
  if (it->is_done) return leat_ok_status();
  if (!it->sleeps) LEAT_RETURN_IF_ERROR(leat_sleeper_begin(it->sleeper, POLL_US));
  it->sleeps = true;
  *out_poll = LEAT_POLL_PENDING;
  leat_sleeper_wait(it->sleeper, pull);
  return leat_ok_status();
}

static leat_status_t count_name(void* data, const char* name) {
  ++*(int64_t*)data;
  return leat_ok_status();
}

static int64_t chunk_list_cardinality(const leat_dataset_t* self) {
  int64_t count = 0;
  bool is_done = false;
  leat_status_t status = read_state(self, &is_done);
  if (!status && is_done) status = list(self, count_name, &count);
  const bool is_known = !status && is_done;
  leat_status_free(status);
  return is_known ? count : LEAT_CARDINALITY_UNKNOWN;
}

static const leat_dataset_kind_t kChunkList = {.name = "ListSnapshotChunks",
                                               .dataset_bytes = sizeof(leat_dataset_t),
                                               .iterator_bytes = sizeof(chunk_list_iterator_t),
                                               .start = chunk_list_start,
                                               .next = chunk_list_next,
                                               .stop = chunk_list_stop,
                                               .cardinality = chunk_list_cardinality};

static leat_status_t chunk_list__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* node = leat_kernel_state(c);
  leat_string_view_t path;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "snapshot_path", &path));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kChunkList, leat_element_spec_retain(node->spec), 0, 1,
                                           &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, 1, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_chunk_list_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("ListSnapshotChunksDataset", NULL, leat_element_spec_state_t,
                    leat_element_spec_state_create, chunk_list__cpu,
                    .destroy = leat_element_spec_state_destroy),
    LEAT_KERNEL_ROWS_END,
};
