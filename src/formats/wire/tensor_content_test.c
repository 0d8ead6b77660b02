// Tensors as messages between machines hold them. Golden bytes, recorded between TensorFlow's own
// tasks, fix the layout for numbers, strings, handles and variants; every type then goes there and
// back in both forms of reading, the copying one and the one that borrows the message's memory. The
// other half of the file is contents whose sizes, counts or shapes lie. Those contents are placed
// at the very end of a heap block, so that AddressSanitizer reports whoever reads behind them, and
// a refused message must leave no buffer behind.
#include "formats/wire/tensor_content.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "formats/wire/tensor_proto.h"
#include "tensor/number_variant.h"

static leat_tensor_t make_tensor(int dtype, int rank, const int64_t* dims) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(rank, dims, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  leat_shape_release(&shape);
  leat_tensor_fill_zero(&tensor);
  return tensor;
}

static leat_tensor_t make_vector(int dtype, int64_t count) {
  return make_tensor(dtype, 1, &count);
}

static void put_handle(leat_tensor_t* tensor, int64_t index, const char* name) {
  leat_resource_handle_t** element = &leat_tensor_data(tensor, leat_resource_handle_t*)[index];
  LEAT_EXPECT_OK(leat_resource_handle_create(LEAT_SV("d"), LEAT_SV("c"),
                                             leat_string_view_from(name), LEAT_SV("t"), element));
  (*element)->type_hash = 300;
}

static void put_number(leat_tensor_t* tensor, int64_t index, const char* type,
                       leat_string_view_t bytes) {
  LEAT_EXPECT_OK(leat_number_variant_decode(leat_string_view_from(type), bytes,
                                            &leat_tensor_data(tensor, leat_variant_t)[index]));
}

// ---- Writing ------------------------------------------------------------------------------------

static void expect_content(const leat_tensor_t* tensor, leat_string_view_t expected) {
  leat_arena_t arena;
  leat_pb_tensor_proto_t proto;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_tensor_to_content(tensor, &arena, &proto));
  assert_int_equal(proto.dtype, tensor->dtype);
  assert_int_equal(proto.tensor_shape ? (int)proto.tensor_shape->dim.count : 0,
                   tensor->shape.rank);
  assert_int_equal(proto.tensor_content.size, expected.size);
  assert_true(expected.size == 0 ||
              !memcmp(proto.tensor_content.data, expected.data, expected.size));
  // Nothing is in a list besides.
  assert_int_equal(proto.string_val.count + proto.resource_handle_val.count +
                       proto.variant_val.count + proto.float_val.count + proto.int_val.count +
                       proto.bool_val.count + proto.half_val.count + proto.int64_val.count,
                   0);
  leat_arena_deinitialize(&arena);
}

static void numbers_are_raw_bytes(void** state) {
  const float one = 1;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_FLOAT, &one, &tensor));
  expect_content(&tensor, LEAT_SV("\0\0\x80\x3f"));
  leat_tensor_release(&tensor);
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT16, (const int16_t[]){1, -2}, 2, &tensor));
  expect_content(&tensor, LEAT_SV("\1\0\xfe\xff"));
  leat_tensor_release(&tensor);
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_BOOL, (const bool[]){true, false}, 2, &tensor));
  expect_content(&tensor, LEAT_SV("\1\0"));
  leat_tensor_release(&tensor);
}

// The elements are the tensor's own, also those of a part of a larger buffer.
static void numbers_are_not_copied(void** state) {
  leat_tensor_t whole = make_vector(LEAT_DTYPE_DOUBLE, 8), part;
  leat_pb_tensor_proto_t proto;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_tensor_to_content(&whole, &arena, &proto));
  assert_ptr_equal(proto.tensor_content.data, whole.data);
  LEAT_EXPECT_OK(leat_tensor_slice(&whole, 2, 5, &part));
  LEAT_EXPECT_OK(leat_tensor_to_content(&part, &arena, &proto));
  assert_ptr_equal(proto.tensor_content.data, (const char*)whole.data + 16);
  assert_int_equal(proto.tensor_content.size, 24);
  leat_tensor_release(&part);
  leat_tensor_release(&whole);
  leat_arena_deinitialize(&arena);
}

