// CPU kernels of StringJoin, ReduceJoin and UnsortedSegmentJoin.
//
//   StringJoin           N tensors of one shape (or scalars) -> each element the N strings, joined
//   ReduceJoin           one tensor, dimensions -> the strings along these dimensions, joined
//   UnsortedSegmentJoin  one tensor, ids -> the strings of each id, joined
//
// ReduceJoin does not transpose: it computes where each string lies. An output element fixes the
// dimensions that are kept; a second counter runs over those that are joined. The dimension that is
// named first runs fastest. A string is built in a buffer that is reused for the next one.
#include "base/sort.h"
#include "kernel/step_check.h"
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

// ---- By segment ---------------------------------------------------------------------------------

// A tensor of strings, seen as rows that have a segment each.
typedef struct segments_s {
  const leat_tensor_t* ids;
  int64_t count;      // of segments
  int64_t row_count;  // ids, each of which names the segment of a row
  int64_t row_size;   // strings
} segments_t;

static leat_status_t read_segments(const leat_kernel_context_t* c, segments_t* segments) {
  const leat_shape_t *inputs = &leat_kernel_input(c, 0)->shape,
                     *ids = &leat_kernel_input(c, 1)->shape;
  segments->ids = leat_kernel_input(c, 1);
  segments->count = leat_tensor_index_at(leat_kernel_input(c, 2), 0);
  if (segments->count < 0) {
    return leat_kernel_invalid(c, "Number of segments must be non-negative but got %lld",
                               (long long)segments->count);
  }
  if (ids->rank == 0) return leat_kernel_invalid(c, "Segment_id cannot have rank 0");
  if (ids->rank > inputs->rank) {
    return leat_kernel_error(c, LEAT_OUT_OF_RANGE,
                             "Invalid segment_id rank %d for input with %d dimension(s)",
                             ids->rank, inputs->rank);
  }
  for (int d = 0; d < ids->rank; ++d) {
    if (leat_shape_dim(ids, d) == leat_shape_dim(inputs, d)) continue;
    return leat_kernel_invalid(c, "segment_ids and inputs have shapes %s and %s, must agree in "
                               "dimension %d", LEAT_SHAPE_TEXT(ids), LEAT_SHAPE_TEXT(inputs), d);
  }
  segments->row_count = ids->element_count;
  segments->row_size = leat_shape_product(inputs, ids->rank, inputs->rank);
  for (int64_t i = 0; i < segments->row_count; ++i) {
    const int64_t id = leat_tensor_index_at(segments->ids, i);
    if (id >= 0 && id < segments->count) continue;
    return leat_kernel_invalid(c, "segment_ids are not allowed to exceed num_segments or to have "
                               "negative values");
  }
  return leat_ok_status();
}

static bool is_before(const void* context, const void* a, const void* b) {
  const leat_tensor_t* ids = context;
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  const int64_t first = leat_tensor_index_at(ids, x), second = leat_tensor_index_at(ids, y);
  return first != second ? first < second : x < y;
}

// Joins the rows |order| [count], which are of one segment, into the output's row |segment|. As in
// TensorFlow, no separator follows the empty strings with which a text may begin.
static leat_status_t join_rows(const leat_kernel_context_t* c, const segments_t* segments,
                               int64_t segment, const int64_t* order, int64_t count,
                               leat_tensor_t* output, leat_string_builder_t* text) {
  const leat_string_view_t separator = separator_of(leat_kernel_state(c));
  for (int64_t k = 0; k < segments->row_size; ++k) {
    for (int64_t i = 0; i < count; ++i) {
      if (text->size > 0) leat_string_builder_append(text, separator);
      leat_string_builder_append(
          text, leat_tensor_string_at(leat_kernel_input(c, 0), order[i] * segments->row_size + k));
    }
    LEAT_RETURN_IF_ERROR(put(output, segment * segments->row_size + k, text));
  }
  return leat_ok_status();
}

// Joins segment by segment. Segments without rows keep the empty strings of a new tensor.
static leat_status_t join_segments(const leat_kernel_context_t* c, const segments_t* segments,
                                   int64_t* order, leat_tensor_t* output) {
  leat_string_builder_t text;
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < segments->row_count; ++i) order[i] = i;
  leat_sort(order, (size_t)segments->row_count, sizeof *order, is_before, segments->ids);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int64_t begin = 0, end; begin < segments->row_count && !status; begin = end) {
    const int64_t segment = leat_tensor_index_at(segments->ids, order[begin]);
    for (end = begin + 1; end < segments->row_count; ++end) {
      if (leat_tensor_index_at(segments->ids, order[end]) != segment) break;
    }
    status = leat_step_check(c->services, begin % 1024 == 0);
    if (!status) {
      status = join_rows(c, segments, segment, order + begin, end - begin, output, &text);
    }
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t segment_join__cpu(leat_kernel_context_t* c) {
  segments_t segments = {0};
  leat_tensor_t *output, order;
  LEAT_RETURN_IF_ERROR(read_segments(c, &segments));
  const leat_shape_t* inputs = &leat_kernel_input(c, 0)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  dims[rank++] = segments.count;
  for (int d = segments.ids->shape.rank; d < inputs->rank; ++d) {
    dims[rank++] = leat_shape_dim(inputs, d);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, rank, dims, &output));
  const leat_shape_t rows = leat_shape_vector(segments.row_count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &rows, &order));
  leat_status_t status = join_segments(c, &segments, order.data, output);
  leat_tensor_release(&order);
  return status;
}

#define KERNEL(op_name, function)                                                        \
  LEAT_CPU_KERNEL(op_name, NULL, join_t, join_create, function, .destroy = join_destroy)

const leat_kernel_row_t leat_join_kernels_cpu[] = {
    KERNEL("StringJoin", string_join__cpu),
    KERNEL("ReduceJoin", reduce_join__cpu),
    KERNEL("UnsortedSegmentJoin", segment_join__cpu),
    LEAT_KERNEL_ROWS_END,
};
