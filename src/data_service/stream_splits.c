// The splits of a stream are numbered, and |next| is the number of the one that the dataset gets
// next. The dispatcher's answer has the number of its split. Where that is |next|, the split is
// taken as it came. Where it lies behind, the stream was given splits that this source has not
// seen: to a worker that died, or in an answer that was lost. They lie in files, which are read
// from then on, and so is the one that has just come, since it has a file as well. Where it lies
// before, two passes asked at a time, and the other one has had this split already, from its file;
// or it is the end of a pass that is long over.
//
// A split belongs to a pass. One of a later pass means that the pass that asks has had all of its
// own. One of an earlier pass is left out: that pass ended early when the stream was first written,
// as the longer input of a zip does.
#include "data_service/stream_splits.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/sync.h"
#include "cluster/rpc_message.h"
#include "data_service/call.h"
#include "data_service/snapshot_files.h"
#include "formats/wire/tensor_content.h"

#define ANSWER_MS 30000
#define RETRY_NS (200 * INT64_C(1000000))

// A split that has a file.
typedef struct split_file_s {
  int64_t pass, local, global;
} split_file_t;

struct leat_stream_splits_s {
  leat_split_source_t base;
  leat_stream_splits_options_t options;
  _Atomic(bool) is_closed;
  leat_mutex_t mutex;  // guards what follows
  int64_t next;
  leat_arena_t arena;
  split_file_t* files;  // those from |first_file| on, one for each number; in |arena|
  int64_t first_file;
  size_t file_count;
};

typedef struct question_s {
  leat_stream_splits_t* splits;
  int64_t pass, deadline_ns;
  leat_split_done_fn_t done;
  void* data;
} question_t;

// What the dispatcher, or a file, says.
typedef struct split_answer_s {
  int64_t local, split;
  bool at_end;
} split_answer_t;

static void answer(question_t* question, leat_status_t status, int64_t split, bool at_end) {
  const question_t asked = *question;
  leat_allocator_free(leat_allocator_system(), question);
  asked.done(asked.data, status, split, at_end);
  leat_resource_release(&asked.splits->base.resource);
}

// ---- Files --------------------------------------------------------------------------------------

static leat_status_t bad_file(const leat_stream_splits_t* splits, int64_t local) {
  return leat_make_status(LEAT_DATA_LOSS,
                          "Reading split %" PRId64 " of source %" PRId64 " of stream %" PRId64
                          " of the snapshot %.*s failed: its file is not there",
                          local, splits->options.index, splits->options.def->stream_index,
                          LEAT_SV_ARG(splits->options.def->base_path));
}

static leat_status_t add_pass(leat_stream_splits_t* splits, const char* directory, int64_t pass,
                              size_t* inout_capacity, split_file_t** inout_files) {
  leat_string_view_t path;
  leat_snapshot_entries_t entries;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&splits->arena, &path, "%s/repetition_%" PRId64, directory, pass));
  LEAT_RETURN_IF_ERROR(leat_snapshot_list(leat_file_system_default(), path.data, "split_", 2,
                                          &splits->arena, &entries));
  for (size_t i = 0; i < entries.count; ++i) {
    const int64_t local = entries.items[i].numbers[0];
    if (local < splits->next) continue;
    if (local != splits->next + (int64_t)splits->file_count) {
      return bad_file(splits, splits->next + (int64_t)splits->file_count);
    }
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), splits->file_count + 1, inout_files,
                                   inout_capacity));
    (*inout_files)[splits->file_count++] =
        (split_file_t){.pass = pass, .local = local, .global = entries.items[i].numbers[1]};
  }
  return leat_ok_status();
}

static leat_status_t name_directory(leat_stream_splits_t* splits, leat_string_view_t* out_path) {
  const leat_pb_snapshot_task_def_t* def = splits->options.def;
  return leat_arena_print(&splits->arena, out_path,
                          "%.*s/streams/stream_%" PRId64 "/splits/source_%" PRId64,
                          LEAT_SV_ARG(def->base_path), def->stream_index, splits->options.index);
}