// All sizes first, then all texts; a size above 127 takes two bytes.
static void strings_are_packed(void** state) {
  char expected[4 + 2 + 200] = "\2\0\xc8\1" "ab", text[200];
  memset(text, 'c', sizeof text);
  memset(expected + 6, 'c', sizeof text);
  leat_tensor_t tensor = make_vector(LEAT_DTYPE_STRING, 3);
  LEAT_EXPECT_OK(leat_tensor_set_string(&tensor, 0, LEAT_SV("ab")));
  LEAT_EXPECT_OK(leat_tensor_set_string(&tensor, 2, leat_string_view_make(text, sizeof text)));
  expect_content(&tensor, leat_string_view_make(expected, sizeof expected));
  leat_tensor_release(&tensor);
  tensor = make_tensor(LEAT_DTYPE_STRING, 0, NULL);
  expect_content(&tensor, LEAT_SV("\0"));
  leat_tensor_release(&tensor);
}

#define HANDLE(name) "\x0a\1d\x12\1c\x1a\1" name "\x20\xac\2\x2a\1t"

static void handles_are_packed(void** state) {
  leat_tensor_t tensor = make_vector(LEAT_DTYPE_RESOURCE, 2);
  put_handle(&tensor, 0, "n");
  put_handle(&tensor, 1, "m");
  expect_content(&tensor, LEAT_SV("\x0f\x0f" HANDLE("n") HANDLE("m")));
  leat_tensor_release(&tensor);
}

static void variants_are_packed(void** state) {
  leat_tensor_t tensor = make_vector(LEAT_DTYPE_VARIANT, 2);
  put_number(&tensor, 0, "int", LEAT_SV("\7\0\0\0"));
  expect_content(&tensor, LEAT_SV("\x0b\0\x0a\3int\x12\4\7\0\0\0"));
  leat_tensor_release(&tensor);
}

static void no_elements_are_no_bytes(void** state) {
  static const int dtypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_STRING, LEAT_DTYPE_RESOURCE,
                               LEAT_DTYPE_VARIANT};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(dtypes); ++i) {
    leat_tensor_t tensor = make_tensor(dtypes[i], 2, (const int64_t[]){3, 0});
    expect_content(&tensor, LEAT_SV(""));
    leat_tensor_release(&tensor);
  }
}

static void keep(void* self) {}
static const leat_variant_vtable_t kSecret = {.type_name = "secret", .retain = keep,
                                              .release = keep};

static void a_variant_may_not_leave(void** state) {
  leat_pb_tensor_proto_t proto;
  leat_arena_t arena;
  leat_tensor_t tensor = make_vector(LEAT_DTYPE_VARIANT, 1);
  leat_tensor_data(&tensor, leat_variant_t)[0] = (leat_variant_t){&kSecret, &proto};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_tensor_to_content(&tensor, &arena, &proto));
  leat_arena_deinitialize(&arena);
  leat_tensor_release(&tensor);
}

// ---- There and back -----------------------------------------------------------------------------

// The tensor after a journey into a message and out of it, whose type and shape must have survived.
static leat_tensor_t back_of(const leat_tensor_t* tensor) {
  leat_tensor_t back;
  leat_arena_t arena;
  leat_pb_tensor_proto_t proto;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_tensor_to_content(tensor, &arena, &proto));
  LEAT_EXPECT_OK(leat_tensor_from_content(&proto, &arena, leat_buffer_source_host(), &back));
  leat_arena_deinitialize(&arena);
  assert_int_equal(back.dtype, tensor->dtype);
  assert_true(leat_shape_equal(&back.shape, &tensor->shape));
  return back;
}

static void every_number_comes_back(void** state) {
  static const int64_t dims[] = {1, 3, 7};
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) continue;
    for (int rank = 0; rank <= 3; ++rank) {
      leat_tensor_t tensor = make_tensor(dtype, rank, dims);
      const size_t size = leat_tensor_size_bytes(&tensor);
      for (size_t i = 0; i < size; ++i) {
        ((uint8_t*)tensor.data)[i] = (uint8_t)(dtype == LEAT_DTYPE_BOOL ? i & 1 : i * 37 + 1);
      }
      leat_tensor_t back = back_of(&tensor);
      assert_memory_equal(back.data, tensor.data, size);
      assert_ptr_not_equal(back.data, tensor.data);
      leat_tensor_release(&back);
      leat_tensor_release(&tensor);
    }
  }
}

