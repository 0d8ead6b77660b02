// CPU kernels of EncodeBase64 and DecodeBase64: bytes as text of 64 characters, in the alphabet
// that is safe in file names and URLs (RFC 4648, section 5): A-Z, a-z, 0-9, '-' and '_'.
//
// Three bytes become four characters. The last group may be shorter, one byte two characters and
// two bytes three; with |pad| it is filled up with '='. Decoding takes both.
#include "base/checked.h"
#include "ops/kernel_rows.h"

static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// ---- To text ------------------------------------------------------------------------------------

static void encode(leat_string_view_t bytes, bool pad, leat_string_builder_t* text) {
  for (size_t i = 0; i < bytes.size; i += 3) {
    size_t count = LEAT_MIN(bytes.size - i, (size_t)3);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? (unsigned char)bytes.data[i + k] : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      if (k <= count) leat_string_builder_append_char(text, kDigits[group >> (18 - 6 * k) & 63]);
      if (k > count && pad) leat_string_builder_append_char(text, '=');
    }
  }
}

// ---- To bytes -----------------------------------------------------------------------------------

static int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '-' ? 62 : c == '_' ? 63 : -1;
}

// Appends the bytes; gives what is wrong with the text, or NULL.
static const char* decode(leat_string_view_t text, leat_string_builder_t* bytes) {
  size_t size = text.size;
  if (size % 4 == 0) {
    for (int i = 0; i < 2 && size > 0 && text.data[size - 1] == '='; ++i) --size;
  }
  if (size % 4 == 1) return "Base64 string length cannot be 1 modulo 4.";
  for (size_t i = 0; i < size; i += 4) {
    size_t count = LEAT_MIN(size - i, (size_t)4);
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      int value = k < count ? value_of(text.data[i + k]) : 0;
      if (value < 0) return "Invalid character found in base64.";
      group = group << 6 | (uint32_t)value;
    }
    for (size_t k = 0; k + 1 < count; ++k) {
      leat_string_builder_append_char(bytes, (char)(group >> (16 - 8 * k)));
    }
  }
  return NULL;
}

// ---- Kernels ------------------------------------------------------------------------------------

typedef struct base64_s {
  bool pad;
} base64_t;

static leat_status_t encode_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "pad", &((base64_t*)state)->pad);
}

static leat_status_t convert_all(leat_kernel_context_t* c, bool to_text,
                                 leat_string_builder_t* made) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_string_view_t item = leat_tensor_string_at(input, i);
    const char* wrong = NULL;
    if (to_text) {
      encode(item, ((const base64_t*)leat_kernel_state(c))->pad, made);
    } else {
      wrong = decode(item, made);
    }
    if (wrong) {
      return leat_kernel_invalid(c, "%s It is input[%lld]", wrong, (long long)i);
    }
    LEAT_RETURN_IF_ERROR(leat_status_clone(made->status));
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, i, leat_string_builder_view(made)));
    made->size = 0;
  }
  return leat_ok_status();
}

static leat_status_t convert(leat_kernel_context_t* c, bool to_text) {
  leat_string_builder_t made;
  leat_string_builder_initialize(leat_allocator_system(), &made);
  leat_status_t status = convert_all(c, to_text, &made);
  leat_string_builder_deinitialize(&made);
  return status;
}

static leat_status_t encode_base64__cpu(leat_kernel_context_t* c) { return convert(c, true); }
static leat_status_t decode_base64__cpu(leat_kernel_context_t* c) { return convert(c, false); }

const leat_kernel_row_t leat_base64_kernels_cpu[] = {
    LEAT_CPU_KERNEL("EncodeBase64", NULL, base64_t, encode_create, encode_base64__cpu),
    {.op = "DecodeBase64", .device_type = "CPU", .compute = decode_base64__cpu},
    LEAT_KERNEL_ROWS_END,
};