// Lists the files from |next| on.
static leat_status_t list_files(leat_stream_splits_t* splits) {
  leat_string_view_t path;
  leat_snapshot_entries_t passes;
  split_file_t* files = NULL;
  size_t capacity = 0;
  leat_arena_deinitialize(&splits->arena);
  leat_arena_initialize(leat_allocator_system(), 0, &splits->arena);
  splits->files = NULL;
  splits->file_count = 0;
  splits->first_file = splits->next;
  LEAT_RETURN_IF_ERROR(name_directory(splits, &path));
  LEAT_RETURN_IF_ERROR(leat_snapshot_list(leat_file_system_default(), path.data, "repetition_", 1,
                                          &splits->arena, &passes));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < passes.count && !status; ++i) {
    status = add_pass(splits, path.data, passes.items[i].numbers[0], &capacity, &files);
  }
  if (!status) status = LEAT_NEW(&splits->arena, splits->file_count, &splits->files);
  for (size_t i = 0; i < splits->file_count && !status; ++i) splits->files[i] = files[i];
  leat_allocator_free(leat_allocator_system(), files);
  if (status) splits->file_count = 0;
  return status;
}

static leat_status_t read_file(leat_stream_splits_t* splits, const split_file_t* file,
                               int64_t* out_split) {
  leat_string_view_t directory, path;
  LEAT_RETURN_IF_ERROR(name_directory(splits, &directory));
  LEAT_RETURN_IF_ERROR(leat_arena_print(&splits->arena, &path,
                                        "%s/repetition_%" PRId64 "/split_%" PRId64 "_%" PRId64,
                                        directory.data, file->pass, file->local, file->global));
  return leat_snapshot_read_split(leat_file_system_default(), path.data, out_split);
}

// Takes the next split of the pass from its file; |*out_has_come| unless there is no file.
static leat_status_t take_file(leat_stream_splits_t* splits, int64_t pass,
                               split_answer_t* out_answer, bool* out_has_come) {
  const split_file_t* file;
  *out_has_come = false;
  do {
    if (splits->next >= splits->first_file + (int64_t)splits->file_count) return leat_ok_status();
    file = &splits->files[splits->next - splits->first_file];
    if (file->pass < pass) ++splits->next;
  } while (file->pass < pass);
  *out_has_come = true;
  out_answer->at_end = file->pass > pass;
  if (out_answer->at_end) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(read_file(splits, file, &out_answer->split));
  ++splits->next;
  return leat_ok_status();
}

// ---- The dispatcher -----------------------------------------------------------------------------

// Makes of the dispatcher's answer what the pass gets. |*out_asks_again|: nothing yet.
static leat_status_t take_dispatchers(leat_stream_splits_t* splits, int64_t pass,
                                      split_answer_t* inout_answer, bool* out_asks_again) {
  const int64_t count = inout_answer->local;
  bool has_come = false;
  if (count == splits->next) {
    splits->next += !inout_answer->at_end;
    return leat_ok_status();
  }
  *out_asks_again = count < splits->next && !inout_answer->at_end;
  if (count < splits->next) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(list_files(splits));
  const int64_t end = splits->next + (int64_t)splits->file_count;
  if (end < count + !inout_answer->at_end) return bad_file(splits, end);
  LEAT_RETURN_IF_ERROR(take_file(splits, pass, inout_answer, &has_come));
  *out_asks_again = !has_come;
  return leat_ok_status();
}

// A split is a scalar of int64.
static leat_status_t read_split(const leat_pb_tensor_proto_t* proto, leat_arena_t* arena,
                                int64_t* out_split) {
  leat_tensor_t tensor = {0};
  if (proto) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_from_content(proto, arena, leat_buffer_source_host(), &tensor));
  }
  const bool is_number = tensor.dtype == LEAT_DTYPE_INT64 && tensor.shape.rank == 0;
  if (is_number) *out_split = *(const int64_t*)tensor.data;
  leat_tensor_release(&tensor);
  if (is_number) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Reading a split failed: the dispatcher's is no scalar of int64");
}

