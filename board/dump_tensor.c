// Files come from anywhere, so what a header claims is held against the bytes that there are before
// anything is computed with it. The elements are gone through twice, for their extremes and sums,
// and for the buckets between the extremes and the squares of the distances from the mean; as
// double, which rounds integers above 2^53. Texts, handles and variants have a type and a shape,
// and nothing is counted.
//
// numpy's header is a Python dict whose three keys are searched for, since numpy always writes them
// in one form. In which order the elements stand does not matter here.
#include "board/dump_tensor.h"

#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/file_system.h"
#include "formats/generated/event.h"
#include "formats/wire/decode.h"
#include "formats/wire/tensor_content.h"
#include "tensor/dtype.h"

#define SUMMARY_NUMBERS 14  // of a DebugNumericSummary, before the sizes

// ---- Names --------------------------------------------------------------------------------------

// Cuts "_<digits>" off the end of |inout_text|; false where it has none.
static bool take_number(leat_string_view_t* inout_text, int64_t* out_number) {
  size_t at = inout_text->size;
  while (at && inout_text->data[at - 1] >= '0' && inout_text->data[at - 1] <= '9') --at;
  const leat_string_view_t digits = leat_string_view_from_index(*inout_text, at);
  if (at < 2 || !digits.size || inout_text->data[at - 1] != '_') return false;
  if (!leat_string_view_to_int64(digits, out_number)) return false;
  inout_text->size = at - 1;
  return true;
}

// Cuts "_<op>" off.
static bool take_op(leat_string_view_t* inout_text, leat_string_view_t op) {
  const size_t size = inout_text->size;
  if (size < op.size + 2 || !leat_string_view_ends_with(*inout_text, op) ||
      inout_text->data[size - op.size - 1] != '_') {
    return false;
  }
  inout_text->size -= op.size + 1;
  return true;
}

bool board_dump_parse_name(leat_string_view_t path, board_dump_name_t* out_name) {
  *out_name = (board_dump_name_t){0};
  if (leat_string_view_ends_with(path, LEAT_SV(".npy"))) {
    path.size -= 4;
  } else {
    if (!take_number(&path, &out_name->time_us)) return false;
    out_name->is_summary = take_op(&path, LEAT_SV("DebugNumericSummary"));
    if (!out_name->is_summary && !take_op(&path, LEAT_SV("DebugIdentity"))) return false;
  }
  if (!take_number(&path, &out_name->slot)) return false;
  out_name->node = path;
  return true;
}

// ---- Elements -----------------------------------------------------------------------------------

static leat_status_t invalid(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Reading a dump failed: %s", what);
}

static double of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                 : exponent     ? ldexp(1 + fraction / 1024, exponent - 15)
                                : ldexp(fraction / 1024, -14);
  return bits >> 15 ? -value : value;
}

static double of_bfloat16(uint16_t bits) {
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return (double)value;
}

// Element |index|, which need not be aligned. Of a complex number it is the magnitude.
static double number_at(int dtype, const char* data, uint64_t index) {
#define AS(type)                                            \
  {                                                         \
    type value;                                             \
    memcpy(&value, data + index * sizeof value, sizeof value); \
    return (double)value;                                   \
  }
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: AS(float)
    case LEAT_DTYPE_DOUBLE: AS(double)
    case LEAT_DTYPE_INT8: AS(int8_t)
    case LEAT_DTYPE_INT16: AS(int16_t)
    case LEAT_DTYPE_INT32: AS(int32_t)
    case LEAT_DTYPE_INT64: AS(int64_t)
    case LEAT_DTYPE_BOOL:
    case LEAT_DTYPE_UINT8: AS(uint8_t)
    case LEAT_DTYPE_UINT16: AS(uint16_t)
    case LEAT_DTYPE_UINT32: AS(uint32_t)
    case LEAT_DTYPE_UINT64: AS(uint64_t)
    default: break;
  }
#undef AS
  uint16_t bits = 0;
  float parts[2] = {0};
  double wide[2] = {0};
  if (dtype == LEAT_DTYPE_COMPLEX64) {
    memcpy(parts, data + index * sizeof parts, sizeof parts);
    return hypot((double)parts[0], (double)parts[1]);
  }
  if (dtype == LEAT_DTYPE_COMPLEX128) {
    memcpy(wide, data + index * sizeof wide, sizeof wide);
    return hypot(wide[0], wide[1]);
  }
  memcpy(&bits, data + index * sizeof bits, sizeof bits);
  return dtype == LEAT_DTYPE_HALF ? of_half(bits) : of_bfloat16(bits);
}

static bool is_number(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT:
    case LEAT_DTYPE_DOUBLE:
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16:
    case LEAT_DTYPE_INT8:
    case LEAT_DTYPE_INT16:
    case LEAT_DTYPE_INT32:
    case LEAT_DTYPE_INT64:
    case LEAT_DTYPE_BOOL:
    case LEAT_DTYPE_UINT8:
    case LEAT_DTYPE_UINT16:
    case LEAT_DTYPE_UINT32:
    case LEAT_DTYPE_UINT64:
    case LEAT_DTYPE_COMPLEX64:
    case LEAT_DTYPE_COMPLEX128: return true;
    default: return false;
  }
}

