// Every op that decodes bytes, with input or output longer than any buffer on its way: 64 KiB
// between a decompressor and what it reads, 256 KiB between a file and its reader. The lengths
// stand at and around these and their multiples, where a loop that stops one buffer too early, or
// takes a full buffer for the end, still says OK. What is expected is the pattern that went in,
// whose period is no divisor of a power of two, so that a buffer which is given twice shows. The
// files are written here, by hand where a format is simple enough (deflate's stored blocks, WAV,
// messages of protocol buffers, base64), so that no encoder of the code under test takes part, and
// two strings come from Python's zlib.
#include <string.h>

#include "base/string_builder.h"
#include "dataset/pipeline.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"

enum { kLongest = (1 << 20) + 3 };
static const size_t kSizes[] = {65535,  65536,  65537,  131071, 131072,  131073,
                                200000, 262143, 262144, 262145, kLongest};

// ---- What goes in -------------------------------------------------------------------------------

// |size| letters whose period divides no power of 2, so that a buffer given twice shows.
static leat_string_view_t pattern(size_t size) {
  static char letters[kLongest + 1];
  if (!letters[0]) {
    for (size_t i = 0; i < kLongest; ++i) letters[i] = (char)('a' + (i + i / 1009) % 23);
  }
  return leat_string_view_make(letters, size);
}

static void append_byte(leat_string_builder_t* b, unsigned byte) {
  leat_string_builder_append_char(b, (char)byte);
}
static void append_number(leat_string_builder_t* b, uint64_t value, int bytes, bool big_endian) {
  for (int i = 0; i < bytes; ++i) {
    append_byte(b, (unsigned)(value >> 8 * (big_endian ? bytes - 1 - i : i)) & 255);
  }
}

// RFC 1950 to 1952: a header, stored blocks of at most 65,535 bytes, a checksum.
static void append_stored(leat_string_builder_t* b, leat_string_view_t text, bool is_gzip) {
  uint32_t low = 1, high = 0, crc = UINT32_MAX;
  const char* header = is_gzip ? "\037\213\010\0\0\0\0\0\0\377" : "\170\001";
  leat_string_builder_append(b, leat_string_view_make(header, is_gzip ? 10 : 2));
  for (size_t at = 0; at < text.size;) {
    const size_t rest = text.size - at, size = rest < 65535 ? rest : 65535;
    append_byte(b, size == rest);
    append_number(b, size, 2, false);
    append_number(b, ~(uint64_t)size, 2, false);
    leat_string_builder_append(b, leat_string_view_make(text.data + at, size));
    at += size;
  }
  for (size_t i = 0; i < text.size; ++i) {
    low = (low + (unsigned char)text.data[i]) % 65521;
    high = (high + low) % 65521;
    crc ^= (unsigned char)text.data[i];
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  append_number(b, is_gzip ? ~crc : high << 16 | low, 4, !is_gzip);
  if (is_gzip) append_number(b, text.size, 4, false);
}

// Field |field| of a message, of kind bytes.
static void append_field(leat_string_builder_t* b, int field, leat_string_view_t bytes) {
  append_byte(b, (unsigned)field << 3 | 2);
  uint64_t size = bytes.size;
  for (; size >= 128; size >>= 7) append_byte(b, (unsigned)(size & 127) | 128);
  append_byte(b, (unsigned)size);
  leat_string_builder_append(b, bytes);
}

// ---- What comes out -----------------------------------------------------------------------------

static leat_output_t text(pipeline_t* p, leat_string_view_t value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(value, &tensor));
  leat_output_t output = leat_build_constant(&p->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

static void expect_text(pipeline_t* p, leat_output_t output, leat_string_view_t wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(p->b.status);
  LEAT_EXPECT_OK(pipeline_fetch(p, output, &value));
  leat_string_view_t got = leat_tensor_string_at(&value, 0);
  assert_int_equal(got.size, wanted.size);
  assert_memory_equal(got.data, wanted.data, wanted.size);
  leat_tensor_release(&value);
}

typedef void (*length_test_fn_t)(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t text);
static void for_each_length(length_test_fn_t test) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSizes); ++i) {
    pipeline_t p;
    leat_string_builder_t b;
    pipeline_open(&p);
    leat_string_builder_initialize(leat_allocator_system(), &b);
    test(&p, &b, pattern(kSizes[i]));
    leat_string_builder_deinitialize(&b);
    pipeline_close(&p);
  }
}

