// CPU kernels of UnicodeTranscode, UnicodeDecode, UnicodeDecodeWithOffsets and UnicodeEncode.
//
// A reader (encoding_cpu.h) takes the characters one by one; what is not one is handled as the
// attributes say. Decoding goes over the texts twice: once to count the characters, since outputs
// are allocated whole, and once to write them. The name of the input's encoding is checked when the
// kernel is created, so that a name which nobody knows fails before the first step; the reader
// itself is made in each step, because it has a state that steps at once must not share.
#include "ops/array/index_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/string/encoding_cpu.h"

typedef enum handling_e { STRICT, REPLACE, IGNORE } handling_t;

typedef struct unicode_s {
  handling_t handling;
  bool replaces_controls;
  uint32_t replacement;
  leat_encoding_t output;
  char* input;  // the name of the input's encoding; NULL where characters are given
} unicode_t;

static leat_encoding_t output_encoding(leat_string_view_t name) {
  return leat_string_view_equals(name, "UTF-16-BE")   ? LEAT_ENCODING_UTF_16_BE
         : leat_string_view_equals(name, "UTF-32-BE") ? LEAT_ENCODING_UTF_32_BE
                                                      : LEAT_ENCODING_UTF_8;
}

static bool has_attr(const leat_kernel_creation_t* c, leat_string_view_t name) {
  return leat_op_find_attr(c->kernel->op, name) >= 0;
}

static leat_status_t create_input(leat_kernel_creation_t* c, unicode_t* u) {
  leat_string_view_t name;
  leat_character_reader_t reader;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "replace_control_characters",
                                             &u->replaces_controls));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "input_encoding", &name));
  LEAT_RETURN_IF_ERROR(leat_character_reader_initialize(name, &reader));
  leat_character_reader_deinitialize(&reader);
  return leat_allocator_clone_string(leat_allocator_system(), name.data, name.size, &u->input);
}

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  unicode_t* u = state;
  leat_string_view_t name;
  int64_t replacement;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "errors", &name));
  u->handling = leat_string_view_equals(name, "strict")   ? STRICT
                : leat_string_view_equals(name, "ignore") ? IGNORE
                                                          : REPLACE;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "replacement_char", &replacement));
  if (!leat_character_is_valid(replacement)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (%.*s): replacement_char is %lld, must "
                            "be a character: replacement_char out of unicode codepoint range",
                            LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                            (long long)replacement);
  }
  u->replacement = (uint32_t)replacement;
  if (has_attr(c, LEAT_SV("output_encoding"))) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "output_encoding", &name));
    u->output = output_encoding(name);
  }
  return has_attr(c, LEAT_SV("input_encoding")) ? create_input(c, u) : leat_ok_status();
}

static void destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), ((unicode_t*)state)->input);
}

// Takes the next character that counts: |out_begin| is where it begins. |out_found| is false at the
// end of the text.
static leat_status_t take(leat_kernel_context_t* c, leat_character_reader_t* reader,
                          bool* out_found, uint32_t* out_character, size_t* out_begin) {
  const unicode_t* u = leat_kernel_state(c);
  for (*out_found = false; leat_character_reader_has_next(reader);) {
    *out_begin = reader->at;
    bool is_good = leat_character_reader_next(reader, out_character);
    if (!is_good && u->handling == STRICT) {
      return leat_kernel_invalid(c, "Invalid formatting on input string");
    }
    bool is_handled = !is_good || (u->replaces_controls && *out_character <= 0x1F);
    if (is_handled && u->handling == IGNORE) continue;
    if (is_handled) *out_character = u->replacement;
    *out_found = true;
    break;
  }
  return leat_ok_status();
}

static leat_status_t open_reader(leat_kernel_context_t* c, leat_character_reader_t* out_reader) {
  const unicode_t* u = leat_kernel_state(c);
  return leat_character_reader_initialize(leat_string_view_from(u->input), out_reader);
}

// Sets an element of the output to what |text| holds, and empties |text|.
static leat_status_t put(leat_tensor_t* output, int64_t index, leat_string_builder_t* text) {
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, index, leat_string_builder_view(text)));
  text->size = 0;
  return leat_ok_status();
}

// ---- From one encoding to another ---------------------------------------------------------------

static leat_status_t transcode(leat_kernel_context_t* c, leat_character_reader_t* reader,
                               leat_tensor_t* output, leat_string_builder_t* text) {
  const unicode_t* u = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_character_reader_begin(reader, leat_tensor_string_at(input, i));
    for (;;) {
      bool found;
      uint32_t character;
      size_t begin;
      LEAT_RETURN_IF_ERROR(take(c, reader, &found, &character, &begin));
      if (!found) break;
      leat_character_append(u->output, character, text);
    }
    LEAT_RETURN_IF_ERROR(put(output, i, text));
  }
  return leat_ok_status();
}

static leat_status_t transcode__cpu(leat_kernel_context_t* c) {
  leat_character_reader_t reader;
  leat_string_builder_t text;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_output(c, 0, &leat_kernel_input(c, 0)->shape, &output));
  LEAT_RETURN_IF_ERROR(open_reader(c, &reader));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = transcode(c, &reader, output, &text);
  leat_string_builder_deinitialize(&text);
  leat_character_reader_deinitialize(&reader);
  return status;
}

// ---- To characters ------------------------------------------------------------------------------

