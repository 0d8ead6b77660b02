// Reads the attributes of the uniform convolutions and measures their outputs.
//
// The order of dimensions is a protocol buffer of nine fields in a string attribute: for lhs, rhs
// and the output in turn the batch, the feature and the spatial dimensions (of the kernel: input
// features, output features, spatial dimensions). An empty string stands for the order [batch,
// feature, spatial...] and a kernel [output features, input features, spatial...].
#include "ops/quantize/uniform_window.h"

#include "base/checked.h"
#include "formats/wire/wire.h"
#include "graph/graph.h"

#define INVALID(...) leat_make_status(LEAT_INVALID_ARGUMENT, __VA_ARGS__)

// ---- The order of dimensions --------------------------------------------------------------------

// A list of spatial dimensions that is being read.
typedef struct spatial_s {
  int count;
  int dims[LEAT_UNIFORM_MAX_SPATIAL];
} spatial_t;

// Numbers beyond any rank become -1, which no rank allows.
static int dim_of(uint64_t number) {
  return number < LEAT_UNIFORM_MAX_RANK ? (int)number : -1;
}

static bool append(spatial_t* list, uint64_t number) {
  if (list->count == LEAT_UNIFORM_MAX_SPATIAL) return false;
  list->dims[list->count++] = dim_of(number);
  return true;
}

// Reads the value of one field into |single| (NULL: the field is a list) or |list|. NULL where the
// bytes are malformed.
static const uint8_t* read_field(const uint8_t* next, const uint8_t* end, uint32_t type,
                                 int* single, spatial_t* list) {
  uint64_t number;
  leat_string_view_t packed;
  if (type == LEAT_WIRE_VARINT) {
    next = leat_wire_read_varint(next, end, &number);
    if (!next) return NULL;
    if (single) *single = dim_of(number);
    return single || append(list, number) ? next : NULL;
  }
  next = type == LEAT_WIRE_LENGTH ? leat_wire_read_bytes(next, end, &packed) : NULL;
  if (!next || single) return NULL;
  const uint8_t* item = (const uint8_t*)packed.data;
  for (const uint8_t* stop = item + packed.size; item < stop;) {
    item = leat_wire_read_varint(item, stop, &number);
    if (!item || !append(list, number)) return NULL;
  }
  return next;
}

// Takes |list| as the spatial dimensions of |dims|, and checks that all of them are a permutation.
static leat_status_t take_spatial(const spatial_t* list, int rank, leat_uniform_dims_t* dims) {
  if (list->count != rank - 2) {
    return INVALID("Spatial dimensions size must be rank - 2. Given rank %d and spatial dimensions "
                   "size %d", rank, list->count);
  }
  uint32_t seen = 0;
  for (int i = 0; i < rank; ++i) {
    const int dim = i == 0 ? dims->batch : i == 1 ? dims->feature : list->dims[i - 2];
    if (dim < 0 || dim >= rank || seen >> dim & 1) {
      return INVALID("dimension_numbers are no permutation of the %d dimensions", rank);
    }
    seen |= 1u << dim;
    if (i >= 2) dims->spatial[i - 2] = dim;
  }
  return leat_ok_status();
}

// Reads the message |bytes| into the batch and feature dimensions of |w| and into |lists|.
static leat_status_t read_order(leat_string_view_t bytes, leat_uniform_window_t* w,
                                spatial_t lists[3]) {
  // The fields 1 to 9, in threes; the third of each is a list.
  int* const singles[] = {&w->lhs.batch,    &w->lhs.feature,    NULL,
                          &w->rhs.feature,  &w->rhs.batch,      NULL,
                          &w->output.batch, &w->output.feature, NULL};
  for (int i = 0; i < 9; ++i) {
    if (singles[i]) *singles[i] = 0;
  }
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  while (next < end) {
    uint32_t number = 0, type = 0;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (next && number <= 9) {
      next = read_field(next, end, type, singles[number - 1], &lists[(number - 1) / 3]);
    } else if (next) {
      next = leat_wire_skip(next, end, number, type);
    }
    if (!next) return INVALID("Error parsing convolution dimension numbers.");
  }
  return leat_ok_status();
}

// ---- Attributes ---------------------------------------------------------------------------------

// The items of the list |name|, NULL for an empty one, which stands for ones. INVALID_ARGUMENT
// unless it has |count| positive items of 32 bits.
static leat_status_t read_list(const leat_attr_t* attrs, int attr_count, const char* name,
                               int count, const int64_t** out_items) {
  const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, leat_string_view_from(name));
  *out_items = NULL;
  if (!value || value->count == 0) return leat_ok_status();
  if ((int)value->count != count) return INVALID("Size of %s Attr must be dims - 2.", name);
  for (int i = 0; i < count; ++i) {
    if (value->ints[i] >= 1 && value->ints[i] <= INT32_MAX) continue;
    return INVALID("All elements of %s must be >= 1. Given %lld", name, (long long)value->ints[i]);
  }
  *out_items = value->ints;
  return leat_ok_status();
}

