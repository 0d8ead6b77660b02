// The messages of RecvTensor carry tensors between tasks, and the encoder and decoder exist so that
// the elements are never copied on the way. The tests look at addresses for that, and at golden
// bytes for the form (what was seen between TensorFlow's own tasks). A message arrives in pieces
// that the network chose, so each message is cut at every place near its ends, in two and three
// pieces and in one piece for each byte, and must decode alike. Other messages are written here by
// hand, field by field, so that the reader is not tested with its own writer alone: other orders of
// fields, fields that come twice, dead values, and messages that end early or lie about sizes. Each
// piece ends where its memory ends, so that AddressSanitizer reports whoever reads behind it.
#include "cluster/recv_tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"

enum { kLargeFloats = 5000 };  // their bytes are more than what is joined

static leat_tensor_t make_floats(int64_t count) {
  const leat_shape_t shape = leat_shape_vector(count);
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < count; ++i) leat_tensor_data(&tensor, float)[i] = (float)(i * 3 + 1);
  return tensor;
}

static void release_pieces(const leat_rpc_piece_t* pieces) {
  for (int i = 0; i < LEAT_RECV_TENSOR_PIECES; ++i) {
    if (pieces[i].release) pieces[i].release(pieces[i].owner);
  }
}

// A message as one text, which its memory ends with, so that ASan sees who reads behind it.
typedef struct text_s {
  char* data;
  size_t size;
} text_t;

static text_t copy_of(const char* data, size_t size) {
  text_t text = {malloc(size ? size : 1), size};
  if (size) memcpy(text.data, data, size);
  return text;
}

// The bytes that are written for a value (taken).
static text_t written(leat_slot_t value) {
  leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
  leat_rpc_bytes_t bytes;
  leat_string_view_t view;
  char* copy;
  LEAT_EXPECT_OK(leat_recv_tensor_encode(value, pieces, &bytes));
  LEAT_EXPECT_OK(leat_rpc_bytes_join(bytes, leat_allocator_system(), &view, &copy));
  const text_t text = copy_of(view.data, view.size);
  leat_allocator_free(leat_allocator_system(), copy);
  release_pieces(pieces);
  return text;
}

static leat_status_t decode(const char* data, size_t size, leat_slot_t* out_value) {
  const leat_rpc_piece_t piece = {.data = data, .size = size};
  return leat_recv_tensor_decode((leat_rpc_bytes_t){&piece, 1}, out_value);
}

static leat_slot_t alive(leat_tensor_t tensor) {
  return (leat_slot_t){.tensor = tensor, .alive = true};
}

static void expect_floats(leat_slot_t* value, int64_t count) {
  assert_true(value->alive);
  assert_int_equal(value->tensor.dtype, LEAT_DTYPE_FLOAT);
  assert_int_equal(value->tensor.shape.rank, 1);
  assert_int_equal(value->tensor.shape.element_count, count);
  leat_tensor_t expected = make_floats(count);
  assert_memory_equal(value->tensor.data, expected.data, 4 * (size_t)count);
  leat_tensor_release(&expected);
  leat_slot_release(value);
}

// ---- Writing ------------------------------------------------------------------------------------

// The piece of the elements is the tensor's memory, and keeps the buffer when the tensor is gone.
static void elements_are_not_copied(void** state) {
  static const int64_t counts[] = {1, kLargeFloats};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(counts); ++i) {
    leat_tensor_t tensor = make_floats(counts[i]);
    leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
    leat_rpc_bytes_t bytes;
    const void* data = tensor.data;
    LEAT_EXPECT_OK(leat_recv_tensor_encode(alive(tensor), pieces, &bytes));
    assert_ptr_equal(bytes.pieces, pieces);
    assert_int_equal(bytes.count, LEAT_RECV_TENSOR_PIECES);
    assert_ptr_equal(pieces[1].data, data);
    assert_int_equal(pieces[1].size, 4 * counts[i]);
    assert_true(((const float*)(const void*)pieces[1].data)[0] == 1);
    leat_slot_t value;
    LEAT_EXPECT_OK(leat_recv_tensor_decode(bytes, &value));
    expect_floats(&value, counts[i]);
    release_pieces(pieces);
  }
}

