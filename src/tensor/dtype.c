// Names and sizes of element types. All tables are expanded from LEAT_DTYPE_LIST (dtype.h), so a
// type that is added there has a size and its names here. Everything is answered for the reference
// twin of a type (number + 100) too. Unknown numbers get an answer as well, size 0 and the name
// "unknown", because numbers come from files and callers. Names are looked up by a walk over the
// table: it has 32 rows, most of which the first letter rules out.
#include "tensor/dtype.h"

static const uint8_t sizes[LEAT_DTYPE_COUNT] = {
#define SIZE_ROW(NAME, number, type, size, text) [number] = size,
    LEAT_DTYPE_LIST(SIZE_ROW)
#undef SIZE_ROW
};

static const char* const names[LEAT_DTYPE_COUNT] = {
#define NAME_ROW(NAME, number, type, size, text) [number] = text,
    LEAT_DTYPE_LIST(NAME_ROW)
#undef NAME_ROW
};

static const char* const ref_names[LEAT_DTYPE_COUNT] = {
#define REF_NAME_ROW(NAME, number, type, size, text) [number] = text "_ref",
    LEAT_DTYPE_LIST(REF_NAME_ROW)
#undef REF_NAME_ROW
};

// The enumerators' own names ("FLOAT"), for "DT_FLOAT".
static const char* const enum_names[LEAT_DTYPE_COUNT] = {
#define ENUM_NAME_ROW(NAME, number, type, size, text) [number] = #NAME,
    LEAT_DTYPE_LIST(ENUM_NAME_ROW)
#undef ENUM_NAME_ROW
};

bool leat_dtype_is_valid(int dtype) {
  int base = leat_dtype_base(dtype);
  return base > 0 && base < LEAT_DTYPE_COUNT;
}

size_t leat_dtype_size(int dtype) {
  int base = leat_dtype_base(dtype);
  return base > 0 && base < LEAT_DTYPE_COUNT ? sizes[base] : 0;
}

const char* leat_dtype_name(int dtype) {
  if (!leat_dtype_is_valid(dtype)) return "unknown";
  return (leat_dtype_is_ref(dtype) ? ref_names : names)[leat_dtype_base(dtype)];
}

// Removes |suffix| from the end of |*inout_name|; says whether it was there.
static bool strip_suffix(leat_string_view_t* inout_name, leat_string_view_t suffix) {
  if (!leat_string_view_ends_with(*inout_name, suffix)) return false;
  inout_name->size -= suffix.size;
  return true;
}

// NumPy's names where TensorFlow's differ.
static leat_dtype_t from_alias(leat_string_view_t name) {
  if (leat_string_view_equals(name, "float32")) return LEAT_DTYPE_FLOAT;
  if (leat_string_view_equals(name, "float64")) return LEAT_DTYPE_DOUBLE;
  if (leat_string_view_equals(name, "float16")) return LEAT_DTYPE_HALF;
  return LEAT_DTYPE_INVALID;
}

static leat_dtype_t from_table(leat_string_view_t name, const char* const* table) {
  for (int i = 1; i < LEAT_DTYPE_COUNT; ++i) {
    if (name.size > 0 && table[i][0] != name.data[0]) continue;  // most: costs no call
    if (leat_string_view_equals(name, table[i])) return (leat_dtype_t)i;
  }
  return LEAT_DTYPE_INVALID;
}

leat_dtype_t leat_dtype_from_name(leat_string_view_t name) {
  leat_dtype_t base = LEAT_DTYPE_INVALID;
  bool is_ref = false;
  if (leat_string_view_starts_with(name, LEAT_SV("DT_"))) {
    is_ref = strip_suffix(&name, LEAT_SV("_REF"));
    base = from_table(leat_string_view_from_index(name, 3), enum_names);
  } else {
    is_ref = strip_suffix(&name, LEAT_SV("_ref"));
    base = from_table(name, names);
    if (base == LEAT_DTYPE_INVALID) base = from_alias(name);
  }
  return base != LEAT_DTYPE_INVALID && is_ref ? leat_dtype_make_ref(base) : base;
}
