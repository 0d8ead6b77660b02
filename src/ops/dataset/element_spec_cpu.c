// The types and shapes of a dataset's elements. Every dataset has a spec, and most kernels make a
// new one from their input's: the spec of rows, of what two datasets have in common, or of what the
// node's attributes declare. A spec lies in an arena, so that its shapes need no release of their
// own. It is filled by its maker and never changes afterwards, which is why any number of datasets
// and iterators, on any threads, may share it. The checks use TensorFlow's texts, because programs
// compare them.
#include "ops/dataset/element_spec_cpu.h"

#include "formats/generated/dataset_metadata.h"
#include "formats/wire/decode.h"

// There is room for one more component than |count|, so that an element without components has
// addresses too.
leat_status_t leat_element_spec_create(int count, leat_element_spec_t** out_spec) {
  leat_element_spec_t* s;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &s));
  s->references = 1;
  s->count = count;
  leat_arena_initialize(leat_allocator_system(), 256, &s->arena);
  size_t room = (size_t)count + 1;
  leat_status_t status = LEAT_NEW(&s->arena, room, &s->types);
  if (!status) {
    status = LEAT_NEW(&s->arena, room, &s->shapes);
  }
  if (status) {
    leat_element_spec_release(s);
    return status;
  }
  *out_spec = s;
  return leat_ok_status();
}

leat_status_t leat_element_spec_set(leat_element_spec_t* s, int index, int dtype,
                                    leat_partial_shape_t shape) {
  s->types[index] = (uint8_t)dtype;
  return leat_partial_shape_create(shape.rank, shape.dims, &s->arena, &s->shapes[index]);
}

leat_status_t leat_element_spec_of_scalar(int dtype, leat_element_spec_t** out_spec) {
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(1, out_spec));
  leat_status_t status = leat_element_spec_set(*out_spec, 0, dtype, leat_partial_shape_scalar());
  if (status) leat_element_spec_release(*out_spec);
  return status;
}

leat_status_t leat_element_metadata_create(leat_kernel_creation_t* c, void* state) {
  (void)state;
  const leat_attr_value_t* bytes = leat_attr_find(c->attrs, c->attr_count, LEAT_SV("metadata"));
  leat_pb_metadata_t metadata;
  leat_arena_t arena;
  if (!bytes || !bytes->s.size) return leat_ok_status();
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_metadata_descriptor, bytes->s, &arena, NULL, &metadata);
  leat_arena_deinitialize(&arena);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  return leat_status_annotate(status, "Could not parse the 'metadata' attribute.");
}

leat_status_t leat_element_spec_of_attrs(leat_kernel_creation_t* c, const char* types_name,
                                         leat_element_spec_t** out_spec) {
  const leat_attr_value_t *types, *shapes;
  leat_element_spec_t* s;
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, NULL));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, types_name, &types));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "output_shapes", &shapes));
  if (shapes->count && types->count != shapes->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (%s): %s has %u items, "
                            "must be as many as output_shapes has: %u",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, types_name,
                            types->count, shapes->count);
  }
  LEAT_RETURN_IF_ERROR(leat_element_spec_create((int)types->count, &s));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < s->count && !status; ++i) {
    status = leat_element_spec_set(
        s, i, types->types[i], shapes->count ? shapes->shapes[i] : leat_partial_shape_unknown());
  }
  if (status) {
    leat_element_spec_release(s);
    return status;
  }
  *out_spec = s;
  return leat_ok_status();
}

leat_element_spec_t* leat_element_spec_retain(leat_element_spec_t* spec) {
  leat_reference_count_retain(&spec->references);
  return spec;
}

void leat_element_spec_release(leat_element_spec_t* spec) {
  if (!spec || !leat_reference_count_release(&spec->references)) return;
  leat_arena_deinitialize(&spec->arena);
  leat_allocator_free(leat_allocator_system(), spec);
}

// The first dimension is the one that the rows lack; nothing is known where the rank is unknown or
// 0.
leat_partial_shape_t leat_element_row_shape(leat_partial_shape_t shape) {
  return shape.rank < 1 ? leat_partial_shape_unknown()
                        : (leat_partial_shape_t){shape.rank - 1, shape.dims + 1};
}