// ---- Compressed strings -------------------------------------------------------------------------

static leat_output_t decompressed(pipeline_t* p, leat_string_view_t bytes, const char* type) {
  return leat_build(&p->b, "DecodeCompressed", LEAT_INPUTS(text(p, bytes)),
                    LEAT_ATTRS(LEAT_STRING("compression_type", leat_string_view_from(type))));
}

static void decompress(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  append_stored(b, wanted, false);
  expect_text(p, decompressed(p, leat_string_builder_view(b), "ZLIB"), wanted);
  b->size = 0;
  append_stored(b, wanted, true);
  expect_text(p, decompressed(p, leat_string_builder_view(b), "GZIP"), wanted);
}

static void strings_are_decompressed_to_their_end(void** state) { for_each_length(decompress); }

// zlib.compress(b"0" * 70000, 9) and gzip.compress(b"0" * 70000, 9, mtime=0), written as a head,
// zero bytes and a tail.
static void what_python_compressed_is_decompressed(void** state) {
  static const struct {
    const char *type, *head, *tail;
    size_t head_size, zeros, tail_size;
  } kCases[] = {
      {"ZLIB",
       "\x78\xda\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\x4a\xeb\x9f\xce\x12\x9e\x40\x01",
       "\x6f\x03\x1c\x29\x47\xfe", 19, 67, 6},
      {"GZIP",
       "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\x4a\xeb\x9f"
       "\xce\x12\x9e\x40\x01",
       "\x6f\x03\x3e\x9e\xb3\x43\x70\x11\x01\x00", 27, 67, 10},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    pipeline_t p;
    leat_string_builder_t b;
    static char zeros[70000];
    pipeline_open(&p);
    leat_string_builder_initialize(leat_allocator_system(), &b);
    leat_string_builder_append(&b, leat_string_view_make(kCases[i].head, kCases[i].head_size));
    for (size_t k = 0; k < kCases[i].zeros; ++k) append_byte(&b, 0);
    leat_string_builder_append(&b, leat_string_view_make(kCases[i].tail, kCases[i].tail_size));
    memset(zeros, '0', sizeof zeros);
    expect_text(&p, decompressed(&p, leat_string_builder_view(&b), kCases[i].type),
                  leat_string_view_make(zeros, sizeof zeros));
    leat_string_builder_deinitialize(&b);
    pipeline_close(&p);
  }
}

// ---- Files --------------------------------------------------------------------------------------

static const char* const kTypes[] = {"", "ZLIB", "GZIP"};

// A file of |b|'s bytes, compressed as |type| says; its path. |b| is empty afterwards.
static leat_output_t write(pipeline_t* p, leat_string_builder_t* b, const char* type) {
  leat_string_builder_t file;
  leat_string_view_t bytes = leat_string_builder_view(b);
  leat_string_builder_initialize(leat_allocator_system(), &file);
  if (*type) append_stored(&file, bytes, !strcmp(type, "GZIP"));
  if (*type) bytes = leat_string_builder_view(&file);
  test_write_file("file", bytes.data, bytes.size);
  leat_string_builder_deinitialize(&file);
  b->size = 0;
  return pipeline_text(p, test_path("file"));
}

// The elements of |dataset|, which are short, long, short.
static void expect_three(pipeline_t* p, leat_output_t dataset, leat_string_view_t wanted) {
  static char text[kLongest + 1];
  memcpy(text, wanted.data, wanted.size);
  text[wanted.size] = '\0';
  LEAT_EXPECT_OK(p->b.status);
  PIPELINE_EXPECT_TEXTS(p, dataset, "abc", text, "xyz");
}

static void read_lines(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    leat_string_builder_append(b, LEAT_SV("abc\n"));
    leat_string_builder_append(b, wanted);
    leat_string_builder_append(b, LEAT_SV("\r\nxyz"));
    leat_output_t name = write(p, b, kTypes[i]);
    expect_three(p, leat_build(&p->b, "TextLineDataset",
                               LEAT_INPUTS(name, pipeline_text(p, kTypes[i]),
                                           pipeline_number(p, 0)), LEAT_NO_ATTRS), wanted);
  }
}
static void long_lines_are_read(void** state) { for_each_length(read_lines); }

