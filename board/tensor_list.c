// A TensorProto keeps its elements as bytes (tensor_content) or in the list of its type. In a list
// that is too short, the last value is that of all elements that are left out. Every number becomes
// a double here, which is what JSON can say; integers beyond 2^53 lose their last digits. The
// api_*.c call this for the values that they have just read, hence the limits: what a file claims
// is not yet what it has.
#include "board/tensor_list.h"

#include "board/event_value.h"
#include "board/json_writer.h"
#include "formats/generated/types.h"

#define ELEMENT_LIMIT ((size_t)1 << 20)

static leat_status_t invalid(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Reading a value failed: %s", what);
}

static leat_status_t read_dims(const leat_pb_tensor_proto_t* tensor, board_tensor_list_t* list) {
  size_t places = 1;  // as the count, but a size of 0 does not hide the others
  list->count = 1;
  if (!tensor->tensor_shape) return leat_ok_status();
  if (tensor->tensor_shape->dim.count > BOARD_MAX_RANK) return invalid("its rank is above 8");
  for (size_t i = 0; i < tensor->tensor_shape->dim.count; ++i) {
    int64_t size = tensor->tensor_shape->dim.items[i].size;
    if (size < 0 || size > (int64_t)ELEMENT_LIMIT) return invalid("a size is out of range");
    list->dims[list->rank++] = (uint32_t)size;
    list->count *= (size_t)size;
    places *= size ? (size_t)size : 1;
    if (places > ELEMENT_LIMIT) return invalid("it has more than 2^20 elements");
  }
  return leat_ok_status();
}

static leat_status_t read_texts(const leat_pb_tensor_proto_t* tensor, leat_arena_t* arena,
                                board_tensor_list_t* list) {
  size_t given = tensor->string_val.count;
  if (tensor->tensor_content.size) return invalid("its texts are packed");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, list->count + 1, &list->texts));
  for (size_t i = 0; i < list->count; ++i) {
    if (given) list->texts[i] = tensor->string_val.items[i < given ? i : given - 1];
    if (!list->texts[i].data) list->texts[i] = leat_string_view_make("", 0);
  }
  return leat_ok_status();
}

// Takes numbers one by one through the reader of scalars, which knows every type: each is put into
// a TensorProto of its own bytes.
static leat_status_t read_content(const leat_pb_tensor_proto_t* tensor, board_tensor_list_t* list) {
  size_t item_bytes = list->count ? tensor->tensor_content.size / list->count : 0;
  if (!item_bytes || item_bytes > 8 || item_bytes * list->count != tensor->tensor_content.size) {
    return invalid("its bytes do not fit its shape");
  }
  for (size_t i = 0; i < list->count; ++i) {
    // dtype (1, varint), tensor_content (4, length)
    char message[16] = {0x08, (char)tensor->dtype, 0x22, (char)item_bytes};
    uint64_t elements;
    uint32_t dtype;
    memcpy(message + 4, tensor->tensor_content.data + i * item_bytes, item_bytes);
    if (!board_scalar_read(leat_string_view_make(message, 4 + item_bytes), &elements, &dtype,
                           &list->numbers[i])) {
      return invalid("its type is no number");
    }
  }
  return leat_ok_status();
}

// The |index|-th number of the list of the type; |*out_count| is the list's length.
static double listed(const leat_pb_tensor_proto_t* t, size_t index, size_t* out_count) {
#define LISTED(list) \
  (*out_count = t->list.count, index < t->list.count ? (double)t->list.items[index] : 0)
  switch (t->dtype) {
    case LEAT_PB_DATA_TYPE_DT_FLOAT: return LISTED(float_val);
    case LEAT_PB_DATA_TYPE_DT_DOUBLE: return LISTED(double_val);
    case LEAT_PB_DATA_TYPE_DT_INT64: return LISTED(int64_val);
    case LEAT_PB_DATA_TYPE_DT_UINT32: return LISTED(uint32_val);
    case LEAT_PB_DATA_TYPE_DT_UINT64: return LISTED(uint64_val);
    case LEAT_PB_DATA_TYPE_DT_BOOL: return LISTED(bool_val);
    default: return LISTED(int_val);
  }
#undef LISTED
}