// The elements of a part of a tensor are sent from where they lie.
static void a_part_is_not_copied(void** state) {
  leat_tensor_t whole = make_floats(8), part;
  leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
  leat_rpc_bytes_t bytes;
  LEAT_EXPECT_OK(leat_tensor_slice(&whole, 3, 5, &part));
  const char* data = whole.data;
  LEAT_EXPECT_OK(leat_recv_tensor_encode(alive(part), pieces, &bytes));
  leat_tensor_release(&whole);
  assert_ptr_equal(pieces[1].data, data + 12);
  assert_int_equal(pieces[1].size, 8);
  assert_true(((const float*)(const void*)pieces[1].data)[0] == 10);
  release_pieces(pieces);
}

// All but the time, which stands at the end: 1: Tensor, 2: is_dead, 3: send_start_micros.
static void expect_text(leat_slot_t value, leat_string_view_t expected) {
  const text_t text = written(value);
  assert_true(text.size > expected.size);
  assert_memory_equal(text.data, expected.data, expected.size);
  assert_int_equal(text.data[expected.size], 3 << 3);
  leat_arena_t arena;
  leat_pb_recv_tensor_response_t response;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_recv_tensor_response_descriptor,
                                     leat_string_view_make(text.data, text.size), &arena, NULL,
                                     &response));
  assert_true(response.send_start_micros > INT64_C(1600000000000000));
  assert_false(response.require_ack);
  leat_arena_deinitialize(&arena);
  free(text.data);
}

static void golden_bytes(void** state) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT16, (const int16_t[]){1, -2}, 2, &tensor));
  expect_text(alive(tensor), LEAT_SV("\x0a\x0e"           // Tensor of 14 bytes
                                     "\x08\5"             // dtype DT_INT16
                                     "\x12\4\x12\2\x08\2"  // shape [2]
                                     "\x22\4\1\0\xfe\xff"));
  // A tensor without elements has a content, which is empty.
  tensor = make_floats(0);
  expect_text(alive(tensor), LEAT_SV("\x0a\x08\x08\1\x12\2\x12\0\x22\0"));
  leat_tensor_t texts;
  const leat_shape_t shape = leat_shape_vector(2);
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, &texts));
  LEAT_EXPECT_OK(leat_tensor_set_string(&texts, 0, LEAT_SV("abc")));
  expect_text(alive(texts), LEAT_SV("\x0a\x0f\x08\7\x12\4\x12\2\x08\2\x22\5\3\0abc"));
}

// A dead value is a tensor of floats without elements, whatever it would have been.
static void dead_values(void** state) {
  const leat_string_view_t expected = LEAT_SV("\x0a\x08\x08\1\x12\2\x12\0\x22\0\x10\1");
  expect_text((leat_slot_t){0}, expected);
  const text_t text = written((leat_slot_t){0});
  leat_slot_t value;
  LEAT_EXPECT_OK(decode(text.data, text.size, &value));
  assert_false(value.alive);
  assert_null(value.tensor.buffer);
  free(text.data);
}

// ---- Pieces -------------------------------------------------------------------------------------

// Decodes |text| cut at |first| and |second|, with an empty piece between if they are equal.
static void expect_cut(const text_t* text, size_t first, size_t second, int64_t count) {
  const text_t parts[] = {copy_of(text->data, first),
                          copy_of(text->data + first, second - first),
                          copy_of(text->data + second, text->size - second)};
  leat_rpc_piece_t pieces[3];
  for (int i = 0; i < 3; ++i) {
    // An empty piece may have no address.
    pieces[i] = (leat_rpc_piece_t){.data = parts[i].size ? parts[i].data : NULL,
                                   .size = parts[i].size};
  }
  leat_slot_t value;
  LEAT_EXPECT_OK(leat_recv_tensor_decode((leat_rpc_bytes_t){pieces, 3}, &value));
  expect_floats(&value, count);
  for (int i = 0; i < 3; ++i) free(parts[i].data);
}

static void every_cut_decodes_equally(void** state) {
  static const int64_t counts[] = {0, 3, kLargeFloats};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(counts); ++i) {
    const text_t text = written(alive(make_floats(counts[i])));
    const size_t reach = text.size < 40 ? text.size : 40;
    for (size_t first = 0; first <= reach; ++first) {
      for (size_t second = first; second <= reach; ++second) {
        expect_cut(&text, first, second, counts[i]);
        expect_cut(&text, text.size - second, text.size - first, counts[i]);
      }
      if (first <= text.size / 2) expect_cut(&text, first, text.size - first, counts[i]);
    }
    free(text.data);
  }
}