static size_t bucket_of(const board_dump_tensor_t* t, double value) {
  // Halves, so that the range of huge numbers is no infinity.
  const double range = t->most / 2 - t->least / 2;
  const double share = range > 0 ? (value / 2 - t->least / 2) / range : 0;
  return LEAT_MIN((size_t)(share * BOARD_DUMP_BUCKETS), BOARD_DUMP_BUCKETS - 1);
}

static void count_elements(const char* data, board_dump_tensor_t* t) {
  uint64_t finite = 0;
  double squares = 0;
  for (uint64_t i = 0; i < t->count; ++i) {
    const double value = number_at(t->dtype, data, i);
    t->nan += isnan(value);
    t->positive_infinity += value == INFINITY;
    t->negative_infinity += value == -INFINITY;
    if (!isfinite(value)) continue;
    t->least = finite ? LEAT_MIN(t->least, value) : value;
    t->most = finite ? LEAT_MAX(t->most, value) : value;
    ++finite;
    t->mean += (value - t->mean) / (double)finite;  // a sum of huge numbers would be infinite
  }
  for (uint64_t i = 0; i < t->count; ++i) {
    const double value = number_at(t->dtype, data, i);
    if (!isfinite(value)) continue;
    ++t->buckets[bucket_of(t, value)];
    squares += (value - t->mean) * (value - t->mean);
  }
  t->deviation = finite ? sqrt(squares / (double)finite) : 0;
  t->is_counted = true;
  t->has_buckets = finite > 0;
}

// ---- numpy --------------------------------------------------------------------------------------

// What follows "'<key>':" in the header, or NULL.
static const char* find_key(const char* header, const char* key) {
  const char* at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  return at + strspn(at, " ");
}

// The type that numpy calls "<f4"; 0 for a type that is not counted.
static int dtype_of(const char* name) {
  static const struct {
    const char* name;
    int dtype;
  } kTypes[] = {{"<f4", LEAT_DTYPE_FLOAT},      {"<f8", LEAT_DTYPE_DOUBLE},
                {"<f2", LEAT_DTYPE_HALF},       {"|i1", LEAT_DTYPE_INT8},
                {"<i2", LEAT_DTYPE_INT16},      {"<i4", LEAT_DTYPE_INT32},
                {"<i8", LEAT_DTYPE_INT64},      {"|u1", LEAT_DTYPE_UINT8},
                {"<u2", LEAT_DTYPE_UINT16},     {"<u4", LEAT_DTYPE_UINT32},
                {"<u8", LEAT_DTYPE_UINT64},     {"|b1", LEAT_DTYPE_BOOL},
                {"<c8", LEAT_DTYPE_COMPLEX64},  {"<c16", LEAT_DTYPE_COMPLEX128},
                {"|S", LEAT_DTYPE_STRING}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    if (!strncmp(name, kTypes[i].name, strlen(kTypes[i].name))) return kTypes[i].dtype;
  }
  return 0;
}

static leat_status_t parse_shape(const char* at, board_dump_tensor_t* t) {
  t->count = 1;
  if (*at++ != '(') return invalid("its shape has no bracket");
  for (;;) {
    at += strspn(at, " ,");
    if (*at == ')') return leat_ok_status();
    char* end;
    const long long size = strtoll(at, &end, 10);
    if (end == at || size < 0) return invalid("its shape is none");
    if (t->rank < BOARD_DUMP_RANK) t->dims[t->rank] = size;
    ++t->rank;
    if (__builtin_mul_overflow(t->count, (uint64_t)size, &t->count)) {
      return invalid("its shape is too large");
    }
    at = end;
  }
}

// |bytes| ends with a NUL, as the whole file does.
static leat_status_t read_npy(leat_string_view_t bytes, board_dump_tensor_t* t) {
  const unsigned char* data = (const unsigned char*)bytes.data;
  const size_t prefix = bytes.size > 6 && data[6] > 1 ? 12 : 10;
  if (bytes.size < prefix || memcmp(data, "\x93NUMPY", 6)) return invalid("it is no .npy file");
  size_t size = (size_t)data[8] | (size_t)data[9] << 8;
  if (prefix == 12) size |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
  if (size > bytes.size - prefix) return invalid("its header ends behind the file");
  char header[1024];
  if (size >= sizeof header) return invalid("its header is too long");
  memcpy(header, data + prefix, size);
  header[size] = 0;
  const char* type = find_key(header, "'descr':");
  const char* shape = find_key(header, "'shape':");
  if (!type || *type != '\'' || !shape) return invalid("its header has no type or no shape");
  t->dtype = dtype_of(type + 1);
  LEAT_RETURN_IF_ERROR(parse_shape(shape, t));
  const uint64_t rest = bytes.size - prefix - size;
  if (!is_number(t->dtype)) return leat_ok_status();
  if (t->count > rest / leat_dtype_size(t->dtype)) return invalid("it has too few elements");
  count_elements(bytes.data + prefix + size, t);
  return leat_ok_status();
}

