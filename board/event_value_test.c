// Most events are read by short cuts for the bytes that writers usually make: an event of a time, a
// step and a summary, and values that are a tag and a number. A short cut must not say anything
// else than the readers for all forms say of the same bytes. Usual events and values are therefore
// changed at every byte to every value, and cut at every byte, and whatever a short cut takes is
// compared with what the other reader makes of it. That the short cuts are taken at all is tested
// on the bytes as TensorFlow 2.21 writes them.
#include "board/event_value.h"

#include <stdlib.h>

#include "base/test.h"

typedef struct bytes_s {
  char data[512];
  size_t size;
} bytes_t;

static void put(bytes_t* bytes, const char* data, size_t size) {
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

#define PUT(bytes, text) put(bytes, text, sizeof(text) - 1)

// What follows the tag: numbers in the forms that have a short cut, and then in others.
static const struct {
  const char* data;
  size_t size;
  bool is_usual;
} kNumbers[] = {
#define ROW(text, is_usual) {text, sizeof(text) - 1, is_usual}
    ROW("\x15\x00\x00\x20\x40", true),
    ROW("\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x20\x40", true),
    ROW("\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x20\x40\x4a\x0b\x0a\x09\x0a\x07scalars", true),
    ROW("\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x20\x40\x4a\x00", true),
    // Twice; with an unknown field; of another type; as a list of floats; metadata before it.
    ROW("\x15\x00\x00\x00\x00\x15\x00\x00\x20\x40", false),
    ROW("\x15\x00\x00\x20\x40\x50\x01", false),
    ROW("\x42\x0e\x08\x02\x12\x00\x22\x08\x00\x00\x00\x00\x00\x00\x04\x40", false),
    ROW("\x42\x09\x08\x01\x12\x00\x2d\x00\x00\x20\x40", false),
    ROW("\x4a\x00\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x20\x40", false),
    ROW("\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x20\x40\x4a\x00\x4a\x00", false),
#undef ROW
};

static const size_t kTagSizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 63, 79, 80, 100};
static const char kTag[] =
    "a/rather/long/tag/of/a/model/with/many/layers/and/losses/in/each/of/them/so/that/it/does/not/"
    "fit/into/words";

static void make_value(size_t tag_size, size_t number, bytes_t* out) {
  out->size = 0;
  size_t size = 2 + tag_size + kNumbers[number].size;
  char head[] = {0x0a, (char)size, 0x0a, (char)tag_size};
  LEAT_DCHECK(size < 128);
  put(out, head, 4);
  put(out, kTag, tag_size);
  put(out, kNumbers[number].data, kNumbers[number].size);
}

// Whether the short cut for the tag takes something off |bytes|; then it is what is there.
static bool is_taken_rightly(const bytes_t* bytes, size_t tag_size) {
  // The bytes end where their memory ends, for a sanitizer to see what is read behind them.
  char* copy = malloc(bytes->size + !bytes->size);
  memcpy(copy, bytes->data, bytes->size);
  leat_string_view_t quick = leat_string_view_make(copy, bytes->size), slow = quick;
  float number;
  board_value_t value;
  bool is_taken = board_scalar_next(&quick, kTag, tag_size, &number);
  if (is_taken) {
    double same = 0;
    uint64_t elements = 1;
    uint32_t dtype = 1;
    assert_true(board_value_next(&slow, &value));
    assert_true(leat_string_view_equal(value.tag, leat_string_view_make(kTag, tag_size)));
    if (value.kind == BOARD_VALUE_SIMPLE) {
      same = value.simple;
    } else {
      assert_int_equal(value.kind, BOARD_VALUE_TENSOR);
      assert_true(board_scalar_read(value.body, &elements, &dtype, &same));
    }
    assert_int_equal(elements, 1);
    assert_int_equal(dtype, 1);
    assert_true((float)same == number || (same != same && number != number));
    assert_ptr_equal(quick.data, slow.data);
    assert_int_equal(quick.size, slow.size);
  } else {
    assert_ptr_equal(quick.data, copy);
    assert_int_equal(quick.size, bytes->size);
  }
  free(copy);
  return is_taken;
}

