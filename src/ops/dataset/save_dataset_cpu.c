// The kernels that write the elements of a dataset to files (ops/dataset/snapshot_cpu.h).
// SaveDataset writes them in one step. SaveDatasetV2 is a dataset: it gives the elements of its
// input, and whoever reads it writes them. shard_func says for each element to which shard it goes;
// without it all go to shard 0. The file of a shard is made when its first element comes.
//
// The metadata that names the run is written when all elements are, so that a save that fails, or
// is cut off, leaves what was saved before. Those of SaveDatasetV2 name its run from the start, as
// not final, and tell in the end the number of elements that the dataset announces, as in
// TensorFlow.
#include "ops/dataset/snapshot_cpu.h"
#include "ops/kernel_rows.h"

typedef struct save_state_s {
  leat_callee_t callee;
  bool has_function;
  leat_snapshot_compression_t compression;
} save_state_t;

typedef struct saving_s {
  leat_pull_t pull;
  leat_iterator_t* iterator;
  leat_application_t call;  // of shard_func; without it, its arguments are room for the element
  uint64_t function;
  leat_snapshot_writer_t writer;
} saving_t;

// ---- In one step: the pull ---------------------------------------------------------------------

static leat_status_t save_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  saving_t* s = (saving_t*)pull;
  const save_state_t* state = leat_kernel_state(pull->context);
  uint64_t shard = 0;
  bool has_element = s->call.pending;
  for (;;) {
    if (s->call.pending) LEAT_RETURN_IF_ERROR(leat_snapshot_take_shard(&s->call, pull, &shard));
    if (has_element) {
      leat_status_t status = leat_snapshot_writer_add(&s->writer, shard, s->call.arguments,
                                                      s->call.element_count);
      leat_application_release_element(&s->call);
      if (status) return status;
    }
    LEAT_RETURN_IF_ERROR(leat_iterator_next(s->iterator, pull, s->call.arguments, out_poll));
    has_element = *out_poll == LEAT_POLL_ELEMENT;
    if (!has_element) return leat_ok_status();
    if (!state->has_function) continue;
    *out_poll = LEAT_POLL_PENDING;
    leat_application_start(&s->call, pull, s->function);
    return leat_ok_status();
  }
}

// Publishes the run when |status| is OK, and frees what the pull holds.
static leat_status_t end_saving(saving_t* s, leat_status_t status) {
  status = leat_status_join(status, leat_snapshot_writer_close(&s->writer));
  if (!status) {
    const leat_snapshot_description_t description = {
        .run = leat_string_builder_view(&s->writer.run),
        .count = s->writer.count,
        .version = LEAT_SNAPSHOT_TF_RECORDS,
        .is_final = true};
    status = leat_snapshot_write_metadata(s->writer.path, s->iterator->dataset->spec,
                                          &description);
  }
  leat_iterator_free(s->iterator);
  leat_application_deinitialize(&s->call);
  leat_snapshot_writer_deinitialize(&s->writer);
  leat_allocator_free(leat_allocator_system(), s);
  return status;
}

static void save_finish(leat_pull_t* pull, leat_status_t status) {
  leat_kernel_context_t* context = pull->context;
  leat_kernel_done_fn_t done = pull->done;
  done(context, end_saving((saving_t*)pull, status));
}

// ---- In one step: the kernel -------------------------------------------------------------------

// The captured tensors, inputs from 2 on, become the arguments of shard_func behind the element.
static leat_status_t prepare_call(leat_kernel_context_t* c, saving_t* s) {
  save_state_t* state = leat_kernel_state(c);
  const int components = s->iterator->dataset->spec->count;
  const int captured = leat_kernel_input_count(c) - 2;
  LEAT_RETURN_IF_ERROR(leat_application_initialize(s->iterator->draw_counts, components, captured,
                                                   1, &s->call));
  for (int i = 0; i < captured; ++i) {
    s->call.arguments[components + i] = *leat_kernel_input(c, 2 + i);
  }
  return state->has_function ? leat_callee_find(c, &state->callee, &s->function)
                             : leat_ok_status();
}

static leat_status_t begin_saving(leat_kernel_context_t* c, saving_t* s) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "path", &s->writer.path));
  LEAT_RETURN_IF_ERROR(leat_iterator_create(dataset, NULL, &s->iterator));
  LEAT_RETURN_IF_ERROR(prepare_call(c, s));
  return leat_snapshot_writer_begin(&s->writer);
}

static leat_status_t save_create(leat_kernel_creation_t* c, void* state) {
  save_state_t* save = state;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "shard_func", 0, &save->callee));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "use_shard_func", &save->has_function));
  return leat_snapshot_compression_create(c, &save->compression);
}

static void save__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  saving_t* s;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &s);
  if (status) {
    done(c, status);
    return;
  }
  s->pull = (leat_pull_t){.services = c->services,
                          .context = c,
                          .done = done,
                          .step = save_step,
                          .finish = save_finish};
  const save_state_t* state = leat_kernel_state(c);
  leat_snapshot_writer_initialize((leat_string_view_t){0}, state->compression.name, &s->writer);
  status = begin_saving(c, s);
  if (status) {
    done(c, end_saving(s, status));
  } else {
    leat_pull_run(&s->pull);
  }
}