static void a_piece_for_each_byte(void** state) {
  const text_t text = written(alive(make_floats(kLargeFloats)));
  leat_rpc_piece_t* pieces = calloc(text.size, sizeof *pieces);
  for (size_t i = 0; i < text.size; ++i) {
    pieces[i] = (leat_rpc_piece_t){.data = text.data + i, .size = 1};
  }
  leat_slot_t value;
  LEAT_EXPECT_OK(leat_recv_tensor_decode((leat_rpc_bytes_t){pieces, text.size}, &value));
  expect_floats(&value, kLargeFloats);
  free(pieces);
  free(text.data);
}

// ---- Other messages -----------------------------------------------------------------------------

// Parts of messages, made by hand. The tensor is a vector of floats.
static void add(text_t* text, const char* data, size_t size) {
  text->data = realloc(text->data, text->size + size + 1);
  memcpy(text->data + text->size, data, size);
  text->size += size;
}

static void add_text(text_t* text, leat_string_view_t bytes) { add(text, bytes.data, bytes.size); }

static void add_number(text_t* text, uint64_t number) {
  for (; number >= 0x80; number >>= 7) add(text, (const char[]){(char)(number | 0x80)}, 1);
  add(text, (const char[]){(char)number}, 1);
}

static void add_message(text_t* text, int field, text_t* part) {  // |part| is taken
  add_number(text, (uint64_t)field << 3 | 2);
  add_number(text, part->size);
  add(text, part->data, part->size);
  free(part->data);
  *part = (text_t){0};
}

// The tensor's fields, in the order in which the letters stand: d, s, c; x is a field that nobody
// knows, C an empty content, and F a float_val.
static text_t make_tensor_text(const char* order, int64_t count) {
  text_t text = {0};
  for (; *order; ++order) {
    text_t part = {0};
    leat_tensor_t floats = {0};
    switch (*order) {
      case 'd': add_text(&text, LEAT_SV("\x08\1")); break;
      case 's': {
        text_t dim = {0};
        add_text(&dim, LEAT_SV("\x08"));
        add_number(&dim, (uint64_t)count);
        add_message(&part, 2, &dim);
        add_message(&text, 2, &part);
        break;
      }
      case 'c':
        floats = make_floats(count);
        add(&part, floats.data, 4 * (size_t)count);
        leat_tensor_release(&floats);
        add_message(&text, 4, &part);
        break;
      case 'C': add_text(&text, LEAT_SV("\x22\0")); break;
      case 'F': add_text(&text, LEAT_SV("\x2a\4\0\0\0\0")); break;
      case 'v': add_text(&text, LEAT_SV("\x18\1")); break;
      default: add_text(&text, LEAT_SV("\xfa\x01\3abc")); break;
    }
  }
  return text;
}

// A whole response: before the tensor and behind it stand other fields.
static text_t make_response(leat_string_view_t before, const char* order, int64_t count,
                            leat_string_view_t behind) {
  text_t tensor = make_tensor_text(order, count), text = {0};
  add_text(&text, before);
  add_message(&text, 1, &tensor);
  add_text(&text, behind);
  return text;
}

// Fields may come in any order, more than once (the last one counts), and unknown ones among them.
static void fields_come_in_any_order(void** state) {
  static const struct {
    leat_string_view_t before;
    const char* order;
    leat_string_view_t behind;
  } kCases[] = {
      {LEAT_SV(""), "dsc", LEAT_SV("")},
      {LEAT_SV(""), "sdc", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "csd", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "dcs", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "dscx", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "dvsc", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "xdsc", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "dscv", LEAT_SV("\x18\5")},
      {LEAT_SV(""), "ddsc", LEAT_SV("")},
      {LEAT_SV(""), "dsCc", LEAT_SV("")},
      {LEAT_SV(""), "dsFc", LEAT_SV("")},
      {LEAT_SV(""), "dscF", LEAT_SV("")},
      {LEAT_SV("\x18\5"), "dsc", LEAT_SV("")},
      {LEAT_SV("\x10\1\x10\0"), "dsc", LEAT_SV("")},
      {LEAT_SV(""), "dsc", LEAT_SV("\x10\1\x10\0")},
      {LEAT_SV(""), "dsc", LEAT_SV("\xfa\x01\3abc\x28\1")},
  };
  static const int64_t counts[] = {3, kLargeFloats};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(counts); ++k) {
      const text_t text =
          make_response(kCases[i].before, kCases[i].order, counts[k], kCases[i].behind);
      leat_slot_t value;
      LEAT_EXPECT_OK(decode(text.data, text.size, &value));
      expect_floats(&value, counts[k]);
      free(text.data);
    }
  }
}