static void read_records(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    leat_record_append(b, LEAT_SV("abc"));
    leat_record_append(b, wanted);
    leat_record_append(b, LEAT_SV("xyz"));
    leat_output_t name = write(p, b, kTypes[i]);
    expect_three(p, leat_build(&p->b, "TFRecordDataset",
                               LEAT_INPUTS(name, pipeline_text(p, kTypes[i]),
                                           pipeline_number(p, -1)), LEAT_NO_ATTRS), wanted);
  }
}
static void long_records_are_read(void** state) { for_each_length(read_records); }

// Two records of one size behind a header that is as long.
static void read_fixed(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  static char text[kLongest + 1];
  memcpy(text, wanted.data, wanted.size);
  text[wanted.size] = '\0';
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    for (size_t k = 0; k < wanted.size; ++k) append_byte(b, '-');
    leat_string_builder_append(b, wanted);
    leat_string_builder_append(b, wanted);
    leat_string_builder_append(b, LEAT_SV("end"));
    leat_output_t name = write(p, b, kTypes[i]);
    leat_output_t size = pipeline_number(p, (int64_t)wanted.size);
    leat_output_t dataset = leat_build(
        &p->b, "FixedLengthRecordDatasetV2",
        LEAT_INPUTS(name, size, size, pipeline_number(p, 3), pipeline_number(p, 0),
                    pipeline_text(p, kTypes[i])),
        LEAT_NO_ATTRS);
    LEAT_EXPECT_OK(p->b.status);
    PIPELINE_EXPECT_TEXTS(p, dataset, text, text);
  }
}
static void long_records_of_one_size_are_read(void** state) { for_each_length(read_fixed); }

static void read_file(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  leat_string_builder_append(b, wanted);
  leat_output_t name = write(p, b, "");
  expect_text(p, leat_build_unary(&p->b, "ReadFile", name), wanted);
}
static void long_files_are_read(void** state) { for_each_length(read_file); }

// ---- Bytes as numbers and messages --------------------------------------------------------------

static void decode_raw(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  const size_t count = wanted.size / 2;
  leat_output_t raw =
      leat_build(&p->b, "DecodeRaw", LEAT_INPUTS(text(p, leat_string_view_make(wanted.data,
                                                                              2 * count))),
                 LEAT_ATTRS(LEAT_TYPE("out_type", LEAT_DTYPE_INT16),
                            LEAT_BOOL("little_endian", false)));
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, raw, &value));
  assert_int_equal(value.shape.element_count, count);
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(leat_tensor_data(&value, const int16_t)[i],
                     wanted.data[2 * i] << 8 | wanted.data[2 * i + 1]);
  }
  leat_tensor_release(&value);
}
static void many_numbers_are_decoded(void** state) { for_each_length(decode_raw); }

static void decode_csv(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  leat_tensor_t none;
  leat_string_builder_append(b, wanted);
  leat_string_builder_append(b, LEAT_SV(",\""));
  leat_string_builder_append(b, wanted);
  leat_string_builder_append(b, LEAT_SV("\"\"\","));
  for (size_t i = 0; i < wanted.size; ++i) append_byte(b, '0');
  leat_string_builder_append(b, LEAT_SV("75"));
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_STRING, "", 0, &none));
  leat_output_t missing = leat_build_constant(&p->b, &none);
  leat_tensor_release(&none);
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, "", 0, &none));
  leat_output_t no_number = leat_build_constant(&p->b, &none);
  leat_tensor_release(&none);
  int32_t node = leat_build_node(
      &p->b, "DecodeCSV",
      LEAT_INPUTS(text(p, leat_string_builder_view(b)), missing, missing, no_number),
      LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(p->b.status);
  expect_text(p, leat_node_output(node, 0), wanted);
  b->size = 0;
  leat_string_builder_append(b, wanted);
  append_byte(b, '"');
  expect_text(p, leat_node_output(node, 1), leat_string_builder_view(b));
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, leat_node_output(node, 2), &value));
  assert_int_equal(*leat_tensor_data(&value, const int32_t), 75);
  leat_tensor_release(&value);
}
static void long_fields_are_decoded(void** state) { for_each_length(decode_csv); }