static leat_status_t read_answer(leat_rpc_bytes_t bytes, split_answer_t* out_answer) {
  leat_pb_get_snapshot_split_response_t response;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_rpc_decode_message(
      bytes, &arena, &leat_pb_get_snapshot_split_response_descriptor, &response);
  if (!status) {
    *out_answer = (split_answer_t){.local = response.local_split_index,
                                   .at_end = response.end_of_splits};
    if (!out_answer->at_end) status = read_split(response.split, &arena, &out_answer->split);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static void ask(question_t* question);

// A leat_rpc_done_fn_t.
static void take_answer(void* data, leat_status_t status, leat_string_view_t details,
                        leat_rpc_bytes_t bytes) {
  question_t* question = data;
  leat_stream_splits_t* splits = question->splits;
  split_answer_t come = {0};
  bool asks_again = false;
  const leat_status_code_t code = leat_status_code(status);
  const bool is_away = code == LEAT_DEADLINE_EXCEEDED || leat_data_is_preempted(status);
  if (is_away && !atomic_load(&splits->is_closed) &&
      leat_clock_now_ns() < question->deadline_ns) {
    leat_status_free(status);
    leat_clock_sleep_ns(RETRY_NS);
    ask(question);
    return;
  }
  if (!status) status = read_answer(bytes, &come);
  if (!status) {
    leat_mutex_lock(&splits->mutex);
    status = take_dispatchers(splits, question->pass, &come, &asks_again);
    leat_mutex_unlock(&splits->mutex);
  }
  if (!status && asks_again) {
    ask(question);
    return;
  }
  answer(question, status, come.split, come.at_end);
}

static void ask(question_t* question) {
  leat_stream_splits_t* splits = question->splits;
  const leat_stream_splits_options_t* options = &splits->options;
  const leat_pb_get_snapshot_split_request_t message = {
      .base_path = options->def->base_path,
      .stream_index = options->def->stream_index,
      .source_index = options->index,
      .worker_address = options->worker,
      .repetition_index = question->pass};
  const leat_rpc_call_options_t call = {
      .method = "/tensorflow.data.DispatcherService/GetSnapshotSplit",
      .deadline_ns = leat_clock_deadline_after_ms(ANSWER_MS)};
  split_answer_t come = {0};
  bool has_come = false;
  leat_status_t status = leat_ok_status();
  if (atomic_load(&splits->is_closed)) {
    status = leat_make_status(LEAT_CANCELLED, "Reading a split failed: the stream has ended");
  } else {
    leat_mutex_lock(&splits->mutex);
    status = take_file(splits, question->pass, &come, &has_come);
    leat_mutex_unlock(&splits->mutex);
  }
  if (status || has_come) {
    answer(question, status, come.split, come.at_end);
    return;
  }
  leat_rpc_call_message(options->dispatcher, &call,
                        &leat_pb_get_snapshot_split_request_descriptor, &message, take_answer,
                        question, NULL);
}

static void splits_next(leat_split_source_t* self, int64_t pass, leat_split_done_fn_t done,
                        void* data) {
  leat_stream_splits_t* splits = (leat_stream_splits_t*)self;
  question_t* question;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &question);
  if (status) {
    done(data, status, 0, false);
    return;
  }
  leat_resource_retain(&self->resource);
  *question = (question_t){.splits = splits,
                           .pass = pass,
                           .deadline_ns = leat_clock_deadline_after_ms(splits->options.timeout_ms),
                           .done = done,
                           .data = data};
  ask(question);
}

// ---- Life ---------------------------------------------------------------------------------------

static void splits_destroy(leat_split_source_t* self) {
  leat_stream_splits_t* splits = (leat_stream_splits_t*)self;
  leat_arena_deinitialize(&splits->arena);
  leat_mutex_deinitialize(&splits->mutex);
  leat_allocator_free(leat_allocator_system(), self);
}

leat_status_t leat_stream_splits_create(const leat_stream_splits_options_t* options,
                                        leat_stream_splits_t** out_splits) {
  leat_stream_splits_t* splits;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &splits));
  splits->base.resource.kind = &leat_split_source_kind;
  splits->base.resource.references = 1;
  splits->base.next = splits_next;
  splits->base.destroy = splits_destroy;
  splits->options = *options;
  leat_mutex_initialize(&splits->mutex);
  leat_arena_initialize(leat_allocator_system(), 0, &splits->arena);
  *out_splits = splits;
  return leat_ok_status();
}

leat_split_source_t* leat_stream_splits_source(leat_stream_splits_t* splits) {
  return &splits->base;
}

void leat_stream_splits_close(leat_stream_splits_t* splits) {
  atomic_store(&splits->is_closed, true);
}

void leat_stream_splits_release(leat_stream_splits_t* splits) {
  if (splits) leat_resource_release(&splits->base.resource);
}