// A value is dead, too, when its message is large, and when the word comes before the tensor.
static void large_dead_values(void** state) {
  for (int way = 0; way < 2; ++way) {
    const leat_string_view_t word = LEAT_SV("\x10\1"), none = LEAT_SV("");
    const text_t text =
        make_response(way ? word : none, "dsc", kLargeFloats, way ? none : word);
    leat_slot_t value;
    LEAT_EXPECT_OK(decode(text.data, text.size, &value));
    assert_false(value.alive);
    assert_null(value.tensor.buffer);
    free(text.data);
  }
}

// Two tensors are merged, as protobuf has it: the content of the second one counts.
static void a_tensor_in_two_parts(void** state) {
  text_t text = make_response(LEAT_SV(""), "dsc", kLargeFloats, LEAT_SV(""));
  text_t second = copy_of("", 0);
  char* zeros = calloc(4, kLargeFloats);
  text_t content = {0};
  add(&content, zeros, 4 * kLargeFloats);
  add_message(&second, 4, &content);
  add_message(&text, 1, &second);
  leat_slot_t value;
  LEAT_EXPECT_OK(decode(text.data, text.size, &value));
  assert_memory_equal(value.tensor.data, zeros, 4 * kLargeFloats);
  leat_slot_release(&value);
  free(zeros);
  free(text.data);
}

// The second one may also be so small that it stands with what follows a large tensor.
static void a_small_second_tensor(void** state) {
  const text_t text = make_response(LEAT_SV(""), "dsc", kLargeFloats, LEAT_SV("\x0a\2\x08\3"));
  leat_slot_t value;
  LEAT_EXPECT_OK(decode(text.data, text.size, &value));
  assert_int_equal(value.tensor.dtype, LEAT_DTYPE_INT32);
  assert_int_equal(value.tensor.shape.element_count, kLargeFloats);
  leat_slot_release(&value);
  free(text.data);
}

static void bools_are_checked(void** state) {
  const leat_shape_t shape = leat_shape_vector(20000);
  for (int byte = 1; byte <= 2; ++byte) {
    leat_tensor_t tensor;
    LEAT_EXPECT_OK(
        leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_BOOL, &shape, &tensor));
    memset(tensor.data, 0, 20000);
    const text_t text = written(alive(tensor));
    text.data[15000] = (char)byte;
    leat_slot_t value;
    leat_status_t status = decode(text.data, text.size, &value);
    if (byte == 1) {
      LEAT_EXPECT_OK(status);
      leat_slot_release(&value);
    } else {
      LEAT_EXPECT_CODE(LEAT_INTERNAL, status);
    }
    free(text.data);
  }
}

// ---- Messages that are malformed ----------------------------------------------------------------

static void expect_malformed(const char* data, size_t size) {
  const text_t exact = copy_of(data, size);
  leat_slot_t value;
  LEAT_EXPECT_CODE(LEAT_INTERNAL, decode(exact.data, exact.size, &value));
  assert_null(value.tensor.buffer);
  assert_false(value.alive);
  free(exact.data);
}

// Before the end of the tensor no byte may be missing. Behind it stand whole fields, so that what
// is left when one of them is missing altogether is a message.
static void every_truncation_is_internal(void** state) {
  static const int64_t counts[] = {3, kLargeFloats};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(counts); ++i) {
    const text_t text = make_response(LEAT_SV(""), "dsc", counts[i], LEAT_SV("\x18\x85\1"));
    const size_t end = text.size - 3;
    for (size_t size = 0; size < text.size; ++size) {
      if (size == end) continue;
      if (i && size == 200) size = end - 200;  // the middle of the elements is all alike
      expect_malformed(text.data, size);
    }
    free(text.data);
  }
}

static void sizes_that_lie(void** state) {
  static const int64_t counts[] = {3, kLargeFloats};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(counts); ++i) {
    for (int more = -1; more <= 1; more += 2) {  // the shape has an element more or less
      text_t tensor = make_tensor_text("d", 0), shape = make_tensor_text("s", counts[i] + more);
      text_t content = make_tensor_text("c", counts[i]), text = {0};
      add(&tensor, shape.data, shape.size);
      add(&tensor, content.data, content.size);
      add_message(&text, 1, &tensor);
      expect_malformed(text.data, text.size);
      free(shape.data);
      free(content.data);
      free(text.data);
    }
    static const char* const orders[] = {"sc", "dc"};  // no type, no shape
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(orders); ++k) {
      const text_t text = make_response(LEAT_SV(""), orders[k], counts[i], LEAT_SV(""));
      expect_malformed(text.data, text.size);
      free(text.data);
    }
  }
}