// One channel of 16 bits.
static void decode_wav(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  const size_t bytes = 2 * wanted.size;
  leat_string_builder_append(b, LEAT_SV("RIFF"));
  append_number(b, 36 + bytes, 4, false);
  leat_string_builder_append(b, LEAT_SV("WAVEfmt "));
  append_number(b, 16, 4, false);
  append_number(b, 1, 2, false);
  append_number(b, 1, 2, false);
  append_number(b, 8000, 4, false);
  append_number(b, 16000, 4, false);
  append_number(b, 2, 2, false);
  append_number(b, 16, 2, false);
  leat_string_builder_append(b, LEAT_SV("data"));
  append_number(b, bytes, 4, false);
  for (size_t i = 0; i < wanted.size; ++i) {
    append_number(b, (uint64_t)wanted.data[i] << 7, 2, false);
  }
  leat_output_t audio = leat_build_unary(&p->b, "DecodeWav",
                                         text(p, leat_string_builder_view(b)));
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, audio, &value));
  assert_int_equal(value.shape.element_count, wanted.size);
  for (size_t i = 0; i < wanted.size; ++i) {
    assert_true(leat_tensor_data(&value, const float)[i] == (float)wanted.data[i] / 256);
  }
  leat_tensor_release(&value);
}
static void long_sounds_are_decoded(void** state) { for_each_length(decode_wav); }

// TensorProto: dtype (1) is DT_STRING, tensor_shape (2) is empty, string_val (8).
static void parse_tensor(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  leat_string_builder_append(b, leat_string_view_make("\10\7\22\0", 4));
  append_field(b, 8, wanted);
  expect_text(p, leat_build(&p->b, "ParseTensor", LEAT_INPUTS(text(p, leat_string_builder_view(b))),
                              LEAT_ATTRS(LEAT_TYPE("out_type", LEAT_DTYPE_STRING))),
                wanted);
}
static void long_tensors_are_parsed(void** state) { for_each_length(parse_tensor); }

// Example { features { feature { key: "k", value { bytes_list { value: |bytes| } } } } }
static void append_example(leat_string_builder_t* b, leat_string_view_t bytes) {
  static const int kFields[] = {1, 1, 2, 1, 1};  // from the innermost to the outermost
  leat_string_builder_t inner;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFields); ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &inner);
    leat_string_builder_append(&inner, i ? leat_string_builder_view(b) : bytes);
    b->size = 0;
    if (i == 2) append_field(b, 1, LEAT_SV("k"));
    append_field(b, kFields[i], leat_string_builder_view(&inner));
    leat_string_builder_deinitialize(&inner);
  }
}

// In JSON the bytes are base64: "QUJD" is "ABC".
static void decode_json(pipeline_t* p, leat_string_builder_t* b, leat_string_view_t wanted) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_append(
      b, LEAT_SV("{\"features\":{\"feature\":{\"k\":{\"bytesList\":{\"value\":[\""));
  for (size_t i = 0; i < wanted.size; i += 3) {
    leat_string_builder_append(b, LEAT_SV("QUJD"));
    leat_string_builder_append(&bytes, LEAT_SV("ABC"));
  }
  leat_string_builder_append(b, LEAT_SV("\"]}}}}}"));
  leat_output_t example = leat_build_unary(&p->b, "DecodeJSONExample",
                                           text(p, leat_string_builder_view(b)));
  b->size = 0;
  append_example(b, leat_string_builder_view(&bytes));
  expect_text(p, example, leat_string_builder_view(b));
  leat_string_builder_deinitialize(&bytes);
}
static void long_json_is_decoded(void** state) { for_each_length(decode_json); }

#define IN_DIRECTORY(test) \
  cmocka_unit_test_setup_teardown(test, test_directory_make, test_directory_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_decompressed_to_their_end),
      cmocka_unit_test(what_python_compressed_is_decompressed),
      IN_DIRECTORY(long_lines_are_read),
      IN_DIRECTORY(long_records_are_read),
      IN_DIRECTORY(long_records_of_one_size_are_read),
      IN_DIRECTORY(long_files_are_read),
      cmocka_unit_test(many_numbers_are_decoded),
      cmocka_unit_test(long_fields_are_decoded),
      cmocka_unit_test(long_sounds_are_decoded),
      cmocka_unit_test(long_tensors_are_parsed),
      cmocka_unit_test(long_json_is_decoded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