// ---- TensorFlow's debugger ----------------------------------------------------------------------

// [is initialized, count, NaN, low, negative, zero, positive, high, least, most, mean, variance,
// type, rank, sizes...], where without bounds the low and high ones are the infinities.
static leat_status_t read_summary(const leat_tensor_t* tensor, board_dump_tensor_t* t) {
  const int64_t count = tensor->shape.element_count;
  if (tensor->dtype != LEAT_DTYPE_DOUBLE || count < SUMMARY_NUMBERS) {
    return invalid("its numeric summary has another type or length");
  }
  const double* n = leat_tensor_data(tensor, const double);
  for (int i = 0; i < SUMMARY_NUMBERS; ++i) {
    const bool may_be_any = i >= 8 && i < 12;
    if (!may_be_any && !(n[i] >= 0 && n[i] < 9e15)) return invalid("its numeric summary is none");
  }
  t->count = (uint64_t)n[1];
  t->nan = (uint64_t)n[2];
  t->negative_infinity = (uint64_t)n[3];
  t->positive_infinity = (uint64_t)n[7];
  t->is_counted = n[0] > 0;
  if (isfinite(n[8]) && isfinite(n[9])) {
    t->least = n[8];
    t->most = n[9];
    t->mean = isfinite(n[10]) ? n[10] : 0;
    t->deviation = n[11] >= 0 && isfinite(n[11]) ? sqrt(n[11]) : 0;
  }
  t->dtype = (int)LEAT_MIN(n[12], 1000);
  t->rank = (int)LEAT_MIN(n[13], (double)(count - SUMMARY_NUMBERS));
  for (int d = 0; d < t->rank && d < BOARD_DUMP_RANK; ++d) {
    const double size = n[SUMMARY_NUMBERS + d];
    t->dims[d] = size >= 0 && size < 9e15 ? (int64_t)size : 0;
  }
  return leat_ok_status();
}

// A message may stand for many elements by one value, and so claim any size.
static leat_status_t check_size(const leat_pb_tensor_proto_t* proto) {
  uint64_t count = 1;
  for (size_t d = 0; proto->tensor_shape && d < proto->tensor_shape->dim.count; ++d) {
    const int64_t size = proto->tensor_shape->dim.items[d].size;
    if (size < 0 || __builtin_mul_overflow(count, (uint64_t)size, &count) ||
        count > BOARD_DUMP_BYTES / 8) {
      return invalid("it has more than 2^26 elements");
    }
  }
  return leat_ok_status();
}

static leat_status_t read_tensor(const leat_pb_tensor_proto_t* proto, bool is_summary,
                                 leat_arena_t* arena, board_dump_tensor_t* t) {
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(check_size(proto));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_from_content(proto, arena, leat_buffer_source_host(), &tensor));
  leat_status_t status = leat_ok_status();
  if (is_summary) {
    status = read_summary(&tensor, t);
  } else {
    t->dtype = tensor.dtype;
    t->rank = tensor.shape.rank;
    t->count = (uint64_t)tensor.shape.element_count;
    for (int d = 0; d < t->rank && d < BOARD_DUMP_RANK; ++d) {
      t->dims[d] = leat_shape_dim(&tensor.shape, d);
    }
    if (is_number(t->dtype)) count_elements(leat_tensor_data(&tensor, const char), t);
  }
  leat_tensor_release(&tensor);
  return status;
}

static leat_status_t read_event(leat_string_view_t bytes, bool is_summary,
                                board_dump_tensor_t* t) {
  leat_decode_limits_t limits = {0};
  leat_pb_event_t event;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_event_descriptor, bytes, &arena, &limits, &event);
  const bool has_tensor = !status && event.summary && event.summary->value.count &&
                          event.summary->value.items[0].tensor;
  if (!status) {
    status = has_tensor ? read_tensor(event.summary->value.items[0].tensor, is_summary, &arena, t)
                        : invalid("its event has no tensor");
  }
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t board_dump_read(const char* path, const board_dump_name_t* name,
                              board_dump_tensor_t* out_tensor) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_file_stat_t stat;
  size_t size;
  char* data;
  *out_tensor = (board_dump_tensor_t){0};
  LEAT_RETURN_IF_ERROR(fs->vtable->stat(fs, path, &stat));
  if (stat.size_bytes > (int64_t)BOARD_DUMP_BYTES) return invalid("it has more than 512 MiB");
  LEAT_RETURN_IF_ERROR(leat_file_read_all(fs, path, leat_allocator_system(), &data, &size));
  const leat_string_view_t bytes = leat_string_view_make(data, size);
  const bool is_event = name->time_us || name->is_summary;
  leat_status_t status = is_event ? read_event(bytes, name->is_summary, out_tensor)
                                  : read_npy(bytes, out_tensor);
  leat_allocator_free(leat_allocator_system(), data);
  return status;
}