static leat_status_t read_group_count(const leat_attr_t* attrs, int attr_count, const char* name,
                                      int64_t* out_count) {
  const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, leat_string_view_from(name));
  *out_count = value ? value->i : 1;
  if (*out_count >= 1) return leat_ok_status();
  return INVALID("%s must be a positive integer, given: %lld", name, (long long)*out_count);
}

static leat_status_t read_padding(const leat_attr_t* attrs, int attr_count,
                                  leat_uniform_window_t* w) {
  const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, LEAT_SV("padding"));
  const leat_attr_value_t* list = leat_attr_find(attrs, attr_count, LEAT_SV("explicit_padding"));
  const leat_string_view_t name = value ? value->s : LEAT_SV("");
  const int count = list ? (int)list->count : 0;
  if (leat_string_view_equals(name, "EXPLICIT")) {
    w->padding = LEAT_UNIFORM_EXPLICIT;
  } else if (leat_string_view_equals(name, "SAME")) {
    w->padding = LEAT_UNIFORM_SAME;
  } else if (leat_string_view_equals(name, "VALID")) {
    w->padding = LEAT_UNIFORM_VALID;
  } else {
    return INVALID("padding Attr must be one of [EXPLICIT | SAME | VALID], but given: %.*s",
                   LEAT_SV_ARG(name));
  }
  if (count != (w->padding == LEAT_UNIFORM_EXPLICIT ? 2 * w->spatial : 0)) {
    return INVALID("explicit_padding has %d values, must have 2 * (rank - 2) when padding is "
                   "EXPLICIT, else none", count);
  }
  for (int i = 0; i < count; ++i) {
    const int64_t size = list->ints[i];
    if (size != (int32_t)size) return INVALID("explicit_padding is too large");
    *(i % 2 ? &w->axes[i / 2].after : &w->axes[i / 2].before) = size;
  }
  return leat_ok_status();
}

// The number of spatial dimensions that the lists among the attributes have, or of |order|; 0 where
// all are empty.
static int implied_spatial(const leat_attr_t* attrs, int attr_count, const spatial_t* order) {
  static const char* const names[] = {"window_strides", "lhs_dilation", "rhs_dilation"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) {
    const leat_attr_value_t* list =
        leat_attr_find(attrs, attr_count, leat_string_view_from(names[i]));
    if (list && list->count > 0) return (int)LEAT_MIN(list->count, LEAT_UNIFORM_MAX_RANK);
  }
  const leat_attr_value_t* paddings =
      leat_attr_find(attrs, attr_count, LEAT_SV("explicit_padding"));
  if (order->count > 0 || !paddings) return order->count;
  return (int)LEAT_MIN(paddings->count / 2, LEAT_UNIFORM_MAX_RANK);
}

leat_status_t leat_uniform_window_read(const leat_attr_t* attrs, int attr_count,
                                       leat_uniform_window_t* out_window) {
  leat_uniform_window_t* w = out_window;
  *w = (leat_uniform_window_t){
      .lhs = {0, 1, {0}}, .rhs = {0, 1, {0}}, .output = {0, 1, {0}}};
  const leat_attr_value_t* order = leat_attr_find(attrs, attr_count, LEAT_SV("dimension_numbers"));
  const bool has_order = order && order->s.size > 0;
  spatial_t lists[3] = {{0}};
  if (has_order) LEAT_RETURN_IF_ERROR(read_order(order->s, w, lists));
  w->spatial = implied_spatial(attrs, attr_count, &lists[0]);
  w->is_any_rank = w->spatial == 0 && !has_order;
  if (w->is_any_rank) w->spatial = LEAT_UNIFORM_MAX_SPATIAL;
  if (w->spatial < 1 || w->spatial > LEAT_UNIFORM_MAX_SPATIAL) {
    return INVALID("attributes are for %d spatial dimensions, must be for 1 to %d", w->spatial,
                   LEAT_UNIFORM_MAX_SPATIAL);
  }
  const int64_t *strides, *lhs, *rhs;
  LEAT_RETURN_IF_ERROR(read_list(attrs, attr_count, "window_strides", w->spatial, &strides));
  LEAT_RETURN_IF_ERROR(read_list(attrs, attr_count, "lhs_dilation", w->spatial, &lhs));
  LEAT_RETURN_IF_ERROR(read_list(attrs, attr_count, "rhs_dilation", w->spatial, &rhs));
  for (int i = 0; i < w->spatial; ++i) {
    w->axes[i] = (leat_uniform_axis_t){.stride = strides ? strides[i] : 1,
                                       .lhs_dilation = lhs ? lhs[i] : 1,
                                       .rhs_dilation = rhs ? rhs[i] : 1};
    w->lhs.spatial[i] = w->rhs.spatial[i] = w->output.spatial[i] = i + 2;
  }
  LEAT_RETURN_IF_ERROR(
      read_group_count(attrs, attr_count, "feature_group_count", &w->feature_groups));
  LEAT_RETURN_IF_ERROR(read_group_count(attrs, attr_count, "batch_group_count", &w->batch_groups));
  LEAT_RETURN_IF_ERROR(read_padding(attrs, attr_count, w));
  if (!has_order) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(take_spatial(&lists[0], w->spatial + 2, &w->lhs));
  LEAT_RETURN_IF_ERROR(take_spatial(&lists[1], w->spatial + 2, &w->rhs));
  return take_spatial(&lists[2], w->spatial + 2, &w->output);
}