// ---- As a dataset ------------------------------------------------------------------------------

// inputs[0] gives the elements. The tensors are those that shard_func has captured.
typedef struct saved_s {
  leat_dataset_t base;
  bool has_function;
  leat_snapshot_compression_t compression;
  leat_tensor_t path;
} saved_t;

typedef struct saved_iterator_s {
  leat_iterator_t base;
  leat_application_t call;  // of shard_func; without it, its arguments are room for the element
  leat_snapshot_writer_t writer;
  leat_status_t failure;  // of writing, which every later call tells again
} saved_iterator_t;

static const saved_t* saved_of(const saved_iterator_t* it) {
  return (const saved_t*)it->base.dataset;
}

static void saved_destroy(leat_dataset_t* self) { leat_tensor_release(&((saved_t*)self)->path); }

static leat_status_t write_metadata(const saved_iterator_t* it, int64_t count, bool is_final) {
  const leat_snapshot_description_t description = {
      .run = leat_string_builder_view(&it->writer.run),
      .count = count,
      .version = LEAT_SNAPSHOT_TF_RECORDS,
      .is_final = is_final};
  return leat_snapshot_write_metadata(it->writer.path, it->base.dataset->spec, &description);
}

static leat_status_t saved_start(leat_iterator_t* self) {
  saved_iterator_t* it = (saved_iterator_t*)self;
  const saved_t* saved = saved_of(it);
  leat_snapshot_writer_initialize(leat_tensor_string_at(&saved->path, 0), saved->compression.name,
                                  &it->writer);
  LEAT_RETURN_IF_ERROR(leat_iterator_prepare_calls(self, self->dataset->spec->count, 1, &it->call));
  LEAT_RETURN_IF_ERROR(leat_snapshot_writer_begin(&it->writer));
  return write_metadata(it, 0, false);
}

static void saved_stop(leat_iterator_t* self) {
  saved_iterator_t* it = (saved_iterator_t*)self;
  leat_application_deinitialize(&it->call);
  leat_status_free(it->failure);
  leat_status_free(leat_snapshot_writer_close(&it->writer));
  leat_snapshot_writer_deinitialize(&it->writer);
}

// Writes the element, which lies among the arguments of shard_func, and gives it.
static leat_status_t write_element(saved_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  uint64_t shard = 0;
  leat_application_t* call = &it->call;
  leat_status_t status = leat_ok_status();
  if (call->pending) status = leat_snapshot_take_shard(call, pull, &shard);
  if (!status) {
    it->failure =
        leat_snapshot_writer_add(&it->writer, shard, call->arguments, call->element_count);
    status = leat_status_clone(it->failure);
  }
  if (status) {
    leat_application_release_element(call);
    return status;
  }
  leat_element_move(call->arguments, out, call->element_count);
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static leat_status_t saved_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  saved_iterator_t* it = (saved_iterator_t*)self;
  leat_application_t* call = &it->call;
  if (it->failure) return leat_status_clone(it->failure);
  if (call->pending) return write_element(it, pull, out, out_poll);
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, call->arguments, out_poll));
  if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  if (*out_poll == LEAT_POLL_END) {
    it->failure = leat_snapshot_writer_close(&it->writer);
    if (!it->failure) {
      it->failure = write_metadata(it, leat_dataset_cardinality(self->dataset), true);
    }
    return leat_status_clone(it->failure);
  }
  if (!saved_of(it)->has_function) return write_element(it, pull, out, out_poll);
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(call, pull, self->dataset->function);
  return leat_ok_status();
}

static const leat_dataset_kind_t kSaved = {.name = "Save",
                                           .dataset_bytes = sizeof(saved_t),
                                           .iterator_bytes = sizeof(saved_iterator_t),
                                           .opens_input = true,
                                           .destroy = saved_destroy,
                                           .start = saved_start,
                                           .next = saved_next,
                                           .stop = saved_stop};

static leat_status_t set_saved(leat_kernel_context_t* c, saved_t* saved) {
  save_state_t* state = leat_kernel_state(c);
  leat_string_view_t path;
  saved->has_function = state->has_function;
  saved->compression = state->compression;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "path", &path));
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(path, &saved->path));
  if (state->has_function) {
    LEAT_RETURN_IF_ERROR(leat_callee_find(c, &state->callee, &saved->base.function));
  }
  return leat_dataset_keep_inputs(c, 2, 0, saved->base.tensor_count, &saved->base);
}

static leat_status_t saved__cpu(leat_kernel_context_t* c) {
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kSaved, leat_element_spec_retain(input->spec),
                                                input, leat_kernel_input_count(c) - 2, &dataset));
  leat_status_t status = set_saved(c, (saved_t*)dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_save_dataset_kernels_cpu[] = {
    {.op = "SaveDataset",
     .device_type = "CPU",
     .create = save_create,
     .state_bytes = sizeof(save_state_t),
     .compute_async = save__cpu},
    LEAT_CPU_KERNEL("SaveDatasetV2", NULL, save_state_t, save_create, saved__cpu),
    LEAT_KERNEL_ROWS_END,
};