// Shapes of more elements than any memory holds, with a content that is large nevertheless.
static void huge_shapes(void** state) {
  static const struct {
    int64_t elements;
    int dtype;
  } kCases[] = {{INT64_MAX, LEAT_DTYPE_INT16}, {INT64_MAX, LEAT_DTYPE_UINT8},
                {INT64_MAX / 2, LEAT_DTYPE_FLOAT}, {-1, LEAT_DTYPE_FLOAT}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    text_t tensor = {0}, text = {0}, shape = make_tensor_text("s", kCases[i].elements);
    text_t content = make_tensor_text("c", kLargeFloats);
    add(&tensor, (const char[]){8, (char)kCases[i].dtype}, 2);
    add(&tensor, shape.data, shape.size);
    add(&tensor, content.data, content.size);
    add_message(&text, 1, &tensor);
    expect_malformed(text.data, text.size);
    free(shape.data);
    free(content.data);
    free(text.data);
  }
}

// The tag of the content is the tensor's last byte, and its size stands behind the tensor: the
// length of what is left of the tensor would be -|k|, which is also what the size says.
static void a_content_that_begins_behind_the_tensor(void** state) {
  for (int k = 1; k <= 10; ++k) {
    text_t text = {0}, shape = make_tensor_text("s", INT64_MAX), rest = {0};
    text_t tensor = {0};
    add_text(&tensor, LEAT_SV("\x08\5"));  // DT_INT16
    add(&tensor, shape.data, shape.size);
    add_text(&tensor, LEAT_SV("\x22"));
    char size[10];
    memset(size, 0xff, sizeof size);
    size[0] = (char)(0x80 | (0x80 - k));  // 2^64 - k
    size[9] = 1;
    add(&tensor, size, (size_t)(10 - k));
    add_message(&text, 1, &tensor);
    add(&text, size + 10 - k, (size_t)k);
    rest.data = calloc(1, 4 * kLargeFloats);
    rest.size = 4 * kLargeFloats;
    add_message(&text, 9, &rest);
    expect_malformed(text.data, text.size);
    free(shape.data);
    free(text.data);
  }
}

static void objects_of_no_dtype(void** state) {
  static const leat_string_view_t texts[] = {
      LEAT_SV("\x0a\2\x08\x65"),              // a reference to floats
      LEAT_SV("\x0a\4\x08\x21\x22\0"),        // a type that there is not
      LEAT_SV("\x0a\x06\x08\x14\x22\2\1\xff"),  // a handle that is no message
      LEAT_SV("\x0a\x07\x08\x15\x22\3\2\x0a\1"),  // a variant that is cut off
      LEAT_SV("\x0b"),                        // a group without an end
      LEAT_SV(""),                            // no value at all
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    expect_malformed(texts[i].data, texts[i].size);
  }
}

// ---- Memory -------------------------------------------------------------------------------------

static void every_allocation_may_fail(void** state) {
  static const int64_t counts[] = {3, kLargeFloats};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(counts); ++i) {
    for (int64_t n = 1;; ++n) {
      leat_fault_t fault;
      leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
      leat_rpc_bytes_t bytes;
      leat_slot_t value = {0};
      leat_tensor_t tensor = make_floats(counts[i]);
      leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
      leat_status_t status = leat_recv_tensor_encode(alive(tensor), pieces, &bytes);
      if (!status) {
        status = leat_recv_tensor_decode(bytes, &value);
      } else {
        assert_int_equal(bytes.count, 0);
      }
      const bool ran_through = !leat_fault_remove(&fault);
      release_pieces(pieces);
      if (!status) {
        expect_floats(&value, counts[i]);
      } else {
        LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
        assert_null(value.tensor.buffer);
      }
      if (ran_through) break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_not_copied),
      cmocka_unit_test(a_part_is_not_copied),
      cmocka_unit_test(golden_bytes),
      cmocka_unit_test(dead_values),
      cmocka_unit_test(every_cut_decodes_equally),
      cmocka_unit_test(a_piece_for_each_byte),
      cmocka_unit_test(fields_come_in_any_order),
      cmocka_unit_test(large_dead_values),
      cmocka_unit_test(a_tensor_in_two_parts),
      cmocka_unit_test(a_small_second_tensor),
      cmocka_unit_test(bools_are_checked),
      cmocka_unit_test(every_truncation_is_internal),
      cmocka_unit_test(sizes_that_lie),
      cmocka_unit_test(huge_shapes),
      cmocka_unit_test(a_content_that_begins_behind_the_tensor),
      cmocka_unit_test(objects_of_no_dtype),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
