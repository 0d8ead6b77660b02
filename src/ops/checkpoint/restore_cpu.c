// CPU kernels that read checkpoints: Restore and RestoreSlice one tensor, RestoreV2 as many as it
// has outputs. RestoreV2 reads either version of the format: a bundle when the prefix has an index
// file, and otherwise a checkpoint of the first version. The tensors of a RestoreV2 are read in
// parallel, a tensor to a task, as reading and checking them is slow compared with starting a task;
// the readers may therefore be used by several threads. Before a tensor is read, its type and its
// whole shape are compared with what the node wants, so that a wrong checkpoint fails before any
// memory is spent on it.
#include "base/sync.h"
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/checkpoint_v1.h"
#include "formats/wire/shape_proto.h"
#include "ops/checkpoint/slice_cpu.h"
#include "ops/kernel_rows.h"

// The reader of either version of the format; the other one is NULL. Several threads may read.
typedef struct source_s {
  leat_bundle_reader_t* bundle;
  leat_checkpoint_v1_t* v1;
} source_t;

static void source_close(source_t* source) {
  leat_bundle_reader_free(source->bundle);
  leat_checkpoint_v1_free(source->v1);
}

// Finds the type and the whole shape of a tensor; the caller releases the shape.
static leat_status_t source_find(const source_t* source, leat_string_view_t name,
                                 leat_arena_t* arena, int* out_dtype, leat_shape_t* out_shape) {
  if (source->bundle) {
    leat_pb_bundle_entry_proto_t entry;
    LEAT_RETURN_IF_ERROR(leat_bundle_reader_find(source->bundle, name, arena, &entry));
    *out_dtype = entry.dtype;
    return leat_shape_from_proto(entry.shape, out_shape);
  }
  size_t index;
  leat_string_view_t stored;
  const leat_shape_t* shape;
  if (!leat_checkpoint_v1_find(source->v1, name, &index)) {
    return leat_make_status(LEAT_NOT_FOUND, "Tensor name \"%.*s\" not found in checkpoint files",
                            LEAT_SV_ARG(name));
  }
  leat_checkpoint_v1_get(source->v1, index, &stored, out_dtype, &shape);
  *out_shape = leat_shape_retain(shape);
  return leat_ok_status();
}

// Reads the tensor, or the slice of it that |spec| gives.
static leat_status_t source_read(const source_t* source, leat_string_view_t name,
                                 const leat_slice_spec_t* spec, leat_buffer_source_t* memory,
                                 leat_tensor_t* out_tensor) {
  const leat_tensor_slice_t* slice = spec->is_given ? &spec->slice : NULL;
  if (source->v1) return leat_checkpoint_v1_read(source->v1, name, slice, memory, out_tensor);
  if (!slice) return leat_bundle_reader_read(source->bundle, name, memory, out_tensor);
  return leat_bundle_reader_read_slice(source->bundle, name, slice, memory, out_tensor);
}

// ---- One tensor ---------------------------------------------------------------------------------

// A tensor to read: its name, its slice as text, and the output that it becomes.
typedef struct request_s {
  leat_string_view_t name;
  leat_string_view_t slice;
  int output;
} request_t;

// Checks what the checkpoint holds under the name against the output's type and the stated shape.
static leat_status_t check_stored(leat_kernel_context_t* c, const request_t* request, int dtype,
                                  const leat_shape_t* full_shape, const leat_slice_spec_t* spec) {
  int wanted = c->kernel->output_types[request->output];
  if (dtype != wanted) {
    return leat_kernel_invalid(c, "tensor_name = %.*s; expected dtype %s does not equal original "
                               "dtype %s",
                               LEAT_SV_ARG(request->name), leat_dtype_name(wanted),
                               leat_dtype_name(dtype));
  }
  if (!leat_shape_equal(&spec->full_shape, full_shape)) {
    return leat_kernel_invalid(c, "tensor_name = %.*s; shape in shape_and_slice spec %s does not "
                               "match the shape stored in checkpoint: %s",
                               LEAT_SV_ARG(request->name), LEAT_SHAPE_TEXT(&spec->full_shape),
                               LEAT_SHAPE_TEXT(full_shape));
  }
  return leat_ok_status();
}

static leat_status_t restore_found(leat_kernel_context_t* c, const source_t* source,
                                   const request_t* request, int dtype,
                                   const leat_shape_t* full_shape, leat_arena_t* arena) {
  leat_slice_spec_t spec;
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(leat_slice_spec_parse(request->slice, full_shape, arena, &spec));
  leat_status_t status = check_stored(c, request, dtype, full_shape, &spec);
  if (!status) {
    status = source_read(source, request->name, &spec, c->services->memory, &tensor);
  }
  leat_slice_spec_release(&spec);
  if (!status) leat_kernel_set_output(c, request->output, tensor);
  return status;
}