static void objects_come_back(void** state) {
  leat_tensor_t tensor = make_vector(LEAT_DTYPE_STRING, 3);
  LEAT_EXPECT_OK(leat_tensor_set_string(&tensor, 1, LEAT_SV("a\0b")));
  leat_tensor_t back = back_of(&tensor);
  assert_true(leat_string_view_equal(leat_tensor_string_at(&back, 1), LEAT_SV("a\0b")));
  assert_int_equal(leat_tensor_string_at(&back, 2).size, 0);
  leat_tensor_release(&back);
  leat_tensor_release(&tensor);

  tensor = make_vector(LEAT_DTYPE_RESOURCE, 2);
  put_handle(&tensor, 0, "n");
  put_handle(&tensor, 1, "a longer name than fits");
  back = back_of(&tensor);
  const leat_resource_handle_t* handle = leat_tensor_data(&back, leat_resource_handle_t*)[1];
  assert_true(leat_string_view_equals(handle->name, "a longer name than fits"));
  assert_true(leat_string_view_equals(handle->device, "d"));
  assert_true(leat_string_view_equals(handle->container, "c"));
  assert_int_equal(handle->type_hash, 300);
  leat_tensor_release(&back);
  leat_tensor_release(&tensor);

  tensor = make_vector(LEAT_DTYPE_VARIANT, 3);
  put_number(&tensor, 1, "double", LEAT_SV("\0\0\0\0\0\0\xf0\x3f"));
  back = back_of(&tensor);
  const leat_variant_t* variants = leat_tensor_data(&back, const leat_variant_t);
  assert_null(variants[0].vtable);
  assert_string_equal(variants[1].vtable->type_name, "double");
  leat_tensor_release(&back);
  leat_tensor_release(&tensor);
}

// Clients in other languages send the lists of TensorProto.
static void lists_are_read_too(void** state) {
  leat_pb_tensor_shape_proto_dim_t dims[] = {{.size = 2}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 1}};
  leat_pb_resource_handle_proto_t handles[] = {{.name = LEAT_SV("x")}, {.name = LEAT_SV("y")}};
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_RESOURCE, .tensor_shape = &shape,
                                  .resource_handle_val = {handles, 2}};
  leat_tensor_t tensor;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_tensor_from_content(&proto, &arena, leat_buffer_source_host(), &tensor));
  assert_true(leat_string_view_equals(leat_tensor_data(&tensor, leat_resource_handle_t*)[1]->name,
                                      "y"));
  leat_tensor_release(&tensor);
  float values[] = {7};
  proto = (leat_pb_tensor_proto_t){
      .dtype = LEAT_DTYPE_FLOAT, .tensor_shape = &shape, .float_val = {values, 1}};
  LEAT_EXPECT_OK(leat_tensor_from_content(&proto, &arena, leat_buffer_source_host(), &tensor));
  assert_memory_equal(tensor.data, ((const float[]){7, 7}), 8);
  leat_tensor_release(&tensor);
  leat_arena_deinitialize(&arena);
}

// ---- Lies ---------------------------------------------------------------------------------------

// A vector of |count| elements that says it holds |content| must be refused, and leave no buffer.
static void expect_refused(int dtype, int64_t count, leat_string_view_t content) {
  leat_pb_tensor_shape_proto_dim_t dims[] = {{.size = count}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 1}};
  // The content ends where its memory ends, so that ASan sees who reads behind it.
  char* exact = malloc(content.size);
  memcpy(exact, content.data, content.size);
  const leat_pb_tensor_proto_t proto = {
      .dtype = dtype,
      .tensor_shape = &shape,
      .tensor_content = leat_string_view_make(exact, content.size)};
  leat_tensor_t tensor;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_tensor_from_content(
                                              &proto, &arena, leat_buffer_source_host(), &tensor));
  assert_null(tensor.buffer);
  leat_arena_deinitialize(&arena);
  free(exact);
}

