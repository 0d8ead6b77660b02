// CPU kernels of hashes of strings. The StringToHashBucket ops turn texts into numbers of a fixed
// range, for embedding tables without a vocabulary. Fingerprint gives eight bytes for each row of a
// tensor.
//
//   "cat" ─▶ hash ─▶ modulo num_buckets ─▶ the row of an embedding table
//
// The hash functions (base/fingerprint.h) are those of TensorFlow, since the rows of a trained
// table belong to hashes. "Fast" is its 64-bit fingerprint. "Strong" is a hash under a secret key,
// so that nobody can choose texts that collide. The op without an adjective uses its older
// fingerprint. _TensorToHashBucketFast, which TensorFlow puts in the place of an AsString and a
// "Fast", takes integers and hashes their decimal digits.
#include <string.h>

#include "base/fingerprint.h"
#include "ops/kernel_rows.h"

// ---- Buckets ------------------------------------------------------------------------------------

typedef struct buckets_s {
  uint64_t count;
  uint64_t key[2];
} buckets_t;

static leat_status_t buckets_create(leat_kernel_creation_t* c, void* state) {
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_buckets", &count));
  ((buckets_t*)state)->count = (uint64_t)count;
  return leat_ok_status();
}

static leat_status_t keyed_create(leat_kernel_creation_t* c, void* state) {
  const int64_t* key;
  int size;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "key", &key, &size));
  if (size != 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Key must have 2 elements");
  }
  memcpy(((buckets_t*)state)->key, key, sizeof ((buckets_t*)state)->key);
  return buckets_create(c, state);
}

typedef uint64_t (*hash_fn_t)(const buckets_t* buckets, leat_string_view_t text);

static uint64_t hash_fast(const buckets_t* buckets, leat_string_view_t text) {
  return leat_fingerprint64(text);
}
static uint64_t hash_strong(const buckets_t* buckets, leat_string_view_t text) {
  return leat_fingerprint_keyed(buckets->key, text);
}
static uint64_t hash_old(const buckets_t* buckets, leat_string_view_t text) {
  return leat_fingerprint_murmur(text);
}

// Sets each output element to hash(text) mod the number of buckets.
static leat_status_t find_buckets(leat_kernel_context_t* c, hash_fn_t hash) {
  const buckets_t* buckets = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    uint64_t bucket = hash(buckets, leat_tensor_string_at(input, i)) % buckets->count;
    leat_tensor_data(output, int64_t)[i] = (int64_t)bucket;
  }
  return leat_ok_status();
}

static leat_status_t fast__cpu(leat_kernel_context_t* c) { return find_buckets(c, hash_fast); }
static leat_status_t strong__cpu(leat_kernel_context_t* c) { return find_buckets(c, hash_strong); }
static leat_status_t old__cpu(leat_kernel_context_t* c) { return find_buckets(c, hash_old); }

// Writes |number|, with a sign if |is_negative|, in decimal digits to the end of |buffer|.
static leat_string_view_t print_decimal(uint64_t number, bool is_negative, char buffer[21]) {
  char* at = buffer + 21;
  if (is_negative) number = 0 - number;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  if (is_negative) *--at = '-';
  return leat_string_view_make(at, (size_t)(buffer + 21 - at));
}

// The elements of an integer tensor, widened; those below 0 keep their bits.
static uint64_t integer_at(const leat_tensor_t* tensor, int64_t i) {
  switch (tensor->dtype) {
#define INTEGER(NAME, type) \
  case LEAT_DTYPE_##NAME: return (uint64_t)leat_tensor_data(tensor, const type)[i]
    INTEGER(INT8, int8_t);
    INTEGER(UINT8, uint8_t);
    INTEGER(INT16, int16_t);
    INTEGER(UINT16, uint16_t);
    INTEGER(INT32, int32_t);
    INTEGER(UINT32, uint32_t);
    default: return leat_tensor_data(tensor, const uint64_t)[i];
#undef INTEGER
  }
}

