// JSON turned into the wire form of protocol buffers (json_wire.h), for the message Example, which
// the op DecodeJSONExample reads, and for the board's requests, which hold google.protobuf.Value.
// Results are compared byte by byte with literals, which shows a wrong tag, varint, size of a
// nested message, escape or base64, and a list that comes packed. The bytes of an Example are those
// that TensorFlow 2.21's DecodeJSONExample gives for the same text. Texts that break JSON's
// grammar, name unknown fields or do not fit a field's type must be refused with INVALID_ARGUMENT.
// TensorFlow's op takes two of them, a field that comes twice and a comma before a closing bracket;
// protobuf's json_format refuses both, as Leat does.
#include "formats/wire/json_wire.h"

#include <stdlib.h>

#include "base/test.h"
#include "formats/generated/example.h"
#include "formats/generated/hparams_request.h"

static void expect_message(const leat_message_descriptor_t* descriptor, const char* json,
                           leat_string_view_t wanted) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_OK(leat_json_to_wire(descriptor, leat_string_view_from(json), &out));
  assert_int_equal(out.size, wanted.size);
  if (wanted.size) assert_memory_equal(out.data, wanted.data, wanted.size);
  leat_string_builder_deinitialize(&out);
}

static void expect_bytes(const char* json, leat_string_view_t wanted) {
  expect_message(&leat_pb_example_descriptor, json, wanted);
}

static void expect_refusal(const leat_message_descriptor_t* descriptor, const char* json) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_json_to_wire(descriptor, leat_string_view_from(json), &out));
  leat_string_builder_deinitialize(&out);
}

static void messages_come_out(void** state) {
  expect_bytes("{}", LEAT_SV(""));
  expect_bytes(" { \"features\" : null } ", LEAT_SV(""));
  expect_bytes("{\"features\":{\"feature\":{\"a\":{\"int64List\":{\"value\":[5,\"-1\",1e2]}}}}}",
               LEAT_SV("\n\30\n\26\n\1a\22\21\32\17\10\5\10\377\377\377\377\377\377\377\377\377\1"
                       "\10d"));
  expect_bytes("{\"features\":{\"feature\":{\"\\u00e9\":{\"bytes_list\":{\"value\":[\"YWI=\"]}}}}}",
               LEAT_SV("\n\16\n\14\n\2\303\251\22\6\n\4\n\2ab"));
  expect_bytes("{\"features\":{\"feature\":{\"a\":{\"floatList\":{\"value\":[1.0]}}}}}",
               LEAT_SV("\n\16\n\14\n\1a\22\7\22\5\15\0\0\200?"));
}

static void broken_texts_are_refused(void** state) {
  static const char* const kTexts[] = {
      "", "[]", "{", "{\"features\"}", "{\"features\":{}", "{\"features\":{}}x", "{\"what\":{}}",
      "{\"features\":{},\"features\":{}}", "{\"features\":{\"feature\":[]}}",
      "{\"features\":{\"feature\":{\"a\":{\"int64List\":{\"value\":[1.5]}}}}}",
      "{\"features\":{\"feature\":{\"a\":{\"int64List\":{\"value\":[01]}}}}}",
      "{\"features\":{\"feature\":{\"a\":{\"int64List\":{\"value\":[1,]}}}}}",
      "{\"features\":{\"feature\":{\"a\":{\"int64List\":{},\"floatList\":{}}}}}",
      "{\"features\":{\"feature\":{\"a\":{\"floatList\":{\"value\":[1e39]}}}}}",
      "{\"features\":{\"feature\":{\"a\":{\"bytesList\":{\"value\":[\"!\"]}}}}}",
      "{\"features\":{\"feature\":{\"\\ud800\":{}}}}", "{\"features\":{\"feature\":{\"a"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTexts); ++i) {
    expect_refusal(&leat_pb_example_descriptor, kTexts[i]);
  }
}

// The expected bytes are those of protobuf's own json_format.
static void values_stand_for_themselves(void** state) {
  const leat_message_descriptor_t* list = &leat_pb_value_list_value_descriptor;
  expect_message(list, " [ ] ", LEAT_SV(""));
  expect_message(list, "[null, 0.5, \"a\", true, false]",
                 LEAT_SV("\n\2\10\0\n\11\21\0\0\0\0\0\0\340?\n\3\32\1a\n\2 \1\n\2 \0"));
  expect_message(&leat_pb_hparam_column_descriptor, "{\"filterDiscrete\":[]}", LEAT_SV(":\0"));
  expect_message(&leat_pb_hparam_column_descriptor, "{\"filterDiscrete\":null}", LEAT_SV(""));
  // A Value that is null is there; other messages that are null are absent.
  expect_message(&leat_pb_hparam_entry_descriptor, "{\"value\":null}", LEAT_SV("\22\2\10\0"));
  static const char* const kTexts[] = {"", "{}", "1", "[1", "[nul]", "[[]]", "[{}]", "[x]"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTexts); ++i) expect_refusal(list, kTexts[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_come_out),
      cmocka_unit_test(broken_texts_are_refused),
      cmocka_unit_test(values_stand_for_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