static leat_status_t restore_one(leat_kernel_context_t* c, const source_t* source,
                                 const request_t* request) {
  leat_arena_t arena;
  leat_shape_t full_shape;
  int dtype;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = source_find(source, request->name, &arena, &dtype, &full_shape);
  if (!status) {
    status = restore_found(c, source, request, dtype, &full_shape, &arena);
    leat_shape_release(&full_shape);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- RestoreV2 ----------------------------------------------------------------------------------

typedef struct job_s {
  leat_kernel_context_t* c;
  source_t source;
  leat_mutex_t mutex;
  leat_status_t status;  // under |mutex|: the failures of all tensors, joined
} job_t;

static void restore_shard(void* data, int64_t begin, int64_t end) {
  job_t* job = data;
  for (int64_t i = begin; i < end; ++i) {
    request_t request = {.name = leat_tensor_string_at(leat_kernel_input(job->c, 1), i),
                         .slice = leat_tensor_string_at(leat_kernel_input(job->c, 2), i),
                         .output = (int)i};
    leat_status_t status = restore_one(job->c, &job->source, &request);
    leat_mutex_lock(&job->mutex);
    job->status = leat_status_join(job->status, status);
    leat_mutex_unlock(&job->mutex);
  }
}

static leat_status_t restore_all(leat_kernel_context_t* c, source_t source) {
  // The cost of one tensor that the thread pool is told: as tensors are usually large, it is high
  // enough for each to be worth a thread.
  const double kTensorNs = 50e3;
  job_t job = {.c = c, .source = source, .status = leat_ok_status()};
  leat_mutex_initialize(&job.mutex);
  leat_kernel_parallel_for_unbroken(c, c->kernel->output_count, kTensorNs, restore_shard, &job);
  leat_mutex_deinitialize(&job.mutex);
  return job.status;
}

// Opens the checkpoint at input 0. Unless |is_v1|, it may be a bundle or of the first version.
static leat_status_t open_source(const leat_kernel_context_t* c, bool is_v1, source_t* source) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_allocator_t* allocator = leat_allocator_system();
  leat_arena_t arena;
  leat_string_view_t path;
  const char* index_path = NULL;
  leat_arena_initialize(allocator, 0, &arena);
  leat_status_t status =
      leat_arena_copy_string(&arena, leat_tensor_string_at(leat_kernel_input(c, 0), 0), &path);
  if (!status && !is_v1) status = leat_bundle_index_path(path.data, &arena, &index_path);
  if (!status && index_path && leat_file_exists(fs, index_path)) {
    status = leat_bundle_reader_open(fs, path.data, allocator, &source->bundle);
  } else if (!status) {
    status = leat_checkpoint_v1_open(fs, path.data, allocator, &source->v1);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t restore_v2__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* prefix = leat_kernel_input(c, 0);
  if (prefix->shape.element_count != 1) {
    return leat_kernel_invalid(c, "prefix has shape %s, must have a single element",
                               LEAT_SHAPE_TEXT(&prefix->shape));
  }
  for (int i = 1; i < 3; ++i) {
    const leat_tensor_t* items = leat_kernel_input(c, i);
    if (items->shape.rank == 1 && items->shape.element_count == c->kernel->output_count) continue;
    return leat_kernel_invalid(c, "%.*s has shape %s, must be a vector of %d items",
                               LEAT_SV_ARG(c->kernel->op->inputs[i].name),
                               LEAT_SHAPE_TEXT(&items->shape), c->kernel->output_count);
  }
  source_t source = {0};
  LEAT_RETURN_IF_ERROR(open_source(c, false, &source));
  leat_status_t status = restore_all(c, source);
  source_close(&source);
  return status;
}

// ---- The first version --------------------------------------------------------------------------

static leat_status_t restore_create(leat_kernel_creation_t* c, void* state) {
  int64_t preferred;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "preferred_shard", &preferred));
  if (preferred >= -1) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%.*s): preferred_shard is %lld, must be "
                          "-1 or more",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          (long long)preferred);
}

static leat_status_t restore_v1__cpu(leat_kernel_context_t* c) {
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    const leat_tensor_t* text = leat_kernel_input(c, i);
    if (text->shape.element_count == 1) continue;
    return leat_kernel_invalid(c, "%.*s has shape %s, must have a single element",
                               LEAT_SV_ARG(c->kernel->op->inputs[i].name),
                               LEAT_SHAPE_TEXT(&text->shape));
  }
  request_t request = {.name = leat_tensor_string_at(leat_kernel_input(c, 1), 0)};
  if (leat_kernel_input_count(c) == 3) {
    request.slice = leat_tensor_string_at(leat_kernel_input(c, 2), 0);
  }
  source_t source = {0};
  LEAT_RETURN_IF_ERROR(open_source(c, true, &source));
  leat_status_t status = restore_one(c, &source, &request);
  source_close(&source);
  return status;
}

#define RESTORE_V1(op_name) \
  {.op = op_name, .device_type = "CPU", .create = restore_create, .compute = restore_v1__cpu}

const leat_kernel_row_t leat_restore_kernels_cpu[] = {
    {.op = "RestoreV2", .device_type = "CPU", .compute = restore_v2__cpu, .expensive = true},
    RESTORE_V1("Restore"),
    RESTORE_V1("RestoreSlice"),
    LEAT_KERNEL_ROWS_END,
};