// Where characters are written; those that are NULL are not.
typedef struct characters_s {
  leat_tensor_t *splits, *values, *starts;
} characters_t;

// Reads all texts and writes what |out| has room for; |out_total| is how many characters there are.
static leat_status_t decode(leat_kernel_context_t* c, leat_character_reader_t* reader,
                            const characters_t* out, int64_t* out_total) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int64_t total = 0;
  leat_index_write(out->splits, 0, 0);
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_character_reader_begin(reader, leat_tensor_string_at(input, i));
    for (;; ++total) {
      bool found;
      uint32_t character;
      size_t begin;
      LEAT_RETURN_IF_ERROR(take(c, reader, &found, &character, &begin));
      if (!found) break;
      if (out->values) leat_tensor_data(out->values, int32_t)[total] = (int32_t)character;
      if (out->starts) leat_tensor_data(out->starts, int64_t)[total] = (int64_t)begin;
    }
    leat_index_write(out->splits, i + 1, total);
  }
  *out_total = total;
  return leat_ok_status();
}

static leat_status_t decode_all(leat_kernel_context_t* c, leat_character_reader_t* reader,
                                bool with_starts) {
  characters_t out = {0};
  int64_t total;
  leat_shape_t rows = leat_shape_vector(leat_kernel_input(c, 0)->shape.element_count + 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &rows, &out.splits));
  LEAT_RETURN_IF_ERROR(decode(c, reader, &out, &total));
  leat_shape_t shape = leat_shape_vector(total);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &out.values));
  if (with_starts) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &shape, &out.starts));
  }
  return decode(c, reader, &out, &total);
}

static leat_status_t decode_texts(leat_kernel_context_t* c, bool with_starts) {
  leat_character_reader_t reader;
  LEAT_RETURN_IF_ERROR(open_reader(c, &reader));
  leat_status_t status = decode_all(c, &reader, with_starts);
  leat_character_reader_deinitialize(&reader);
  return status;
}

static leat_status_t decode__cpu(leat_kernel_context_t* c) { return decode_texts(c, false); }

static leat_status_t decode_with_offsets__cpu(leat_kernel_context_t* c) {
  return decode_texts(c, true);
}

// ---- From characters ----------------------------------------------------------------------------

// The splits must begin with 0, must not decrease and must end with the number of values.
static leat_status_t check_splits(leat_kernel_context_t* c, const leat_tensor_t* splits,
                                  int64_t count) {
  int64_t size = splits->shape.element_count, last = 0;
  if (size == 0) {
    return leat_kernel_invalid(c, "input_splits is empty, must have an element");
  }
  for (int64_t i = 0; i < size; ++i) {
    int64_t end = leat_tensor_index_at(splits, i);
    if (i == 0 && end != 0) {
      return leat_kernel_invalid(c, "First value in input_splits must be zero. It is %lld",
                                 (long long)end);
    }
    if (end < last || end > count) {
      return leat_kernel_invalid(c, "input_splits[%lld] is %lld, must be in [%lld, %lld]",
                                 (long long)i, (long long)end, (long long)last, (long long)count);
    }
    last = end;
  }
  if (last == count) return leat_ok_status();
  return leat_kernel_invalid(c, "Last value in input_splits must be equal to length of "
                             "input_tensor. It is %lld, not %lld", (long long)last,
                             (long long)count);
}

static leat_status_t encode(leat_kernel_context_t* c, leat_tensor_t* output,
                            leat_string_builder_t* text) {
  const unicode_t* u = leat_kernel_state(c);
  const leat_tensor_t *values = leat_kernel_input(c, 0), *splits = leat_kernel_input(c, 1);
  int64_t k = 0;
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    for (int64_t end = leat_tensor_index_at(splits, i + 1); k < end; ++k) {
      int32_t character = leat_tensor_data(values, int32_t)[k];
      bool is_good = leat_character_is_valid(character);
      if (!is_good && u->handling == STRICT) {
        return leat_kernel_invalid(c, "Code point is out of range for Unicode, or is a surrogate. "
                                   "input_values[%lld] is %d", (long long)k, character);
      }
      if (!is_good && u->handling == IGNORE) continue;
      leat_character_append(u->output, is_good ? (uint32_t)character : u->replacement, text);
    }
    LEAT_RETURN_IF_ERROR(put(output, i, text));
  }
  return leat_ok_status();
}

static leat_status_t encode__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *values = leat_kernel_input(c, 0), *splits = leat_kernel_input(c, 1);
  leat_string_builder_t text;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_splits(c, splits, values->shape.element_count));
  leat_shape_t shape = leat_shape_vector(splits->shape.element_count - 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = encode(c, output, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

#define KERNEL(op_name, types, function)   \
  {.op = op_name,                          \
   .device_type = "CPU",                   \
   .constraints = types,                   \
   .create = create,                       \
   .destroy = destroy,                     \
   .state_bytes = sizeof(unicode_t),       \
   .compute = function}

const leat_kernel_row_t leat_unicode_kernels_cpu[] = {
    KERNEL("UnicodeTranscode", NULL, transcode__cpu),
    KERNEL("UnicodeDecode", "Tsplits: int32, int64", decode__cpu),
    KERNEL("UnicodeDecodeWithOffsets", "Tsplits: int32, int64", decode_with_offsets__cpu),
    KERNEL("UnicodeEncode", "Tsplits: int32, int64", encode__cpu),
    LEAT_KERNEL_ROWS_END,
};
