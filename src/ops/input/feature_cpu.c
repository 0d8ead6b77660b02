// Reads Feature messages field by field from the protocol-buffer wire format, without decoding them
// into structs. A Feature is one of
//
//     BytesList bytes_list = 1    FloatList float_list = 2    Int64List int64_list = 3
//
// and each list has its values in field 1. A list of numbers may be packed (all values in one
// field), unpacked (a field for each value), or a mixture of both; all three are read. Counting and
// copying are two passes over the same bytes: the count checks them completely, so that the copy
// writes exactly as many values as were counted.
#include "ops/input/feature_cpu.h"

#include <string.h>

#include "formats/wire/wire.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

bool leat_field_next(leat_string_view_t* rest, uint32_t* out_number,
                     leat_string_view_t* out_bytes) {
  const uint8_t *next = (const uint8_t*)rest->data, *end = next + rest->size;
  *out_number = 0;
  while (next && next < end) {
    uint32_t number, type;
    size_t size;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (!next) return false;
    if (type != LEAT_WIRE_LENGTH) {
      next = leat_wire_skip(next, end, number, type);
      continue;
    }
    next = leat_wire_read_length(next, end, &size);
    if (!next) return false;
    *out_number = number;
    *out_bytes = leat_string_view_make((const char*)next, size);
    *rest = leat_string_view_make((const char*)next + size, (size_t)(end - next) - size);
    return true;
  }
  *rest = (leat_string_view_t){0};
  return next == end;
}

bool leat_feature_read(leat_string_view_t bytes, leat_feature_t* out_feature) {
  static const int kTypes[] = {0, LEAT_DTYPE_STRING, LEAT_DTYPE_FLOAT, LEAT_DTYPE_INT64};
  const uint8_t *next = (const uint8_t*)bytes.data, *end = next + bytes.size;
  uint32_t number, type;
  size_t size;
  *out_feature = (leat_feature_t){0};
  if (bytes.size == 0) return true;
  next = leat_wire_read_tag(next, end, &number, &type);
  if (!next || type != LEAT_WIRE_LENGTH || number > 3) return false;
  next = leat_wire_read_length(next, end, &size);
  if (!next) return false;
  out_feature->dtype = kTypes[number];
  out_feature->list = leat_string_view_make((const char*)next, size);
  return true;
}

// ---- Counting -----------------------------------------------------------------------------------

// Every byte of a varint but its last one has the top bit set.
static int64_t count_varints(const uint8_t* bytes, size_t size) {
  int64_t count = 0;
  for (size_t i = 0; i < size; ++i) count += bytes[i] < 0x80;
  return count;
}

// Counts the values in one occurrence of field 1, whose tag of wire type |type| ends at |next|.
// Returns where the occurrence ends, or NULL where it is malformed.
static const uint8_t* count_field(int dtype, const uint8_t* next, const uint8_t* end,
                                  uint32_t type, int64_t* count) {
  uint64_t value;
  size_t size;
  if (type == LEAT_WIRE_LENGTH) {
    next = leat_wire_read_length(next, end, &size);
    if (!next) return NULL;
    if (dtype == LEAT_DTYPE_STRING) {
      ++*count;
    } else if (dtype == LEAT_DTYPE_FLOAT) {
      if (size % sizeof(float)) return NULL;
      *count += (int64_t)(size / sizeof(float));
    } else {
      if (size && next[size - 1] >= 0x80) return NULL;
      *count += count_varints(next, size);
    }
    return next + size;
  }
  ++*count;
  if (dtype == LEAT_DTYPE_FLOAT && type == LEAT_WIRE_FIXED32) {
    return end - next >= 4 ? next + 4 : NULL;
  }
  if (dtype == LEAT_DTYPE_INT64 && type == LEAT_WIRE_VARINT) {
    return leat_wire_read_varint(next, end, &value);
  }
  return NULL;
}

bool leat_feature_count(const leat_feature_t* feature, int64_t* out_count) {
  const uint8_t *next = (const uint8_t*)feature->list.data, *end = next + feature->list.size;
  *out_count = 0;
  while (next && next < end) {
    uint32_t number, type;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (!next || number != 1) return false;
    next = count_field(feature->dtype, next, end, type, out_count);
  }
  return next == end;
}

// ---- Copying ------------------------------------------------------------------------------------

static leat_status_t malformed(void) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Can't parse serialized Example.");
}

static leat_status_t copy_strings(const leat_feature_t* feature, TF_TString* to) {
  leat_string_view_t rest = feature->list, bytes;
  uint32_t number;
  while (leat_field_next(&rest, &number, &bytes) && number) {
    LEAT_RETURN_IF_ERROR(leat_object_set_string(to++, bytes));
  }
  return leat_ok_status();
}

static const uint8_t* copy_varints(const uint8_t* next, const uint8_t* end, int64_t** to) {
  int64_t* out = *to;
  while (next && next < end) {
    uint64_t value;
    next = leat_wire_read_varint(next, end, &value);
    *out++ = (int64_t)value;
  }
  *to = out;
  return next;
}

static leat_status_t copy_int64s(const leat_feature_t* feature, int64_t* to) {
  const uint8_t *next = (const uint8_t*)feature->list.data, *end = next + feature->list.size;
  while (next && next < end) {
    uint32_t number, type;
    uint64_t value;
    size_t size;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (next && type == LEAT_WIRE_LENGTH) {
      next = leat_wire_read_length(next, end, &size);
      if (next) next = copy_varints(next, next + size, &to);
    } else if (next) {
      next = leat_wire_read_varint(next, end, &value);
      *to++ = (int64_t)value;
    }
  }
  return next ? leat_ok_status() : malformed();
}

static leat_status_t copy_floats(const leat_feature_t* feature, float* to) {
  const uint8_t *next = (const uint8_t*)feature->list.data, *end = next + feature->list.size;
  while (next && next < end) {
    uint32_t number, type;
    // A value that is not packed is its four bytes; |size| is then as set above.
    size_t size = sizeof *to;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (next && type == LEAT_WIRE_LENGTH) next = leat_wire_read_length(next, end, &size);
    if (!next) break;
    memcpy(to, next, size);
    next += size;
    to += size / sizeof *to;
  }
  return next ? leat_ok_status() : malformed();
}

leat_status_t leat_feature_copy(const leat_feature_t* feature, void* out_values) {
  if (feature->list.size == 0) return leat_ok_status();
  switch (feature->dtype) {
    case LEAT_DTYPE_STRING: return copy_strings(feature, out_values);
    case LEAT_DTYPE_FLOAT: return copy_floats(feature, out_values);
    default: return copy_int64s(feature, out_values);
  }
}