leat_status_t leat_uniform_window_fit(leat_uniform_window_t* w, int rank) {
  if (rank < 3 || rank > LEAT_UNIFORM_MAX_RANK) {
    return INVALID("lhs and rhs have rank %d, must be in [3, %d]", rank, LEAT_UNIFORM_MAX_RANK);
  }
  if (!w->is_any_rank && rank != w->spatial + 2) {
    return INVALID("lhs and rhs have rank %d, must have the %d of the attributes", rank,
                   w->spatial + 2);
  }
  w->spatial = rank - 2;
  return leat_ok_status();
}

// ---- Sizes --------------------------------------------------------------------------------------

// The size of |size| positions that are |dilation| apart.
static bool dilate(int64_t size, int64_t dilation, int64_t* out_size) {
  *out_size = 0;
  if (size == 0) return true;
  return leat_checked_multiply(size - 1, dilation, out_size) &&
         leat_checked_add(*out_size, 1, out_size);
}

// Counts the windows along one dimension and sets its padding.
static leat_status_t measure_axis(leat_uniform_axis_t* axis, leat_uniform_padding_t padding,
                                  int64_t lhs, int64_t rhs, int64_t* out_count) {
  *out_count = LEAT_DIM_UNKNOWN;
  if (lhs == LEAT_DIM_UNKNOWN || rhs == LEAT_DIM_UNKNOWN) return leat_ok_status();
  int64_t input, reach, padded;
  if (rhs == 0) return INVALID("rhs has a spatial size of 0, must be positive");
  if (!dilate(lhs, axis->lhs_dilation, &input) || !dilate(rhs, axis->rhs_dilation, &reach) ||
      input > INT64_MAX / 4 || reach > INT64_MAX / 4) {
    return INVALID("sizes of lhs and rhs are %lld and %lld, which is too large to be dilated",
                   (long long)lhs, (long long)rhs);
  }
  if (padding == LEAT_UNIFORM_SAME) {
    *out_count = (input + axis->stride - 1) / axis->stride;
    const int64_t total = LEAT_MAX((*out_count - 1) * axis->stride + reach - input, 0);
    axis->before = total / 2;
    axis->after = total - total / 2;
    return leat_ok_status();
  }
  padded = input + axis->before + axis->after;
  if (padded < reach) {
    return INVALID("the padded size of lhs is %lld, must be at least that of rhs, %lld",
                   (long long)padded, (long long)reach);
  }
  *out_count = (padded - reach) / axis->stride + 1;
  return leat_ok_status();
}

// Checks the groups, as far as the sizes are known.
static leat_status_t check_groups(const leat_uniform_window_t* w, int64_t batch, int64_t features,
                                  int64_t rhs_in, int64_t rhs_out) {
  const long long groups = w->feature_groups, batch_groups = w->batch_groups;
  if (features != LEAT_DIM_UNKNOWN && rhs_in != LEAT_DIM_UNKNOWN &&
      (features % groups != 0 || features / groups != rhs_in)) {
    return INVALID("lhs feature dimension size divided by feature_group_count must equal the rhs "
                   "input feature dimension size, but %lld / %lld != %lld", (long long)features,
                   groups, (long long)rhs_in);
  }
  if (rhs_out != LEAT_DIM_UNKNOWN && (rhs_out % groups != 0 || rhs_out % batch_groups != 0)) {
    return INVALID("rhs output dimension size is %lld, must be a multiple of feature_group_count "
                   "%lld and batch_group_count %lld", (long long)rhs_out, groups, batch_groups);
  }
  if (batch != LEAT_DIM_UNKNOWN && batch % batch_groups != 0) {
    return INVALID("batch_group_count must divide lhs batch dimension size, but %lld does not "
                   "divide %lld", batch_groups, (long long)batch);
  }
  return leat_ok_status();
}

leat_status_t leat_uniform_window_measure(leat_uniform_window_t* w, const int64_t* lhs,
                                          const int64_t* rhs, int64_t* out_dims) {
  const int64_t batch = lhs[w->lhs.batch], features = rhs[w->rhs.batch];
  LEAT_RETURN_IF_ERROR(
      check_groups(w, batch, lhs[w->lhs.feature], rhs[w->rhs.feature], features));
  out_dims[w->output.batch] = batch == LEAT_DIM_UNKNOWN ? batch : batch / w->batch_groups;
  out_dims[w->output.feature] = features;
  for (int i = 0; i < w->spatial; ++i) {
    LEAT_RETURN_IF_ERROR(measure_axis(&w->axes[i], w->padding, lhs[w->lhs.spatial[i]],
                                      rhs[w->rhs.spatial[i]], &out_dims[w->output.spatial[i]]));
  }
  return leat_ok_status();
}