static leat_status_t read_numbers(const leat_pb_tensor_proto_t* tensor, leat_arena_t* arena,
                                  board_tensor_list_t* list) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, list->count + 1, &list->numbers));
  list->kind = board_number_kind((uint32_t)tensor->dtype);
  if (tensor->dtype < 1 || tensor->dtype > 23) return invalid("its type is no number");
  if (tensor->tensor_content.size) return read_content(tensor, list);
  if (tensor->half_val.count) return invalid("it has halves in a list");
  for (size_t i = 0; i < list->count; ++i) {
    size_t given;
    list->numbers[i] = listed(tensor, i, &given);
    if (i >= given && given) list->numbers[i] = list->numbers[given - 1];
  }
  return leat_ok_status();
}

leat_status_t board_tensor_list_read(const leat_pb_tensor_proto_t* tensor, leat_arena_t* arena,
                                     board_tensor_list_t* out_list) {
  *out_list = (board_tensor_list_t){0};
  if (!tensor) return invalid("it has no tensor");
  LEAT_RETURN_IF_ERROR(read_dims(tensor, out_list));
  return tensor->dtype == LEAT_PB_DATA_TYPE_DT_STRING ? read_texts(tensor, arena, out_list)
                                                      : read_numbers(tensor, arena, out_list);
}

// |number| in single precision. It goes through memory, because GCC 12 makes one vector of two such
// numbers side by side and forgets to round them (with -fno-trapping-math).
static double to_single(double number) {
  volatile float rounded = (float)number;
  return rounded;
}

// The buckets of an older histogram from the first that holds something to the last, with the
// smallest and largest value as outer edges, in single precision: so does TensorBoard show them.
static leat_status_t read_older(const leat_pb_histogram_proto_t* histogram, leat_arena_t* arena,
                                board_tensor_list_t* list) {
  size_t begin = 0, end = histogram->bucket.count;
  while (begin < end && !(histogram->bucket.items[begin] > 0)) ++begin;
  while (end > begin && !(histogram->bucket.items[end - 1] > 0)) --end;
  if (end > histogram->bucket_limit.count) return invalid("a histogram lacks edges");
  list->rank = 2;
  list->dims[0] = (uint32_t)(end - begin);
  list->dims[1] = 3;
  list->count = (end - begin) * 3;
  list->kind = BOARD_NUMBER_FLOAT;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, list->count + 1, &list->numbers));
  double left = histogram->min;
  for (size_t i = begin; i < end; ++i) {
    double right = i + 1 < end ? histogram->bucket_limit.items[i] : histogram->max;
    double* row = list->numbers + (i - begin) * 3;
    row[0] = to_single(left);
    row[1] = to_single(right);
    row[2] = to_single(histogram->bucket.items[i]);
    left = right;
  }
  return leat_ok_status();
}

leat_status_t board_tensor_list_of_histogram(const leat_pb_summary_value_t* value,
                                             leat_arena_t* arena, board_tensor_list_t* out_list) {
  *out_list = (board_tensor_list_t){0};
  if (value->histo) return read_older(value->histo, arena, out_list);
  LEAT_RETURN_IF_ERROR(board_tensor_list_read(value->tensor, arena, out_list));
  if (out_list->texts) return invalid("a histogram is made of texts");
  return leat_ok_status();
}

// Appends the numbers from |*next| on that the dimensions from |dim| on have.
static void print_level(const board_tensor_list_t* list, uint32_t dim, size_t* next,
                        leat_string_builder_t* out) {
  if (dim == list->rank) {
    double number = list->numbers[(*next)++];
    board_json_number(out, list->kind, number);
    return;
  }
  leat_string_builder_append_char(out, '[');
  for (uint32_t i = 0; i < list->dims[dim]; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_level(list, dim + 1, next, out);
  }
  leat_string_builder_append_char(out, ']');
}

void board_tensor_list_print(const board_tensor_list_t* list, leat_string_builder_t* out) {
  size_t next = 0;
  print_level(list, 0, &next, out);
}
