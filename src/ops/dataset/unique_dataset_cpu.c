// The kernel of UniqueDataset: the elements of the input that are unlike all before them. An
// iterator remembers what it has given as keys in a map: a key is the rank and shape of the
// element, then its numbers or its strings, each with its length before it, so that no two elements
// have the same key. Numbers are compared by their bytes, which makes 0 and -0 two elements and a
// NaN equal to itself. The keys lie in an arena of the iterator and grow with the number of
// different elements; a new pass over the dataset begins with none.
#include <string.h>

#include "base/map.h"
#include "base/string_builder.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct unique_iterator_s {
  leat_iterator_t base;
  leat_string_map_t seen;  // its keys lie in |keys|
  leat_arena_t keys;
} unique_iterator_t;

static leat_status_t unique_start(leat_iterator_t* self) {
  unique_iterator_t* it = (unique_iterator_t*)self;
  leat_string_map_initialize(leat_allocator_system(), &it->seen);
  leat_arena_initialize(leat_allocator_system(), 4096, &it->keys);
  return leat_ok_status();
}

static void unique_stop(leat_iterator_t* self) {
  unique_iterator_t* it = (unique_iterator_t*)self;
  leat_string_map_deinitialize(&it->seen);
  leat_arena_deinitialize(&it->keys);
}

static void append_bytes(leat_string_builder_t* out, const void* data, size_t size) {
  leat_string_builder_append(out, leat_string_view_make(data, size));
}

static void append_key(const leat_tensor_t* element, leat_string_builder_t* out) {
  const leat_shape_t* shape = &element->shape;
  append_bytes(out, &shape->rank, sizeof shape->rank);
  append_bytes(out, leat_shape_dims(shape), (size_t)shape->rank * sizeof(int64_t));
  if (element->dtype != LEAT_DTYPE_STRING) {
    append_bytes(out, element->data, leat_tensor_size_bytes(element));
    return;
  }
  for (int64_t i = 0; i < shape->element_count; ++i) {
    leat_string_view_t text = leat_tensor_string_at(element, i);
    append_bytes(out, &text.size, sizeof text.size);
    leat_string_builder_append(out, text);
  }
}

// Adds |key| to those that were seen; |*out_is_new| says whether it was not there.
static leat_status_t see(unique_iterator_t* it, leat_string_view_t key, bool* out_is_new) {
  char* copy;
  *out_is_new = !leat_string_map_get(&it->seen, key, NULL);
  if (!*out_is_new) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&it->keys, key.size + 1, (void**)&copy));
  memcpy(copy, key.data, key.size);
  return leat_string_map_set(&it->seen, leat_string_view_make(copy, key.size), 1);
}

static leat_status_t see_element(unique_iterator_t* it, const leat_tensor_t* element,
                                 bool* out_is_new) {
  leat_string_builder_t key;
  leat_string_builder_initialize(leat_allocator_system(), &key);
  append_key(element, &key);
  leat_status_t status = leat_status_clone(key.status);
  if (!status) status = see(it, leat_string_builder_view(&key), out_is_new);
  leat_string_builder_deinitialize(&key);
  return status;
}

static leat_status_t unique_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  bool is_new = false;
  while (!is_new) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    leat_status_t status = see_element((unique_iterator_t*)self, out, &is_new);
    if (status || !is_new) leat_tensor_release(out);
    if (status) return status;
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kUnique = {.name = "Unique",
                                            .dataset_bytes = sizeof(leat_dataset_t),
                                            .iterator_bytes = sizeof(unique_iterator_t),
                                            .opens_input = true,
                                            .start = unique_start,
                                            .next = unique_next,
                                            .stop = unique_stop,
                                            .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t unique__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kUnique, &dataset));
  const leat_element_spec_t* spec = dataset->spec;
  if (spec->count == 1 && (spec->types[0] == LEAT_DTYPE_INT32 ||
                           spec->types[0] == LEAT_DTYPE_INT64 ||
                           spec->types[0] == LEAT_DTYPE_STRING)) {
    return leat_dataset_set_output(c, dataset);
  }
  leat_status_t status =
      leat_kernel_invalid(c,
                          "the input has elements of %d components, the first of type %s, must "
                          "have one of type int32, int64 or string",
                          spec->count, spec->count ? leat_dtype_name(spec->types[0]) : "none");
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_unique_dataset_kernels_cpu[] = {
    LEAT_DATASET_KERNEL("UniqueDataset", unique__cpu),
    LEAT_DATASET_KERNEL("ExperimentalUniqueDataset", unique__cpu),
    LEAT_KERNEL_ROWS_END,
};