static leat_status_t integer__cpu(leat_kernel_context_t* c) {
  const buckets_t* buckets = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const bool is_signed = leat_dtype_in(input->dtype, LEAT_DTYPES_SIGNED);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    char buffer[21];
    const uint64_t number = integer_at(input, i);
    const leat_string_view_t text =
        print_decimal(number, is_signed && number > INT64_MAX, buffer);
    leat_tensor_data(output, int64_t)[i] = (int64_t)(hash_fast(buckets, text) % buckets->count);
  }
  return leat_ok_status();
}

// ---- Fingerprints of rows -----------------------------------------------------------------------

// The fingerprint of a row of |count| strings: of one string it is the string's, of several that of
// their fingerprints, one after the other.
static leat_status_t strings_fingerprint(const leat_tensor_t* data, int64_t begin, int64_t count,
                                         leat_string_builder_t* scratch, uint64_t* out_print) {
  *out_print = leat_fingerprint64(leat_tensor_string_at(data, begin));
  if (count == 1) return leat_ok_status();
  scratch->size = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t one = leat_fingerprint64(leat_tensor_string_at(data, begin + i));
    leat_string_builder_append(scratch, leat_string_view_make((const char*)&one, sizeof one));
  }
  *out_print = leat_fingerprint64(leat_string_builder_view(scratch));
  return leat_status_clone(scratch->status);
}

// Writes the fingerprint of each row; a row that is not of strings is hashed as bytes.
static leat_status_t fill_fingerprints(const leat_tensor_t* data, int64_t rows, char* to) {
  int64_t width = rows ? data->shape.element_count / rows : 0;
  size_t bytes = (size_t)width * leat_dtype_size(data->dtype);
  leat_string_builder_t scratch;
  leat_status_t status = leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &scratch);
  for (int64_t i = 0; i < rows && !status; ++i) {
    uint64_t print;
    if (data->dtype == LEAT_DTYPE_STRING && width) {
      status = strings_fingerprint(data, i * width, width, &scratch, &print);
    } else {
      const char* row = bytes ? (const char*)data->data + (size_t)i * bytes : "";
      print = leat_fingerprint64(leat_string_view_make(row, bytes));
    }
    memcpy(to + i * (int64_t)sizeof print, &print, sizeof print);
  }
  leat_string_builder_deinitialize(&scratch);
  return status;
}

static leat_status_t fingerprint__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *data = leat_kernel_input(c, 0), *method = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  if (!leat_string_view_equals(leat_tensor_string_at(method, 0), "farmhash64")) {
    return leat_kernel_invalid(c, "Unsupported fingerprint method: %.*s",
                               LEAT_SV_ARG(leat_tensor_string_at(method, 0)));
  }
  if (leat_dtype_in(data->dtype, LEAT_DTYPES_OBJECT) && data->dtype != LEAT_DTYPE_STRING) {
    return leat_kernel_invalid(c, "Data type not supported: %s", leat_dtype_name(data->dtype));
  }
  int64_t rows = leat_shape_dim(&data->shape, 0);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, (const int64_t[]){rows, 8}, &output));
  return fill_fingerprints(data, rows, output->data);
}

#define INTEGERS "T: int8, uint8, int16, uint16, int32, uint32, int64, uint64"
#define BUCKETS(op_name, create_fn, compute_fn)                    \
  LEAT_CPU_KERNEL(op_name, NULL, buckets_t, create_fn, compute_fn)

const leat_kernel_row_t leat_hash_kernels_cpu[] = {
    BUCKETS("StringToHashBucketFast", buckets_create, fast__cpu),
    BUCKETS("StringToHashBucketStrong", keyed_create, strong__cpu),
    BUCKETS("StringToHashBucket", buckets_create, old__cpu),
    LEAT_CPU_KERNEL("_TensorToHashBucketFast", INTEGERS, buckets_t, buckets_create, integer__cpu),
    {.op = "Fingerprint", .device_type = "CPU", .compute = fingerprint__cpu},
    LEAT_KERNEL_ROWS_END,
};