static void lies_are_refused(void** state) {
  expect_refused(LEAT_DTYPE_FLOAT, 1, LEAT_SV("\0\0\0"));
  expect_refused(LEAT_DTYPE_FLOAT, 1, LEAT_SV("\0\0\0\0\0"));
  expect_refused(LEAT_DTYPE_FLOAT, INT64_MAX / 4, LEAT_SV("\0\0\0\0"));
  expect_refused(LEAT_DTYPE_BOOL, 1, LEAT_SV("\2"));
  static const int packed[] = {LEAT_DTYPE_STRING, LEAT_DTYPE_RESOURCE, LEAT_DTYPE_VARIANT};
  static const leat_string_view_t contents[] = {
      LEAT_SV("\1\1x"),                                       // one byte is missing
      LEAT_SV("\0\0x"),                                       // one is too many
      LEAT_SV("\0"),                                          // a size is missing
      LEAT_SV("\0\x80"),                                      // a size ends early
      LEAT_SV("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),    // SIZE_MAX
      LEAT_SV("\2\xff\xff\xff\xff\xff\xff\xff\xff\xff\1ab"),  // both together are 1
      LEAT_SV("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),  // 11 bytes
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(packed); ++i) {
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(contents); ++k) {
      expect_refused(packed[i], 2, contents[k]);
    }
    // The content of a tensor of strings without elements is not looked at, as in TensorFlow.
    if (packed[i] != LEAT_DTYPE_STRING) expect_refused(packed[i], 0, LEAT_SV("\0"));
    expect_refused(packed[i], -1, LEAT_SV("\0"));
    expect_refused(packed[i], INT64_MAX, LEAT_SV("\0\0"));
  }
  expect_refused(LEAT_DTYPE_RESOURCE, 1, LEAT_SV("\2\x0a\5"));  // a text longer than its message
  expect_refused(LEAT_DTYPE_VARIANT, 1, LEAT_SV("\x0a\x0a\3int\x12\3\7\0\0"));  // 3 bytes of 4
  expect_refused(LEAT_DTYPE_VARIANT, 1, LEAT_SV("\3\x0a\1?"));  // an unknown type
}

// A content that is cut off anywhere, or has a byte more, is no content.
static void every_cut_is_refused(void** state) {
  static const struct {
    int dtype;
    leat_string_view_t content;
  } kCases[] = {
      {LEAT_DTYPE_STRING, LEAT_SV("\3\2abcde")},
      {LEAT_DTYPE_RESOURCE, LEAT_SV("\x0f\x0f" HANDLE("n") HANDLE("m"))},
      {LEAT_DTYPE_VARIANT, LEAT_SV("\x0b\x0b\x0a\3int\x12\4\7\0\0\0\x0a\3int\x12\4\7\0\0\0")},
  };
  char longer[80];
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    const leat_string_view_t content = kCases[i].content;
    for (size_t size = 1; size < content.size; ++size) {
      expect_refused(kCases[i].dtype, 2, leat_string_view_make(content.data, size));
    }
    memcpy(longer, content.data, content.size);
    longer[content.size] = 0;
    expect_refused(kCases[i].dtype, 2, leat_string_view_make(longer, content.size + 1));
  }
}

// ---- Memory -------------------------------------------------------------------------------------

static void every_allocation_may_fail(void** state) {
  leat_tensor_t tensors[] = {make_vector(LEAT_DTYPE_STRING, 2),
                             make_vector(LEAT_DTYPE_RESOURCE, 2),
                             make_vector(LEAT_DTYPE_VARIANT, 2), make_vector(LEAT_DTYPE_INT32, 2)};
  LEAT_EXPECT_OK(leat_tensor_set_string(&tensors[0], 0,
                                        LEAT_SV("a string that needs memory of its own")));
  put_handle(&tensors[1], 0, "n");
  put_handle(&tensors[1], 1, "m");
  put_number(&tensors[2], 0, "float", LEAT_SV("\0\0\0\0"));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(tensors); ++i) {
    for (int64_t n = 1;; ++n) {
      leat_fault_t fault;
      leat_arena_t arena;
      leat_tensor_t back = {0};
      leat_pb_tensor_proto_t proto;
      leat_arena_initialize(leat_allocator_system(), 0, &arena);
      leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
      leat_status_t status = leat_tensor_to_content(&tensors[i], &arena, &proto);
      if (!status) {
        status = leat_tensor_from_content(&proto, &arena, leat_buffer_source_host(), &back);
      }
      const bool ran_through = !leat_fault_remove(&fault);
      if (!ran_through) assert_null(back.buffer);
      leat_tensor_release(&back);
      leat_arena_deinitialize(&arena);
      if (ran_through) {
        LEAT_EXPECT_OK(status);
        break;
      }
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    }
    leat_tensor_release(&tensors[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_raw_bytes),
      cmocka_unit_test(numbers_are_not_copied),
      cmocka_unit_test(strings_are_packed),
      cmocka_unit_test(handles_are_packed),
      cmocka_unit_test(variants_are_packed),
      cmocka_unit_test(no_elements_are_no_bytes),
      cmocka_unit_test(a_variant_may_not_leave),
      cmocka_unit_test(every_number_comes_back),
      cmocka_unit_test(objects_come_back),
      cmocka_unit_test(lists_are_read_too),
      cmocka_unit_test(lies_are_refused),
      cmocka_unit_test(every_cut_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
