// CPU kernels that write checkpoints: Save and SaveSlices the first version of the format, SaveV2
// the second (a bundle). The inputs of all are a path, a vector of names, a vector of slices (not
// for Save), and then the tensors. The tensors are added to the writer one after the other, in the
// order of the inputs, and a checkpoint counts as written only when finishing succeeds; on failure
// the writer is freed without finishing. A slice is part of a larger variable, whose other parts
// other nodes save.
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/checkpoint_v1.h"
#include "ops/checkpoint/slice_cpu.h"
#include "ops/kernel_rows.h"

// The writer of either version of the format; the other one is NULL.
typedef struct sink_s {
  leat_bundle_writer_t* bundle;
  leat_checkpoint_v1_writer_t* v1;
} sink_t;

static leat_status_t add(sink_t* sink, leat_string_view_t name, const leat_slice_spec_t* spec,
                         const leat_tensor_t* tensor) {
  if (sink->v1) {
    return leat_checkpoint_v1_writer_add(sink->v1, name, &spec->full_shape, &spec->slice, tensor);
  }
  if (!spec->is_given) return leat_bundle_writer_add(sink->bundle, name, tensor);
  return leat_bundle_writer_add_slice(sink->bundle, name, &spec->full_shape, &spec->slice, tensor);
}

// Checks the path, and that the vectors before input |first| have an item for each tensor.
static leat_status_t check_inputs(const leat_kernel_context_t* c, int first) {
  const leat_tensor_t* path = leat_kernel_input(c, 0);
  const char* path_name = first == 3 ? "prefix" : "filename";
  if (path->shape.element_count != 1) {
    return leat_kernel_invalid(c, "%s has shape %s, must have a single element", path_name,
                               LEAT_SHAPE_TEXT(&path->shape));
  }
  for (int i = 1; i < first; ++i) {
    const leat_tensor_t* names = leat_kernel_input(c, i);
    if (names->shape.element_count != leat_kernel_input_count(c) - first) {
      return leat_kernel_invalid(c, "%.*s has %lld items, must have one for each of %d tensors",
                                 LEAT_SV_ARG(c->kernel->op->inputs[i].name),
                                 (long long)names->shape.element_count,
                                 leat_kernel_input_count(c) - first);
    }
  }
  return leat_ok_status();
}

// Adds tensor |index| under its name. Its slice is item |index| of input 2, where the op has it,
// and must have the shape of the tensor.
static leat_status_t add_tensor(const leat_kernel_context_t* c, sink_t* sink, int first, int index,
                                leat_arena_t* arena) {
  const leat_tensor_t* tensor = leat_kernel_input(c, first + index);
  leat_slice_spec_t spec;
  leat_string_view_t text = LEAT_SV("");
  if (first == 3) text = leat_tensor_string_at(leat_kernel_input(c, 2), index);
  LEAT_RETURN_IF_ERROR(leat_slice_spec_parse(text, &tensor->shape, arena, &spec));
  leat_status_t status = leat_ok_status();
  if (!leat_shape_equal(&spec.shape, &tensor->shape)) {
    status = leat_kernel_invalid(c, "shape_and_slice is %.*s, must fit a tensor of shape %s",
                                 LEAT_SV_ARG(text), LEAT_SHAPE_TEXT(&tensor->shape));
  }
  if (!status) {
    status = add(sink, leat_tensor_string_at(leat_kernel_input(c, 1), index), &spec, tensor);
  }
  leat_slice_spec_release(&spec);
  return status;
}

static leat_status_t add_tensors(const leat_kernel_context_t* c, sink_t* sink, int first,
                                 leat_arena_t* arena) {
  for (int i = 0; i < leat_kernel_input_count(c) - first; ++i) {
    LEAT_RETURN_IF_ERROR(add_tensor(c, sink, first, i, arena));
  }
  return sink->v1 ? leat_checkpoint_v1_writer_finish(sink->v1)
                  : leat_bundle_writer_finish(sink->bundle);
}

static leat_status_t open_sink(const leat_kernel_context_t* c, bool is_v1, leat_arena_t* arena,
                               sink_t* sink) {
  leat_string_view_t path;
  leat_file_system_t* fs = leat_file_system_default();
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(arena, leat_tensor_string_at(leat_kernel_input(c, 0), 0), &path));
  if (is_v1) return leat_checkpoint_v1_writer_create(fs, path.data, allocator, &sink->v1);
  return leat_bundle_writer_create(fs, path.data, allocator, &sink->bundle);
}

// The body of all three kernels; |first| is the input of the first tensor.
static leat_status_t save(leat_kernel_context_t* c, int first, bool is_v1) {
  sink_t sink = {0};
  leat_arena_t arena;
  LEAT_RETURN_IF_ERROR(check_inputs(c, first));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = open_sink(c, is_v1, &arena, &sink);
  if (!status) status = add_tensors(c, &sink, first, &arena);
  leat_checkpoint_v1_writer_free(sink.v1);
  leat_bundle_writer_free(sink.bundle);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t save_v2__cpu(leat_kernel_context_t* c) { return save(c, 3, false); }

static leat_status_t save__cpu(leat_kernel_context_t* c) { return save(c, 2, true); }

static leat_status_t save_slices__cpu(leat_kernel_context_t* c) { return save(c, 3, true); }

const leat_kernel_row_t leat_save_kernels_cpu[] = {
    {.op = "SaveV2", .device_type = "CPU", .compute = save_v2__cpu, .expensive = true},
    {.op = "Save", .device_type = "CPU", .compute = save__cpu, .expensive = true},
    {.op = "SaveSlices", .device_type = "CPU", .compute = save_slices__cpu, .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