leat_status_t leat_element_spec_of_rows(const leat_element_spec_t* batches,
                                        leat_element_spec_t** out_spec) {
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(batches->count, out_spec));
  for (int i = 0; i < batches->count; ++i) {
    leat_status_t status = leat_element_spec_set(*out_spec, i, batches->types[i],
                                                 leat_element_row_shape(batches->shapes[i]));
    if (!status) continue;
    leat_element_spec_release(*out_spec);
    return status;
  }
  return leat_ok_status();
}

// ---- Checks -------------------------------------------------------------------------------------

static leat_status_t check_count(int expected, int received, const char* what) {
  if (expected == received) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Number of components does not match: expected %d %s but got %d.",
                          expected, what, received);
}

static leat_status_t check_type(const leat_element_spec_t* expected, int index, int received) {
  if (expected->types[index] == received) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Data type mismatch at component %d: expected %s but got %s.", index,
                          leat_dtype_name(expected->types[index]), leat_dtype_name(received));
}

// Whether one shape may satisfy both: an unknown rank or size agrees with any.
static bool compatible(leat_partial_shape_t a, leat_partial_shape_t b) {
  if (a.rank < 0 || b.rank < 0) return true;
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

static leat_status_t check_shape(const leat_element_spec_t* expected, int index,
                                 leat_partial_shape_t received) {
  if (compatible(expected->shapes[index], received)) return leat_ok_status();
  return leat_make_status(
      LEAT_INVALID_ARGUMENT, "Incompatible shapes at component %d: expected %s but got %s.", index,
      LEAT_PARTIAL_SHAPE_TEXT(expected->shapes[index]), LEAT_PARTIAL_SHAPE_TEXT(received));
}

leat_status_t leat_element_spec_check_types(const leat_element_spec_t* expected,
                                            const leat_element_spec_t* received) {
  LEAT_RETURN_IF_ERROR(check_count(expected->count, received->count, "types"));
  for (int i = 0; i < expected->count; ++i) {
    LEAT_RETURN_IF_ERROR(check_type(expected, i, received->types[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_element_spec_check_shapes(const leat_element_spec_t* expected,
                                             const leat_element_spec_t* received) {
  LEAT_RETURN_IF_ERROR(check_count(expected->count, received->count, "shapes"));
  for (int i = 0; i < expected->count; ++i) {
    LEAT_RETURN_IF_ERROR(check_shape(expected, i, received->shapes[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_element_spec_check(const leat_element_spec_t* expected,
                                      const leat_element_spec_t* received) {
  LEAT_RETURN_IF_ERROR(leat_element_spec_check_types(expected, received));
  return leat_element_spec_check_shapes(expected, received);
}

leat_status_t leat_element_spec_check_element(const leat_element_spec_t* expected,
                                              const leat_tensor_t* tensors, int count) {
  LEAT_RETURN_IF_ERROR(check_count(expected->count, count, "types"));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(check_type(expected, i, tensors[i].dtype));
  }
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(check_shape(expected, i, leat_partial_shape_of(&tensors[i].shape)));
  }
  return leat_ok_status();
}

// Gives what holds for both shapes: a size where they agree, and no rank where the ranks differ.
// |dims| is the memory of the result's sizes.
static leat_partial_shape_t common_shape(leat_partial_shape_t a, leat_partial_shape_t b,
                                         int64_t* dims) {
  if (a.rank < 0 || a.rank != b.rank) return leat_partial_shape_unknown();
  for (int i = 0; i < a.rank; ++i) {
    dims[i] = a.dims[i] == b.dims[i] ? a.dims[i] : LEAT_DIM_UNKNOWN;
  }
  return (leat_partial_shape_t){a.rank, dims};
}

leat_status_t leat_element_spec_common(const leat_element_spec_t* a, const leat_element_spec_t* b,
                                       leat_element_spec_t** out_spec) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(leat_element_spec_check_types(a, b));
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(a->count, out_spec));
  for (int i = 0; i < a->count; ++i) {
    leat_status_t status = leat_element_spec_set(*out_spec, i, a->types[i],
                                                 common_shape(a->shapes[i], b->shapes[i], dims));
    if (!status) continue;
    leat_element_spec_release(*out_spec);
    return status;
  }
  return leat_ok_status();
}

// ---- As a kernel's state ------------------------------------------------------------------------

leat_status_t leat_element_spec_state_create(leat_kernel_creation_t* c, void* state) {
  leat_element_spec_state_t* kept = state;
  return leat_element_spec_of_attrs(c, "output_types", &kept->spec);
}

void leat_element_spec_state_destroy(void* state) {
  leat_element_spec_release(((leat_element_spec_state_t*)state)->spec);
}