static void short_cuts_for_values_say_the_same(void** state) {
  bytes_t bytes, cut;
  for (size_t n = 0; n < sizeof kNumbers / sizeof *kNumbers; ++n) {
    for (size_t t = 0; t < sizeof kTagSizes / sizeof *kTagSizes; ++t) {
      size_t tag_size = kTagSizes[t];
      if (2 + tag_size + kNumbers[n].size >= 128) continue;
      make_value(tag_size, n, &bytes);
      assert_int_equal(is_taken_rightly(&bytes, tag_size), kNumbers[n].is_usual && tag_size < 80);
      for (size_t i = 0; i < bytes.size; ++i) {
        char before = bytes.data[i];
        for (int byte = 0; byte < 256; ++byte) {
          bytes.data[i] = (char)byte;
          is_taken_rightly(&bytes, tag_size);
        }
        bytes.data[i] = before;
      }
      cut = bytes;
      for (cut.size = 0; cut.size < bytes.size; ++cut.size) {
        assert_false(is_taken_rightly(&cut, tag_size));
      }
      // Another value behind it stays.
      size_t size = bytes.size;
      put(&bytes, cut.data, size);
      is_taken_rightly(&bytes, tag_size);
    }
  }
}

static void other_tags_are_not_taken(void** state) {
  bytes_t bytes;
  leat_string_view_t summary, tag;
  float number;
  for (size_t t = 1; t < sizeof kTagSizes / sizeof *kTagSizes; ++t) {
    make_value(kTagSizes[t], 0, &bytes);
    for (size_t i = 0; i < kTagSizes[t]; ++i) {
      char other[sizeof kTag];
      memcpy(other, kTag, sizeof kTag);
      other[i] ^= 1;
      summary = leat_string_view_make(bytes.data, bytes.size);
      assert_false(board_scalar_next(&summary, other, kTagSizes[t], &number));
    }
    bool is_short = kTagSizes[t] < 80;
    assert_int_equal(board_usual_tag(leat_string_view_make(bytes.data, bytes.size), &tag),
                     is_short);
    if (is_short) assert_int_equal(tag.size, kTagSizes[t]);
  }
}

// Reads |event|, and once more behind a field that nobody knows, which has no short cut: both say
// the same.
static void expect_same_event(const bytes_t* event) {
  bytes_t other = {.size = 0};
  board_event_t quick, slow;
  PUT(&other, "\xf8\x07\x01");
  put(&other, event->data, event->size);
  char* copy = malloc(event->size + !event->size);
  memcpy(copy, event->data, event->size);
  bool is_read = board_event_read(leat_string_view_make(copy, event->size), &quick);
  assert_int_equal(board_event_read(leat_string_view_make(other.data, other.size), &slow),
                   is_read);
  if (is_read) {
    assert_memory_equal(&quick.wall_time, &slow.wall_time, sizeof quick.wall_time);
    assert_int_equal(quick.step, slow.step);
    assert_int_equal(quick.what, slow.what);
    assert_int_equal(quick.body.size, slow.body.size);
    if (quick.body.size) {
      assert_int_equal(quick.body.data - copy, slow.body.data - other.data - 3);
    }
  }
  free(copy);
}

static void short_cuts_for_events_say_the_same(void** state) {
  static const leat_string_view_t steps[] = {
#define STEP(text) {text, sizeof(text) - 1}
      STEP(""), STEP("\x10\x00"), STEP("\x10\x7f"), STEP("\x10\x80\x01"), STEP("\x10\xff\x7f"),
      STEP("\x10\x80\x80\x01"), STEP("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      STEP("\x10\x80\x00"), STEP("\x10\x01\x10\x02"),
#undef STEP
  };
  for (size_t s = 0; s < sizeof steps / sizeof *steps; ++s) {
    bytes_t event = {.size = 0}, cut;
    PUT(&event, "\x09\x76\xfe\xa6\x85\x10\xc3\xda\x41");
    put(&event, steps[s].data ? steps[s].data : "", steps[s].size);
    PUT(&event, "\x2a\x05\x0a\x03\x0a\x01x");
    for (size_t i = 0; i < event.size; ++i) {
      char before = event.data[i];
      for (int byte = 0; byte < 256; ++byte) {
        event.data[i] = (char)byte;
        expect_same_event(&event);
      }
      event.data[i] = before;
    }
    cut = event;
    for (cut.size = 0; cut.size < event.size; ++cut.size) expect_same_event(&cut);
    PUT(&event, "\x2a\x00");  // a second summary is the one that counts
    expect_same_event(&event);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_cuts_for_values_say_the_same),
      cmocka_unit_test(other_tags_are_not_taken),
      cmocka_unit_test(short_cuts_for_events_say_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
