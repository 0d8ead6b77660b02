// CPU kernels of StringJoin and ReduceJoin.
//
//   StringJoin  N tensors of one shape (or scalars) -> each element the N strings, joined
//   ReduceJoin  one tensor, dimensions -> the strings along these dimensions, joined
//
// ReduceJoin does not transpose: it computes where each string lies. An output element fixes the
// dimensions that are kept; a second counter runs over those that are joined. The dimension that is
// named first runs fastest. A string is built in a buffer that is reused for the next one.
#include "ops/kernel_rows.h"

typedef struct join_s {
  bool keep_dims;
  char* separator;
  size_t separator_size;
} join_t;

static leat_status_t join_create(leat_kernel_creation_t* c, void* state) {
  join_t* join = state;
  leat_string_view_t separator;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "separator", &separator));
  if (leat_op_find_attr(c->kernel->op, LEAT_SV("keep_dims")) >= 0) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "keep_dims", &join->keep_dims));
  }
  join->separator_size = separator.size;
  return leat_allocator_clone_string(leat_allocator_system(), separator.data, separator.size,
                                     &join->separator);
}

static void join_destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), ((join_t*)state)->separator);
}

static leat_string_view_t separator_of(const join_t* join) {
  return leat_string_view_make(join->separator, join->separator_size);
}

// Sets an element of the output to what |text| holds, and empties |text|.
static leat_status_t put(leat_tensor_t* output, int64_t index, leat_string_builder_t* text) {
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_set_string(output, index, leat_string_builder_view(text)));
  text->size = 0;
  return leat_ok_status();
}

// ---- Element by element -------------------------------------------------------------------------

// Gives the shape of the inputs that are not scalars.
static leat_status_t common_shape(const leat_kernel_context_t* c, leat_shape_t* out_shape) {
  *out_shape = leat_shape_scalar();
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank == 0) continue;
    if (out_shape->rank == 0) {
      *out_shape = *shape;  // borrowed from the input
    } else if (!leat_shape_equal(out_shape, shape)) {
      return leat_kernel_invalid(c, "inputs have shapes %s and %s, must have one or be scalars",
                                 LEAT_SHAPE_TEXT(out_shape), LEAT_SHAPE_TEXT(shape));
    }
  }
  return leat_ok_status();
}

static leat_status_t join_elements(const leat_kernel_context_t* c, leat_tensor_t* output,
                                   leat_string_builder_t* text) {
  leat_string_view_t separator = separator_of(leat_kernel_state(c));
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    for (int k = 0; k < leat_kernel_input_count(c); ++k) {
      const leat_tensor_t* input = leat_kernel_input(c, k);
      if (k > 0) leat_string_builder_append(text, separator);
      leat_string_builder_append(text, leat_tensor_string_at(input, input->shape.rank ? i : 0));
    }
    LEAT_RETURN_IF_ERROR(put(output, i, text));
  }
  return leat_ok_status();
}

static leat_status_t string_join__cpu(leat_kernel_context_t* c) {
  leat_shape_t shape;
  leat_tensor_t* output;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(common_shape(c, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = join_elements(c, output, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

// ---- Along dimensions ---------------------------------------------------------------------------

// A counter over some dimensions of a shape, the last of which runs fastest. |strides| are in
// elements of the whole tensor.
typedef struct walk_s {
  int rank;
  int64_t sizes[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_SHAPE_MAX_RANK];
  int64_t count;
} walk_t;

static void walk_add(walk_t* walk, const leat_shape_t* shape, int dim) {
  walk->sizes[walk->rank] = leat_shape_dim(shape, dim);
  walk->strides[walk->rank] = leat_shape_product(shape, dim + 1, shape->rank);
  walk->count *= walk->sizes[walk->rank++];
}

// The element of the whole tensor at step |index| of the walk.
static int64_t walk_at(const walk_t* walk, int64_t index) {
  int64_t element = 0;
  for (int d = walk->rank; d-- > 0;) {
    element += index % walk->sizes[d] * walk->strides[d];
    index /= walk->sizes[d];
  }
  return element;
}

typedef struct reduction_s {
  walk_t kept, joined;
  int rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK];  // the output's shape
} reduction_t;

// Divides the dimensions of the input into those that are joined and those that are kept.
static leat_status_t plan(const leat_kernel_context_t* c, reduction_t* r) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const leat_tensor_t* axes = leat_kernel_input(c, 1);
  const join_t* join = leat_kernel_state(c);
  bool is_joined[LEAT_SHAPE_MAX_RANK] = {false};
  r->kept.count = r->joined.count = 1;
  for (int64_t i = axes->shape.element_count; i-- > 0;) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (axis < -shape->rank || axis >= shape->rank) {
      return leat_kernel_error(c, LEAT_OUT_OF_RANGE,
                               "Invalid reduction dimension %lld for input with %d dimension(s)",
                               (long long)axis, shape->rank);
    }
    if (axis < 0) axis += shape->rank;
    if (is_joined[axis]) {
      return leat_kernel_invalid(c, "Duplicate reduction dimension %lld", (long long)axis);
    }
    is_joined[axis] = true;
    walk_add(&r->joined, shape, (int)axis);
  }
  for (int d = 0; d < shape->rank; ++d) {
    if (!is_joined[d]) {
      r->dims[r->rank++] = leat_shape_dim(shape, d);
      walk_add(&r->kept, shape, d);
    } else if (join->keep_dims) {
      r->dims[r->rank++] = 1;
    }
  }
  return leat_ok_status();
}

static leat_status_t join_dimensions(const leat_kernel_context_t* c, const reduction_t* r,
                                     leat_tensor_t* output, leat_string_builder_t* text) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_string_view_t separator = separator_of(leat_kernel_state(c));
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    int64_t first = walk_at(&r->kept, i);
    for (int64_t k = 0; k < r->joined.count; ++k) {
      if (k > 0) leat_string_builder_append(text, separator);
      leat_string_builder_append(text,
                                 leat_tensor_string_at(input, first + walk_at(&r->joined, k)));
    }
    LEAT_RETURN_IF_ERROR(put(output, i, text));
  }
  return leat_ok_status();
}

static leat_status_t reduce_join__cpu(leat_kernel_context_t* c) {
  reduction_t r = {0};
  leat_tensor_t* output;
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(plan(c, &r));
  leat_status_t status = leat_kernel_allocate_sized(c, 0, r.rank, r.dims, &output);
  LEAT_RETURN_IF_ERROR(status);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  status = join_dimensions(c, &r, output, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

#define KERNEL(op_name, function)                                                        \
  LEAT_CPU_KERNEL(op_name, NULL, join_t, join_create, function, .destroy = join_destroy)

const leat_kernel_row_t leat_join_kernels_cpu[] = {
    KERNEL("StringJoin", string_join__cpu),
    KERNEL("ReduceJoin", reduce_join__cpu),
    LEAT_KERNEL_ROWS_END,
};
